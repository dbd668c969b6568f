// The engine's own hybrid search without storage: messages by words and by vectors together.

import { CONVERSATION_MESSAGES, makeCorpus } from "./corpus.mjs";
import { place } from "./engines/throughline-messages.mjs";
import { indexes } from "./indexes.mjs";
import { wasmBytes } from "./memory.mjs";
import { askAll, summary, timed } from "./timing.mjs";
import { DIMENSIONS, source } from "./vectors.mjs";

const LIMIT = 10;
const WARM_UP = 20;
const GROW_ROWS = 256;
const ADDED = 100;

/** Vectors are made up and say nothing of the texts: this is about time, not about quality. */
export async function measureHybrid({ size, choice, repeats, questions, texts }) {
  const { Messages } = await indexes();
  const corpus = makeCorpus({ size, questions, texts });
  const vectors = await source({ size, queries: questions });
  const index = new Messages(DIMENSIONS, choice);
  let buildMs = 0;
  for (const [first, rows] of vectors.blocks()) {
    const begin = performance.now();
    for (let number = first; number < first + rows.length / DIMENSIONS; number += 1) index.add(...place(number), corpus.texts[number]);
    index.setVectors(first, rows);
    buildMs += performance.now() - begin;
  }
  const [growMs] = await timed(() => {
    while (index.grow(GROW_ROWS)) continue;
  });
  const asked = corpus.asked.map(({ query, target }, at) => ({
    query, vector: vectors.queries.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS), conversation: Math.floor(target / CONVERSATION_MESSAGES),
  }));
  for (const { query, vector } of asked.slice(0, WARM_UP)) index.search(query, vector, undefined, LIMIT);
  const everywhere = await askAll(asked, repeats, ({ query, vector }) => index.search(query, vector, undefined, LIMIT));
  const within = await askAll(asked, repeats, ({ query, vector, conversation }) => index.search(query, vector, conversation, LIMIT));
  const bytes = wasmBytes();
  const added = [];
  for (let number = size; number < size + ADDED; number += 1) {
    const vector = asked[number % asked.length].vector;
    const [ms] = await timed(() => {
      const document = index.add(...place(number), corpus.texts[number - size]);
      index.setVectors(document, vector);
    });
    added.push(ms);
  }
  return { buildMs, growMs, everywhere: everywhere.times, within: within.times, insert: summary(added), bytes };
}
