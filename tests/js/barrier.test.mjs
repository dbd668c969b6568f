// When what was acknowledged is put on disk: the bounds of policy.durability "relaxed", over a clock that is moved by hand.
/* global Event, EventTarget */
import assert from "node:assert/strict";
import { afterEach, beforeEach, mock, test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { Barrier } from "../../dist/barrier.js";
import { Engine } from "../../dist/engine-glue.js";

const original = { append: Engine.prototype.append };
let page;
beforeEach(() => {
  mock.timers.enable({ apis: ["setTimeout"] });
  page = Object.assign(new EventTarget(), { visibilityState: "visible" });
  globalThis.document = page;
});
afterEach(() => {
  mock.timers.reset();
  delete globalThis.document;
  Object.assign(Engine.prototype, original);
});

/** A barrier over a disk that answers when `answer` is called. */
function start() {
  const asked = [];
  const failures = [];
  const flush = () => new Promise((resolve, reject) => { asked.push({ resolve, reject }); });
  const barrier = new Barrier(flush, (error) => failures.push(error));
  const settle = () => new Promise((resolve) => { setImmediate(resolve); });
  return { barrier, asked, failures, settle };
}

test("one write follows a second after the first message that is not on disk", () => {
  const { barrier, asked } = start();
  barrier.note(1);
  mock.timers.tick(700);
  barrier.note(2);
  mock.timers.tick(299);
  assert.equal(asked.length, 0);
  mock.timers.tick(1);
  assert.equal(asked.length, 1);
  barrier.close();
});

test("with the twentieth message it follows at once, and once", async () => {
  const { barrier, asked, settle } = start();
  for (let count = 1; count < 20; count += 1) barrier.note(count);
  assert.equal(asked.length, 0);
  for (let count = 20; count < 50; count += 1) barrier.note(count);
  assert.equal(asked.length, 1);
  // Thirty more came while it ran.
  barrier.note(30);
  asked[0].resolve();
  await settle();
  assert.equal(asked.length, 2);
  barrier.note(0);
  asked[1].resolve();
  await settle();
  mock.timers.tick(5_000);
  assert.equal(asked.length, 2, "nothing is written where all is on disk");
  barrier.close();
});

test("a hidden page does not wait, and neither does what is written there", async () => {
  const { barrier, asked, settle } = start();
  barrier.note(3);
  page.dispatchEvent(new Event("visibilitychange"));
  assert.equal(asked.length, 0, "it is visible still");
  page.visibilityState = "hidden";
  page.dispatchEvent(new Event("visibilitychange"));
  assert.equal(asked.length, 1);
  barrier.note(0);
  asked[0].resolve();
  await settle();
  barrier.note(1);
  assert.equal(asked.length, 2);
  barrier.close();
});

test("what failed is told, and tried again a second later", async () => {
  const { barrier, asked, failures, settle } = start();
  barrier.note(25);
  asked[0].reject(new Error("no disk"));
  await settle();
  assert.deepEqual([asked.length, failures.map(({ message }) => message)], [1, ["no disk"]]);
  mock.timers.tick(1_000);
  assert.equal(asked.length, 2);
  barrier.close();
  asked[1].reject(new Error("closed"));
  await settle();
  mock.timers.tick(5_000);
  assert.equal(asked.length, 2, "once it is closed, nothing begins any more");
});

test("a store in memory that dies with its engine says how many messages went with it", async () => {
  mock.timers.reset();
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const { id } = await memory.conversations.create();
  await memory.append(id, [{ role: "user", content: "one" }, { id: "b", role: "assistant", content: "two" }, { role: "user", content: "three" }]);
  await memory.remove(id, "b");
  Engine.prototype.append = () => { throw new WebAssembly.RuntimeError("unreachable"); };
  await assert.rejects(memory.append(id, { role: "user", content: "four" }), { code: "engine_panicked", details: { lost: 2 } });
  await assert.rejects(memory.history(id), { code: "engine_panicked", details: { lost: 2 } });
});
