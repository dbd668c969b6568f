// A storage that the app brings, over the smallest one there can be: sorted lists in this process.
import assert from "node:assert/strict";
import { test } from "node:test";
import { MemoryError, createMemory, externalStorage, isMemoryError } from "throughline";
import { createMemoryClient } from "throughline/client";
import { storageConformance } from "throughline/testing";
import { compareKeys } from "../../dist/adapters/testing/conformance-place.js";

const code = (expected, more = () => true) => (error) => isMemoryError(error, expected) && more(error);

/**
 * Records of users, as the port asks for them. `before` is called in front of everything, and may throw; `broken` names a promise
 * that it does not keep.
 */
function listStorage(before = () => {}, broken = "") {
  const users = new Map();
  const calls = [];
  const open = async (userId) => {
    before("open");
    if (!users.has(userId)) users.set(userId, { list: [] });
    const records = users.get(userId);
    const order = (one, other) => (broken === "order" ? (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1) : compareKeys(one, other));
    const find = ({ store, key }) => records.list.find((each) => each.store === store && compareKeys(each.key, key) === 0);
    const isIn = ({ store, lower, lowerOpen, upper }) => (each) => {
      const low = lower === undefined ? 1 : compareKeys(each.key, lower);
      const isBelow = upper === undefined || compareKeys(each.key, upper) < (broken === "upper" ? 1 : 0);
      return (broken === "stores" || each.store === store) && (lowerOpen && broken !== "lower" ? low > 0 : low >= 0) && isBelow;
    };
    const remove = (isGone) => (records.list = records.list.filter((each) => !isGone(each)));
    const called = (name) => {
      calls.push(name);
      before(name);
      if (users.get(userId) !== records && broken !== "destroyed") throw new MemoryError("storage_unavailable", "The records were destroyed.");
    };
    const kept = ({ body, blob }) => {
      if (broken === "blob" || blob === undefined) return { body: broken === "body" ? body.trim() : body, ...(broken === "blob" && { blob: blob ?? new Uint8Array() }) };
      return { body, blob: broken === "view" ? new Uint8Array(blob.buffer) : blob.slice() };
    };
    return {
      get: async (addresses) => {
        called("get");
        const found = addresses.map((address) => find(address)?.record ?? null);
        return broken === "get" ? found.filter((record) => record !== null) : found;
      },
      scan: async ({ limit, reverse, ...range }) => {
        called("scan");
        const found = records.list.filter(isIn(range)).sort((one, other) => order(one.key, other.key)).map(({ key, record }) => ({ key, record }));
        if (broken === "limit") return (limit === undefined ? found : found.slice(0, limit)).sort(() => (reverse ? -1 : 1));
        return (reverse ? found.reverse() : found).slice(0, limit);
      },
      count: async (range) => (called("count"), records.list.filter(isIn(range)).length),
      commit: async ({ checks, deleteRanges, deletes, puts }) => {
        called("commit");
        const holds = checks.every((check) => (find(check)?.record.body ?? null) === check.body);
        if (!holds && broken !== "checks") return false;
        if (broken === "race") await new Promise((resolve) => setImmediate(resolve));
        const put = () => {
          for (const { store, key, record } of puts) {
            remove((each) => each === find({ store, key }));
            records.list.push({ store, key, record: kept(record) });
          }
        };
        if (broken === "puts first") put();
        for (const range of deleteRanges) remove(isIn(range));
        for (const address of deletes) remove((each) => each === find(address));
        if (broken === "torn" && puts.length > 1) {
          const [first] = puts.splice(0, 1);
          records.list = [...records.list.filter((each) => each !== find(first)), { ...first, record: kept(first.record) }];
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        if (broken !== "puts first") put();
        return holds;
      },
      destroy: async () => {
        called("destroy");
        users.delete(userId);
      },
      close: () => calls.push("close"),
    };
  };
  return { open, calls, users };
}

/** Locks and a channel within this process. */
function togetherness(broken = "") {
  const held = new Set();
  const open = new Set();
  return {
    tryLock: async (userId, lock) => {
      const name = broken === "lock of all" ? lock : JSON.stringify([userId, lock]);
      if (held.has(name) && broken !== "lock") return null;
      held.add(name);
      return () => void held.delete(name);
    },
    channel: (name) => {
      const channel = {
        onmessage: null,
        postMessage: (data) => {
          for (const other of open) if ((other.channel !== channel || broken === "echo") && (other.name === name || broken === "names")) other.channel.onmessage?.({ data });
        },
        close: () => open.forEach((each) => each.channel === channel && open.delete(each)),
      };
      open.add({ name, channel });
      return channel;
    },
  };
}

for (const { name, run } of storageConformance(externalStorage({ name: "lists", durable: true, open: listStorage().open, ...togetherness() }))) {
  test(`conformance of lists: ${name}`, run);
}

test("the conformance suite finds each promise that is not kept", async () => {
  const faults = ["order", "upper", "lower", "stores", "destroyed", "body", "blob", "view", "get", "limit", "checks", "race", "puts first", "torn", "lock", "lock of all", "echo", "names"];
  for (const broken of faults) {
    let seen;
    for (const { run } of storageConformance({ ...listStorage(undefined, broken), ...togetherness(broken) })) {
      seen = await run().then(() => undefined, ({ message }) => message);
      if (seen !== undefined) break;
    }
    assert.match(seen ?? "", / in place of /, broken);
    assert.ok(seen.length < 1_000, "it says so in a few words");
  }
});

test("a memory works over it: what it stored is there for the next one, and it is closed with the memory", async () => {
  const { open, calls } = listStorage();
  const options = { userId: "alex", storage: externalStorage({ name: "lists", durable: true, open }), tokenizer: "estimate" };
  const first = await createMemory(options);
  const { id } = await first.conversations.create({ title: "Trip" });
  const [{ durable }] = await first.append(id, { role: "user", content: "We fly on port 8471." });
  assert.equal(durable, true);
  assert.equal((await first.stats()).durable, true);
  await first.close();
  assert.equal(calls.filter((name) => name === "close").length, 1);
  const second = await createMemory(options);
  assert.deepEqual((await second.history(id)).map(({ content }) => content), ["We fly on port 8471."]);
  assert.equal((await second.recall("port 8471")).length, 1);
  await second.erase({ user: true });
  await second.close();
  const other = await createMemory({ ...options, userId: "bob" });
  assert.deepEqual((await other.conversations.list()).items, []);
  await other.close();
});

test("what it rejects with reaches the caller as it is, and of anything else only that it failed", async () => {
  let thrown;
  const { open } = listStorage((name) => {
    if (name === "commit" && thrown !== undefined) throw thrown;
  });
  const memory = await createMemory({ storage: externalStorage({ name: "fails", durable: true, open }), tokenizer: "estimate" });
  const { id } = await memory.conversations.create();
  const append = () => memory.append(id, { role: "user", content: "hello" });
  for (const expected of ["storage_unavailable", "storage_blocked", "storage_conflict", "storage_quota_exceeded", "storage_corrupt", "schema_too_new", "timeout"]) {
    thrown = new MemoryError(expected, `It failed as ${expected}.`, { retryable: expected === "storage_unavailable" });
    await assert.rejects(append(), code(expected, (error) => error.retryable === (expected === "storage_unavailable") && error.message === thrown.message), expected);
  }
  thrown = new Error("with the user's words");
  await assert.rejects(append(), code("storage_unavailable", ({ message, cause }) => !message.includes("words") && cause === thrown));
  thrown = undefined;
  assert.equal((await append())[0].seq, 1);
  await memory.close();
});

test("an answer of another form is refused and never taken for records", async () => {
  for (const [name, answer] of [
    ["get", []], ["get", "text"], ["get", [{ body: 1 }]], ["scan", null], ["scan", [{ key: ["a"], record: {} }]], ["scan", [{ key: "a", record: { body: "{}" } }]],
    ["count", "many"], ["commit", undefined],
  ]) {
    const { open } = listStorage();
    const wrong = async (userId) => ({ ...(await open(userId)), [name]: async () => answer });
    const work = async () => {
      const memory = await createMemory({ storage: externalStorage({ name: "wrong", durable: false, open: wrong }), tokenizer: "estimate" });
      const { id } = await memory.conversations.create();
      await memory.append(id, { role: "user", content: "hello" });
      await memory.stats();
    };
    await assert.rejects(work(), (error) => isMemoryError(error) && ["storage_unavailable", "storage_corrupt"].includes(error.code), `${name} ${JSON.stringify(answer)}`);
  }
});

test("its locks and its channel are used where it has them", async () => {
  const { open } = listStorage();
  const locks = [];
  const channels = [];
  const storage = externalStorage({
    name: "held",
    durable: true,
    open,
    tryLock: async (userId, lock) => (locks.push([userId, lock]), () => locks.push("released")),
    channel: (name) => {
      const channel = { name, said: [], onmessage: null, postMessage: (message) => channel.said.push(message), close: () => channel.said.push("closed") };
      channels.push(channel);
      return channel;
    },
  });
  const memory = await createMemory({ userId: "alex", storage, tokenizer: "estimate", embedder: { id: "e", dimensions: 2, embed: (texts) => texts.map(() => [1, 0]) } });
  const { id } = await memory.conversations.create();
  const heard = new Promise((resolve) => memory.on("append", (event) => event.remote && resolve(event)));
  await memory.append(id, { role: "user", content: "hello" });
  await memory.settled();
  assert.ok(locks.some((lock) => Array.isArray(lock) && lock[0] === "alex" && lock[1].endsWith(":work")) && locks.includes("released"));
  assert.ok(channels[0].said.some(({ kind, conversationId }) => kind === "append" && conversationId === id));
  assert.doesNotMatch(JSON.stringify(channels[0].said), /hello/);
  channels[0].onmessage({ data: { kind: "append", conversationId: id } });
  assert.equal((await heard).conversationId, id);
  await memory.close();
  assert.equal(channels[0].said.at(-1), "closed");
});

test("what cannot be a storage is told at once, and one of the app's own is not given to a worker", async () => {
  const open = async () => ({});
  for (const [options, message] of [[{ name: "", durable: true, open }, /name/], [{ name: "x", durable: 1, open }, /durable/], [{ name: "x", durable: true }, /open/]]) {
    assert.throws(() => externalStorage(options), code("invalid_config", (error) => message.test(error.message)));
  }
  await assert.rejects(createMemory({ storage: { kind: "external", name: "x" } }), code("invalid_config"));
  const storage = externalStorage({ name: "x", durable: true, open });
  const worker = { postMessage() {}, addEventListener() {}, removeEventListener() {}, terminate() {} };
  await assert.rejects(createMemoryClient(() => worker, { storage }), code("invalid_config", ({ message }) => message.includes("worker")));
});
