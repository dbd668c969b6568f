// Models and embeddings by the OpenAI protocol, against a server on this machine.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { openAiChat, openAiEmbedder, openAiLanguageModel, openAiRequest, openAiResponses } from "throughline/openai";
import { KEY, WORDS, context, failsWith, generateRequest, piecesOf } from "./checks.mjs";
import { completion, startServer } from "./provider-server.mjs";

const servers = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function serve(...script) {
  const server = await startServer(...script);
  servers.push(server);
  return server;
}

async function chatWith(script, options = {}) {
  const server = await serve(...script);
  return { server, chat: openAiChat({ baseUrl: `${server.url}/v1`, apiKey: KEY, model: "m", ...options }) };
}

const question = context([{ role: "user", content: WORDS }]);

test("an answer arrives in pieces, with its message, its end and what it took", async () => {
  const usage = { prompt_tokens: 30, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 20 } };
  const { server, chat } = await chatWith([{ events: completion(["Two ", "eggs"], { usage, model: "m-2" }) }], { body: { temperature: 0 } });
  const answer = chat.send(question, { maxTokens: 50, tools: [{ type: "function", function: { name: "t" } }] });
  assert.deepEqual(await piecesOf(answer), ["Two ", "eggs"]);
  assert.deepEqual(await answer.finished, {
    text: "Two eggs",
    message: { role: "assistant", content: "Two eggs" },
    finishReason: "stop",
    usage: { provider: "openai", model: "m-2", inputTokens: 30, outputTokens: 4, cachedTokens: 20 },
  });
  const [{ path, headers, body }] = server.requests;
  assert.equal(path, "/v1/chat/completions");
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  assert.deepEqual(body, {
    model: "m",
    messages: [{ role: "system", content: "Be terse." }, { role: "user", content: WORDS }],
    tools: [{ type: "function", function: { name: "t" } }],
    max_tokens: 50,
    stream: true,
    stream_options: { include_usage: true },
    temperature: 0,
  });
});

test("calls come together from their pieces, whole ones that are numbered alike stay apart, reasoning keeps its name", async () => {
  const call = (index, id, name, text) => ({ tool_calls: [{ index, ...(id && { id, type: "function" }), function: { ...(name && { name }), arguments: text } }] });
  const pieces = [{ reasoning_content: "hm" }, call(0, "a", "look", '{"q":'), call(0, undefined, undefined, '"x"}'), call(1, "b", "go", "{}"), call(0, "c", "whole", "{}")];
  const { chat } = await chatWith([{ events: completion(pieces) }]);
  const { message, finishReason, text } = await chat.send(question).finished;
  assert.equal(finishReason, "tool_calls");
  assert.equal(text, "");
  assert.deepEqual(message, {
    role: "assistant",
    content: null,
    reasoning_content: "hm",
    tool_calls: [["a", "look", '{"q":"x"}'], ["b", "go", "{}"], ["c", "whole", "{}"]].map(([id, name, args]) => ({ id, type: "function", function: { name, arguments: args } })),
  });
});

test("a server that does not stream, and one that ends lines in its own way", async () => {
  const whole = { model: "m", choices: [{ message: { role: "assistant", content: "Whole" }, finish_reason: "length" }], usage: { prompt_tokens: 1, completion_tokens: 1 } };
  const first = await chatWith([{ json: whole }]);
  const { text, finishReason } = await first.chat.send(question).finished;
  assert.deepEqual([text, finishReason], ["Whole", "length"]);
  const raw = completion(["Grüße"]).map((event) => `: hello\r\ndata:${typeof event === "string" ? event : JSON.stringify(event)}\r\n\r\n`).join("");
  const bytes = Buffer.from(raw);
  for (const size of [1, 7, 1000]) {
    const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
    const { chat } = await chatWith([{ pieces }]);
    assert.equal((await chat.send(question).finished).text, "Grüße", `pieces of ${size} bytes`);
  }
});

