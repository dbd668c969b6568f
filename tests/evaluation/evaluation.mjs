// The whole evaluation: four axes, the engine in its variants, the baselines beside it. Answers with plain data.

import { BASELINES, promptOf } from "./baselines.mjs";
import { batches } from "./batches.mjs";
import { add, extractionOf } from "./extraction.mjs";
import { withHistory } from "./history.mjs";
import { ASKING_DAY, labelledUsers } from "./labelled-set.mjs";
import { SYSTEM, judge, probeEngine } from "./probes.mjs";
import { memoryOnClock, tell } from "./replay.mjs";
import { decay, factCount, factInjection, factRetrieval, messageRetrieval } from "./retrieval.mjs";
import { scriptedModel } from "./scripted-model.mjs";

const summed = (usages) => {
  const sum = {};
  for (const [purpose, row] of usages.flatMap((usage) => Object.entries(usage))) sum[purpose] = add([sum[purpose] ?? {}, row]);
  return sum;
};

/** All users with one model: what is remembered, what it cost, and the probes. */
async function runEngine(users, { embedder, modelFor }) {
  const parts = [];
  for (const user of users) {
    const model = modelFor?.(user);
    const told = await memoryOnClock({ userId: user.id, embedder, model });
    const times = await tell(told, user);
    told.at(ASKING_DAY);
    await told.memory.settled();
    const extraction = model === undefined ? undefined : await extractionOf(told.memory, user, model.proposals);
    const probes = await probeEngine(told.memory, user);
    // What was forgotten on the way goes from episodes, which is asked of the model too.
    await told.memory.settled();
    parts.push({ extraction, usage: told.usage, errors: told.errors, times, probes });
    await told.memory.close();
  }
  return {
    extraction: modelFor === undefined ? undefined : add(parts.map(({ extraction }) => extraction)),
    byUser: Object.fromEntries(users.map(({ id }, index) => [id, parts[index].extraction])),
    usage: summed(parts.map(({ usage }) => usage)),
    errors: add(parts.map(({ errors }) => errors)),
    times: parts.flatMap(({ times }) => times),
    probes: parts.flatMap(({ probes }) => probes),
  };
}

/** All users without an engine. What was erased is gone here too. */
async function runBaseline(users, choose) {
  const probes = [];
  for (const user of users) {
    for (const probe of user.probes) {
      const erased = probe.kind === "erased" ? user.facts.get(probe.fact) : undefined;
      const messages = user.sessions.flatMap(({ id, messages: all }) => all.filter((_, index) => erased?.session !== id || erased.seq !== index + 1));
      probes.push(judge(user, probe, await promptOf(choose(messages), SYSTEM, probe.question)));
    }
  }
  return { probes };
}

/**
 * @param {{ users?: string[], history?: number, embedder?: object, remote?: object }} options `history`: made-up messages
 * around each user's labelled ones. `embedder`: of the variants that have one. `remote`: a real model in place of the
 * scripted ones. `batchSizes`: values of `batchMessages` to be compared.
 */
export async function evaluate({ users: names, history = 0, embedder, remote, batchSizes: sizes = [] }) {
  const labelled = labelledUsers(names);
  const users = history === 0 ? labelled : labelled.map((user, index) => withHistory(user, history, index + 1));
  const models = remote === undefined
    ? { careful: (user) => scriptedModel(user, "careful"), careless: (user) => scriptedModel(user, "careless") }
    : { [remote.name]: () => remote.model };
  const runs = {};
  for (const [name, modelFor] of Object.entries(models)) {
    runs[`engine, words, ${name} model`] = await runEngine(users, { modelFor });
    if (embedder !== undefined) runs[`engine, words and vectors, ${name} model`] = await runEngine(users, { embedder, modelFor });
  }
  runs["engine, words, no model"] = await runEngine(users, {});
  const baselines = {};
  for (const [name, choose] of Object.entries(BASELINES)) baselines[name] = await runBaseline(users, choose);
  return {
    trouble: remote?.model.trouble,
    set: { ...sizeOf(labelled), history, toldByUsers: sizeOf(users).userMessages },
    runs,
    baselines,
    retrieval: {
      facts: { words: await factRetrieval(users), vectors: embedder && (await factRetrieval(users, embedder)) },
      messages: { words: await messageRetrieval(users), vectors: embedder && (await messageRetrieval(users, embedder)) },
      decay: await decay(),
      injection: { words: await factInjection(users), vectors: embedder && (await factInjection(users, embedder)) },
    },
    batches: sizes.length === 0 ? undefined : await batches(labelled, sizes),
  };
}

function sizeOf(users) {
  const messages = users.flatMap(({ sessions }) => sessions.flatMap((session) => session.messages));
  return {
    users: users.length,
    languages: [...new Set(users.map(({ language }) => language))],
    sessions: users.reduce((sum, { sessions }) => sum + sessions.length, 0),
    messages: messages.length,
    userMessages: messages.filter(({ role }) => role === "user").length,
    facts: users.reduce((sum, { facts }) => sum + facts.size, 0),
    holding: factCount(users),
    traps: users.reduce((sum, { traps }) => sum + traps.length, 0),
    probes: users.reduce((sum, { probes }) => sum + probes.length, 0),
  };
}
