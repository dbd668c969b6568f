// Messages that arrive in parts, through the facade: every format's text, signals, sources, errors, a replaced engine.
import assert from "node:assert/strict";
import { afterEach, mock, test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { Engine, MemoryStoreHandle } from "../../dist/engine-glue.js";
import { guardedQueueMicrotask } from "../../dist/microtask-guard.js";

const original = { updateStream: Engine.prototype.updateStream, append: Engine.prototype.append, open: Engine.open };

afterEach(() => {
  const { open, ...methods } = original;
  Object.assign(Engine.prototype, methods);
  Engine.open = open;
});

async function openWithChat(options = {}) {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...options });
  await memory.conversations.create({ id: "c" });
  return memory;
}

/** Notes every update that reaches the engine. */
function watchUpdates() {
  const updates = [];
  Engine.prototype.updateStream = function (request) {
    updates.push(JSON.parse(request));
    return original.updateStream.call(this, request);
  };
  return updates;
}

/** The next event `error`; the timers of a stream do not keep Node alive for it. */
function nextError(memory) {
  return new Promise((resolve) => {
    const alive = setInterval(() => {}, 1_000);
    memory.on("error", (error) => {
      clearInterval(alive);
      resolve(error);
    });
  });
}

const rejectsWith = (code) => (error) => isMemoryError(error, code) || assert.fail(`${error.code}: ${error.message}`);

const begin = { role: "assistant", content: "" };

test("a message is written, completed, and is as if it had been appended", async () => {
  const memory = await openWithChat();
  const told = [];
  memory.on("stream", (event) => told.push(event));
  const stream = await memory.stream("c", { id: "a", ...begin });
  assert.deepEqual([stream.id, stream.seq], ["a", 1]);
  for (const piece of ["The port ", "is 84", "71."]) assert.equal(stream.write(piece), undefined);
  const behind = await memory.append("c", { role: "user", content: "Thanks" });
  assert.equal(behind[0].seq, 2);
  assert.equal((await memory.history("c", { withStatus: true }))[0].status, "streaming");
  assert.deepEqual(await stream.complete(), { id: "a", seq: 1, durable: false, status: "complete" });
  assert.deepEqual(await memory.history("c", { withStatus: true }), [
    { id: "a", seq: 1, status: "complete", message: { id: "a", role: "assistant", content: "The port is 8471." } },
    { id: "seq:2", seq: 2, status: "complete", message: { role: "user", content: "Thanks" } },
  ]);
  assert.equal((await memory.recall("port 8471"))[0].hits[0].status, "complete");
  assert.equal((await memory.recall("port 8471", { explain: false }))[0].hits[0].status, "complete");
  const plain = await openWithChat();
  await plain.append("c", await memory.history("c"));
  assert.equal((await memory.conversations.get("c")).tokens, (await plain.conversations.get("c")).tokens);
  await memory.append("c", { id: "a", role: "assistant", content: "The port is 8471." });
  assert.equal((await memory.stats()).messages, 2);
  assert.deepEqual(told.map(({ status, seq, id }) => [id, seq, status]), [["a", 1, "complete"]]);
  await Promise.all([memory.close(), plain.close()]);
});

test("text goes where each format keeps it", async () => {
  const memory = await openWithChat();
  const text = (words) => ({ type: "text", text: words });
  const tool = { type: "tool-x", toolCallId: "1", state: "input-available", input: {} };
  const call = { type: "tool_use", id: "t", name: "x", input: {} };
  const cases = [
    ["openai", begin, { role: "assistant", content: "ab" }],
    ["openai", { role: "assistant", content: null }, { role: "assistant", content: "ab" }],
    ["openai", { role: "assistant", content: [text("x")] }, { role: "assistant", content: [text("xab")] }],
    ["anthropic", { role: "assistant", content: [] }, { role: "assistant", content: [text("ab")] }],
    ["anthropic", { role: "assistant", content: [call] }, { role: "assistant", content: [call, text("ab")] }],
    ["anthropic", { role: "assistant", content: [text("x"), call, text("y")] }, { role: "assistant", content: [text("x"), call, text("yab")] }],
    ["ai-sdk-ui", { id: "u1", role: "assistant", parts: [] }, { id: "u1", role: "assistant", parts: [text("ab")] }],
    ["ai-sdk", { id: "u2", role: "assistant", parts: [{ type: "step-start" }, tool] }, { id: "u2", role: "assistant", parts: [{ type: "step-start" }, tool, text("ab")] }],
    ["ai-sdk-ui", { id: "u3", role: "assistant", parts: [{ ...text("x"), state: "streaming" }] }, { id: "u3", role: "assistant", parts: [{ ...text("xab"), state: "streaming" }] }],
    ["ai-sdk-model", { role: "assistant", content: [] }, { role: "assistant", content: [text("ab")] }],
    ["ai-sdk-model", begin, { role: "assistant", content: "ab" }],
    [undefined, begin, { role: "assistant", content: "ab" }],
  ];
  for (const [format, given, expected] of cases) {
    const before = JSON.stringify(given);
    const stream = await memory.stream("c", given, format === undefined ? {} : { format });
    stream.write("a");
    stream.write("");
    stream.write("b");
    await stream.complete();
    const [stored] = await memory.history("c", { from: stream.seq });
    assert.deepEqual(stored, expected, `${format} ${before}`);
    assert.equal(JSON.stringify(given), before, "the given object was changed");
  }
  await memory.close();
});

