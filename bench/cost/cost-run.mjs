// What a long conversation costs by the way that its prompts are made: each request of 600 turns, charged by each provider's
// rules. Calls of the summarising model are the engine's cost. Answers cost the same whatever was sent, and are left out.

import { countTokens, createMemory, memoryStorage } from "../../dist/index.js";
import { SYSTEM, longConversation } from "./conversation.mjs";
import { OUTPUT_PRICE, PRICE_RULES } from "./price-rules.mjs";
import { PromptCache } from "./prompt-cache.mjs";
import { engineRequest, plainStrategies, rebuiltRequest, systemPieces, tokensOf } from "./strategies.mjs";

const ENCODING = "o200k_base";
/** What a message costs beside its text, as in OpenAI's chat format. */
const MESSAGE_TOKENS = 4;
const TURN_MS = 60_000;
/** Longer than caches live, shorter than the pause that ends a session. */
const PAUSE_MS = 600_000;
const WINDOW = 128_000;

/**
 * @param {{ turns?: number, pauseEvery?: number, extract?: boolean, say?: (text: string) => void }} options `pauseEvery`: in
 * front of every so many turns is a pause longer than caches live; 0: never. `extract`: facts are extracted as well.
 */
export async function runCost({ turns: count = 600, pauseEvery = 0, extract = false, say = () => undefined } = {}) {
  const turns = longConversation(count);
  const block = await blockCounter(turns);
  const isCold = (turn) => pauseEvery > 0 && turn > 0 && turn % pauseEvery === 0;
  const engine = await runEngine(turns, { block, isCold, extract, say });
  const plain = plainStrategies(turns.map(({ question, answer }) => [question, answer]), SYSTEM, block);
  const strategies = { ...plain, ...engine.requests };
  const calls = { engine: engine.calls, "rebuilt each turn": engine.calls };
  const results = Object.entries(strategies).map(([name, request]) => priced(name, { count, request, isCold, calls: calls[name] ?? [] }));
  return { turns: count, pauseEvery, extract, tokens: { system: block(SYSTEM).tokens, history: tokensOf(turns.flatMap(({ question, answer }) => [block(question), block(answer)])) }, compactions: engine.compactions, results };
}

/** Counts each text once. */
async function blockCounter(turns) {
  const known = new Map();
  const count = async (text) => known.set(text, { text, tokens: (await countTokens(text, ENCODING)).tokens + MESSAGE_TOKENS });
  for (const text of [SYSTEM, ...turns.flatMap(({ question, answer }) => [question, answer])]) await count(text);
  const block = (text) => known.get(text);
  block.count = async (texts) => {
    for (const text of texts) if (!known.has(text)) await count(text);
  };
  return block;
}

async function runEngine(turns, { block, isCold, extract, say }) {
  const clock = { now: Date.UTC(2026, 0, 5) };
  const calls = turns.map(() => 0);
  let turn = 0;
  const languageModel = { contextWindow: WINDOW, generate: async (request) => {
    const answer = answerTo(request);
    const read = await countTokens(request.system + request.messages.map(({ content }) => content).join("\n"), ENCODING);
    calls[turn] += read.tokens + (await countTokens(answer, ENCODING)).tokens * OUTPUT_PRICE;
    return answer;
  } };
  const memory = await createMemory({ storage: memoryStorage(), clock: () => clock.now, tokenizer: ENCODING, languageModel, policy: { facts: { extract, auditDays: 0 }, episodes: { automatic: false } } });
  await memory.conversations.create({ id: "c" });
  const made = { engine: [], "rebuilt each turn": [] };
  for (const { question, answer } of turns) {
    clock.now += isCold(turn) ? PAUSE_MS : TURN_MS;
    await memory.settled();
    await memory.append("c", { role: "user", content: question });
    const built = await memory.buildContext({ conversationId: "c", system: SYSTEM, window: WINDOW });
    await block.count([...systemPieces(built), ...built.messages.map(({ content }) => content)]);
    const request = engineRequest(built, block, ({ content }) => content);
    made.engine.push(request);
    made["rebuilt each turn"].push(rebuiltRequest(turn, request, block(SYSTEM)));
    await memory.append("c", { role: "assistant", content: answer });
    await memory.settled();
    turn += 1;
    if (turn % 100 === 0) say(`${turn} turns`);
  }
  const { version } = await memory.summary("c");
  await memory.close();
  return { requests: Object.fromEntries(Object.entries(made).map(([name, all]) => [name, (at) => all[at]])), calls, compactions: version };
}

/** As long a summary as models write: some sentences of what was said, word for word, so that none is invented. */
function answerTo({ purpose, messages, maxTokens }) {
  if (purpose === "extract") return JSON.stringify({ facts: [] });
  const said = messages.map(({ content }) => content).join("\n").split("\n").filter((line) => line.startsWith("> ")).map((line) => line.slice(2));
  const sentences = said.flatMap((line) => line.split(/(?<=[.?!])[; ]|; | \/ /u)).filter((sentence) => sentence.length > 20);
  const count = Math.min(36, Math.floor(maxTokens / 42));
  const step = Math.max(1, Math.ceil(sentences.length / count));
  const kept = sentences.filter((_, index) => index % step === 0);
  const share = Math.ceil(count / 6);
  return JSON.stringify({ goal: kept.slice(0, 2), confirmed: kept.slice(2, 2 * share), decisions: kept.slice(2 * share, 4 * share), failed: kept.slice(4 * share, 5 * share), next: kept.slice(5 * share) });
}

/** One way of sending, under every rule: the price of each turn, summed up. */
function priced(name, { count, request, isCold, calls }) {
  const rules = PRICE_RULES.map((rule) => {
    const cache = new PromptCache(rule);
    const sums = [];
    let [price, read, sent] = [0, 0, 0];
    for (let turn = 0; turn < count; turn += 1) {
      if (isCold(turn)) cache.growCold();
      const made = request(turn);
      const tokens = tokensOf(made.blocks);
      const charged = cache.send(made);
      // What is read of a local model's own calls is not waited for.
      price += charged.price + (rule.isTime === true ? 0 : (calls[turn] ?? 0));
      read += charged.read;
      sent += tokens;
      sums.push(price);
    }
    return { rule: rule.name, price, sums, readShare: read / sent };
  });
  const sizes = Array.from({ length: count }, (_, turn) => tokensOf(request(turn).blocks));
  return { name, sent: sizes.reduce((total, tokens) => total + tokens, 0), largest: Math.max(...sizes), fits: sizes.findIndex((tokens) => tokens > WINDOW - 4_000), calls: calls.reduce((total, tokens) => total + tokens, 0), rules };
}
