// Exchanging with another store, rule by rule.
/* global Request */

import assert from "node:assert/strict";
import { test } from "node:test";
import { isMemoryError } from "throughline";
import { syncHandler, syncMemory } from "throughline/sync";
import { scriptedModel } from "throughline/testing";
import { exchangeWith, normalForm, openStore, settle } from "./sync-support.mjs";

const said = async (memory, id, options) => (await memory.history(id, options)).map(({ content }) => content);
const user = (content, id) => ({ ...(id === undefined ? {} : { id }), role: "user", content });
const rejectsWith = (code) => (error) => isMemoryError(error, code);

async function three() {
  const [one, two, server] = [await openStore(), await openStore(), await openStore()];
  const exchange = exchangeWith(server);
  return { one, two, server, exchange, all: [one, two, server], devices: [one, two] };
}

test("what one device has, the other gets through the server; then there is nothing more to say", async () => {
  const { one, two, server, exchange } = await three();
  await one.conversations.create({ id: "c", title: "Birds" });
  await one.append("c", [user("Which colour has the kingfisher?", "a"), { role: "assistant", content: "Turquoise." }]);
  const told = [];
  const { sent } = await syncMemory(one, { exchange, onProgress: (progress) => told.push(progress.sent.messages) });
  assert.deepEqual([sent, told], [{ conversations: 1, messages: 2 }, [2]]);
  const { received } = await syncMemory(two, { exchange });
  assert.deepEqual(received, { conversations: 1, messages: 2 });
  assert.deepEqual(await normalForm(two), await normalForm(one));
  assert.deepEqual(await normalForm(server), await normalForm(one));
  assert.deepEqual((await two.recall("kingfisher")).map(({ messages }) => messages.length), [2]);
  // One short question each, and no piece.
  exchange.messages = 0;
  exchange.bytes = 0;
  for (const device of [one, two]) await syncMemory(device, { exchange });
  assert.ok(exchange.messages === 2 && exchange.bytes < 2_000, `${exchange.messages} messages, ${exchange.bytes} bytes`);
});

test("what was said apart stands side by side everywhere, and the path that was taken last is shown", async () => {
  const { one, two, exchange, all, devices } = await three();
  await one.conversations.create({ id: "c" });
  await one.append("c", user("Question", "q"));
  await settle(devices, { exchange });
  await one.append("c", [user("From one", "x")]);
  await new Promise((resolve) => setTimeout(resolve, 5));
  await two.append("c", [user("From two", "y")]);
  await settle(devices, { exchange });
  for (const memory of all) {
    assert.deepEqual(await said(memory, "c"), ["Question", "From two"]);
    assert.deepEqual((await said(memory, "c", { all: true })).sort(), ["From one", "From two", "Question"]);
  }
  await new Promise((resolve) => setTimeout(resolve, 5));
  await one.setActiveLeaf("c", "x");
  await settle(devices, { exchange });
  for (const memory of all) assert.deepEqual(await said(memory, "c"), ["Question", "From one"]);
});

