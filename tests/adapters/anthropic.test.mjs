// Requests to Anthropic's Messages API and its answers, against a server on this machine.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { anthropicChat, anthropicLanguageModel, anthropicRequest } from "throughline/anthropic";
import { KEY, WORDS, context, failsWith, generateRequest, piecesOf } from "./checks.mjs";
import { startServer } from "./provider-server.mjs";

const servers = [];
after(() => Promise.all(servers.map((server) => server.stop())));

async function serve(...script) {
  const server = await startServer(...script);
  servers.push(server);
  return server;
}

const MARK = { type: "ephemeral" };
const question = context([{ role: "user", content: WORDS }]);
const start = (usage = { input_tokens: 10, cache_read_input_tokens: 100, cache_creation_input_tokens: 20, output_tokens: 1 }) => ({ type: "message_start", message: { model: "claude-x", role: "assistant", content: [], usage } });
const block = (index, content, ...deltas) => [{ type: "content_block_start", index, content_block: content }, ...deltas.map((delta) => ({ type: "content_block_delta", index, delta })), { type: "content_block_stop", index }];
const end = (reason, tokens = 7) => [{ type: "message_delta", delta: { stop_reason: reason }, usage: { output_tokens: tokens } }, { type: "message_stop" }];
const say = (text) => block(0, { type: "text", text: "" }, { type: "text_delta", text });

test("an answer with thinking, text and calls is put together as it must be sent back", async () => {
  const events = [
    start(),
    { type: "ping" },
    ...block(0, { type: "thinking", thinking: "", signature: "" }, { type: "thinking_delta", thinking: "Let " }, { type: "thinking_delta", thinking: "me" }, { type: "signature_delta", signature: "sig" }),
    ...block(1, { type: "text", text: "" }, { type: "text_delta", text: "Two " }, { type: "text_delta", text: "eggs" }, { type: "citations_delta", citation: { type: "char_location" } }),
    ...block(2, { type: "text", text: "" }),
    ...block(3, { type: "tool_use", id: "t1", name: "look", input: {} }, { type: "input_json_delta", partial_json: "" }, { type: "input_json_delta", partial_json: '{"q":' }, { type: "input_json_delta", partial_json: '"x"}' }),
    ...block(4, { type: "tool_use", id: "t2", name: "now", input: {} }),
    ...end("tool_use"),
  ];
  const server = await serve({ events });
  const chat = anthropicChat({ baseUrl: `${server.url}/v1`, apiKey: KEY, model: "claude", allowBrowser: true, body: { temperature: 0 } });
  const answer = chat.send(question, { maxTokens: 99 });
  assert.deepEqual(await piecesOf(answer), ["Two ", "eggs"]);
  assert.deepEqual(await answer.finished, {
    text: "Two eggs",
    message: {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "Let me", signature: "sig" },
        { type: "text", text: "Two eggs", citations: [{ type: "char_location" }] },
        { type: "tool_use", id: "t1", name: "look", input: { q: "x" } },
        { type: "tool_use", id: "t2", name: "now", input: {} },
      ],
    },
    finishReason: "tool_calls",
    usage: { provider: "anthropic", model: "claude-x", inputTokens: 130, outputTokens: 7, cachedTokens: 100, cacheWriteTokens: 20 },
  });
  const [{ path, headers, body }] = server.requests;
  assert.equal(path, "/v1/messages");
  assert.equal(headers["x-api-key"], KEY);
  assert.equal(headers["anthropic-version"], "2023-06-01");
  assert.equal(headers["anthropic-dangerous-direct-browser-access"], "true");
  assert.deepEqual(body, { model: "claude", max_tokens: 99, system: [{ type: "text", text: "Be terse." }], messages: [{ role: "user", content: WORDS }], stream: true, temperature: 0 });
});

