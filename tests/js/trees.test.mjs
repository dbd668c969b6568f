import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "throughline";

const texts = (messages) => messages.map(({ content }) => content);

async function openWithTwoTurns() {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const chat = await memory.conversations.create({ id: "chat" });
  await memory.append(chat.id, [
    { id: "a", role: "user", content: "Which colour has the kingfisher?" },
    { id: "b", role: "assistant", content: "Turquoise." },
    { id: "c", role: "user", content: "And the heron?" },
    { id: "d", role: "assistant", content: "Greyish." },
  ]);
  return memory;
}

const rejectsWith = (code) => (error) => isMemoryError(error, code);

test("edit, switch back, remove: only the active path is in the context, and the rest stays", async () => {
  const memory = await openWithTwoTurns();
  const edited = await memory.edit("chat", "c", { role: "user", content: "And the bittern?" });
  assert.deepEqual(edited, {
    id: "seq:5",
    seq: 5,
    durable: false,
    invalidated: { summary: false, messages: 2, facts: 0, vectors: 0 },
  });
  assert.deepEqual(texts(await memory.history("chat")).slice(2), ["And the bittern?"]);
  assert.equal((await memory.history("chat", { all: true })).length, 5);
  const context = await memory.buildContext({ conversationId: "chat", question: "So, which colours?" });
  const sent = JSON.stringify(context.messages);
  assert.ok(sent.includes("bittern") && !sent.includes("heron"));
  assert.deepEqual(await memory.recall("heron"), []);

  const tree = await memory.conversations.tree("chat");
  assert.deepEqual(tree[1].children, ["c", "seq:5"]);
  assert.deepEqual(tree.map(({ active }) => active), [true, true, false, false, true]);
  assert.deepEqual(Object.keys(tree[0]).sort(), ["active", "children", "createdAt", "id", "parentId", "role", "seq"]);

  const { invalidated } = await memory.setActiveLeaf("chat", "c", { descend: true });
  assert.equal(invalidated.messages, 1);
  assert.equal(texts(await memory.history("chat")).at(-1), "Greyish.");
  assert.equal((await memory.recall("heron")).length, 1);

  assert.equal((await memory.remove("chat", "b")).invalidated.messages, 1);
  assert.equal((await memory.remove("chat", "b")).invalidated.messages, 0);
  assert.deepEqual((await memory.erase({ conversationId: "chat", messageId: "d" })).erased, { messages: 1, message_ids: 1 });
  await memory.remove("chat", "a", { descendants: true });
  assert.deepEqual(await memory.history("chat", { all: true }), []);
  assert.equal((await memory.conversations.get("chat")).messageCount, 0);
  await memory.close();
});

test("a new answer is a sibling of the one before", async () => {
  const memory = await openWithTwoTurns();
  await memory.setActiveLeaf("chat", "c");
  await memory.append("chat", { id: "d2", role: "assistant", content: "Ashen." });
  assert.equal(texts(await memory.history("chat")).at(-1), "Ashen.");
  await memory.append("chat", { role: "user", content: "Elsewhere." }, { parentId: "a" });
  assert.deepEqual(texts(await memory.history("chat")).slice(1), ["Elsewhere."]);
  await memory.append("chat", { role: "user", content: "Anew." }, { parentId: null });
  assert.deepEqual(texts(await memory.history("chat")), ["Anew."]);
  await memory.close();
});

test("what is not there, and ids that are taken, are told; nothing changes", async () => {
  const memory = await openWithTwoTurns();
  const message = { role: "user", content: "lost" };
  await assert.rejects(memory.edit("chat", "nowhere", message), rejectsWith("not_found"));
  await assert.rejects(memory.edit("nowhere", "a", message), rejectsWith("not_found"));
  await assert.rejects(memory.edit("chat", "c", { ...message, id: "c" }), rejectsWith("conflict"));
  await assert.rejects(memory.edit("chat", "c", "text"), rejectsWith("invalid_argument"));
  await assert.rejects(memory.edit("chat", "", message), rejectsWith("invalid_argument"));
  await assert.rejects(memory.setActiveLeaf("chat", "nowhere"), rejectsWith("not_found"));
  await assert.rejects(memory.append("chat", message, { parentId: "nowhere" }), rejectsWith("not_found"));
  await assert.rejects(memory.remove("nowhere", "a"), rejectsWith("not_found"));
  await assert.rejects(memory.remove("chat", "a", { descendant: true }), rejectsWith("invalid_argument"));
  assert.equal((await memory.history("chat", { all: true })).length, 4);
  await memory.close();
});

test("writes that nobody waited for are carried out in the order of the calls", async () => {
  const memory = await openWithTwoTurns();
  await Promise.all([
    memory.setActiveLeaf("chat", "a"),
    memory.append("chat", { id: "b2", role: "assistant", content: "Blue." }),
    memory.edit("chat", "b2", { id: "b3", role: "assistant", content: "Bluish." }),
    memory.append("chat", { role: "user", content: "Thanks." }),
    memory.remove("chat", "b2"),
  ]);
  assert.deepEqual(texts(await memory.history("chat")), ["Which colour has the kingfisher?", "Bluish.", "Thanks."]);
  assert.equal((await memory.history("chat", { all: true })).length, 6);
  await memory.close();
});

test("a conversation that is imported keeps its times, its source and its hash", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const made = await memory.conversations.create({ createdAt: 1000, updatedAt: 2000, source: "other-app", importHash: "h1" });
  assert.deepEqual([made.createdAt, made.updatedAt, made.source, made.importHash], [1000, 2000, "other-app", "h1"]);
  const hashed = await memory.conversations.update(made.id, { importHash: "h2" });
  assert.deepEqual([hashed.updatedAt, hashed.importHash, hashed.source], [2000, "h2", "other-app"]);
  assert.ok((await memory.conversations.update(made.id, { title: "Named" })).updatedAt > 2000);
  const plain = await memory.conversations.create();
  assert.deepEqual([plain.source, plain.importHash], [null, null]);
  await assert.rejects(memory.conversations.create({ createdAt: Number.NaN }), rejectsWith("invalid_argument"));
  await memory.close();
});