test("a surrogate pair that was cut between two pieces is whole again", async () => {
  const memory = await openWithChat();
  const stream = await memory.stream("c", begin);
  stream.write("\uD83D");
  stream.write("\uDE00");
  await stream.complete();
  assert.equal((await memory.history("c"))[0].content, "\u{1F600}");
  await memory.close();
});

test("whole snapshots and a final message", async () => {
  const memory = await openWithChat();
  const stream = await memory.stream("c", { id: "u", role: "assistant", parts: [] });
  const call = (state) => ({ id: "u", role: "assistant", parts: [{ type: "tool-find", toolCallId: "1", state, input: {} }] });
  stream.update(call("input-streaming"));
  stream.update(call("input-available"));
  stream.write("found");
  assert.throws(() => stream.update({ id: "other", role: "assistant", parts: [] }), rejectsWith("invalid_argument"));
  assert.throws(() => stream.update({ id: "u", role: "user", parts: [] }), rejectsWith("invalid_argument"));
  assert.throws(() => stream.update([]), rejectsWith("invalid_argument"));
  assert.throws(() => stream.write(5), rejectsWith("invalid_argument"));
  const final = { id: "u", role: "assistant", metadata: { model: "m" }, parts: [{ type: "text", text: "found" }] };
  await assert.rejects(stream.complete({ ...final, id: "x" }), rejectsWith("invalid_argument"));
  assert.equal((await stream.complete(final)).status, "complete");
  assert.deepEqual(await memory.history("c"), [final]);
  assert.throws(() => stream.write("late"), rejectsWith("invalid_argument"));
  assert.throws(() => stream.update(final), rejectsWith("invalid_argument"));
  assert.equal((await stream.abort()).status, "complete");
  await memory.close();
});

test("written() waits until what was given so far is stored, also behind a write that is under way", async () => {
  const memory = await openWithChat();
  const stream = await memory.stream("c", begin);
  await stream.written();
  for (const piece of ["One ", "two ", "three"]) {
    stream.write(piece);
    const first = stream.written();
    stream.write("!");
    await Promise.all([first, stream.written()]);
  }
  assert.equal((await memory.history("c"))[0].content, "One !two !three!");
  await stream.complete();
  await stream.written();
  await memory.close();
});

test("a signal aborts it, before, at and after the beginning", async () => {
  const memory = await openWithChat();
  await assert.rejects(memory.stream("c", begin, { signal: AbortSignal.abort() }), rejectsWith("aborted"));
  assert.deepEqual(await memory.history("c"), []);
  const early = new AbortController();
  const beginning = memory.stream("c", begin, { signal: early.signal });
  early.abort();
  assert.equal((await (await beginning).complete()).status, "aborted");
  const controller = new AbortController();
  const stream = await memory.stream("c", begin, { signal: controller.signal });
  stream.write("what arrived");
  controller.abort();
  stream.write(", too late");
  assert.equal((await stream.complete()).status, "aborted");
  const entries = await memory.history("c", { withStatus: true });
  assert.deepEqual(entries.map(({ status, message }) => [status, message.content]), [["aborted", ""], ["aborted", "what arrived"]]);
  await memory.close();
});

