// Runs the engines that search in memory, ours and the peers, one after the other in one browser.

export const OWN_WORDS = ["throughline-messages", "throughline-words"];
export const PEER_WORDS = ["minisearch", "minisearch-prefix", "flexsearch", "orama"];
export const OWN_VECTORS = ["throughline-auto", "throughline-exact", "throughline-codes", "throughline-hnsw"];
export const PEER_VECTORS = ["plain-scan", "hnswlib", "edgevec", "orama-vectors"];

/** Engines that take hours or gigabytes beyond so many rows: measured up to there, unless named. */
const MOST_ROWS = {
  "minisearch-prefix": 20_000, "orama-vectors": 100_000, "edgevec": 100_000, "hnswlib": 100_000, "plain-scan": 100_000, "throughline-hnsw": 100_000, "throughline-auto": 100_000,
};

/** Search by words. `add` takes each result as it comes. */
export async function runWords(site, { engines, isNamed, sizes, queries, repeats, textsUrl, limitMs, say, add }) {
  for (const size of sizes) {
    for (const engine of engines.filter((name) => isNamed || size <= (MOST_ROWS[name] ?? Infinity))) {
      say(`Words: ${engine}, ${size} messages`);
      const result = await attempt(limitMs, (until) => site.withWorker(until, async ({ step, memoryBytes }) => {
        const { settings } = await step("prepareWords", { engine, size, queries, textsUrl });
        const before = await memoryBytes();
        const built = await step("buildWords", {});
        const memory = (await memoryBytes()) - before;
        return { settings, ...built, memory, ...(await step("measureWords", { repeats })) };
      }));
      add({ engine, size, ...result });
    }
  }
}

/** Search by vectors. `datasets`: `{ name, size, real? }`. */
export async function runVectors(site, { engines, isNamed, datasets, queries, repeats, limitMs, say, add }) {
  for (const { name, size, real } of datasets) {
    let truth;
    for (const engine of engines.filter((each) => isNamed || size <= (MOST_ROWS[each] ?? Infinity))) {
      say(`Vectors: ${engine}, ${name}`);
      const result = await attempt(limitMs, (until) => site.withWorker(until, async ({ step, memoryBytes }) => {
        const prepared = await step("prepareVectors", { engine, size, queries, real, truth });
        truth = prepared.truth;
        const before = await memoryBytes();
        const built = await step("buildVectors", {});
        const memory = (await memoryBytes()) - before;
        return { settings: prepared.settings, ...built, memory, ...(await step("measureVectors", { repeats })) };
      }));
      add({ engine, dataset: name, size, isReal: real !== undefined, ...result });
    }
  }
}

/** Our own search by both. */
export async function runHybrid(site, { sizes, queries, repeats, textsUrl, limitMs, say, add }) {
  for (const size of sizes) {
    say(`Hybrid: ${size} messages`);
    add({ size, ...(await attempt(limitMs, (until) => site.withWorker(until, ({ step }) => step("measureHybrid", { size, choice: "auto", questions: queries, repeats, textsUrl })))) });
  }
}

/** An engine that fails, or takes too long, is told in the table; the others are measured all the same. */
async function attempt(limitMs, run) {
  let timer;
  const until = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new TooLong()), limitMs);
  });
  // It may be over before anybody waits for it.
  until.catch(() => undefined);
  try {
    return await run(until);
  } catch (error) {
    if (error instanceof TooLong) return { tookTooLong: true, limitMs };
    return { failed: String(error instanceof Error ? error.message : error).split("\n")[0] };
  } finally {
    clearTimeout(timer);
  }
}

class TooLong extends Error {}