test("what failed for now is sent again after as long as the server says; what is wrong is not", async () => {
  const busy = { status: 429, headers: { "retry-after": "0" }, json: { error: { code: "rate_limit_exceeded", message: WORDS } } };
  const { server, chat } = await chatWith([busy, { status: 503, headers: { "retry-after-ms": "1" }, body: "<p>down" }, { events: completion(["up"]) }]);
  assert.equal((await chat.send(question).finished).text, "up");
  assert.equal(server.requests.length, 3);

  const wrong = await chatWith([{ status: 401, json: { error: { code: "invalid_api_key", message: `Incorrect key: ${KEY} ${WORDS}` } } }]);
  const refused = failsWith("model_failed", { retryable: false, message: /status 401 \(invalid_api_key\)/, details: { status: 401, reason: "invalid_api_key" } });
  await assert.rejects(wrong.chat.send(question).finished, refused);
  await assert.rejects(piecesOf(wrong.chat.send(question)), refused);
  assert.equal(wrong.server.requests.length, 2);

  const later = await chatWith([{ status: 429, headers: { "retry-after": "3600" }, json: {} }]);
  await assert.rejects(later.chat.send(question).finished, failsWith("model_failed", { retryable: true, details: { status: 429, retryAfterMs: 3_600_000 } }));
  assert.equal(later.server.requests.length, 1);

  const never = await chatWith([{ status: 500, headers: { "x-should-retry": "false" }, json: {} }]);
  await assert.rejects(never.chat.send(question).finished, failsWith("model_failed", { retryable: false }));
  const still = await chatWith([busy], { maxRetries: 1 });
  await assert.rejects(still.chat.send(question).finished, failsWith("model_failed", { retryable: true }));
  assert.equal(still.server.requests.length, 2);
});

test("a context that is too long, and an error in the middle of an answer, are told as such", async () => {
  const long = await chatWith([{ status: 400, json: { error: { code: "context_length_exceeded", message: WORDS } } }]);
  await assert.rejects(long.chat.send(question).finished, failsWith("model_failed", { retryable: false, message: /smaller window/ }));
  const middle = await chatWith([{ events: [...completion(["some"]).slice(0, 2), { error: { code: "server_error", message: WORDS } }] }]);
  const answer = middle.chat.send(question);
  const pieces = [];
  await assert.rejects(async () => {
    for await (const piece of answer) pieces.push(piece);
  }, failsWith("model_failed", { retryable: true, details: { reason: "server_error" } }));
  assert.deepEqual(pieces, ["some"]);
  assert.equal(middle.server.requests.length, 1, "an answer that has begun is not asked for again");
});

test("a cut stream, one that ends early, and one that is no JSON fail; nothing passes as whole", async () => {
  const begun = completion(["some"]).slice(0, 2);
  for (const [script, words] of [[{ events: begun, cut: true }, /was cut off/], [{ events: begun }, /ended before it was whole/], [{ events: [WORDS] }, /is not JSON/]]) {
    const { chat } = await chatWith([script]);
    await assert.rejects(chat.send(question).finished, failsWith("model_failed", { retryable: true, message: words }));
  }
});

test("an answer is whole where its reason is told, and also where only its end is", async () => {
  const { server } = await chatWith([{ events: [...completion(["so"]).slice(0, 2), "[DONE]"] }]);
  const slashed = openAiChat({ baseUrl: `${server.url}/v1//`, model: "m" });
  assert.equal((await slashed.send(question).finished).text, "so");
  assert.equal(server.requests[0].path, "/v1/chat/completions");
});

test("silence is a timeout, slow pieces are not", async () => {
  const silent = await chatWith([{ events: completion(["some"]).slice(0, 2), hang: true }], { timeoutMs: 100 });
  await assert.rejects(silent.chat.send(question).finished, failsWith("timeout", { retryable: true, message: /silent/ }));
  const mute = await chatWith([() => new Promise(() => {})], { timeoutMs: 100, maxRetries: 1 });
  await assert.rejects(mute.chat.send(question).finished, failsWith("timeout", { retryable: true }));
  assert.equal(mute.server.requests.length, 1, "who waited so long does not wait once more");
  const slow = await chatWith([{ events: completion(["a", "b", "c", "d", "e", "f"]), pauseMs: 60 }], { timeoutMs: 300 });
  assert.equal((await slow.chat.send(question).finished).text, "abcdef");
});

