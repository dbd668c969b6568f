// Axis two: whether what a question needs is found, among the facts and among the messages of all users together. What was
// replaced and what is older than its like are counted apart.

import { readFileSync } from "node:fs";
import { ASKING_DAY, replacedBy, truths } from "./labelled-set.mjs";
import { asked } from "./probes.mjs";
import { memoryOnClock, tell } from "./replay.mjs";

/** How many are looked at for recall. */
export const DEPTHS = [1, 3, 5, 10];
const DEEPEST = DEPTHS.at(-1);

/** Recall at each depth and mean reciprocal rank, of ranks from 1 (`undefined`: not among the first ten). */
export function figures(ranks) {
  const share = (wanted) => (ranks.length === 0 ? undefined : ranks.filter(wanted).length / ranks.length);
  const reciprocal = ranks.reduce((sum, rank) => sum + (rank === undefined ? 0 : 1 / rank), 0);
  return { asked: ranks.length, recall: DEPTHS.map((depth) => share((rank) => rank <= depth)), mrr: reciprocal / ranks.length };
}

const rankOf = (list, isIt) => {
  const place = list.findIndex(isIt);
  return place < 0 ? undefined : place + 1;
};

/** The facts of all users written down by hand, so that extraction plays no part; the newer value under the same key. */
async function memoryOfFacts(users, embedder, policy) {
  const { memory, at } = await memoryOnClock({ userId: "facts", embedder, policy });
  const labels = users.flatMap((user) => [...user.facts.values()].map((label) => ({ user, label })));
  labels.sort((one, other) => one.label.day - other.label.day);
  const ids = new Map();
  for (const { user, label } of labels) {
    at(label.day);
    const before = ids.get(label.replaces);
    const write = { fact: label.fact, category: label.category, key: label.key === null ? undefined : `${user.id}.${label.key}` };
    if (label.days !== undefined) write.expiresAt = at(label.day + label.days);
    at(label.day);
    const stored = before === undefined ? await memory.facts.add(write) : await memory.facts.update(before, { fact: label.fact });
    ids.set(label.id, stored.id);
  }
  at(ASKING_DAY);
  await memory.settled();
  return { memory, ids };
}

/** Ranks of facts by `facts.search`: `kinds` of probes apart, and whether what was replaced is still found. */
export async function factRetrieval(users, embedder) {
  const { memory, ids } = await memoryOfFacts(users, embedder);
  const ranks = {};
  let outdated = 0;
  for (const user of users) {
    for (const probe of user.probes.filter(({ kind }) => ["preference", "fact", "update"].includes(kind))) {
      const label = user.facts.get(probe.fact);
      const hits = await memory.facts.search(probe.question, { topK: DEEPEST });
      (ranks[probe.kind] ??= []).push(rankOf(hits, ({ fact }) => fact.id === ids.get(label.id)));
      const texts = replacedBy(user, label).map(({ fact }) => fact);
      if (hits.some(({ fact }) => texts.includes(fact.fact))) outdated += 1;
    }
  }
  await memory.close();
  return { ranks, outdated };
}

/** A memory section in which a sixth of the facts of all users have room. */
const SMALL_SECTION_TOKENS = 260;

/** How often the fact that a question needs is among those that are put in, where far from all have room. */
export async function factInjection(users, embedder) {
  const { memory, ids } = await memoryOfFacts(users, embedder, { budget: { memoryTokens: SMALL_SECTION_TOKENS } });
  const counts = { asked: 0, there: 0, facts: 0 };
  for (const user of users) {
    for (const probe of user.probes.filter(({ kind }) => ["preference", "fact", "update"].includes(kind))) {
      const wanted = ids.get(user.facts.get(probe.fact).id);
      const { receipt } = await asked(memory, probe.question);
      const items = receipt.sections.find(({ name }) => name === "memory")?.items ?? [];
      counts.asked += 1;
      counts.facts += items.length;
      if (items.some(({ id }) => id === wanted)) counts.there += 1;
    }
  }
  await memory.close();
  return { ...counts, of: ids.size };
}

/** All users' sessions in one memory, so that each looks among the messages of all. */
export async function memoryOfMessages(users, embedder) {
  const told = await memoryOnClock({ userId: "messages", embedder });
  for (const user of users) await tell(told, user);
  told.at(ASKING_DAY);
  return told.memory;
}

/** Ranks of messages by `recall`, and how often the message with the new value comes before the one with the old. */
export async function messageRetrieval(users, embedder) {
  const memory = await memoryOfMessages(users, embedder);
  const ranks = {};
  const newerFirst = [];
  for (const user of users) {
    for (const probe of user.probes.filter(({ kind }) => ["fact", "exact", "update"].includes(kind))) {
      const wanted = user.places.get(probe.message) ?? user.facts.get(probe.fact);
      const groups = await memory.recall(probe.question, { topK: DEEPEST });
      const hits = groups.flatMap(({ conversationId, hits: found }) => found.map((hit) => ({ ...hit, conversationId }))).sort((one, other) => other.score - one.score);
      const rank = (place) => rankOf(hits, ({ conversationId, seq }) => conversationId === place.session && seq === place.seq);
      (ranks[probe.kind] ??= []).push(rank(wanted));
      if (probe.kind === "update") newerFirst.push(...replacedBy(user, wanted).map((old) => (rank(wanted) ?? Infinity) < (rank(old) ?? Infinity)));
    }
  }
  await memory.close();
  return { ranks, newerFirst };
}

/** Caps of the memory section to be tried: with one of them only one of two short facts has room beside the section's head. */
const CAPS = [72, 68, 64, 60, 57, 54, 51, 48, 45];

/** Facts that say the same kind of thing, one long untouched: which is found first, and which is put in where there is room for one. */
export async function decay(embedder) {
  const cases = JSON.parse(readFileSync(new URL("decay.json", import.meta.url), "utf8"));
  const results = [];
  for (const each of cases) {
    for (const cap of CAPS) {
      const { found, facts } = await askedOfTwo(each, cap, embedder);
      if (facts.length > 1 && cap !== CAPS.at(-1)) continue;
      const rank = rankOf(found, (fact) => fact === each.newer);
      results.push({ question: each.question, rank, searched: rank === 1, injected: facts.length === 1 && facts[0] === each.newer });
      break;
    }
  }
  return results;
}

async function askedOfTwo({ question, older, newer, days }, memoryTokens, embedder) {
  const { memory, at } = await memoryOnClock({ userId: "decay", embedder, policy: { budget: { memoryTokens } } });
  for (const [index, fact] of [older, newer].entries()) {
    at(days[index]);
    await memory.facts.add({ fact });
  }
  at(ASKING_DAY);
  await memory.settled();
  const found = (await memory.facts.search(question)).map(({ fact }) => fact.fact);
  const { facts } = await asked(memory, question);
  await memory.close();
  return { found, facts };
}

/** How many facts hold, of all users. */
export const factCount = (users) => users.reduce((sum, user) => sum + truths(user, ASKING_DAY).length, 0);
