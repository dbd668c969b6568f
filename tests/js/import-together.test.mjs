// Imports beside each other, beside an erasure, and beside a removal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";

const node = (id, parent, role, text, at) => ({ id, parent, children: [], message: { id, author: { role }, create_time: at, content: { content_type: "text", parts: [text] } } });

function chatgpt(chats, messages = 40) {
  return new Blob([JSON.stringify(Array.from({ length: chats }, (_, chat) => {
    const nodes = Array.from({ length: messages }, (_, index) =>
      node(`m${index}`, index === 0 ? null : `m${index - 1}`, index % 2 === 0 ? "user" : "assistant", `chat ${chat} says ${index}`, 1.7e9 + index));
    return { conversation_id: `c${chat}`, title: `Chat ${chat}`, create_time: 1.7e9, update_time: 1.7e9 + messages, current_node: `m${messages - 1}`, mapping: Object.fromEntries(nodes.map((each) => [each.id, each])) };
  }))]);
}

const open = (storage = memoryStorage()) => createMemory({ storage, tokenizer: "estimate" });

test("two imports of one file at once: one brings it in, the other finds it there", async () => {
  const storage = memoryStorage();
  const [a, b] = [await open(storage), await open(storage)];
  for (const [first, second] of [[a, a], [a, b]]) {
    const file = chatgpt(first === second ? 3 : 5);
    const reports = await Promise.all([first.import(file), second.import(file)]);
    const sum = (name) => reports.reduce((total, report) => total + report[name], 0);
    assert.equal(sum("imported") + sum("unchanged"), reports.length * (first === second ? 3 : 5));
  }
  assert.equal((await a.stats()).conversations, 5);
  await a.close();
  await b.close();
});

test("one import that is stopped takes nothing from another", async () => {
  const memory = await open();
  const stop = new AbortController();
  let appends = 0;
  memory.on("append", () => (appends += 1) === 9 && stop.abort());
  const stopped = memory.import(chatgpt(4, 200), { signal: stop.signal });
  const whole = memory.import(chatgpt(4, 200));
  await assert.rejects(stopped, { code: "aborted" });
  await whole;
  assert.equal((await memory.stats()).messages, 800);
  await memory.close();
});

test("erasing the user stops what is being imported: nothing comes back", async () => {
  const memory = await open();
  const running = memory.import(chatgpt(20, 60));
  const outcome = running.then(() => "done", (error) => error.code);
  await new Promise((resolve) => memory.on("append", resolve));
  await memory.erase({ user: true });
  assert.equal(await outcome, "aborted");
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal((await memory.stats()).conversations, 0);
  await memory.close();
});

test("a removed message does not come back with the next export, and what followed it stays where it was", async () => {
  const memory = await open();
  const { conversations: [id] } = await memory.import(chatgpt(1, 4));
  await memory.remove(id, "m1");
  const { updated, skipped } = await memory.import(chatgpt(1, 6));
  assert.equal(updated, 1);
  assert.deepEqual(skipped.map(({ reason }) => reason), ["erased"]);
  assert.match(skipped[0].message, /removed 1 message.*bringBack/);
  const told = (await memory.history(id)).map(({ content }) => content);
  assert.deepEqual(told, [0, 2, 3, 4, 5].map((index) => `chat 0 says ${index}`));
  assert.ok(!(await memory.history(id, { all: true })).some(({ content }) => content.endsWith("says 1")));
  // The same file once more, on the user's word: it comes as a branch of its own.
  await memory.import(chatgpt(1, 6), { bringBack: true });
  assert.deepEqual((await memory.history(id)).map(({ content }) => content), told);
  assert.ok((await memory.history(id, { all: true })).some(({ content }) => content.endsWith("says 1")));
  await memory.close();
});

test("an erased conversation does not come back with the next export, unless the user says so", async () => {
  const memory = await open();
  const { conversations: [id, other] } = await memory.import(chatgpt(2, 4));
  await memory.conversations.delete(id);
  const { imported, unchanged, skipped } = await memory.import(chatgpt(2, 4));
  assert.deepEqual([imported, unchanged], [0, 1]);
  assert.deepEqual(skipped.map(({ reason }) => reason), ["erased"]);
  assert.deepEqual((await memory.conversations.list()).items.map((item) => item.id), [other]);
  assert.equal((await memory.import(chatgpt(2, 4), { bringBack: true })).imported, 1);
  assert.equal((await memory.history(id)).length, 4);
  // Erasing everything erases that as well.
  await memory.erase({ user: true });
  assert.equal((await memory.import(chatgpt(2, 4))).imported, 2);
  await assert.rejects(memory.import(chatgpt(1, 1), { bringBack: 1 }), { code: "invalid_argument" });
  await memory.close();
});

test("imported messages are sent as a provider takes them", async () => {
  const memory = await open();
  const { conversations: [id] } = await memory.import(chatgpt(1, 4));
  const { messages } = await memory.buildContext({ conversationId: id, question: "And then?", profile: "mistral" });
  for (const message of messages) assert.deepEqual(Object.keys(message).sort(), ["content", "role"]);
  await memory.close();
});

test("an import ends where everything is erased in another tab, and leaves nothing", async () => {
  const storage = memoryStorage();
  const [a, b] = [await open(storage), await open(storage)];
  const begun = new Promise((resolve) => b.on("append", resolve));
  const importing = b.import(chatgpt(8, 200));
  const refused = assert.rejects(importing, { code: "aborted" });
  await begun;
  const { erased, remains } = await a.erase({ user: true });
  assert.ok(erased.messages > 0);
  assert.deepEqual(remains.map(({ place }) => place), ["page_memory"], "nothing is on disk");
  await refused;
  assert.equal((await a.stats()).conversations, 0);
  await a.close();
  await b.close();
});
