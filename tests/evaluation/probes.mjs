// Axis three: a new conversation, weeks later. Judged by what the context holds, without a model: whether what is needed
// is there, and whether anything is there that no longer holds.

import { plain, replacedBy, tells } from "./labelled-set.mjs";

export const SYSTEM = "You are a helpful assistant.";

/** The kinds, in the order of the tables. */
export const KINDS = ["preference", "fact", "exact", "update", "expired", "retracted", "forgotten", "erased", "abstention"];

/** Probes of which something must be there. */
export const needs = ({ holds }) => holds !== undefined;

/** What a probe must not find: what was replaced, ended, taken back, forgotten or erased. */
function endedOf(user, { kind, fact }) {
  const label = user.facts.get(fact);
  if (kind === "update") return replacedBy(user, label);
  return ["expired", "retracted", "forgotten", "erased"].includes(kind) ? [label] : [];
}

/** A fact that says the new value as well ("from Lyon to Grenoble") is not out of date. */
const isOutdated = (text, label, current) => tells(text, label) && !(current !== undefined && tells(text, current));

/**
 * @param {{ text: string, tokens: number, facts: string[], ms?: number, retrieved?: number }} context The prompt's whole text,
 * and the facts in it.
 * @returns {{ kind: string, holds?: boolean, staleFact: boolean, staleText: boolean, injected?: boolean }} `staleFact`: it is told as remembered that
 * something holds which does not. `staleText`: the message that said so is there. `injected`: an abstention got anything.
 */
export function judge(user, probe, context) {
  const ended = endedOf(user, probe);
  const current = probe.kind === "update" ? user.facts.get(probe.fact) : undefined;
  const text = plain(context.text);
  return {
    kind: probe.kind,
    question: probe.question,
    holds: needs(probe) ? probe.holds.every((words) => text.includes(plain(words))) : undefined,
    staleFact: ended.some((label) => context.facts.some((fact) => isOutdated(fact, label, current))),
    staleText: ended.some((label) => text.includes(plain(label.text))),
    injected: probe.kind === "abstention" ? (context.retrieved ?? 0) > 0 : undefined,
    tokens: context.tokens,
    ms: context.ms,
  };
}

/** Asks the engine in a new conversation. */
export async function asked(memory, question) {
  const { id } = await memory.conversations.create();
  const begin = performance.now();
  const context = await memory.buildContext({ conversationId: id, question, system: SYSTEM });
  const ms = performance.now() - begin;
  const section = (name) => context.receipt.sections.find((each) => each.name === name);
  const facts = await Promise.all((section("memory")?.items ?? []).map(async ({ id: factId }) => (await memory.facts.get(factId)).fact));
  const texts = context.messages.map(({ content }) => (typeof content === "string" ? content : JSON.stringify(content)));
  await memory.conversations.delete(id);
  return { text: [context.system, ...texts].join("\n"), tokens: context.tokens, facts, ms, retrieved: section("retrieved")?.items.length ?? 0, receipt: context.receipt };
}

/** All probes of a user, those that forget and erase last. */
export async function probeEngine(memory, user) {
  const results = [];
  const before = user.probes.filter(({ kind }) => kind !== "forgotten" && kind !== "erased");
  for (const probe of before) results.push(judge(user, probe, await asked(memory, probe.question)));
  for (const probe of user.probes.filter((each) => !before.includes(each))) {
    const label = user.facts.get(probe.fact);
    await take(memory, label, probe.kind);
    results.push(judge(user, probe, await asked(memory, probe.question)));
  }
  return results;
}

/** What the user's hand does: forgets the fact on a settings page, or erases the message that said it. */
async function take(memory, label, kind) {
  if (kind === "erased") {
    await memory.erase({ messageId: `${label.session}-m${label.seq}` });
    return;
  }
  for (const fact of await memory.facts.list()) if (tells(fact.fact, label)) await memory.facts.forget(fact.id);
}