test("breakpoints are marks: in the system text, on the last block that takes one, four at most, nothing changed in place", () => {
  const thinking = { type: "thinking", thinking: "t", signature: "s" };
  const messages = [
    { role: "user", content: "one" },
    { role: "assistant", content: [{ type: "text", text: "two" }, thinking] },
    { role: "user", content: "three" },
  ];
  const before = structuredClone(messages);
  const breakpoints = [{ after: "memory", systemLength: 3 }, { after: "system", systemLength: 8 }, { after: "earlier", messageIndex: 0 }, { after: "history", messageIndex: 1 }];
  const built = context(messages, "App\n\nSum", breakpoints);
  const request = anthropicRequest(built, { model: "m" });
  assert.deepEqual(request.system, [{ type: "text", text: "App", cache_control: MARK }, { type: "text", text: "\n\nSum", cache_control: MARK }]);
  assert.deepEqual(request.messages, [
    { role: "user", content: [{ type: "text", text: "one", cache_control: MARK }] },
    { role: "assistant", content: [{ type: "text", text: "two", cache_control: MARK }, thinking] },
    messages[2],
  ]);
  assert.deepEqual(messages, before);
  const tools = [{ name: "t", input_schema: {}, cache_control: MARK }];
  const counted = anthropicRequest(built, { model: "m", tools, cache: "1h" });
  assert.equal(JSON.stringify(counted).split('"cache_control"').length - 1, 4);
  assert.deepEqual(counted.system[0].cache_control, { type: "ephemeral", ttl: "1h" });
  assert.deepEqual(counted.messages[1], messages[1], "the last one found no room");
  assert.ok(!JSON.stringify(anthropicRequest(built, { model: "m", cache: false })).includes("cache_control"));
  assert.deepEqual(anthropicRequest(context(messages, ""), { model: "m" }).system, undefined);
  // Where a context only says "system", that is its end.
  assert.deepEqual(anthropicRequest(context(messages, "App", [{ after: "system" }]), { model: "m" }).system, [{ type: "text", text: "App", cache_control: MARK }]);
  const blank = context([{ role: "user", content: " " }, { role: "assistant", content: [thinking] }], "", [{ after: "earlier", messageIndex: 0 }, { after: "history", messageIndex: 1 }]);
  assert.deepEqual(anthropicRequest(blank, { model: "m" }).messages, blank.messages);
});

test("overload is tried again, in the middle of an answer it is told; a cut answer is none", async () => {
  const overloaded = { type: "error", error: { type: "overloaded_error", message: WORDS } };
  const server = await serve({ status: 529, headers: { "retry-after-ms": "1" }, json: overloaded }, { events: [start(), ...say("up"), ...end("end_turn")] }, { events: [start(), ...say("half"), overloaded] }, { events: [start(), ...say("half")] });
  const chat = anthropicChat({ baseUrl: server.url, apiKey: KEY, model: "claude" });
  const { text, finishReason } = await chat.send(question).finished;
  assert.deepEqual([text, finishReason], ["up", "stop"]);
  await assert.rejects(chat.send(question).finished, failsWith("model_failed", { retryable: true, details: { reason: "overloaded_error" } }));
  await assert.rejects(chat.send(question).finished, failsWith("model_failed", { retryable: true, message: /ended before/ }));
  const refused = await serve({ status: 400, json: { type: "error", error: { type: "invalid_request_error", message: WORDS } } });
  await assert.rejects(anthropicChat({ baseUrl: refused.url, apiKey: KEY, model: "c" }).send(question).finished, failsWith("model_failed", { retryable: false }));
});

test("as a language model it answers by a tool that has the schema; a whole answer at once is read too", async () => {
  const whole = { type: "message", model: "claude", content: [{ type: "text", text: "plain" }], stop_reason: "end_turn", usage: { input_tokens: 1, output_tokens: 2 } };
  const call = (reason, json) => ({ events: [start(), ...block(0, { type: "tool_use", id: "t", name: "answer", input: {} }, { type: "input_json_delta", partial_json: json }), ...end(reason)] });
  const server = await serve(call("tool_use", '{"facts":[]}'), { json: whole }, call("max_tokens", '{"fac'), { events: [start(), ...end("refusal")] });
  const model = anthropicLanguageModel({ baseUrl: server.url, apiKey: KEY, model: "claude", contextWindow: 8_000 });
  const request = generateRequest();
  assert.equal(await model.generate(request), '{"facts":[]}');
  const { body } = server.requests[0];
  assert.deepEqual(body.tools, [{ name: "answer", description: "Takes the answer.", input_schema: request.schema }]);
  assert.deepEqual(body.tool_choice, { type: "tool", name: "answer" });
  assert.equal(body.max_tokens, 200);
  assert.equal(await model.generate(generateRequest({ schema: undefined })), "plain");
  assert.equal(server.requests[1].body.tools, undefined);
  await assert.rejects(model.generate(request), failsWith("model_output_invalid"));
  await assert.rejects(model.generate(request), failsWith("model_failed", { retryable: false }));
});

test("a built context of Anthropic's format is sent as it is, and the answer goes back into the memory", async () => {
  const server = await serve({ events: [start(), ...say("8471."), ...end("end_turn")] });
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const chat = await memory.conversations.create();
  await memory.append(chat.id, [{ role: "user", content: "We use port 8471. ".repeat(900) }, { role: "assistant", content: [{ type: "text", text: "Noted." }] }, { role: "user", content: "Which port?" }]);
  const built = await memory.buildContext({ conversationId: chat.id, system: "Be terse. ".repeat(600), format: "anthropic", window: 30_000 });
  const { message } = await anthropicChat({ baseUrl: server.url, model: "claude" }).send(built).finished;
  await memory.append(chat.id, message);
  assert.deepEqual((await memory.history(chat.id)).at(-1), message);
  const { body } = server.requests[0];
  assert.deepEqual(body.system.at(-1).cache_control, MARK);
  assert.deepEqual(body.messages.at(-2).content, [{ type: "text", text: "Noted.", cache_control: MARK }]);
  await memory.close();
});
