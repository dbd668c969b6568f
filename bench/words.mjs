// One engine that searches by words: built, asked, added to, saved and loaded again.

import { makeCorpus } from "./corpus.mjs";
import { Random } from "./random.mjs";
import { askAll, summary, timed } from "./timing.mjs";

const FOUND_WITHIN = 10;
const WARM_UP = 20;
const ADDED = 100;

/** Builds the index. The corpus is kept, so that what memory grows by is the index's. */
export async function build({ open, size, questions, texts }) {
  const made = makeCorpus({ size, questions, texts });
  // Strings that were put together of pieces stay pieces until somebody reads them: that must not count as the index's.
  const corpus = { ...made, texts: JSON.parse(JSON.stringify(made.texts)) };
  return {
    corpus,
    buildAll: async () => {
      const begin = performance.now();
      const engine = await open();
      for (let number = 0; number < size; number += 1) {
        const pending = engine.add(number, corpus.texts[number]);
        if (pending instanceof Promise) await pending;
      }
      await engine.finish?.();
      return { engine, buildMs: performance.now() - begin };
    },
  };
}

/** Everything that is measured on a built index. */
export async function measure({ engine, corpus, size, repeats }) {
  const { asked, exact } = corpus;
  await askAll(asked.slice(0, WARM_UP), 1, ({ query }) => engine.search(query, FOUND_WITHIN));
  const ranked = await askAll(asked, repeats, ({ query }) => engine.search(query, FOUND_WITHIN));
  const hits = ranked.answers.filter((answer, place) => answer.includes(asked[place].target)).length;
  const found = await askAll(exact, 1, ({ query }) => engine.search(query, FOUND_WITHIN));
  const foundInQuestion = await askAll(exact, 1, ({ query }) => engine.search(`what did we say about ${query}`, FOUND_WITHIN));
  return {
    query: ranked.times,
    hitAt10: hits / ranked.answers.length,
    exact: exactness(exact, found.answers),
    exactInQuestion: exactness(exact, foundInQuestion.answers),
    exactQuery: found.times,
    insert: await inserted(engine, size),
    saved: await saved(engine, corpus, ranked.answers),
  };
}

/** Share of first places, all in all and by class. */
function exactness(exact, answers) {
  const byKind = {};
  for (const [place, { kind, target }] of exact.slice(0, answers.length).entries()) {
    byKind[kind] ??= { first: 0, asked: 0 };
    byKind[kind].asked += 1;
    if (answers[place][0] === target) byKind[kind].first += 1;
  }
  const first = Object.values(byKind).reduce((sum, each) => sum + each.first, 0);
  return { first: first / answers.length, byKind };
}

/** Adds single messages to the full index, and looks for each at once. */
async function inserted(engine, size) {
  const random = new Random(99);
  const { texts } = makeCorpus({ size: ADDED, seed: 77, questions: 0, perClass: 0 });
  const times = [];
  let foundAtOnce = 0;
  for (const [place, text] of texts.entries()) {
    const word = `zq${random.below(2 ** 31).toString(36)}`;
    const [ms] = await timed(() => engine.add(size + place, `${text} ${word}`));
    times.push(ms);
    const [first] = await engine.search(word, 1);
    if (first === size + place) foundAtOnce += 1;
  }
  return { ...summary(times), foundAtOnce: foundAtOnce / ADDED };
}

/** Saves, loads, and checks that the loaded one answers as before. */
async function saved(engine, { asked, texts }, answers) {
  if (engine.save === undefined) return undefined;
  const [saveMs, data] = await timed(() => engine.save(texts));
  const bytes = typeof data === "string" ? new TextEncoder().encode(data).length : data.reduce((sum, chunk) => sum + chunk.length, 0);
  const [loadMs, again] = await timed(() => engine.load(data));
  const some = asked.slice(0, Math.min(50, answers.length));
  let same = 0;
  for (const [place, { query }] of some.entries()) {
    const found = await again.search(query, FOUND_WITHIN);
    if (found[0] === answers[place][0]) same += 1;
  }
  again.free?.();
  return { bytes, saveMs, loadMs, sameFirst: same / some.length };
}