test("an abort ends the call wherever it is, and closes the connection", async () => {
  const { server, chat } = await chatWith([{ events: completion(["some"]).slice(0, 2), hang: true }]);
  const controller = new AbortController();
  const answer = chat.send(question, { signal: controller.signal });
  for await (const piece of answer) {
    assert.equal(piece, "some");
    controller.abort();
    break;
  }
  await assert.rejects(answer.finished, failsWith("aborted", { retryable: false }));
  const left = chat.send(question);
  for await (const piece of left) if (piece === "some") break;
  await assert.rejects(left.finished, failsWith("aborted"));
  await assert.rejects(chat.send(question, { signal: AbortSignal.abort() }).finished, failsWith("aborted"));
  const waiting = await chatWith([{ status: 503, headers: { "retry-after": "30" }, json: {} }]);
  const soon = new AbortController();
  const waits = waiting.chat.send(question, { signal: soon.signal }).finished;
  setTimeout(() => soon.abort(), 50);
  await assert.rejects(waits, failsWith("aborted"));
  while (!server.requests.every(({ isClosed }) => isClosed)) await new Promise((resolve) => setTimeout(resolve, 5));
});

test("an address that nobody answers at tells what to look at", async () => {
  const gone = await serve({ json: {} });
  await gone.stop();
  const failing = (baseUrl, message) =>
    assert.rejects(openAiChat({ baseUrl, model: "m", maxRetries: 0, apiKey: KEY, fetch: () => Promise.reject(new TypeError("Failed to fetch")) }).send(question).finished, failsWith("model_failed", { retryable: true, message }));
  await failing("http://localhost:11434/v1", /OLLAMA_ORIGINS/);
  await failing("http://127.0.0.1:1234/v1", /LM Studio.*CORS/);
  await failing("http://localhost:8080/v1", /llama-server/);
  await failing("https://models.example/v1", /CORS/);
  await assert.rejects(openAiChat({ baseUrl: `${gone.url}/v1`, model: "m", maxRetries: 0 }).send(question).finished, failsWith("model_failed", { message: /could not be reached/ }));
  await assert.rejects(openAiChat({ baseUrl: "nowhere", model: "m" }).send(question).finished, failsWith("invalid_config", { message: /baseUrl/ }));
  assert.throws(() => openAiChat({ model: "" }), failsWith("invalid_config", { message: /model/ }));
});

test("the key may come from a function, which may fail", async () => {
  const server = await serve({ events: completion(["yes"]) });
  const options = { baseUrl: `${server.url}/v1`, model: "m" };
  await openAiChat({ ...options, apiKey: async () => KEY, headers: { "x-app": "1" } }).send(question).finished;
  assert.equal(server.requests[0].headers.authorization, `Bearer ${KEY}`);
  assert.equal(server.requests[0].headers["x-app"], "1");
  await openAiChat(options).send(question).finished;
  assert.equal(server.requests[1].headers.authorization, undefined);
  const failing = openAiChat({ ...options, apiKey: () => Promise.reject(new Error("locked")) });
  await assert.rejects(failing.send(question).finished, (error) => error.cause.message === "locked" && error.code === "model_failed");
});

test("as a language model it asks for the schema, by the model for the purpose, and tells a cut answer", async () => {
  const server = await serve({ events: completion(['{"facts":', "[]}"], { usage: { prompt_tokens: 9, completion_tokens: 3 } }) }, { events: completion(['{"facts"'], { reason: "length" }) }, { events: completion(["no"], { reason: "content_filter" }) });
  const used = [];
  const model = openAiLanguageModel({
    baseUrl: `${server.url}/v1`, apiKey: KEY, contextWindow: 8_000, extraTokens: 100, onUsage: (usage) => used.push(usage),
    model: (purpose) => (purpose === "extract" ? "small" : "large"),
  });
  const request = generateRequest();
  assert.equal(await model.generate(request), '{"facts":[]}');
  assert.deepEqual(used, [{ provider: "openai", model: "m", inputTokens: 9, outputTokens: 3, purpose: "extract" }]);
  const { body } = server.requests[0];
  assert.equal(body.model, "small");
  assert.equal(body.max_tokens, 300);
  assert.deepEqual(body.response_format, { type: "json_schema", json_schema: { name: "extract", schema: request.schema, strict: true } });
  await assert.rejects(model.generate(request), failsWith("model_output_invalid", { message: /cut off at 200/ }));
  await assert.rejects(model.generate(request), failsWith("model_failed", { retryable: false }));
  await assert.rejects(model.generate(generateRequest({ signal: AbortSignal.abort() })), failsWith("aborted"));
});

