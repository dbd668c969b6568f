// A model behind OpenAI's protocol that answers what a test says, and nothing to what the memory asks for itself.
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";

/**
 * `asked` is what it was asked by users: the lists of messages that begin with this system text. `answer(response, count)` is given
 * the response to such a request, the first one's count being 1.
 */
export async function startModel(system, answer) {
  const asked = [];
  const server = createServer(async (request, response) => {
    const { messages } = JSON.parse(await text(request));
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (messages[0].content !== system) return sendAll(response, ["{}"]);
    asked.push(messages);
    return answer(response, asked.length);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${server.address().port}/v1`, asked, close };
}

/** Sends a piece of an answer. */
export function sendPiece(response, content) {
  response.write(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`);
}

/** Sends the pieces and the end. */
export function sendAll(response, pieces) {
  for (const piece of pieces) sendPiece(response, piece);
  response.end(`data: ${JSON.stringify({ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] })}\n\ndata: [DONE]\n\n`);
}
