// Requests to Gemini, its answers and its embeddings, against a server on this machine.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { geminiCachedContent, geminiChat, geminiEmbedder, geminiLanguageModel, geminiRequest } from "throughline/gemini";
import { KEY, WORDS, context, failsWith, generateRequest, piecesOf } from "./checks.mjs";
import { startServer } from "./provider-server.mjs";

const servers = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function serve(...script) {
  const server = await startServer(...script);
  servers.push(server);
  return server;
}

const user = (text) => ({ role: "user", parts: [{ text }] });
const question = context([user(WORDS)]);
const chunk = (parts, finishReason, more = {}) => ({ candidates: [{ content: { role: "model", parts }, ...(finishReason && { finishReason }) }], modelVersion: "gemini-x", ...more });

test("an answer with thoughts, signatures and calls is put together as it must be sent back", async () => {
  const usageMetadata = { promptTokenCount: 40, candidatesTokenCount: 5, thoughtsTokenCount: 3, cachedContentTokenCount: 30 };
  const call = { functionCall: { name: "look", args: { q: "x" } }, thoughtSignature: "sig" };
  const events = [
    chunk([{ text: "Hm", thought: true }]),
    chunk([{ text: "m.", thought: true }, { text: "Two " }]),
    chunk([{ text: "eggs" }]),
    chunk([{ text: "", thoughtSignature: "end" }]),
    chunk([call], "STOP", { usageMetadata }),
  ];
  const server = await serve({ events });
  const chat = geminiChat({ baseUrl: `${server.url}/v1beta`, apiKey: KEY, model: "gemini-pro", body: { safetySettings: [] } });
  const answer = chat.send(question, { maxTokens: 9 });
  assert.deepEqual(await piecesOf(answer), ["Two ", "eggs"]);
  assert.deepEqual(await answer.finished, {
    text: "Two eggs",
    message: { role: "model", parts: [{ text: "Hmm.", thought: true }, { text: "Two eggs" }, { text: "", thoughtSignature: "end" }, call] },
    finishReason: "tool_calls",
    usage: { provider: "gemini", model: "gemini-x", inputTokens: 40, outputTokens: 8, cachedTokens: 30 },
  });
  const [{ path, headers, body }] = server.requests;
  assert.equal(path, "/v1beta/models/gemini-pro:streamGenerateContent?alt=sse");
  assert.equal(headers["x-goog-api-key"], KEY);
  assert.deepEqual(body, { systemInstruction: { parts: [{ text: "Be terse." }] }, contents: [user(WORDS)], generationConfig: { maxOutputTokens: 9 }, safetySettings: [] });
});

test("blocked, too long, cut and refused are told apart", async () => {
  const server = await serve(
    { events: [{ promptFeedback: { blockReason: "SAFETY" } }] },
    { events: [chunk([{ text: "half" }], "MAX_TOKENS")] },
    { json: [chunk([{ text: "as " }]), chunk([{ text: "a list" }], "STOP")] },
    { events: [chunk([{ text: "half" }])] },
    { status: 400, json: [{ error: { code: 400, status: "INVALID_ARGUMENT", message: WORDS } }] },
    { events: [{ error: { code: 503, status: "UNAVAILABLE", message: WORDS } }] },
  );
  const chat = geminiChat({ baseUrl: server.url, apiKey: KEY, model: "g" });
  const finished = () => chat.send(question).finished;
  assert.equal((await finished()).finishReason, "content_filter");
  assert.equal((await finished()).finishReason, "length");
  assert.equal((await finished()).text, "as a list");
  await assert.rejects(finished(), failsWith("model_failed", { retryable: true, message: /ended before/ }));
  await assert.rejects(finished(), failsWith("model_failed", { retryable: false, details: { status: 400, reason: "INVALID_ARGUMENT" } }));
  await assert.rejects(finished(), failsWith("model_failed", { retryable: true, details: { reason: "UNAVAILABLE" } }));
  await assert.rejects(geminiChat({ baseUrl: server.url, model: "" }).send(question).finished, failsWith("invalid_config"));
});

test("a cache holds what is in front of the last breakpoint, and the request the rest", () => {
  const built = context([user("a"), { role: "model", parts: [{ text: "b" }] }, user("c")], "s", [{ after: "system" }, { after: "history", messageIndex: 1 }]);
  const tools = [{ functionDeclarations: [] }];
  const { body, messageCount } = geminiCachedContent(built, { model: "g", tools, ttlSeconds: 60 });
  assert.equal(messageCount, 2);
  assert.deepEqual(body, { model: "models/g", systemInstruction: { parts: [{ text: "s" }] }, tools, contents: built.messages.slice(0, 2), ttl: "60s" });
  assert.deepEqual(geminiRequest(built, { tools, cache: { name: "cachedContents/1", messageCount } }), { cachedContent: "cachedContents/1", contents: [user("c")] });
  assert.deepEqual(geminiCachedContent(context([user("a")], "s", [{ after: "system" }]), { model: "g" }), { body: { model: "models/g", systemInstruction: { parts: [{ text: "s" }] }, ttl: "300s" }, messageCount: 0 });
});

test("as a language model it asks for JSON of the schema", async () => {
  const server = await serve({ events: [chunk([{ text: '{"facts":[]}' }], "STOP")] }, { events: [chunk([{ text: "{" }], "MAX_TOKENS")] });
  const model = geminiLanguageModel({ baseUrl: server.url, apiKey: KEY, model: (purpose) => `g-${purpose}`, contextWindow: 8_000, generationConfig: { thinkingConfig: { thinkingBudget: 0 } } });
  const request = generateRequest();
  assert.equal(await model.generate(request), '{"facts":[]}');
  assert.match(server.requests[0].path, /models\/g-extract:/);
  assert.deepEqual(server.requests[0].body.generationConfig, { maxOutputTokens: 200, responseMimeType: "application/json", responseJsonSchema: request.schema, thinkingConfig: { thinkingBudget: 0 } });
  await assert.rejects(model.generate(request), failsWith("model_output_invalid"));
});

test("embeddings, one per text", async () => {
  const server = await serve({ json: { embeddings: [{ values: [1, 2] }, { values: [3, 4] }] } }, { json: { embeddings: [{ values: [1, 2] }] } });
  const embedder = geminiEmbedder({ baseUrl: server.url, apiKey: KEY, model: "e", dimensions: 2 });
  assert.equal(embedder.id, "e:2");
  const call = () => embedder.embed(["a", "b"], { signal: new AbortController().signal });
  assert.deepEqual((await call()).map((vector) => [...vector]), [[1, 2], [3, 4]]);
  assert.deepEqual(server.requests[0].body.requests[1], { model: "models/e", content: { parts: [{ text: "b" }] }, outputDimensionality: 2 });
  await assert.rejects(call(), failsWith("embedding_failed"));
});

test("a built context of Gemini's format is sent as it is, and the answer goes back into the memory", async () => {
  const server = await serve({ events: [chunk([{ text: "8471." }], "STOP")] });
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const chat = await memory.conversations.create();
  await memory.append(chat.id, [user("We use port 8471."), { role: "model", parts: [{ text: "Noted." }] }, user("Which port?")]);
  const built = await memory.buildContext({ conversationId: chat.id, format: "gemini" });
  const { message } = await geminiChat({ baseUrl: server.url, model: "g" }).send(built).finished;
  await memory.append(chat.id, message);
  assert.deepEqual((await memory.history(chat.id)).at(-1), message);
  assert.deepEqual(server.requests[0].body.contents, [user("We use port 8471."), { role: "model", parts: [{ text: "Noted." }] }, user("Which port?")]);
  await memory.close();
});