test("a server is held to the schema as it can be, and told of the longest answer by the name that it knows", async () => {
  const request = generateRequest();
  const bodyOf = async (options) => {
    let body;
    const fetch = async (_, init) => {
      body = JSON.parse(init.body);
      return new Response(completion(["{}"]).map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join(""));
    };
    await openAiLanguageModel({ model: "m", contextWindow: 8_000, fetch, ...options }).generate(request);
    return body;
  };
  assert.equal((await bodyOf({})).max_completion_tokens, 200, "at OpenAI's own address");
  const elsewhere = { baseUrl: "http://localhost:1/v1" };
  assert.deepEqual((await bodyOf({ ...elsewhere, structuredOutput: "json_object" })).response_format, { type: "json_object" });
  const plain = await bodyOf({ ...elsewhere, structuredOutput: "none", body: { stream_options: undefined } });
  assert.deepEqual([plain.response_format, plain.stream_options, plain.max_tokens], [undefined, undefined, 200]);
  assert.equal((await bodyOf({ ...elsewhere, maxTokensField: "max_completion_tokens" })).max_completion_tokens, 200);
  assert.equal((await bodyOf(elsewhere)).messages[0].role, "system");
});

test("embeddings come in the order of the texts, as numbers or as base64, and are counted", async () => {
  const base64 = Buffer.from(new Float32Array([3, 4]).buffer).toString("base64");
  const data = [{ index: 1, embedding: base64 }, { index: 0, embedding: [1, 2] }];
  const server = await serve({ json: { data } }, { json: { data: data.slice(1) } }, { json: { data: [data[0], data[0]] } }, { status: 429, headers: { "retry-after-ms": "1" }, json: {} }, { json: { data } });
  const embedder = openAiEmbedder({ baseUrl: `${server.url}/v1`, apiKey: KEY, model: "e5", dimensions: 2, shorten: true, prefix: "query: " });
  assert.equal(embedder.id, "e5:2:query:");
  const call = () => embedder.embed(["a", "b"], { signal: new AbortController().signal });
  assert.deepEqual((await call()).map((vector) => [...vector]), [[1, 2], [3, 4]]);
  assert.deepEqual(server.requests[0].body, { model: "e5", input: ["query: a", "query: b"], encoding_format: "float", dimensions: 2 });
  for (let wrong = 0; wrong < 2; wrong += 1) await assert.rejects(call(), failsWith("embedding_failed", { message: /one vector per text/ }));
  assert.equal((await call()).length, 2);
  const two = openAiEmbedder({ baseUrl: `${server.url}/v1`, model: "e5", dimensions: 2, prefixes: { query: "query: ", document: "passage: " } });
  await two.embed(["a", "b"], { signal: new AbortController().signal, purpose: "document" });
  assert.deepEqual([two.id, server.requests.at(-1).body.input], ["e5:query:/passage:", ["passage: a", "passage: b"]]);
});

test("cache breakpoints are marked on parts, and the messages stay as they were", () => {
  const messages = [{ role: "user", content: "a" }, { role: "assistant", content: [{ type: "text", text: "b" }] }, { role: "user", content: "c" }];
  const before = structuredClone(messages);
  const built = context(messages, "App\n\nSum", [{ after: "memory", systemLength: 3 }, { after: "system", systemLength: 8 }, { after: "earlier", messageIndex: 0 }, { after: "history", messageIndex: 1 }]);
  const mark = { prompt_cache_breakpoint: { mode: "explicit" } };
  const request = openAiRequest(built, { model: "m", cacheBreakpoints: true, systemRole: "developer" });
  assert.deepEqual(request.prompt_cache_options, { mode: "explicit" });
  assert.deepEqual(request.messages, [
    { role: "developer", content: [{ type: "text", text: "App", ...mark }, { type: "text", text: "\n\nSum", ...mark }] },
    { role: "user", content: [{ type: "text", text: "a", ...mark }] },
    { role: "assistant", content: [{ type: "text", text: "b", ...mark }] },
    { role: "user", content: "c" },
  ]);
  assert.deepEqual(messages, before);
  assert.deepEqual(openAiRequest({ ...built, system: "" }, { model: "m" }).messages, before);
  const plain = openAiRequest(built, { model: "m" });
  assert.deepEqual(plain, { model: "m", messages: [{ role: "system", content: "App\n\nSum" }, ...before] });
  const short = openAiRequest({ ...built, cacheBreakpoints: [] }, { model: "m", cacheBreakpoints: true });
  assert.deepEqual(short, plain, "nothing to mark, nothing is asked for");
});

