// Servers that answer anything: whatever comes, an answer is whole or a typed failure, soon, and shows nothing of the request.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isMemoryError } from "throughline";
import { anthropicChat, anthropicLanguageModel } from "throughline/anthropic";
import { geminiChat, geminiEmbedder } from "throughline/gemini";
import { openAiChat, openAiEmbedder } from "throughline/openai";
import { random as randomOf } from "../js/random.mjs";
import { KEY, WORDS, context, generateRequest } from "./checks.mjs";
import { completion } from "./provider-server.mjs";

const NAMES = [
  "choices", "delta", "message", "content", "tool_calls", "index", "function", "arguments", "finish_reason", "usage", "error", "type", "text", "data", "embedding",
  "content_block", "partial_json", "citation", "citations", "thinking", "signature", "stop_reason", "candidates", "parts", "functionCall", "thought", "finishReason",
  "usageMetadata", "embeddings", "values", "__proto__", "constructor", "input_tokens",
];
const WORDS_OF_TYPES = ["message_start", "content_block_start", "content_block_delta", "content_block_stop", "message_delta", "message_stop", "message", "text_delta", "input_json_delta", "citations_delta", "text", "tool_use", "stop", "STOP", "[DONE]"];

/** A value of any shape, of the words that the protocols know. */
function anything(below, depth = 0) {
  const pick = (list) => list[below(list.length)];
  const kind = below(depth > 5 ? 6 : 10);
  if (kind === 0) return pick([null, true, -1, 0, 1, 2, 1e9, 1.5, 4_294_967_296]);
  if (kind < 4) return pick([...WORDS_OF_TYPES, "", "{", WORDS]);
  if (kind < 6) return pick(WORDS_OF_TYPES);
  if (kind < 7) return Array.from({ length: below(4) }, () => anything(below, depth + 1));
  return Object.fromEntries(Array.from({ length: below(6) }, () => [pick(NAMES), anything(below, depth + 1)]));
}

/** What each protocol answers when all is well. */
const GOOD = {
  openai: completion([{ reasoning_content: "hm" }, "It is ", { tool_calls: [{ index: 0, id: "a", function: { name: "f", arguments: "{}" } }] }, "so"], { usage: { prompt_tokens: 1, prompt_tokens_details: { cached_tokens: 1 } } }),
  anthropic: [
    { type: "message_start", message: { model: "c", usage: { input_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "so" } },
    { type: "content_block_delta", index: 0, delta: { type: "citations_delta", citation: {} } },
    { type: "content_block_stop", index: 0 },
    { type: "content_block_start", index: 1, content_block: { type: "tool_use", id: "t", name: "answer", input: {} } },
    { type: "content_block_delta", index: 1, delta: { type: "input_json_delta", partial_json: "{}" } },
    { type: "content_block_stop", index: 1 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
    { type: "message_stop" },
  ],
  gemini: [{ candidates: [{ content: { parts: [{ text: "It " }, { text: "is", thought: true }, { functionCall: { name: "f" } }] }, finishReason: "STOP" }], usageMetadata: { promptTokenCount: 1 } }],
  embeddings: [{ data: [{ index: 0, embedding: [1, 2] }], embeddings: [{ values: [1, 2] }] }],
};

/** A copy with something in it that is not as it should be. */
function spoiled(value, below) {
  if (below(8) === 0 || typeof value !== "object" || value === null) return anything(below);
  const copy = structuredClone(value);
  const keys = Object.keys(copy);
  const key = keys[below(keys.length)];
  if (key === undefined || below(8) === 0) delete copy[key];
  else copy[key] = spoiled(copy[key], below);
  return copy;
}

test("whatever a server answers, the answer is whole or a typed failure", async () => {
  const signal = new AbortController().signal;
  const counts = { whole: 0, failed: 0 };
  for (let seed = 1; seed <= 1_500; seed += 1) {
    const below = randomOf(seed);
    const protocol = ["openai", "anthropic", "gemini", "embeddings"][seed % 4];
    const events = GOOD[protocol].map((event) => (below(3) === 0 ? spoiled(event, below) : event));
    const isStream = protocol !== "embeddings" && below(6) > 0;
    const body = isStream ? events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join("") : JSON.stringify(events[0]);
    const fetch = async () => new Response(body, { status: below(12) === 0 ? 400 : 200, headers: { "content-type": isStream ? "text/event-stream" : "application/json" } });
    const options = { baseUrl: "http://localhost:9/v1", apiKey: KEY, model: "m", fetch, maxRetries: 0 };
    const question = context([{ role: "user", content: WORDS }]);
    const calls = {
      openai: () => [openAiChat(options).send(question).finished],
      anthropic: () => [anthropicChat(options).send(question).finished, anthropicLanguageModel({ ...options, contextWindow: 4_096 }).generate(generateRequest())],
      gemini: () => [geminiChat(options).send(question).finished],
      embeddings: () => [openAiEmbedder({ ...options, dimensions: 2 }).embed([WORDS], { signal }), geminiEmbedder({ ...options, dimensions: 2 }).embed([WORDS], { signal })],
    };
    for (const { status, value, reason } of await Promise.allSettled(calls[protocol]())) {
      counts[status === "fulfilled" ? "whole" : "failed"] += 1;
      if (status === "fulfilled") {
        if (value.message !== undefined) assert.deepEqual(JSON.parse(JSON.stringify(value.message)), value.message, `seed ${seed}: the message is plain`);
        continue;
      }
      assert.ok(isMemoryError(reason), `seed ${seed}: ${reason?.stack}`);
      assert.ok(!`${reason.message}${JSON.stringify(reason.details)}${reason.cause}`.includes("grandmother"), `seed ${seed}`);
    }
  }
  assert.ok(counts.whole > 200 && counts.failed > 200, JSON.stringify(counts));
  assert.equal({}.text, undefined);
});
