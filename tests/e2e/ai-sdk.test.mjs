// A chat of the AI SDK without a server, in a page: the library itself, bundled as an app bundles it, over IndexedDB.
import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { build } from "esbuild";
import { openSite, ready } from "./pages.mjs";

const SCRIPT = `
  import { AbstractChat, convertToModelMessages, readUIMessageStream, streamText } from "ai-7";
  import { memoryChatTransport } from "throughline/ai-sdk";

  /** A model that says what it is told to; "..." never comes. */
  const modelOf = (text) => ({
    specificationVersion: "v4", provider: "page", modelId: "m", supportedUrls: {},
    async doStream({ prompt, abortSignal }) {
      globalThis.prompt = prompt;
      const words = [{ type: "text-start", id: "0" }, ...text.split(/(?<= )/).map((delta) => ({ type: "text-delta", id: "0", delta })), { type: "text-end", id: "0" }];
      const end = { type: "finish", finishReason: { unified: "stop" }, usage: { inputTokens: {}, outputTokens: {} } };
      const parts = [{ type: "stream-start", warnings: [] }, ...words, end];
      return { stream: new ReadableStream({ async pull(controller) {
        const part = parts.shift();
        if (part?.delta === "...") await new Promise((resolve) => abortSignal.addEventListener("abort", resolve));
        if (part === undefined) controller.close();
        else controller.enqueue(part);
      } }) };
    },
  });

  globalThis.openChat = async (text, messages = []) => {
    globalThis.memory ??= await throughline.createMemory({ userId: "ai-sdk", tokenizer: "estimate" });
    const transport = memoryChatTransport({
      memory, readUIMessageStream, system: "Be terse.",
      answer: async ({ system, messages, abortSignal }) =>
        streamText({ model: modelOf(text), instructions: system, messages: await convertToModelMessages(messages), abortSignal }).toUIMessageStream(),
    });
    const state = {
      status: "ready", error: undefined, messages,
      pushMessage: (message) => void state.messages.push(message),
      popMessage: () => void state.messages.pop(),
      replaceMessage: (index, message) => void (state.messages[index] = structuredClone(message)),
      snapshot: (value) => structuredClone(value),
    };
    return (globalThis.chat = new (class extends AbstractChat {})({ id: "chat-1", transport, state }));
  };
`;

let site;
let page;

before(async () => {
  const resolveDir = fileURLToPath(new URL("../adapters", import.meta.url));
  const { outputFiles } = await build({ stdin: { contents: SCRIPT, resolveDir }, bundle: true, format: "iife", platform: "browser", target: "es2022", write: false, logLevel: "silent" });
  site = await openSite({ script: outputFiles[0].text });
  page = await site.openPage();
});

after(() => site?.close());

const say = (text, answer) =>
  page.evaluate(async ([text, answer]) => {
    const messages = await globalThis.throughline.createMemory({ userId: "ai-sdk", tokenizer: "estimate" }).then(async (memory) => {
      globalThis.memory = memory;
      return memory.history("chat-1").catch(() => []);
    });
    const chat = await globalThis.openChat(answer, messages);
    await chat.sendMessage({ text });
    const history = await globalThis.memory.history("chat-1", { withStatus: true });
    await globalThis.memory.close();
    return { messages: JSON.parse(JSON.stringify(chat.messages)), history, prompt: globalThis.prompt, error: chat.error?.message };
  }, [text, answer]);

test("both sides of a chat are in the page's database, as the client has them", async () => {
  await say("We use port 8471.", "Noted.");
  const { messages, history, prompt, error } = await say("Which port?", "It is 8471.");
  assert.equal(error, undefined);
  assert.deepEqual(history.map(({ message }) => message), messages);
  assert.deepEqual(prompt.map(({ role }) => role), ["system", "user", "assistant", "user"]);
});

test("an answer that a reload cut off is kept as far as it had arrived, and the chat goes on", async () => {
  await page.evaluate(async () => {
    globalThis.memory = await globalThis.throughline.createMemory({ userId: "ai-sdk", tokenizer: "estimate" });
    const chat = await globalThis.openChat("Half of ...", await globalThis.memory.history("chat-1"));
    void chat.sendMessage({ text: "And then?" });
    const saved = async () => (await globalThis.memory.history("chat-1")).at(-1).parts.some(({ text }) => text === "Half of ");
    while (!(await saved())) await new Promise((resolve) => setTimeout(resolve, 20));
  });
  await page.reload();
  await ready(page);
  const { messages, history, error } = await say("Go on.", "Whole.");
  assert.equal(error, undefined);
  assert.deepEqual(history.map(({ message }) => message), messages);
  const texts = history.map(({ message }) => message.parts.map(({ text }) => text ?? "").join(""));
  assert.deepEqual(texts.slice(-4), ["And then?", "Half of ", "Go on.", "Whole."]);
  assert.equal(history.at(-1).status, "complete");
});
