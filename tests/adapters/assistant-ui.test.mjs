// assistant-ui's own local runtime in Chromium over a memory, and its thread list adapter.
/* global memory, runtime, texts */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createAssistantStream } from "assistant-stream";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { threadHistory, threadList } from "throughline/assistant-ui";
import { eventually } from "../e2e/browser.mjs";
import { assertQuiet, openSite } from "./site.mjs";

let site;
before(async () => (site = await openSite({ entry: "assistant-ui-page.mjs" })));
after(() => site?.close());

const shows = (page, ...expected) => page.waitForFunction((expected) => JSON.stringify(texts()) === expected, JSON.stringify(expected));

test("a thread is stored as it is said, with its branches, and is there again when it is opened", async () => {
  const page = await site.openPage();
  await page.evaluate(() => globalThis.show("thread"));
  await page.waitForFunction(() => globalThis.runtime !== undefined);
  await page.evaluate(() => runtime.thread.append("Hello"));
  await shows(page, "user: Hello", "assistant: Heard: Hello");
  // Said in another way: a branch.
  await page.evaluate(() => runtime.thread.getMessageByIndex(0).composer.beginEdit());
  await page.evaluate(() => {
    const { composer } = runtime.thread.getMessageByIndex(0);
    composer.setText("Good day");
    return composer.send();
  });
  await shows(page, "user: Good day", "assistant: Heard: Good day");
  await eventually(page, async () => (await memory.history("thread", { all: true })).length === 4);
  const found = await page.evaluate(() => memory.recall("good day", { topK: 1, before: 0, after: 0 }));
  assert.equal(found[0].conversationId, "thread");
  // Another mount, as after a reload: the shown branch and the other one.
  await page.evaluate(() => globalThis.show("other"));
  await page.waitForFunction(() => globalThis.runtime !== undefined && texts().length === 0);
  await page.evaluate(() => globalThis.show("thread"));
  await shows(page, "user: Good day", "assistant: Heard: Good day");
  const { branchCount } = await page.evaluate(() => runtime.thread.getMessageByIndex(0).getState());
  assert.equal(branchCount, 2);
  const { sections } = await page.evaluate(async () => (await memory.buildContext({ conversationId: "thread", question: "What did I say?" })).receipt);
  assert.ok(sections.find(({ name }) => name === "recent").items.length >= 2);
  assertQuiet(page);
  await page.close();
});

const open = () => createMemory({ storage: memoryStorage(), tokenizer: "estimate" });

test("messages come back as they were, tool calls, attachments and dates included", async () => {
  const memory = await open();
  const history = threadHistory(memory, { conversationId: "c" });
  assert.deepEqual(await history.load(), { messages: [] });
  const user = {
    id: "u1", role: "user", createdAt: new Date(5), content: [{ type: "text", text: "Weather?" }],
    attachments: [{ id: "a1", type: "file", name: "a.txt", contentType: "text/plain", status: { type: "complete" }, content: [{ type: "text", text: "inside" }] }], metadata: { custom: { mood: "fine" } },
  };
  const assistant = {
    id: "a1", role: "assistant", createdAt: new Date(6), status: { type: "complete", reason: "stop" },
    content: [{ type: "reasoning", text: "hm" }, { type: "tool-call", toolCallId: "t1", toolName: "weather", args: { city: "Riga" }, argsText: "{\"city\":\"Riga\"}", result: "sunny" }, { type: "text", text: "Sunny." }],
    metadata: { unstable_state: null, unstable_annotations: [], unstable_data: [], steps: [], custom: {} },
  };
  await history.append({ message: user, parentId: null });
  await history.append({ message: assistant, parentId: "u1" });
  await history.append({ message: assistant, parentId: "u1" });
  assert.deepEqual(await history.load(), { headId: "a1", messages: [{ message: user, parentId: null }, { message: assistant, parentId: "u1" }] });
  const { messages } = await memory.buildContext({ conversationId: "c", question: "And now?", format: "openai" });
  assert.ok(JSON.stringify(messages).includes("sunny") && JSON.stringify(messages).includes("Riga"));
  await memory.append("c", { role: "assistant", content: "By another app" });
  const { messages: [, , foreign], headId } = await history.load();
  assert.deepEqual([foreign.message.role, foreign.message.content, foreign.message.id === headId], ["assistant", [{ type: "text", text: "By another app" }], true]);
  await history.delete([{ message: assistant, parentId: "u1" }, { message: assistant, parentId: "u1" }]);
  assert.deepEqual((await history.load()).messages.map(({ message }) => message.id).includes("a1"), false);
  await assert.rejects(history.append({ message: { ...user, id: "u2" }, parentId: "none" }), (error) => isMemoryError(error, "not_found"));
  await memory.close();
});

test("a runtime with its own format keeps it", async () => {
  const memory = await open();
  const format = {
    format: "ai-sdk/v5", getId: ({ id }) => id, encode: ({ message: { role, parts, metadata } }) => ({ role, parts, metadata }),
    decode: ({ id, parent_id: parentId, content }) => ({ parentId, message: { ...content, id } }),
  };
  const history = threadHistory(memory, { conversationId: () => "c" }).withFormat(format);
  const message = { id: "m1", role: "user", parts: [{ type: "text", text: "Hello" }], metadata: { at: 1 } };
  await history.append({ message, parentId: null });
  await history.append({ message: { id: "m2", role: "assistant", parts: [{ type: "text", text: "Hi" }] }, parentId: "m1" });
  const { headId, messages } = await history.load();
  assert.deepEqual([headId, messages[0], messages[1].parentId], ["m2", { message, parentId: null }, "m1"]);
  await history.delete([{ message: { id: "m2" }, parentId: "m1" }]);
  assert.equal((await history.load()).messages.length, 1);
  const nowhere = threadHistory(memory, { conversationId: () => undefined });
  assert.deepEqual(await nowhere.load(), { messages: [] });
  await memory.close();
});

test("the list shows every thread, newest first, page by page", async () => {
  let now = 0;
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", clock: () => (now += 1_000) });
  const list = threadList(memory, { pageSize: 2, titleStream: (title) => createAssistantStream((controller) => controller.appendText(title)) });
  for (const id of ["a", "b", "c"]) assert.deepEqual(await list.initialize(id), { remoteId: id, externalId: undefined });
  await list.initialize("a");
  await memory.append("a", { role: "user", content: "About the importer" });
  const { threads, nextCursor } = await list.list();
  assert.deepEqual([threads.length, threads[0].remoteId, threads[0].title], [2, "a", "About the importer"]);
  const last = await list.list({ after: nextCursor });
  assert.deepEqual([last.threads.length, Object.keys(last)], [1, ["threads"]], "the last page has no cursor");
  await list.rename("b", "Renamed");
  assert.equal((await list.fetch("b")).title, "Renamed");
  const chunks = [];
  for await (const chunk of await list.generateTitle("a")) chunks.push(chunk);
  assert.match(JSON.stringify(chunks), /About the importer/);
  await list.delete("c");
  await assert.rejects(list.fetch("c"), (error) => isMemoryError(error, "not_found"));
  await assert.rejects(list.archive("a"), (error) => isMemoryError(error, "invalid_argument"));
  await memory.close();
});