test("a whole turn: context out, answer in, in a memory whose model is the same server", async () => {
  const server = await serve({ events: completion(["On ", "8471."]) });
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const chat = await memory.conversations.create();
  await memory.append(chat.id, [{ role: "user", content: "We use port 8471." }, { role: "assistant", content: "Noted." }, { role: "user", content: "Which port?" }]);
  const built = await memory.buildContext({ conversationId: chat.id, system: "Be terse." });
  const answer = openAiChat({ baseUrl: `${server.url}/v1`, model: "m" }).send(built);
  const stream = await memory.stream(chat.id, { role: "assistant", content: "" });
  await stream.from(answer);
  assert.deepEqual((await memory.history(chat.id)).at(-1), (await answer.finished).message);
  assert.equal(server.requests[0].body.messages.at(-1).content, "Which port?");
  await memory.close();
});

test("a memory whose model and embedder are behind the address: a busy server is waited for, a wrong key is told", async () => {
  const summary = { goal: ["Ship the importer"], confirmed: ["The importer listens on 8471"], decisions: [], constraints: [], failed: [], open: [], next: [], identifiers: ["8471"] };
  const refused = new Set();
  let key = "";
  const server = await serve(({ path, headers, body }) => {
    key = headers.authorization;
    if (key !== `Bearer ${KEY}`) return { status: 401, json: { error: { code: "invalid_api_key", message: WORDS } } };
    // Everything is refused once, whatever else is asked meanwhile.
    const request = `${path} ${JSON.stringify(body)}`;
    if (!refused.has(request)) return (refused.add(request), { status: 429, headers: { "retry-after-ms": "1" }, json: {} });
    if (path.endsWith("/embeddings")) return { json: { data: body.input.map((_, index) => ({ index, embedding: [1, index] })) } };
    return { events: completion([JSON.stringify(summary)]) };
  });
  let apiKey = KEY;
  const options = { baseUrl: `${server.url}/v1`, apiKey: () => apiKey, model: "m" };
  const memory = await createMemory({
    storage: memoryStorage(), tokenizer: "estimate", policy: { facts: { extract: false }, limits: { jobRetryMs: 3_600_000 } },
    languageModel: openAiLanguageModel({ ...options, contextWindow: 32_000 }), embedder: openAiEmbedder({ ...options, dimensions: 2 }),
  });
  const chat = await memory.conversations.create();
  const turns = (from) => Array.from({ length: 60 }, (_, turn) => ({ role: turn % 2 ? "assistant" : "user", content: `Turn ${from + turn}: the importer listens on 8471. `.repeat(20) }));
  await memory.append(chat.id, turns(0));
  const { text } = await memory.compact(chat.id, { force: true });
  assert.match(text, /listens on 8471/);
  await memory.settled();
  assert.ok((await memory.stats()).vectors >= 60);
  apiKey = "wrong";
  await memory.append(chat.id, turns(60));
  await assert.rejects(memory.compact(chat.id, { force: true }), failsWith("model_failed"));
  assert.equal((await memory.summary(chat.id)).text, text);
  await memory.close();
});

/** The events of a Responses answer: its items, and what is said of the whole. */
function responseEvents(items, response = {}) {
  const said = (item) => (item.content ?? []).flatMap(({ text = "" }) => text.match(/\S+\s*/g) ?? []);
  return [
    { type: "response.created", response: { status: "in_progress" } },
    ...items.flatMap((item, index) => [
      { type: "response.output_item.added", output_index: index, item: { ...item, status: "in_progress" } },
      ...said(item).map((delta) => ({ type: "response.output_text.delta", output_index: index, delta })),
      { type: "response.output_item.done", output_index: index, item },
    ]),
    { type: "response.completed", response: { object: "response", status: "completed", model: "m-2", output: items, ...response } },
  ];
}
const said = (text) => ({ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text, annotations: [] }] });

