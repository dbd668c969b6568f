// The built package through its public methods, storage and all. Runs in a page; the script in Node calls `measure`.

import * as throughline from "/throughline/index.js";
import { CONVERSATION_MESSAGES, makeCorpus } from "./corpus.mjs";
import { hashingEmbedder } from "./embedder.mjs";
import { summary } from "./timing.mjs";

const START_MS = 1.7e12;
const MESSAGE_MS = 60_000;
const DAY_MS = 86_400_000;
const WARM_UP = 10;
/** Rounds of questions; of each the shortest time is kept. */
const ROUNDS = 3;

/** Time within the embedder, which is no part of ours. */
let callbackMs = 0;

function open({ size, hasVectors }) {
  const hashing = hashingEmbedder();
  const embedder = {
    ...hashing,
    embed: (texts) => {
      const begin = performance.now();
      try {
        return hashing.embed(texts);
      } finally {
        callbackMs += performance.now() - begin;
      }
    },
  };
  return throughline.createMemory({ userId: `bench-${size}`, ...(hasVectors ? { embedder } : {}) });
}

async function timed(call) {
  callbackMs = 0;
  const begin = performance.now();
  const answer = await call();
  return [performance.now() - begin - callbackMs, answer];
}

/** The shortest time of each item over so many rounds. */
async function timesOf(items, call, rounds = 1) {
  const best = items.map(() => Infinity);
  for (let round = 0; round < rounds; round += 1) {
    for (const [place, item] of items.entries()) best[place] = Math.min(best[place], (await timed(() => call(item)))[0]);
  }
  return summary(best);
}

const conversationOf = (number) => `c${Math.floor(number / CONVERSATION_MESSAGES)}`;

function message(number, text) {
  const createdAt = START_MS + Math.floor(number / CONVERSATION_MESSAGES) * DAY_MS + (number % CONVERSATION_MESSAGES) * MESSAGE_MS;
  return { id: `m${number}`, role: number % 2 === 0 ? "user" : "assistant", content: text, createdAt };
}

/** Fills a database, and measures what filling costs. */
async function fill({ size, hasVectors }) {
  const { texts } = makeCorpus({ size });
  const memory = await open({ size, hasVectors });
  const appends = [];
  for (let first = 0; first < size; first += CONVERSATION_MESSAGES) {
    const id = conversationOf(first);
    await memory.conversations.create({ id });
    const batch = texts.slice(first, first + CONVERSATION_MESSAGES).map((text, place) => message(first + place, text));
    appends.push((await timed(() => memory.append(id, batch)))[0] / batch.length);
  }
  const [settledMs] = await timed(() => memory.settled());
  const { wasmBytes } = await memory.stats();
  await memory.close();
  return { append: summary(appends), embedMs: settledMs / size, wasmBytes };
}

/** In a fresh page: from nothing to the first answers. `inOne`: of one conversation alone. */
async function firstAnswer({ size, hasVectors, inOne }) {
  const query = "what did we say about the first thing";
  const begin = performance.now();
  callbackMs = 0;
  const memory = await open({ size, hasVectors });
  const openMs = performance.now() - begin;
  await memory.recall(query, inOne ? { conversationId: "c0" } : {});
  const answerMs = performance.now() - begin - callbackMs;
  const { wasmBytes } = await memory.stats();
  await memory.close();
  return { openMs, answerMs, wasmBytes };
}

/** In an open memory, with everything loaded. */
async function ask({ size, hasVectors, queries }) {
  const { asked, texts } = makeCorpus({ size });
  const memory = await open({ size, hasVectors });
  const some = asked.slice(0, queries);
  for (const { query } of asked.slice(-WARM_UP)) await memory.recall(query);
  const found = new Set();
  const everywhere = await timesOf(some, async ({ query, target }) => {
    const groups = await memory.recall(query, { topK: 10 });
    if (groups.some((group) => group.hits.some(({ id }) => id === `m${target}`))) found.add(target);
  }, ROUNDS);
  const within = await timesOf(some, ({ query, target }) => memory.recall(query, { conversationId: conversationOf(target), topK: 10 }), ROUNDS);
  const context = (retrieval, searchMs) => async ({ query, target }) => {
    const built = await memory.buildContext({ conversationId: conversationOf(target), question: query, retrieval });
    searchMs.push(built.receipt.retrieval.ms ?? 0);
  };
  const searches = [];
  const retrieving = await timesOf(some, context("always", searches), ROUNDS);
  const plain = await timesOf(some, context("never", []), ROUNDS);
  const written = countWrites();
  let number = size;
  const last = conversationOf(size - 1);
  const appendOne = await timesOf(some, () => memory.append(last, message(number++, texts[number % texts.length])));
  await memory.settled();
  const writtenBytes = written.stop() / some.length;
  const stats = await memory.stats();
  await memory.close();
  return {
    recall: everywhere, hitAt10: found.size / some.length, recallWithin: within, buildContext: retrieving, searching: summary(searches),
    buildContextPlain: plain, appendOne, writtenBytes, wasmBytes: stats.wasmBytes, storageBytes: stats.storageBytes,
  };
}

/** Counts the bytes that are handed to IndexedDB. */
function countWrites() {
  const put = globalThis.IDBObjectStore.prototype.put;
  let bytes = 0;
  globalThis.IDBObjectStore.prototype.put = function counted(value, key) {
    bytes += (value?.body?.length ?? 0) + (value?.blob?.byteLength ?? 0);
    return put.call(this, value, key);
  };
  return {
    stop: () => {
      globalThis.IDBObjectStore.prototype.put = put;
      return bytes;
    },
  };
}

const STEPS = { fill, firstAnswer, ask };
globalThis.measure = (step, options) => STEPS[step](options);
document.title = "ready";
