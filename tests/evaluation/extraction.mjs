// Axis one: what of that which should be remembered is remembered, and what else.

import { ASKING_DAY, holdsOn, tells, timeOf, truths } from "./labelled-set.mjs";

/** Facts that are put into prompts by themselves. */
const TRUSTED = new Set(["user_stated", "user_confirmed"]);

/** What is remembered of a user and has not ended, each fact beside the label that it was made of, if there is one. */
export async function remembered(memory, user) {
  const holds = ({ expiresAt }) => expiresAt === null || expiresAt > timeOf(ASKING_DAY);
  const facts = (await memory.facts.list({ status: "active" })).filter(holds);
  return facts.map((fact) => ({ fact, isTrusted: TRUSTED.has(fact.trust), ...labelOf(fact, user) }));
}

/** The label whose words the fact has and in whose session it was said; a truth before a trap, the newer before the older. */
function labelOf({ fact, source }, user) {
  const fits = (label) => tells(fact, label) && label.session === source.conversationId;
  const gold = [...user.facts.values()].filter(fits).at(-1);
  if (gold !== undefined) return { gold };
  return { trap: user.traps.find(fits) };
}

/** The figures of one user; `add` sums those of several. */
export async function extractionOf(memory, user, proposals) {
  const known = await remembered(memory, user);
  const used = known.filter(({ isTrusted }) => isTrusted);
  const wanted = truths(user, ASKING_DAY).map(({ id }) => id);
  const foundIn = (list) => wanted.filter((id) => list.some(({ gold }) => gold?.id === id));
  const isRight = ({ gold }) => gold !== undefined && holdsOn(gold, ASKING_DAY);
  const right = known.filter(isRight);
  return {
    wanted: wanted.length,
    proposed: proposals.length,
    proposedRight: proposals.filter(({ label }) => label.is === "fact").length,
    proposedFound: wanted.filter((id) => proposals.some(({ label }) => label.id === id)).length,
    known: known.length,
    knownRight: right.length,
    knownFound: foundIn(known).length,
    used: used.length,
    usedRight: used.filter(isRight).length,
    usedFound: foundIn(used).length,
    categoryRight: right.filter(({ fact, gold }) => fact.category === gold.category).length,
    keyRight: right.filter(({ fact, gold }) => fact.key === gold.key).length,
    quoteRight: right.filter(({ fact, gold }) => gold.text.includes(fact.source.quote) && fact.source.seq === gold.seq).length,
    twice: right.length - new Set(right.map(({ gold }) => gold.id)).size,
    stale: used.filter(({ gold }) => gold !== undefined && !holdsOn(gold, ASKING_DAY)).map(({ gold }) => ({ id: gold.id, how: gold.how })),
    lost: wanted.filter((id) => proposals.some(({ label }) => label.id === id) && !foundIn(used).includes(id)),
    traps: user.traps.map((trap) => ({
      kind: trap.kind,
      known: known.some((each) => each.trap === trap),
      used: used.some((each) => each.trap === trap),
    })),
  };
}

/** Sums of numbers, lists joined. */
export function add(rows) {
  const sum = {};
  for (const [name, value] of rows.flatMap((row) => Object.entries(row))) {
    if (Array.isArray(value)) sum[name] = [...(sum[name] ?? []), ...value];
    else sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}
