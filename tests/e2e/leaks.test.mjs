// Opening and closing a memory leaves nothing behind: in the page, and through a worker. CYCLES is how often
// (`npm run test:long -- leaks` for 200).
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openSite } from "./pages.mjs";

const CYCLES = Number(process.env.CYCLES ?? 20);
/** So many until the engine's memory is as large as it will be: what was freed is not always large enough for what comes. */
const WARM_UP = 60;
const WASM_BYTES = 2 * 65_536;
/** Listeners of the browser's own that come and go. */
const LISTENERS = 12;
/** What a cycle may leave in a heap: the browser's own bookkeeping moves by more than this in a single one. */
const HEAP_BYTES_PER_CYCLE = 2_048;
const HEAP_BYTES = 200_000;

const script = `
  import { createMemoryClient } from "/throughline/client/index.js";
  const policy = globalThis.trustedTypes.createPolicy("test", { createScriptURL: (address) => address });
  globalThis.newWorker = () => new Worker(policy.createScriptURL("/throughline/worker/index.js"), { type: "module" });
  const options = (userId) => ({ userId, tokenizer: "estimate", policy: { durability: "relaxed" }, embedder: { id: "e", dimensions: 2, embed: (texts) => texts.map(({ length }) => [1, length]) } });
  const ways = {
    page: () => throughline.createMemory(options("page")),
    client: () => createMemoryClient((globalThis.worker ??= globalThis.newWorker()), options("client")),
    "own worker": () => createMemoryClient(globalThis.newWorker, options("own")),
  };
  globalThis.cycles = async (way, count) => {
    let wasmBytes = 0;
    for (let cycle = 0; cycle < count; cycle += 1) {
      const memory = await ways[way]();
      const off = memory.on("append", () => undefined);
      if ((await memory.conversations.list()).items.length === 0) {
        await memory.conversations.create({ id: "c" });
        await memory.append("c", Array.from({ length: 40 }, (_, n) => ({ role: n % 2 ? "assistant" : "user", content: "Message " + n + " about the port " + (8000 + n) })));
        await memory.settled();
      }
      await memory.buildContext({ conversationId: "c", question: "Which port did message 7 name?", window: 2_000, reserve: 500 });
      await memory.conversations.update("c", { title: "Title " + (cycle % 2) });
      ({ wasmBytes } = await memory.stats());
      // Every second one leaves its listener behind.
      if (cycle % 2 === 0) off();
      await memory.close();
    }
    return wasmBytes;
  };
  /** Rejects where anything still has the database open. */
  globalThis.remove = (name) => new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(name);
    request.onsuccess = () => resolve();
    request.onblocked = () => reject(new Error(name + " is still open"));
  });`;

let site;
before(async () => {
  site = await openSite({ script });
});
after(() => site?.close());

/** Figures of the page, and of its workers, after everything that can go has gone. */
async function figures(session, inWorkers) {
  for (let times = 0; times < 3; times += 1) {
    await session.send("HeapProfiler.collectGarbage");
    await inWorkers("HeapProfiler.collectGarbage");
  }
  const { metrics } = await session.send("Performance.getMetrics");
  const metric = (wanted) => metrics.find(({ name }) => name === wanted).value;
  const workers = await inWorkers("Runtime.getHeapUsage");
  return { listeners: metric("JSEventListeners"), heap: metric("JSHeapUsedSize"), workers: workers.length, workerHeap: workers.reduce((sum, { usedSize }) => sum + usedSize, 0) };
}

/** Sends a command to each worker of the page. */
async function workersOf(session) {
  const sessions = new Set();
  const waiting = new Map();
  let last = 0;
  session.on("Target.attachedToTarget", ({ sessionId }) => sessions.add(sessionId));
  session.on("Target.detachedFromTarget", ({ sessionId }) => sessions.delete(sessionId));
  session.on("Target.receivedMessageFromTarget", ({ message }) => {
    const { id, result } = JSON.parse(message);
    waiting.get(id)?.(result);
  });
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  return (method) =>
    Promise.all([...sessions].map((sessionId) => new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, resolve);
      session.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id: last, method }) }).catch(reject);
    })));
}

for (const [way, database] of [["page", "throughline:page"], ["client", "throughline:client"], ["own worker", "throughline:own"]]) {
  test(`${CYCLES} times opened and closed: ${way}`, async (t) => {
    const page = await site.openPage();
    const session = await site.context.newCDPSession(page);
    await session.send("Performance.enable");
    const inWorkers = await workersOf(session);
    const run = (count) => page.evaluate(([way, count]) => globalThis.cycles(way, count), [way, count]);
    // A fresh worker has nothing to be warmed up.
    const wasmBefore = await run(way === "own worker" ? 5 : WARM_UP);
    const before = await figures(session, inWorkers);
    const wasmAfter = await run(CYCLES);
    const after = await figures(session, inWorkers);
    t.diagnostic(JSON.stringify({ before, after, wasmBefore, wasmAfter }));
    assert.ok(wasmAfter - wasmBefore <= WASM_BYTES, `WebAssembly memory grew from ${wasmBefore} to ${wasmAfter} bytes`);
    assert.ok(after.listeners - before.listeners <= LISTENERS, `listeners were left: ${before.listeners} became ${after.listeners}`);
    assert.equal(after.workers, before.workers, "workers were left");
    const most = HEAP_BYTES + HEAP_BYTES_PER_CYCLE * CYCLES;
    assert.ok(after.heap - before.heap < most, `the page's heap grew by ${after.heap - before.heap} bytes`);
    assert.ok(after.workerHeap - before.workerHeap < most, `the worker's heap grew by ${after.workerHeap - before.workerHeap} bytes`);
    await page.evaluate((name) => globalThis.remove(name), database);
    await page.close();
  });
}
