// The model of what prompts cost: providers' caches by their rules, and what it says of a conversation.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runCost } from "../../bench/cost/cost-run.mjs";
import { costTables } from "../../bench/cost/cost-tables.mjs";
import { longConversation } from "../../bench/cost/conversation.mjs";
import { PRICE_RULES } from "../../bench/cost/price-rules.mjs";
import { PromptCache } from "../../bench/cost/prompt-cache.mjs";
import { breakEven } from "../../bench/cost/strategies.mjs";

const rule = (name) => PRICE_RULES.find((each) => each.name.startsWith(name));
const blocks = (...tokens) => tokens.map((count, index) => ({ text: `${index}:${count}`, tokens: count }));

test("with marks, what is in front of one is written once and read from then on", () => {
  const cache = new PromptCache(rule("Anthropic, models that keep 1,024"));
  assert.deepEqual(cache.send({ blocks: blocks(1_000, 500, 10), marks: [1, 2] }), { read: 0, written: 1_500, plain: 10, price: 1_500 * 1.25 + 10 });
  assert.deepEqual(cache.send({ blocks: blocks(1_000, 500, 20, 30), marks: [1, 3] }), { read: 1_500, written: 20, plain: 30, price: 150 + 25 + 30 });
  // The first mark is in front of too little to be kept.
  assert.equal(cache.send({ blocks: blocks(1_000, 600), marks: [1, 2] }).read, 0);
  cache.growCold();
  assert.equal(cache.send({ blocks: blocks(1_000, 500, 20), marks: [3] }).read, 0);
});

test("what is only quoted is charged as if it were sent, and nothing of it is kept", () => {
  for (const [name, marks] of [["Anthropic, models that keep 1,024", [2]], ["OpenAI up to", []]]) {
    const [sent, quoted] = [new PromptCache(rule(name)), new PromptCache(rule(name))];
    const [first, other, next] = [[1_500, 500], [1_500, 700], [1_500, 700, 10]].map((tokens) => ({ blocks: blocks(...tokens), marks }));
    for (const cache of [sent, quoted]) cache.send(first);
    const quote = quoted.quote(other);
    assert.deepEqual(quote, quoted.quote(other), name);
    assert.deepEqual(quote, sent.send(other), name);
    assert.ok(quoted.quote(next).read < sent.quote(next).read, name);
  }
});

test("a mark finds what was kept up to twenty blocks before it, and no further", () => {
  const many = (count) => blocks(2_000, ...Array.from({ length: count }, () => 10));
  for (const [added, read] of [[19, 2_010], [20, 0]]) {
    const cache = new PromptCache(rule("Anthropic, models that keep 1,024"));
    cache.send({ blocks: many(1), marks: [2] });
    assert.equal(cache.send({ blocks: many(1 + added), marks: [2 + added] }).read, read);
  }
});

test("without marks the common start is read, where it is long enough; WebLLM reads all or nothing", () => {
  const automatic = new PromptCache(rule("OpenAI up to"));
  automatic.send({ blocks: blocks(1_000, 24, 5), marks: [] });
  assert.equal(automatic.send({ blocks: blocks(1_000, 24, 6, 7), marks: [] }).read, 1_024);
  const short = new PromptCache(rule("Gemini 3"));
  short.send({ blocks: blocks(4_000, 95), marks: [] });
  assert.equal(short.send({ blocks: blocks(4_000, 95, 1), marks: [] }).read, 0);
  const whole = new PromptCache(rule("WebLLM"));
  whole.send({ blocks: blocks(10, 20), marks: [] });
  assert.deepEqual(whole.send({ blocks: blocks(10, 20, 30), marks: [] }), { read: 30, written: 0, plain: 30, price: 30 });
  assert.equal(whole.send({ blocks: blocks(10, 20, 31), marks: [] }).read, 0);
});

test("from where on one way is cheaper", () => {
  assert.equal(breakEven([5, 6, 7], [1, 6, 9]), 3);
  assert.equal(breakEven([5, 6], [1, 6]), undefined);
  assert.equal(breakEven([0, 1], [1, 2]), 1);
});

test("over a conversation the engine's prompts are read from caches and end up cheaper than replaying it", async () => {
  assert.deepEqual(longConversation(20), longConversation(20));
  const report = await runCost({ turns: 75 });
  const named = (name) => report.results.find((result) => result.name === name);
  const engine = named("engine");
  assert.ok(report.compactions >= 1);
  for (const [at, { rule: name, readShare, price }] of engine.rules.entries()) {
    const priceOf = (strategy) => named(strategy).rules[at].price;
    if (!/no cache|WebLLM/.test(name)) assert.ok(readShare > 0.6, `${name}: ${readShare}`);
    assert.ok(price <= priceOf("rebuilt each turn"), name);
    if (!/anew/.test(name)) assert.ok(price < priceOf("full replay, no cache"), name);
  }
  assert.equal(named("full replay, no cache").sent, named("full replay, cached").sent);
  assert.ok(engine.largest < 20_000);
  const text = costTables([report]);
  for (const { name } of PRICE_RULES) assert.ok(text.includes(name), name);
});