test("from() takes async iterables and streams, completes, and aborts where they fail", async () => {
  const memory = await openWithChat();
  async function* pieces(end) {
    yield "one ";
    yield "two";
    if (end) throw end;
  }
  assert.equal((await (await memory.stream("c", begin)).from(pieces())).status, "complete");
  assert.equal((await (await memory.stream("c", begin)).from(["one ", "two"])).status, "complete");
  const readable = new globalThis.ReadableStream({ start: (control) => { control.enqueue("one "); control.enqueue("two"); control.close(); } });
  assert.equal((await (await memory.stream("c", begin)).from(readable)).status, "complete");
  const failure = new Error("the line broke");
  await assert.rejects((await memory.stream("c", begin)).from(pieces(failure)), (error) => error === failure);
  await assert.rejects((await memory.stream("c", begin)).from(pieces(failure)), (error) => error === failure);
  const entries = await memory.history("c", { withStatus: true });
  assert.deepEqual(entries.map(({ status }) => status), ["complete", "complete", "complete", "aborted", "aborted"]);
  assert.ok(entries.every(({ message }) => message.content === "one two"));
  const odd = await memory.stream("c", begin);
  await assert.rejects(odd.from([5]), rejectsWith("invalid_argument"));
  await assert.rejects((await memory.stream("c", begin)).from(5), rejectsWith("invalid_argument"));
  await memory.close();
});

test("an abort cancels a source that is silent", async () => {
  const memory = await openWithChat();
  let cancelled = 0;
  const silent = () => new globalThis.ReadableStream({ start: (control) => control.enqueue("one"), cancel: () => { cancelled += 1; } });
  const controller = new AbortController();
  const stream = await memory.stream("c", begin, { signal: controller.signal });
  const reading = stream.from(silent());
  setTimeout(() => controller.abort(), 5);
  await assert.rejects(reading, rejectsWith("aborted"));
  const other = await memory.stream("c", begin);
  const alsoReading = other.from(silent());
  setTimeout(() => void other.abort(), 5);
  await assert.rejects(alsoReading, rejectsWith("aborted"));
  assert.equal(cancelled, 2);
  assert.deepEqual((await memory.history("c")).map(({ content }) => content), ["one", "one"]);
  await memory.close();
});

test("an id that is stored is a conflict, also an aborted one's; without a conversation it is not_found", async () => {
  const memory = await openWithChat();
  const stream = await memory.stream("c", { id: "a", ...begin });
  await stream.abort();
  await assert.rejects(memory.stream("c", { id: "a", ...begin }), rejectsWith("conflict"));
  await assert.rejects(memory.stream("nowhere", begin), rejectsWith("not_found"));
  await assert.rejects(memory.stream("c", [begin]), rejectsWith("invalid_argument"));
  await assert.rejects(memory.stream("c", { role: "assistant", content: 1n }), rejectsWith("invalid_argument"));
  await assert.rejects(memory.stream("c", begin, { format: "klingon" }), rejectsWith("invalid_argument"));
  await memory.close();
});

test("streams and appends that nobody waited for keep the order of the calls", async () => {
  const memory = await openWithChat();
  const say = (content) => memory.append("c", { role: "user", content });
  const calls = [say("1"), memory.stream("c", { ...begin, content: "2" }), say("3"), memory.stream("c", { ...begin, content: "4" })];
  const [, second, , fourth] = await Promise.all(calls);
  await Promise.all([fourth.complete(), second.complete()]);
  assert.deepEqual((await memory.history("c")).map(({ content }) => content), ["1", "2", "3", "4"]);
  await memory.close();
});

test("many small writes are few updates; a rush is written before its time; silence gives signs of life", async () => {
  const memory = await openWithChat();
  const updates = watchUpdates();
  const settle = async () => { for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate); };
  const time = { now: 0 };
  const clock = mock.method(performance, "now", () => time.now);
  mock.timers.enable({ apis: ["setTimeout"] });
  const pass = async (ms) => {
    time.now += ms;
    mock.timers.tick(ms);
    await settle();
  };
  try {
    const stream = await memory.stream("c", begin);
    for (let piece = 0; piece < 100; piece += 1) {
      stream.write(`${piece} `);
      await pass(10);
    }
    assert.ok(updates.length >= 3 && updates.length <= 5, `${updates.length} updates in a second`);
    assert.ok(updates.every(({ status, message }) => status === "streaming" && message !== undefined));
    updates.length = 0;
    stream.write("x".repeat(5_000));
    await pass(0);
    assert.equal(updates.length, 1, "a rush waits for nothing");
    updates.length = 0;
    await pass(9_900);
    assert.equal(updates.length, 0);
    await pass(200);
    assert.deepEqual(updates.map(({ status, message }) => [status, message]), [["streaming", undefined]]);
    await pass(10_000);
    assert.equal(updates.length, 2);
    // A message of a megabyte is not written four times a second.
    stream.write("y".repeat(600_000));
    await pass(0);
    updates.length = 0;
    for (let piece = 0; piece < 100; piece += 1) {
      stream.write("z");
      await pass(10);
    }
    assert.equal(updates.length, 0);
    await stream.complete();
    assert.equal(updates.length, 1);
    await pass(60_000);
    assert.equal(updates.length, 1, "nothing is written after the end");
  } finally {
    mock.timers.reset();
    clock.mock.restore();
  }
  await memory.close();
});

