// One life of a memory, told again over two storages: what either answers must be the same.
import assert from "node:assert/strict";
import { createMemory } from "../../dist/index.js";
import { hashingEmbedder, scriptedModel } from "../../dist/adapters/testing.js";
import { random } from "../js/random.mjs";

const PIECES = [
  "the staging server listens on port 8471", "we deploy with ./scripts/deploy.sh every Tuesday", "my sister Katerina lives in Lisbon", "Ticket ABC-1234 is about the importer",
  "the budget is 4,500 euros", "do you remember what I said about the importer?", "Der Bahnhof in Köln ist am 14. März gesperrt", "meine Allergie gegen Erdnüsse", "wir treffen uns übermorgen",
  "결제 서버는 내일 점검합니다", "강아지 이름은 초코예요", "決済サーバーの点検は明日です", "猫の名前はタマです", "付款服务器明天检查", "我喜欢喝绿茶", "ตรวจเซิร์ฟเวอร์พรุ่งนี้",
  "сервер оплаты проверим завтра", "le serveur de paiement tombe souvent", "config.toml has max_retries = 5", "she said \"never again on a Friday\"", "version v2.14.0-rc.1 broke it \u0000",
  "Wow, great!", "user@example.com wrote to us", "on 2025-06-03 the invoice came", "it costs $19.99 a month", "the cat sat on the mat", "yes", "remind me to water the plants",
];

/** Questions of every kind: names, identifiers, quotations, dates, what nobody said. */
export const QUESTIONS = [
  "Which port does the staging server listen on?", "What is ABC-1234?", "who said \"never again on a Friday\"?", "Where does Katerina live?", "what did I say last about the importer",
  "What was on June 3rd 2025?", "초코는 누구예요?", "결제 서버 점검은 언제?", "猫の名前は?", "付款服务器什么时候检查", "Wann ist der Bahnhof gesperrt?", "quand tombe le serveur de paiement ?",
  "max_retries in config.toml", "\"plants to water\" \"the mat\"", "is anything known of a zeppelin?", "hello",
];

const CHATS = ["work", "home", "trip", "other"];

/** Plays a life, and answers what `ask` answers of the memory at its end. */
async function live(storage, userId, hasEmbedder, ask) {
  let now = Date.UTC(2026, 0, 1);
  const options = { userId, storage, tokenizer: "estimate", clock: () => now, ...(hasEmbedder && { embedder: hashingEmbedder({ dimensions: 64 }) }) };
  let memory = await createMemory(options);
  const below = random(11);
  for (const [at, id] of CHATS.entries()) await memory.conversations.create({ id, title: id, ...(at < 2 && { projectId: "p" }) });
  const append = async (count) => {
    const id = CHATS[below(CHATS.length)];
    now += below(5) === 0 ? 9 * 3_600_000 : 60_000;
    const text = () => Array.from({ length: 1 + below(4) }, () => PIECES[below(PIECES.length)]).join(". ") + (below(30) === 0 ? " and so on".repeat(300) : "");
    await memory.append(id, Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content: text(), ...(below(6) === 0 && { name: "Katerina" }) })));
  };
  for (let turn = 0; turn < 60; turn += 1) await append(1 + below(11));
  await memory.settled();
  const change = async (id) => {
    const messages = await memory.history(id, { withStatus: true });
    await memory.edit(id, messages[messages.length - 4].id, { role: "user", content: "The importer needs port 9999 now, said Katerina." });
    await memory.remove(id, messages[3].id);
    await memory.erase({ conversationId: id, messageId: messages[7].id });
  };
  await change("work");
  await change("trip");
  await memory.erase({ conversationId: "other" });
  await memory.conversations.create({ id: "other" });
  for (let turn = 0; turn < 20; turn += 1) await append(2);
  await memory.settled();
  await memory.close();
  // Summaries are made now, of all together: while messages come, it is chance which of them each one has.
  memory = await createMemory({ ...options, languageModel: scriptedModel() });
  await memory.settled();
  try {
    return await ask(memory);
  } finally {
    await memory.close();
  }
}

/** Everything that the questions are answered with. */
async function answers(memory, questions) {
  const told = [];
  for (const [at, question] of questions.entries()) {
    const conversationId = CHATS[at % CHATS.length];
    const filters = [{}, { conversationId }, { filter: { projectId: "p" } }, { filter: { roles: ["user"], since: Date.UTC(2026, 0, 5) } }, { filter: { from: 3, to: 30 } }];
    for (const filter of [filters[0], filters[1 + (at % 4)]]) told.push({ question, filter, groups: await memory.recall(question, { topK: 20, explain: true, ...filter }) });
    for (const window of [at % 2 === 0 ? 900 : 4_000]) {
      const context = await memory.buildContext({ conversationId, question, window, reserve: 100 });
      delete context.receipt.retrieval.ms;
      told.push({ question, window, context });
    }
  }
  return told;
}

/** Fails where one storage answers otherwise than the other. Answers how many groups were found in all. */
export async function assertAlike(one, other, { hasEmbedder }) {
  const userId = hasEmbedder ? "alike-vectors" : "alike-words";
  // What vectors change are scores: without them a few questions will do.
  const ask = (memory) => answers(memory, hasEmbedder ? QUESTIONS : QUESTIONS.slice(0, 5));
  const [expected, found] = [await live(one, userId, hasEmbedder, ask), await live(other, userId, hasEmbedder, ask)];
  for (const [at, told] of expected.entries()) assertNear(found[at], told, told.question);
  return expected.reduce((sum, { groups }) => sum + (groups?.length ?? 0), 0);
}

/** The same but for the last digits of numbers: cosines are summed up in another order. */
export function assertNear(found, expected, where) {
  if (typeof expected === "number" && typeof found === "number") return assert.ok(Math.abs(found - expected) < 1e-4, `${where}: ${found} for ${expected}`);
  if (typeof expected !== "object" || expected === null) return assert.deepEqual(found, expected, where);
  assert.deepEqual(Object.keys(found ?? {}), Object.keys(expected), `${where}: ${JSON.stringify(found)} for ${JSON.stringify(expected)}`);
  for (const [key, value] of Object.entries(expected)) assertNear(found[key], value, `${where} ${key}`);
}
