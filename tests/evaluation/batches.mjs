// What it costs and what it delays to read several messages at once: `policy.facts.batchMessages`, without vectors, with the
// careful model. A conversation's last messages are read when it is idle, or when the user speaks in another one.

import { extractionOf } from "./extraction.mjs";
import { ASKING_DAY, tells } from "./labelled-set.mjs";
import { memoryOnClock, worked } from "./replay.mjs";
import { scriptedModel } from "./scripted-model.mjs";

/** For each size: what was asked of the model, what is known in the end, and how long it took to be known. */
export async function batches(users, sizes) {
  const rows = [];
  for (const size of sizes) {
    const runs = [];
    for (const user of users) runs.push(await runOf(user, size));
    rows.push({ size, ...sumOf(runs) });
  }
  return rows;
}

async function runOf(user, batchMessages) {
  const model = scriptedModel(user, "careful");
  const told = await memoryOnClock({ userId: user.id, model, policy: { facts: { batchMessages } } });
  const waits = await tellAtOnce(told, user);
  told.at(ASKING_DAY);
  await told.memory.settled();
  const extraction = await extractionOf(told.memory, user, model.proposals);
  await told.memory.close();
  return { usage: told.usage, waits, extraction, said: user.sessions.flatMap(({ messages }) => messages).filter(({ role }) => role === "user").length };
}

/** Tells a user's sessions, each begun right after the one before. Answers for each fact how many messages the user had said before it was known. */
async function tellAtOnce({ memory, at }, user) {
  const unknown = new Set(user.facts.values());
  const waits = [];
  let spoken = 0;
  const saidAt = new Map();
  const look = async () => {
    const known = await memory.facts.list({ status: "active" });
    for (const label of [...unknown]) {
      if (!saidAt.has(label) || !known.some((fact) => tells(fact.fact, label) && fact.source.conversationId === label.session)) continue;
      unknown.delete(label);
      waits.push(spoken - saidAt.get(label));
    }
  };
  for (const { id, day, messages } of user.sessions) {
    at(day);
    await memory.conversations.create({ id });
    for (const [index, message] of messages.entries()) {
      at(day, index / 10);
      await memory.append(id, message);
      if (message.role === "user") spoken += 1;
      for (const label of unknown) if (label.session === id && label.seq === index + 1) saidAt.set(label, spoken);
      if (message.role !== "assistant") continue;
      await worked(memory);
      await look();
    }
  }
  return waits;
}

function sumOf(runs) {
  const sum = (of) => runs.reduce((total, run) => total + of(run), 0);
  const spent = ({ usage }) => Object.values(usage).reduce((total, { input, output }) => total + input + output, 0);
  const facts = ({ usage }, field) => ["extract", "judge"].reduce((total, purpose) => total + (usage[purpose]?.[field] ?? 0), 0);
  const said = sum((run) => run.said);
  const waits = runs.flatMap((run) => run.waits).sort((one, other) => one - other);
  return {
    calls: sum((run) => run.usage.extract?.calls ?? 0),
    judged: sum((run) => run.usage.judge?.calls ?? 0),
    tokensPerMessage: sum((run) => facts(run, "input") + facts(run, "output")) / said,
    allTokensPerMessage: sum(spent) / said,
    found: sum((run) => run.extraction.usedFound),
    wanted: sum((run) => run.extraction.wanted),
    right: sum((run) => run.extraction.usedRight),
    used: sum((run) => run.extraction.used),
    wait: waits.reduce((total, messages) => total + messages, 0) / waits.length,
    longestWait: waits.at(-1),
  };
}
