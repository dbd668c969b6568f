// A user's conversations, told to the engine as an app would tell them: message by message, on their days, with a clock
// that is moved, the background work finished after each session.

import { countTokens, createMemory, memoryStorage } from "throughline";
import { timeOf } from "./labelled-set.mjs";

/** Adds what each answered call of a model costs to `usage` (one that was aborted, since its matter was forgotten, has none): calls, tokens in and out (o200k_base), milliseconds, by purpose. */
function metered(model, usage) {
  const generate = async (request) => {
    const begin = performance.now();
    const answer = await model.generate(request);
    const ms = performance.now() - begin;
    const row = (usage[request.purpose] ??= { calls: 0, input: 0, output: 0, ms: 0 });
    row.calls += 1;
    const input = request.system + request.messages.map(({ content }) => content).join("\n");
    row.input += (await countTokens(input, "o200k_base")).tokens;
    row.output += (await countTokens(typeof answer === "string" ? answer : JSON.stringify(answer), "o200k_base")).tokens;
    row.ms += ms;
    return answer;
  };
  return { contextWindow: model.contextWindow, generate };
}

/**
 * A memory on a clock that `at(day, minute)` sets, and what its model was asked.
 *
 * @param {{ userId: string, embedder?: object, model?: { contextWindow: number, generate: Function }, policy?: object }} options
 */
export async function memoryOnClock({ userId, embedder, model, policy }) {
  const clock = { now: timeOf(0) };
  const usage = {};
  // The periodic check of facts is not measured: it would run in the middle of a session, whenever the clock jumps.
  const facts = { auditDays: 0, ...policy?.facts };
  const options = { userId, storage: memoryStorage(), clock: () => clock.now, policy: { ...policy, facts } };
  if (embedder !== undefined) options.embedder = embedder;
  if (model !== undefined) options.languageModel = metered(model, usage);
  const memory = await createMemory(options);
  /** Failed background work, by the error's code. */
  const errors = {};
  memory.on("error", ({ code }) => (errors[code] = (errors[code] ?? 0) + 1));
  const at = (day, minute) => (clock.now = timeOf(day, minute));
  return { memory, usage, errors, at };
}

/** Waits for the work that is due, and not for what waits for more messages. */
export async function worked(memory) {
  while ((await memory.stats()).jobs > 0) await new Promise((resolve) => setTimeout(resolve, 1));
}

/** Tells all sessions of a user. Answers with the milliseconds that each message took to be stored and worked on. */
export async function tell({ memory, at }, user) {
  const times = [];
  for (const { id, day, messages } of user.sessions) {
    at(day);
    await memory.conversations.create({ id });
    for (const [minute, message] of messages.entries()) {
      at(day, minute);
      const begin = performance.now();
      await memory.append(id, message);
      if (message.role === "assistant") await worked(memory);
      times.push(performance.now() - begin);
    }
    at(day, messages.length + 120);
    await memory.settled();
  }
  return times;
}
