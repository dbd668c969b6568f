// What is known of a database outside of it: marks only rise, one of another store stays until it is replaced on purpose, and
// an app's place that fails disturbs nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { StorageMarks } from "../../dist/storage-marks.js";

const mark = (changes = {}) => ({ storeId: "one", generation: 1, positions: 10, born: 2, facts: 3, messages: 9, conversations: 2, ...changes });

/** A page's localStorage, and nothing else of a page. */
function withPage(work) {
  const kept = new Map();
  const localStorage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: (key) => void kept.delete(key),
  };
  Object.defineProperty(globalThis, "localStorage", { value: localStorage, configurable: true });
  globalThis.document = {};
  return Promise.resolve(work(kept)).finally(() => {
    delete globalThis.document;
    delete globalThis.localStorage;
  });
}

test("a mark rises, and one that is behind changes nothing", () =>
  withPage(async () => {
    const marks = new StorageMarks("app", "alex", undefined);
    assert.deepEqual(await marks.load(), []);
    marks.save(mark(), true);
    marks.save(mark({ positions: 8, born: 3 }));
    assert.deepEqual(await marks.load(), [mark({ positions: 10, born: 3 })]);
    marks.save(mark({ generation: 2, positions: 1 }));
    marks.save(mark({ positions: 50 }));
    assert.deepEqual(await marks.load(), [mark({ generation: 2, positions: 1 })]);
  }));

test("a mark of a memory that lost its database takes no count of what was there along", () =>
  withPage(async () => {
    const marks = new StorageMarks("app", "alex", undefined);
    marks.save(mark(), true);
    marks.save(mark({ born: 0, facts: 0, messages: 0, conversations: 0 }));
    assert.deepEqual(await marks.load(), [mark()]);
    marks.save(mark({ messages: 4, conversations: 1 }));
    assert.deepEqual(await marks.load(), [mark({ messages: 4, conversations: 1 })], "erased on the user's word, they are not missed");
  }));

test("a mark of another store, or one that was cleared, comes back only on purpose", () =>
  withPage(async () => {
    const marks = new StorageMarks("app", "alex", undefined);
    marks.save(mark());
    assert.deepEqual(await marks.load(), [], "a tab that has not heard of the erasure");
    marks.save(mark(), true);
    marks.save(mark({ storeId: "two" }));
    assert.equal((await marks.load())[0].storeId, "one");
    marks.save(mark({ storeId: "two" }), true);
    assert.equal((await marks.load())[0].storeId, "two");
    await marks.clear();
    assert.deepEqual(await marks.load(), []);
  }));

test("what is kept names nobody, and what is not a mark is none", () =>
  withPage(async (kept) => {
    const marks = new StorageMarks("app", "alex@example.org", undefined);
    marks.save(mark(), true);
    assert.ok(!JSON.stringify([...kept]).includes("alex"));
    const [key] = kept.keys();
    for (const text of ["", "{", "7", "null", JSON.stringify(mark({ positions: -1 })), JSON.stringify(mark({ storeId: 5 }))]) {
      kept.set(key, text);
      assert.deepEqual(await marks.load(), [], text);
    }
  }));

test("the app's own place is asked and told, and may fail", async () => {
  const saved = [];
  let kept = null;
  const place = { load: async () => kept, save: async (text) => void saved.push((kept = text)) };
  const marks = new StorageMarks("app", "alex", place);
  assert.deepEqual(await marks.load(), []);
  marks.save(mark(), true);
  marks.save(mark({ positions: 11 }));
  assert.equal(saved.length, 1, "not at every write");
  assert.deepEqual(await marks.load(), [mark()]);
  await marks.clear();
  assert.equal(kept, null);
  const failing = new StorageMarks("app", "alex", { load: () => { throw new Error("offline"); }, save: async () => { throw new Error("offline"); } });
  assert.deepEqual(await failing.load(), []);
  failing.save(mark(), true);
  await failing.clear();
});
