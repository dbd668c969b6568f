// One engine that searches by vectors: built, asked with and without filters, added to, saved and loaded again.

import { indexes } from "./indexes.mjs";
import { askAll, summary, timed } from "./timing.mjs";

export const DIMENSIONS = 384;
const LIMIT = 10;
const WARM_UP = 20;
const BLOCK = 1_000;
const ADDED = 100;
/** Rows that are saved at most: they are held in memory for it. */
const MOST_SAVED = 200_000;
/** Filters let every so-many-th row through. */
const STEPS = [10, 100, 1_000];
const FILTERED_QUERIES = 100;

/**
 * Rows block by block, queries, and the exact nearest rows: of the files of `real`, or made up.
 *
 * @param {{ size: number, queries: number, real?: { rows: string, queries: string } }} options
 */
export async function source({ size, queries, real }) {
  if (real === undefined) return madeUp(size, queries);
  const [rows, asked] = await Promise.all([halves(real.rows), halves(real.queries)]);
  const all = rows.subarray(0, size * DIMENSIONS);
  return { isReal: true, size: all.length / DIMENSIONS, queries: asked.subarray(0, queries * DIMENSIONS), blocks: () => blocksOf(all) };
}

async function madeUp(size, count) {
  const { VectorSource } = await indexes();
  const asked = new VectorSource(DIMENSIONS, size, 1, 2);
  const queries = asked.next(count);
  asked.free();
  return {
    isReal: false, size, queries,
    *blocks() {
      const stream = new VectorSource(DIMENSIONS, size, 1, 1);
      for (let first = 0; first < size; first += BLOCK) yield [first, stream.next(Math.min(BLOCK, size - first))];
      stream.free();
    },
  };
}

function* blocksOf(rows) {
  for (let start = 0; start < rows.length; start += BLOCK * DIMENSIONS) yield [start / DIMENSIONS, rows.subarray(start, start + BLOCK * DIMENSIONS)];
}

/** IEEE half precision, little-endian. */
async function halves(url) {
  const halfs = new Uint16Array(await (await fetch(url)).arrayBuffer());
  return Float32Array.from(halfs, (bits) => {
    const exponent = (bits >> 10) & 31;
    const fraction = bits & 1023;
    const magnitude = exponent === 0 ? fraction * 2 ** -24 : 2 ** (exponent - 15) * (1 + fraction / 1024);
    return bits >> 15 === 1 ? -magnitude : magnitude;
  });
}

/** The exact nearest rows per query, of all rows and of those that each filter lets through. */
export async function groundTruth({ queries, blocks }) {
  const { Nearest } = await indexes();
  const steps = [1, ...STEPS];
  const finders = steps.map((step) => new Nearest(step === 1 ? queries : queries.subarray(0, FILTERED_QUERIES * DIMENSIONS), DIMENSIONS, LIMIT, step));
  for (const [first, rows] of blocks()) for (const finder of finders) finder.see(first, rows);
  return Object.fromEntries(steps.map((step, place) => [step, finders[place].numbers()]));
}

/** Builds the index; the time is that of the engine alone, not of making the rows. */
export async function build(engine, blocks) {
  let addMs = 0;
  for (const [first, rows] of blocks()) addMs += (await timed(() => engine.add(first, rows)))[0];
  const [finishMs] = await timed(() => engine.finish?.());
  return { addMs, buildMs: addMs + finishMs };
}

/** Everything that is measured on a built index. */
export async function measure({ engine, size, queries, blocks, truth, repeats }) {
  const all = Array.from({ length: queries.length / DIMENSIONS }, (_, place) => queries.subarray(place * DIMENSIONS, (place + 1) * DIMENSIONS));
  await askAll(all.slice(0, WARM_UP), 1, (query) => engine.search(query, LIMIT, 1));
  const asked = await askAll(all, repeats, (query) => engine.search(query, LIMIT, 1));
  const filters = {};
  for (const step of engine.canFilter === false ? [] : STEPS) {
    const some = all.slice(0, FILTERED_QUERIES);
    const { times, answers } = await askAll(some, repeats, (query) => engine.search(query, LIMIT, step));
    filters[step] = { ...times, recall: recall(answers, truth[step]) };
  }
  return { query: asked.times, recall: recall(asked.answers, truth[1]), filters, saved: size > MOST_SAVED ? undefined : await saved(engine, blocks, all, asked.answers), insert: await inserted(engine, size, all) };
}

function recall(answers, truth) {
  let [found, wanted] = [0, 0];
  for (const [place, numbers] of answers.entries()) {
    const expected = new Set(truth.slice(place * LIMIT, (place + 1) * LIMIT));
    wanted += expected.size;
    found += [...numbers].filter((number) => expected.has(number)).length;
  }
  return found / wanted;
}

/** Adds rows one by one, and looks for each at once. */
async function inserted(engine, size, queries) {
  const times = [];
  let foundAtOnce = 0;
  for (let place = 0; place < ADDED; place += 1) {
    // Near a query, and like no other row.
    const row = queries[place % queries.length].map((value, at) => value + ((at * 31 + place) % 7) * 0.01);
    const length = Math.hypot(...row);
    const unit = row.map((value) => value / length);
    times.push((await timed(() => engine.add(size + place, unit)))[0]);
    const [first] = await engine.search(unit, 1, 1);
    if (first === size + place) foundAtOnce += 1;
  }
  return { ...summary(times), foundAtOnce: foundAtOnce / ADDED };
}

async function saved(engine, blocks, queries, answers) {
  if (engine.save === undefined) return undefined;
  // Making up the rows once more is no part of saving them.
  const all = [...blocks()];
  const [saveMs, data] = await timed(() => engine.save(all));
  const bytes = data.reduce((sum, segment) => sum + segment.bytes.byteLength, 0);
  const [loadMs, again] = await timed(() => engine.load(data));
  const some = queries.slice(0, Math.min(50, answers.length));
  let same = 0;
  for (const [place, query] of some.entries()) if ((await again.search(query, LIMIT, 1))[0] === answers[place][0]) same += 1;
  again.free?.();
  return { bytes, saveMs, loadMs, sameFirst: same / some.length };
}