async function responsesWith(script, options = {}) {
  const server = await serve(...script);
  return { server, chat: openAiResponses({ baseUrl: `${server.url}/v1`, apiKey: KEY, model: "m", maxRetries: 0, ...options }) };
}

test("Responses: items come as they are, nothing is stored elsewhere, and a later turn sends them again", async () => {
  const usage = { input_tokens: 30, output_tokens: 4, input_tokens_details: { cached_tokens: 20 } };
  const call = { type: "function_call", id: "fc_1", call_id: "c1", name: "look", arguments: "{}", status: "completed" };
  const sealed = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "c2VhbGVk" };
  const { server, chat } = await responsesWith([{ events: responseEvents([sealed, said("Two eggs"), call], { usage }) }], { sealedReasoning: true, body: { temperature: 0 } });
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const { id } = await memory.conversations.create();
  await memory.append(id, { role: "user", content: WORDS }, { format: "openai-responses" });
  const built = await memory.buildContext({ conversationId: id, system: "Be terse.", format: "openai-responses" });
  const answer = chat.send(built, { maxTokens: 50, tools: [{ type: "function", name: "look" }] });
  assert.deepEqual(await piecesOf(answer), ["Two ", "eggs"]);
  const finished = await answer.finished;
  assert.deepEqual(finished, {
    text: "Two eggs", items: [sealed, said("Two eggs"), call], finishReason: "tool_calls",
    usage: { provider: "openai", model: "m-2", inputTokens: 30, outputTokens: 4, cachedTokens: 20 },
  });
  const [{ path, body }] = server.requests;
  assert.equal(path, "/v1/responses");
  assert.deepEqual(body, {
    model: "m", instructions: "Be terse.", input: [{ role: "user", content: WORDS }], tools: [{ type: "function", name: "look" }],
    max_output_tokens: 50, store: false, include: ["reasoning.encrypted_content"], stream: true, temperature: 0,
  });
  await memory.append(id, finished.items, { format: "openai-responses" });
  await memory.append(id, { type: "function_call_output", call_id: "c1", output: "in the shed" }, { format: "openai-responses" });
  const next = await memory.buildContext({ conversationId: id, format: "openai-responses" });
  assert.deepEqual(next.messages.slice(1, 4), finished.items);
  await memory.close();
});

test("Responses: without its seal reasoning is left out; ends, failures and cuts are told apart", async () => {
  const reasoning = { type: "reasoning", id: "rs_1", summary: [] };
  const items = async (script, options) => (await responsesWith(script, options)).chat.send(question).finished;
  assert.deepEqual((await items([{ events: responseEvents([reasoning, said("Done")]) }])).items, [said("Done")]);
  const whole = { object: "response", status: "incomplete", incomplete_details: { reason: "max_output_tokens" }, output: [said("Half of")] };
  const { text, finishReason } = await items([{ json: whole }]);
  assert.deepEqual([text, finishReason], ["Half of", "length"]);
  const events = responseEvents([said("Two eggs")]);
  await assert.rejects(items([{ events: events.slice(0, -1) }]), failsWith("model_failed", { retryable: true, message: /before it was whole/ }));
  const failed = { type: "response.failed", response: { status: "failed", error: { code: "server_error", message: WORDS } } };
  await assert.rejects(items([{ events: [events[0], failed] }]), failsWith("model_failed", { details: { reason: "server_error" } }));
  await assert.rejects(items([{ events: [{ type: "error", code: "rate_limit_exceeded", message: `${KEY} ${WORDS}` }] }]), failsWith("model_failed", { details: { reason: "rate_limit_exceeded" } }));
  await assert.rejects(items([{ status: 400, json: { error: { code: "invalid_value", message: WORDS } } }]), failsWith("model_failed", { retryable: false }));
  assert.throws(() => openAiResponses({ model: "" }), failsWith("invalid_config"));
});
