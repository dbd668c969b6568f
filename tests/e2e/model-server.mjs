// A server of OpenAI's protocol on this machine, as a test wants it: what it says in a chat, what it answers the memory, whom it
// lets in.

import { createServer } from "node:http";

/** Long enough to be taken for a summary of what it is given. */
const DECISIONS = Array.from({ length: 12 }, (_, index) => `Decision ${index + 1} was taken after both had looked at what it costs and what it saves`);
const SUMMARY = { goal: [], confirmed: [], decisions: DECISIONS, constraints: [], failed: [], open: [], next: [], identifiers: [] };
const NOTHING = { extract: { facts: [] }, judge: { operations: [] }, audit: { findings: [] }, episode: { ...SUMMARY, decisions: DECISIONS.slice(0, 3) } };

/**
 * Starts one. `options` can be changed while it runs: `says` (the answer in a chat, or a function of the messages), `purposes`
 * (answers to the memory, by purpose, each a value or a function of the request), `models`, `isOpen` (whether pages are let in),
 * `key` (the one that it wants).
 */
export async function startModelServer(options = {}) {
  const state = { says: "It is 8471.", purposes: {}, models: ["tiny"], isOpen: true, key: undefined, ...options };
  const requests = [];
  const server = createServer((request, response) => void answer(request, response).catch(() => response.destroy()));

  async function answer(request, response) {
    const allowed = state.isOpen ? { "access-control-allow-origin": "*", "access-control-allow-headers": "*" } : {};
    if (request.method === "OPTIONS") return response.writeHead(204, allowed).end();
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const body = text === "" ? undefined : JSON.parse(text);
    requests.push({ path: request.url, headers: request.headers, body });
    const json = (status, value) => response.writeHead(status, { "content-type": "application/json", ...allowed }).end(JSON.stringify(value));
    if (state.key !== undefined && request.headers.authorization !== `Bearer ${state.key}`) return json(401, { error: { code: "invalid_api_key" } });
    if (request.url.endsWith("/models")) return json(200, { data: state.models.map((id) => ({ id })) });
    if (!request.url.endsWith("/chat/completions")) return json(404, {});
    const purpose = body.response_format?.json_schema?.name;
    const planned = purpose === undefined ? state.says : (state.purposes[purpose] ?? NOTHING[purpose] ?? SUMMARY);
    const said = typeof planned === "function" ? planned(body) : planned;
    const content = typeof said === "string" ? said : JSON.stringify(said);
    response.writeHead(200, { "content-type": "text/event-stream", ...allowed });
    const event = (delta, reason = null) => response.write(`data: ${JSON.stringify({ model: body.model, choices: [{ delta, finish_reason: reason }] })}\n\n`);
    for (const piece of content.match(/[\s\S]{1,200}/gu) ?? []) event({ content: piece });
    event({}, "stop");
    response.write(`data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}\n\n`);
    response.end("data: [DONE]\n\n");
  }

  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    state,
    requests,
    url: `http://127.0.0.1:${server.address().port}/v1`,
    close: () => new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    }),
  };
}

/** Turns the model of a server on in the demo. */
export async function turnOnModel(page, url, name = "tiny") {
  await page.click("#nav-models");
  await page.fill("#model-url", url);
  await page.fill("#model-name", name);
  await page.click("#model-on");
  await page.waitForSelector("#model-off");
}
