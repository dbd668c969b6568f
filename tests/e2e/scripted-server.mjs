// A model server of OpenAI's protocol that says what a test tells it to.

import { createServer } from "node:http";

const HEADERS = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };

/**
 * Starts it. `script` is what it answers next in a chat: a text, or a function that is given `say` and the response and ends
 * it itself. `asked` are the requests for such answers. The page's trial is answered with OK; what the memory asks by itself,
 * facts say, gets no answer.
 */
export async function startModel() {
  const model = { url: "", script: "OK", asked: [], close };
  const server = createServer((request, response) => void answer(model, request, response));
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  model.url = `http://127.0.0.1:${server.address().port}/v1`;
  function close() {
    server.closeAllConnections();
    server.close();
  }
  return model;
}

async function answer(model, request, response) {
  if (request.method === "OPTIONS") return response.writeHead(204, HEADERS).end();
  if (request.method === "GET") return response.writeHead(404, HEADERS).end();
  let text = "";
  for await (const piece of request.setEncoding("utf8")) text += piece;
  const body = JSON.parse(text);
  const isTrial = body.messages.length === 1;
  if (!isTrial && !body.messages[0].content.startsWith("You are the assistant of this conversation")) return response.writeHead(400, HEADERS).end();
  response.writeHead(200, { ...HEADERS, "content-type": "text/event-stream" });
  const say = (content) => response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
  const whole = (content) => {
    say(content);
    response.end("data: [DONE]\n\n");
  };
  if (isTrial) return whole("OK");
  model.asked.push(body);
  if (typeof model.script === "function") return model.script(say, response);
  return whole(model.script);
}