test("what fails in between is told by an event, and the end makes up for it", async () => {
  const memory = await openWithChat();
  const told = nextError(memory);
  const stream = await memory.stream("c", begin);
  Engine.prototype.updateStream = () => Promise.reject({ code: "storage_quota_exceeded", message: "full", retryable: false });
  stream.write("all of it");
  const { code, conversationId } = await told;
  assert.deepEqual([code, conversationId], ["storage_quota_exceeded", "c"]);
  await assert.rejects(stream.complete(), rejectsWith("storage_quota_exceeded"));
  stream.write(", and more");
  Engine.prototype.updateStream = original.updateStream;
  assert.equal((await stream.complete()).status, "complete");
  assert.deepEqual((await memory.history("c")).map(({ content }) => content), ["all of it, and more"]);
  const erased = await memory.stream("c", begin);
  await memory.conversations.delete("c");
  await assert.rejects(erased.complete(), rejectsWith("not_found"));
  await memory.close();
});

test("what is no JSON is aborted as it was last stored", async () => {
  const memory = await openWithChat();
  const stream = await memory.stream("c", { ...begin, content: "before" });
  stream.update({ ...begin, content: 1n });
  await assert.rejects(stream.complete(), rejectsWith("invalid_argument"));
  assert.equal((await stream.abort()).status, "aborted");
  assert.deepEqual((await memory.history("c")).map(({ content }) => content), ["before"]);
  await memory.close();
});

test("closing aborts what is streaming", async () => {
  const storage = memoryStorage();
  const memory = await openWithChat({ storage });
  const stream = await memory.stream("c", begin);
  stream.write("until now");
  await memory.close();
  const again = await createMemory({ storage, tokenizer: "estimate" });
  const entries = await again.history("c", { withStatus: true });
  assert.deepEqual(entries.map(({ status, message }) => [status, message.content]), [["aborted", "until now"]]);
  assert.equal((await stream.complete()).status, "aborted");
  await assert.rejects(memory.stream("c", begin), rejectsWith("closed"));
  await again.close();
});

test("a stream goes on with the instance that replaces one that trapped", async () => {
  // Node has no IndexedDB, so what the database would be asked is answered here.
  const kept = new Map();
  Engine.open = (options, host) => original.open({ ...options, storage: { kind: "memory" } }, host, new MemoryStoreHandle());
  Engine.prototype.append = async (request) => {
    const { messages: [message], streaming } = JSON.parse(request);
    assert.equal(streaming, true);
    kept.set(1, { message, status: "streaming" });
    return [{ id: "a", seq: 1, durable: true }];
  };
  let traps = 0;
  Engine.prototype.updateStream = async (request) => {
    const { message, seq, status } = JSON.parse(request);
    traps += 1;
    if (traps <= 2) {
      guardedQueueMicrotask(() => { throw new WebAssembly.RuntimeError("unreachable"); });
      return new Promise(() => {});
    }
    kept.set(seq, { message: message ?? kept.get(seq).message, status });
    return { id: "a", seq, durable: true };
  };
  const memory = await createMemory({ storage: { kind: "indexeddb", name: "trial" }, tokenizer: "estimate" });
  const told = nextError(memory);
  const stream = await memory.stream("c", { id: "a", ...begin });
  stream.write("before, ");
  assert.equal((await told).code, "engine_panicked", "both tries of one write trapped");
  stream.write("after");
  assert.equal((await stream.complete()).status, "complete");
  assert.deepEqual([traps, kept.get(1)], [3, { message: JSON.stringify({ id: "a", role: "assistant", content: "before, after" }), status: "complete" }]);
  await memory.close();
});
