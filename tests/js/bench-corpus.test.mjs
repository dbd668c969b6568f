// The benchmark's corpus: the same every time, of realistic length, and its questions have one right answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import { makeCorpus } from "../../bench/corpus.mjs";
import { PLANTED } from "../../bench/planted.mjs";
import { askAll, summary } from "../../bench/timing.mjs";

const SIZE = 4_000;
const corpus = makeCorpus({ size: SIZE, questions: 200, perClass: 20 });

test("the same seed gives the same corpus, another one another", () => {
  assert.deepEqual(makeCorpus({ size: SIZE, questions: 200, perClass: 20 }), corpus);
  assert.notEqual(makeCorpus({ size: 10, seed: 5, questions: 0, perClass: 0 }).texts[0], makeCorpus({ size: 10, questions: 0, perClass: 0 }).texts[0]);
});

test("messages are as long as messages are, and their words follow no small list", () => {
  const characters = corpus.texts.reduce((sum, text) => sum + text.length, 0) / SIZE;
  assert.ok(characters > 130 && characters < 180, `${characters} characters in the mean`);
  const words = new Set(corpus.texts.flatMap((text) => text.toLowerCase().match(/\p{L}+/gu)));
  assert.ok(words.size > 15_000, `${words.size} different words`);
});

test("questions have 3 to 12 words, most of them of their message", () => {
  assert.equal(corpus.asked.length, 200);
  const remembered = corpus.asked.filter(({ query, target }) => {
    const words = query.split(" ");
    assert.ok(words.length >= 3 && words.length <= 12, query);
    const text = corpus.texts[target].toLowerCase();
    return words.some((word) => word.length > 4 && text.includes(word.slice(0, 4)));
  });
  assert.ok(remembered.length > 190, `${remembered.length} of 200 hold a long word of theirs`);
});

test("planted things are of all classes, evenly, and each stands in no other message", () => {
  assert.equal(PLANTED.length, 16);
  for (const kind of PLANTED) assert.equal(corpus.exact.filter((each) => each.kind === kind).length, 20, kind);
  for (const { kind, query, target } of corpus.exact) {
    const holders = corpus.texts.flatMap((text, message) => (text.includes(query) ? [message] : []));
    // What is asked for in another form stands nowhere as it is asked for.
    const isAsWritten = !["camelCase by its words", "PascalCase in lower case", "accents"].includes(kind);
    assert.deepEqual(holders, isAsWritten ? [target] : [], `${kind}: ${query}`);
  }
});

test("texts that are given are taken, over and over, with things planted in them", () => {
  const given = ["The quick brown foxes were jumping over several lazy dogs yesterday.", "Nobody expected the committee to publish anything before Thursday."];
  const { texts, exact } = makeCorpus({ size: 100, texts: given, questions: 5, perClass: 1 });
  const held = new Set(exact.map(({ target }) => target));
  assert.equal(held.size, 16);
  assert.ok(texts.every((text, message) => held.has(message) || text.toLowerCase().startsWith(message % 2 === 0 ? "the quick" : "nobody expected")));
});

test("figures: percentiles of the shortest times, answers of every question", async () => {
  const { p50, p95, mean, runs } = summary(Array.from({ length: 100 }, (_, place) => 100 - place));
  assert.deepEqual({ p50, p95, mean, runs }, { p50: 51, p95: 96, mean: 50.5, runs: 100 });
  let asked = 0;
  const { answers, times } = await askAll([1, 2], 3, (question) => {
    asked += 1;
    return question === 1 ? Promise.resolve("one") : "two";
  });
  assert.deepEqual(answers, ["one", "two"]);
  assert.equal(asked, 6);
  assert.equal(times.runs, 2);
});