test("conversations of one id that were made apart become one", async () => {
  const { one, two, exchange, all, devices } = await three();
  for (const [index, memory] of devices.entries()) {
    await memory.conversations.create({ id: "home", title: `Title ${index}` });
    await memory.append("home", user(`Hello ${index}`));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await settle(devices, { exchange });
  for (const memory of all) {
    assert.deepEqual((await said(memory, "home", { all: true })).sort(), ["Hello 0", "Hello 1"]);
    const { title, createdAt } = await memory.conversations.get("home");
    assert.deepEqual([title, createdAt], ["Title 1", (await one.conversations.get("home")).createdAt]);
  }
  // Erased under the time that one device alone knew, it goes everywhere.
  await two.conversations.delete("home");
  await settle(devices, { exchange });
  for (const memory of all) assert.deepEqual((await memory.conversations.list()).items, []);
});

test("messages with one id and other contents are two messages; a removal takes the one that was meant", async () => {
  const { one, two, exchange, all, devices } = await three();
  await one.conversations.create({ id: "c" });
  await settle(devices, { exchange });
  await one.append("c", user("Of one", "1"));
  await two.append("c", user("Of two", "1"));
  await settle(devices, { exchange });
  for (const memory of all) assert.deepEqual((await said(memory, "c", { all: true })).sort(), ["Of one", "Of two"]);
  await two.remove("c", "1");
  await settle(devices, { exchange });
  for (const memory of all) assert.deepEqual(await said(memory, "c", { all: true }), ["Of one"]);
});

test("a removed message and an erased conversation return from no device", async () => {
  const { one, two, exchange, all, devices } = await three();
  for (const id of ["c", "d"]) {
    await one.conversations.create({ id });
    await one.append(id, [user(`Keep ${id}`), user(`Secret of ${id}`), user(`Behind ${id}`)]);
  }
  await settle(devices, { exchange });
  await one.remove("c", "seq:2");
  await one.conversations.delete("d");
  // It does not know yet, and goes on.
  const [, removed] = await two.conversations.tree("c");
  await two.append("c", user("Answer"), { parentId: removed.id });
  await two.append("d", user("More of d"));
  await settle([two, one], { exchange });
  for (const memory of all) {
    assert.deepEqual((await said(memory, "c", { all: true })).sort(), ["Answer", "Behind c", "Keep c"]);
    assert.equal((await memory.conversations.list()).items.length, 1);
    assert.deepEqual(await memory.recall("Secret"), []);
  }
});

test("everything erased on one device is erased everywhere, and what is written then stays", async () => {
  const { one, two, exchange, all, devices } = await three();
  await one.conversations.create({ id: "c" });
  await one.append("c", user("Before"));
  await settle(devices, { exchange });
  await one.erase({ user: true });
  await one.conversations.create({ id: "d" });
  await one.append("d", user("After"));
  await settle([two, one], { exchange });
  for (const memory of all) {
    const { items } = await memory.conversations.list();
    assert.deepEqual(items.map(({ id }) => id), ["d"]);
    assert.deepEqual(await said(memory, "d"), ["After"]);
  }
  // A device that was never there before keeps what it has.
  const late = await openStore();
  await late.conversations.create({ id: "e" });
  await settle([late, one], { exchange });
  assert.deepEqual((await one.conversations.list()).items.map(({ id }) => id).sort(), ["d", "e"]);
});

test("what is local-only, a temporary chat and what is still arriving stay where they are", async () => {
  const { one, two, server, exchange, devices } = await three();
  await one.conversations.create({ id: "c" });
  await one.conversations.create({ id: "t", remember: false });
  await one.append("t", user("Temporary"));
  await one.append("c", user("Open", "o"));
  await one.append("c", user("Private", "p"), { localOnly: true });
  await one.append("c", user("Open again", "o2"));
  const stream = await one.stream("c", { role: "assistant", content: "Arri" });
  await settle(devices, { exchange });
  for (const memory of [two, server]) {
    assert.deepEqual((await memory.conversations.list()).items.map(({ id }) => id), ["c"]);
    assert.deepEqual(await said(memory, "c"), ["Open", "Open again"]);
  }
  stream.write("ving");
  await stream.complete();
  await settle(devices, { exchange });
  assert.deepEqual(await said(two, "c"), ["Open", "Open again", "Arriving"]);
  assert.deepEqual(await said(one, "c"), ["Open", "Private", "Open again", "Arriving"]);
  // From then on it is temporary: what is said goes nowhere, that it is so does.
  await one.conversations.update("c", { remember: false });
  await one.append("c", user("Not for others"));
  await settle(devices, { exchange });
  assert.equal((await two.conversations.get("c")).remember, false);
  assert.ok(!(await said(server, "c", { all: true })).includes("Not for others"));
});

test("facts: under one key the later stays in use and the other in its chain; what was forgotten, or shown by what was erased, returns from nowhere", async () => {
  const quote = "I live in Bremen";
  const learning = scriptedModel({
    extract: ({ messages }) => ({
      facts: messages.some(({ content }) => content.includes(quote)) ? [{ subject: "user", category: "identity", fact: quote, quote, seq: 1, confidence: 0.9, type: "statement" }] : [],
    }),
    judge: ({ messages }) => ({ operations: [{ candidate: /"(c\d+)"/.exec(messages[0].content)?.[1], operation: "ADD" }] }),
  });
  const one = await openStore({ languageModel: learning, policy: { facts: { batchMessages: 1 } } });
  const [two, server] = [await openStore(), await openStore()];
  const [devices, all, options] = [[one, two], [one, two, server], { exchange: exchangeWith(server) }];
  await one.facts.add({ fact: "Works with Rust", key: "stack", pinned: true });
  const later = () => new Promise((resolve) => setTimeout(resolve, 5));
  await later();
  await two.facts.add({ fact: "Works with Zig", key: "stack" });
  await two.facts.add({ fact: "Plays the cello" });
  await one.facts.add({ fact: "Plays the cello" });
  await one.facts.add({ fact: "Only here", localOnly: true });
  await settle(devices, options);
  for (const memory of all) {
    const facts = (await memory.facts.list()).filter(({ localOnly }) => !localOnly);
    assert.deepEqual(facts.map(({ fact }) => fact).sort(), ["Plays the cello", "Works with Zig"]);
    const [zig] = facts.filter(({ key }) => key === "stack");
    assert.equal((await memory.facts.get(zig.supersedes)).fact, "Works with Rust");
  }
  // Nothing more to say, though one side has a fact that the other may not have.
  options.exchange.messages = 0;
  await settle(devices, options);
  assert.equal(options.exchange.messages, 10);
  const idOf = async (memory, text) => (await memory.facts.list()).find(({ fact }) => fact === text)?.id;
  await two.facts.forget(await idOf(two, "Plays the cello"));
  await later();
  await one.facts.update(await idOf(one, "Works with Zig"), { fact: "Works with Rust and Zig" });
  await settle(devices, options);
  for (const memory of all) assert.deepEqual((await memory.facts.list()).filter(({ localOnly }) => !localOnly).map(({ fact }) => fact), ["Works with Rust and Zig"]);

  await one.conversations.create({ id: "c" });
  await one.append("c", [user(`${quote}.`, "said")]);
  await one.settled();
  await settle(devices, options);
  for (const memory of all) {
    const { source } = await memory.facts.get(await idOf(memory, quote));
    assert.deepEqual([source.conversationId, source.seq, source.quote], ["c", 1, quote]);
  }
  await two.remove("c", (await two.conversations.tree("c"))[0].id);
  await settle([one, two], options);
  for (const memory of all) assert.equal(await idOf(memory, quote), undefined);
});

test("a fact that was forgotten on one device is told by no episode of another", async () => {
  const lines = ({ messages }) => messages[0].content.split("\n").filter((line) => line.startsWith("> ") && !line.includes("and so on")).map((line) => line.slice(2));
  const parrot = scriptedModel({ episode: (request) => ({ goal: ["The talk"], confirmed: lines(request) }) });
  const summing = { languageModel: parrot, policy: { facts: { extract: false } } };
  const [one, two, server] = [await openStore(summing), await openStore(summing), await openStore()];
  const options = { exchange: exchangeWith(server) };
  await one.conversations.create({ id: "c" });
  await one.append("c", [user("I live in Bremen."), { role: "assistant", content: "Noted." }, user("I build boats."), { role: "assistant", content: `Well, ${"and so on ".repeat(40)}` }]);
  const { id } = await one.facts.add({ fact: "Lives in Bremen" });
  await settle([one, two], options);
  for (const memory of [one, two]) assert.match((await memory.episodes.end("c")).text, /Bremen.*boats/u);
  await one.facts.forget(id);
  await settle([one, two], options);
  for (const memory of [one, two]) {
    const told = (await memory.episodes.list()).map(({ text }) => text).join();
    assert.ok(told.includes("boats") && !told.includes("Bremen"), told);
  }
});

test("a conversation of many pieces, cut anywhere, comes over once and stays a line", async () => {
  const { one, two, server } = await three();
  await one.conversations.create({ id: "c" });
  const long = "x".repeat(1_000);
  for (let at = 0; at < 700; at += 350) await one.append("c", Array.from({ length: 350 }, (_, index) => user(`${at + index} ${long}`)));
  let carried = 0;
  const cut = exchangeWith(server, () => (++carried % 3 === 0 ? "unanswered" : "whole"));
  for (const device of [one, two]) {
    for (let tries = 0; ; tries += 1) {
      assert.ok(tries < 20);
      const outcome = await syncMemory(device, { exchange: cut }).then(() => null, (error) => error);
      if (outcome === null) break;
      assert.ok(rejectsWith("exchange_failed")(outcome) && outcome.retryable);
    }
  }
  assert.deepEqual(await said(two, "c"), await said(one, "c"));
  for (const memory of [two, server]) assert.equal((await memory.conversations.get("c")).hasBranches, false);
});

test("a device whose cursor is lost, and a server that was set up anew, cost time alone", async () => {
  const { one, two, server, exchange, devices } = await three();
  await one.conversations.create({ id: "c" });
  await one.append("c", [user("One"), user("Two")]);
  await settle(devices, { exchange });
  const before = await normalForm(one);
  await one.changes.save("server", { store: "?", generation: 0, ours: {}, theirs: {}, erasedOurs: 0, erasedTheirs: 0, factsOurs: "", factsTheirs: "" });
  await settle(devices, { exchange });
  assert.deepEqual(await normalForm(one), before);
  assert.deepEqual(await normalForm(server), before);
  const anew = await openStore();
  await settle(devices, { exchange: exchangeWith(anew) });
  for (const memory of [one, two, anew]) assert.deepEqual(await normalForm(memory), before);
});

test("aborts, refusals and nonsense are told by code, and change nothing", async () => {
  const { one, server, exchange } = await three();
  await assert.rejects(syncMemory(one, { exchange, signal: AbortSignal.abort() }), rejectsWith("aborted"));
  await assert.rejects(syncMemory(one, {}), rejectsWith("invalid_argument"));
  await assert.rejects(syncMemory(one, { exchange: async () => "<html>" }), rejectsWith("exchange_failed"));
  const controller = new AbortController();
  const hangs = (_, { signal }) => new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  const hanging = syncMemory(one, { exchange: hangs, signal: controller.signal });
  controller.abort();
  await assert.rejects(hanging, rejectsWith("aborted"));

  const handler = syncHandler({ memoryFor: (request) => (request.headers.has("authorization") ? server : new Response(null, { status: 401 })), maxBytes: 500 });
  const post = (body, headers = { authorization: "x" }) => handler(new Request("https://app.example/sync", { method: "POST", body, headers }));
  assert.equal((await post("{}", {})).status, 401);
  for (const body of ["", "null", "{", "{}", '{"throughline":2}', '{"throughline":1,"store":"s","generation":0,"op":"steal"}', " ".repeat(501)]) {
    const response = await post(body);
    assert.deepEqual([response.status, (await response.json()).error.code], [400, "invalid_argument"]);
  }
  assert.equal((await handler(new Request("https://app.example/sync"))).status, 400);
  // Pieces that cannot be.
  const { generation } = await server.changes.state();
  const give = async (piece) => (await (await post(JSON.stringify({ throughline: 1, store: "s", generation, op: "give", pieces: [piece] }))).json()).error?.code;
  for (const piece of [null, {}, { erased: ["?"] }, { id: "c" }]) assert.equal(await give(piece), "invalid_argument");
  assert.deepEqual((await server.conversations.list()).items, []);
});
