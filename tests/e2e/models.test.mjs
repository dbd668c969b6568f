// A model behind an address of another origin, called from a page: what arrives in pieces, what an abort does, and what a page is
// told where the server does not let it in.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { openSite } from "./pages.mjs";

const ALLOWED = { "access-control-allow-origin": "*", "access-control-allow-headers": "*" };
let model;
let closed = 0;
let site;
let page;

before(async () => {
  model = createServer((request, response) => {
    response.on("close", () => (closed += 1));
    const headers = request.url.startsWith("/closed") ? {} : ALLOWED;
    if (request.method === "OPTIONS") return response.writeHead(204, headers).end();
    response.writeHead(200, { "content-type": "text/event-stream", ...headers });
    const chunk = (content, reason = null) => `data: ${JSON.stringify({ choices: [{ delta: { content }, finish_reason: reason }] })}\n\n`;
    response.write(chunk("It is "));
    // The rest comes once the page has shown the first piece.
    if (!request.url.startsWith("/slow")) setTimeout(() => response.end(chunk("8471.", "stop") + "data: [DONE]\n\n"), 30);
  });
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  site = await openSite({ script: `import * as openai from "/throughline/adapters/openai.js"; globalThis.openai = openai;` });
  page = await site.openPage();
});

after(async () => {
  await site?.close();
  model?.closeAllConnections();
  model?.close();
});

const address = (path) => `http://127.0.0.1:${model.address().port}/${path}`;

test("a page streams an answer into its memory", async () => {
  const { pieces, history } = await page.evaluate(async (baseUrl) => {
    const memory = await globalThis.throughline.createMemory({ userId: "models", tokenizer: "estimate" });
    await memory.conversations.create({ id: "c" });
    await memory.append("c", { role: "user", content: "Which port?" });
    const context = await memory.buildContext({ conversationId: "c" });
    const answer = globalThis.openai.openAiChat({ baseUrl, apiKey: "key", model: "m" }).send(context);
    const pieces = [];
    const stream = await memory.stream("c", { role: "assistant", content: "" });
    for await (const piece of answer) {
      pieces.push(piece);
      stream.write(piece);
    }
    await stream.complete((await answer.finished).message);
    const history = await memory.history("c");
    await memory.close();
    return { pieces, history };
  }, address("open"));
  assert.deepEqual(pieces, ["It is ", "8471."]);
  assert.deepEqual(history.at(-1), { role: "assistant", content: "It is 8471." });
});

test("an abort reaches the server; a server that does not let the page in is told as what it can be", async () => {
  const before = closed;
  const told = await page.evaluate(async ([slow, refused]) => {
    const send = (baseUrl, signal) => globalThis.openai.openAiChat({ baseUrl, model: "m", maxRetries: 0 }).send({ system: "", messages: [{ role: "user", content: "x" }] }, { signal });
    const codeOf = (answer) => answer.finished.then(() => "none", ({ code, message, retryable }) => ({ code, message, retryable }));
    const controller = new AbortController();
    const answer = send(slow, controller.signal);
    for await (const piece of answer) if (piece === "It is ") break;
    controller.abort();
    return [await codeOf(answer), await codeOf(send(refused))];
  }, [address("slow"), address("closed")]);
  assert.equal(told[0].code, "aborted");
  assert.deepEqual([told[1].code, told[1].retryable], ["model_failed", true]);
  assert.match(told[1].message, /could not be reached.*CORS/);
  while (closed < before + 1) await new Promise((resolve) => setTimeout(resolve, 10));
});
