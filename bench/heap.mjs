/** One leaves what finalizers free. */
const COLLECTIONS = 3;

/**
 * Follows the heap of a page's worker through the DevTools protocol.
 *
 * @returns {Promise<{ bytes: () => Promise<number | undefined> }>} `bytes` collects garbage, then counts what JavaScript
 * holds, array buffers included, WebAssembly memories not.
 */
export async function watchWorkerHeap(page) {
  const session = await page.context().newCDPSession(page);
  const waiting = new Map();
  let worker;
  let lastId = 0;
  session.on("Target.attachedToTarget", ({ sessionId, targetInfo }) => {
    if (targetInfo.type === "worker") worker = sessionId;
  });
  session.on("Target.receivedMessageFromTarget", ({ message }) => {
    const { id, result, error } = JSON.parse(message);
    waiting.get(id)?.(error === undefined ? result : undefined);
    waiting.delete(id);
  });
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  const ask = (method) =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, resolve);
      session.send("Target.sendMessageToTarget", { sessionId: worker, message: JSON.stringify({ id: lastId, method }) }).catch(reject);
    });
  return {
    bytes: async () => {
      if (worker === undefined) return undefined;
      for (let round = 0; round < COLLECTIONS; round += 1) await ask("HeapProfiler.collectGarbage");
      const usage = await ask("Runtime.getHeapUsage");
      return usage === undefined ? undefined : usage.usedSize + (usage.embedderHeapUsedSize ?? 0) + (usage.backingStorageSize ?? 0);
    },
  };
}

/** As {@link watchWorkerHeap}, of the page's own thread. */
export async function watchPageHeap(page) {
  const session = await page.context().newCDPSession(page);
  return {
    bytes: async () => {
      for (let round = 0; round < COLLECTIONS; round += 1) await session.send("HeapProfiler.collectGarbage");
      const { usedSize, embedderHeapUsedSize = 0, backingStorageSize = 0 } = await session.send("Runtime.getHeapUsage");
      return usedSize + embedderHeapUsedSize + backingStorageSize;
    },
  };
}
