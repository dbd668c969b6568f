// The recipes of docs/models.md, each run as it stands there, with what it reaches for answered from here.
import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { after, before, test } from "node:test";
import * as ai from "ai-7";
import { chatOf, MAJORS, modelOf } from "./ai-sdk-majors.mjs";
import { completion } from "./provider-server.mjs";

const recipes = [...readFileSync(new URL("../../docs/models.md", import.meta.url), "utf8").matchAll(/^## (.+?)$|```js\n(.*?)```/gms)]
  .reduce((list, [, title, code]) => (title === undefined ? [...list, { title: list.at(-1)?.next ?? list.at(-1)?.title, code }] : [...list, { next: title }]), [])
  .filter(({ code }) => code !== undefined);
const folder = new URL("node_modules/.recipes/", import.meta.url);
const shown = [];
const original = { fetch: globalThis.fetch, log: console.log };

/** What the addresses answer: the end of the path says which. */
const ANSWERS = [
  [/\/chat\/completions$/, () => sse(completion(["It is ", "8471."]))],
  [/\/embeddings$/, ({ input }) => Response.json({ data: input.map((_, index) => ({ index, embedding: new Array(384).fill(0.1) })) })],
  [/\/responses$/, () => sse([{ type: "response.output_text.delta", delta: "It is 8471." }, { type: "response.completed", response: { status: "completed", output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "It is 8471." }] }] } }])],
  [/\/messages$/, () => sse([{ type: "message_start", message: {} }, { type: "content_block_start", index: 0, content_block: { type: "text", text: "It is 8471." } }, { type: "content_block_stop", index: 0 }, { type: "message_delta", delta: { stop_reason: "end_turn" } }, { type: "message_stop" }])],
  [/:streamGenerateContent\?alt=sse$/, () => sse([{ candidates: [{ content: { parts: [{ text: "It is 8471." }] }, finishReason: "STOP" }] }])],
  [/:batchEmbedContents$/, ({ requests }) => Response.json({ embeddings: requests.map(() => ({ values: new Array(768).fill(0.1) })) })],
];
const sse = (events) => new Response(events.map((event) => `data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`).join(""), { headers: { "content-type": "text/event-stream" } });

const STUBS = {
  "@huggingface/transformers": "export const pipeline = async () => async (texts) => ({ data: new Float32Array(texts.length * 384).fill(0.1), dims: [texts.length, 384] });",
  "@mlc-ai/web-llm": "export const CreateMLCEngine = async () => globalThis.recipeEngine;",
};

before(() => {
  mkdirSync(folder, { recursive: true });
  for (const [name, code] of Object.entries(STUBS)) writeFileSync(new URL(`${name.replace(/\W+/g, "-")}.mjs`, folder), code);
  console.log = (...words) => void shown.push(words.join(" "));
  globalThis.fetch = async (url, { body }) => ANSWERS.find(([pattern]) => pattern.test(String(url)))[1](JSON.parse(body));
  const settings = { key: "a key" };
  const { model } = modelOf(MAJORS[2], "It is 8471.");
  const LanguageModel = {
    availability: async () => "available",
    create: async () => ({ contextWindow: 6_000, destroy() {}, prompt: async () => "{}", promptStreaming: () => new ReadableStream({ start: (controller) => (controller.enqueue("It is 8471."), controller.close()) }) }),
  };
  const create = async () => completion(["It is 8471."]).slice(0, -1);
  Object.assign(globalThis, { settings, model, LanguageModel, useChat: (options) => chatOf({ ai }, options), recipeEngine: { chat: { completions: { create } }, interruptGenerate() {} } });
});

after(() => {
  console.log = original.log;
  globalThis.fetch = original.fetch;
  rmSync(folder, { recursive: true, force: true });
});

const EXPECTED = [["It is ", "8471."], ["It is 8471."], ["It is 8471."], ["It is 8471."], ["2"], ["4"], ["1"], ["It is 8471."], ["It is 8471."], ["2"]];

test("there is a recipe for each thing that is promised", () => {
  assert.deepEqual(recipes.map(({ title }) => title), ["OpenAI, and servers that speak its protocol", "OpenAI's Responses", "Anthropic", "Gemini", "AI SDK", "AI SDK", "transformers.js", "Chrome's built-in model", "WebLLM", "Tests of your own"]);
});

for (const [index, { title, code }] of recipes.entries()) {
  test(`recipe ${index + 1}, ${title}, runs and shows what it should`, async () => {
    shown.length = 0;
    const file = new URL(`recipe-${index}.mjs`, folder);
    const local = (name) => (name in STUBS ? `./${name.replace(/\W+/g, "-")}.mjs` : name === "ai" ? "ai-7" : name);
    writeFileSync(file, code.replace(/(?<=from ")([^"]+)(?=";)/g, local));
    await import(file.href);
    assert.deepEqual(shown, EXPECTED[index]);
    assert.ok(code.trim().split("\n").length <= 15, "a recipe is short");
  });
}
