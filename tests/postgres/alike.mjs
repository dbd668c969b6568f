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
  "error E48213 comes from src/import/reader.rs:120", "the trace is 550e8400-e29b-41d4-a716-446655440000", "call parseInvoiceLine before flush_all_rows", "https://wiki.example.org/run?page=7 explains it",
  "خادم الدفع يتوقف غدا", "שרת התשלומים נופל מחר", "भुगतान सर्वर कल बंद रहेगा", "máy chủ thanh toán dừng ngày mai", "ödeme sunucusu yarın kapalı", "\u{1f431} is called Tama \u{1f600}", "ÅNGSTRÖM and \u{1d518}nicode",
];

/** Questions of every kind: names, identifiers, quotations, dates, what nobody said. */
export const QUESTIONS = [
  "Which port does the staging server listen on?", "What is ABC-1234?", "who said \"never again on a Friday\"?", "Where does Katerina live?", "what did I say last about the importer",
  "What was on June 3rd 2025?", "초코는 누구예요?", "결제 서버 점검은 언제?", "猫の名前は?", "付款服务器什么时候检查", "Wann ist der Bahnhof gesperrt?", "quand tombe le serveur de paiement ?",
  "max_retries in config.toml", "\"plants to water\" \"the mat\"", "is anything known of a zeppelin?", "hello",
  "E48213", "where is 550e8400-e29b-41d4-a716-446655440000 from?", "parse invoice line", "reader.rs line 120", "متى يتوقف خادم الدفع؟", "מתי נופל שרת התשלומים?", "भुगतान सर्वर कब बंद है", "khi nào máy chủ dừng?",
  "sunucu ne zaman kapalı", "angstrom", "what do you remember of the wiki?", "v2.14.0-rc.1", "what did we say yesterday?", "$19.99",
];

/** Of no two texts are the vectors equally near to a third: where a list of the nearest is cut, which of equals are in it is not promised. */
function embedderOf(dimensions) {
  const hashing = hashingEmbedder({ dimensions });
  const apart = (text, vector) => {
    const below = random([...text].reduce((hash, letter) => (Math.imul(hash, 31) + letter.codePointAt(0)) >>> 0, 7));
    return vector.map((value) => value + (below(1_000) - 500) / 25_000);
  };
  return { ...hashing, embed: async (texts) => (await hashing.embed(texts)).map((vector, at) => apart(texts[at], vector)) };
}

const CHATS = ["work", "home", "trip", "other", "codes", "languages"];

/** In which ways the same is asked: with which embedders, by which signals. */
export const WAYS = {
  words: { dimensions: [] },
  "words and vectors": { dimensions: [64] },
  vectors: { dimensions: [64], weights: { semantic: 1, keyword: 0, recency: 0, reference: 0 } },
};

/** A life, and the memories by which it is lived: one for each embedder, at the same time. */
class Life {
  #options;
  #dimensions;
  #below;
  #now = Date.UTC(2026, 0, 1);
  #memories = [];

  constructor(storage, userId, { dimensions, weights }, seed) {
    this.#options = { userId, storage, tokenizer: "estimate", clock: () => this.#now, ...(weights && { policy: { retrieval: { weights } } }) };
    this.#dimensions = dimensions.length === 0 ? [undefined] : dimensions;
    this.#below = random(seed);
  }

  async open(options = {}) {
    for (const dimensions of this.#dimensions) {
      this.#memories.push(await createMemory({ ...this.#options, ...options, ...(dimensions && { embedder: embedderOf(dimensions) }) }));
    }
    return this.#memories;
  }

  async close() {
    for (const memory of this.#memories.splice(0)) await memory.close();
  }

  #memoryOf(id) {
    return this.#memories[CHATS.indexOf(id) % this.#memories.length];
  }

  async #append(count) {
    const below = this.#below;
    const id = CHATS[below(CHATS.length)];
    this.#now += below(5) === 0 ? 9 * 3_600_000 : 60_000;
    const more = () => Array.from({ length: 300 }, () => ` and so on ${below(1_000_000)}`).join("");
    const text = () => [...Array.from({ length: 1 + below(4) }, () => PIECES[below(PIECES.length)]), `n${below(1_000_000)}`].join(". ") + (below(30) === 0 ? more() : "");
    await this.#memoryOf(id).append(id, Array.from({ length: count }, (_, at) => ({ role: at % 2 === 0 ? "user" : "assistant", content: text(), ...(below(6) === 0 && { name: "Katerina" }) })));
  }

  /** Branches, what was taken back, what was erased. */
  async #change(id) {
    const memory = this.#memoryOf(id);
    const messages = await memory.history(id, { withStatus: true });
    const last = messages[messages.length - 1].id;
    await memory.edit(id, messages[messages.length - 4].id, { role: "user", content: "The importer needs port 9999 now, said Katerina." });
    await memory.append(id, { role: "assistant", content: "Port 9999 it is, E48213 is gone." });
    if (id === "trip") await memory.setActiveLeaf(id, last);
    await memory.remove(id, messages[3].id);
    await memory.erase({ conversationId: id, messageId: messages[7].id });
  }

  async live() {
    const [first] = await this.open();
    for (const [at, id] of CHATS.entries()) await first.conversations.create({ id, title: id, ...(at < 2 && { projectId: "p" }) });
    for (let turn = 0; turn < 75; turn += 1) await this.#append(1 + this.#below(11));
    await this.#settle();
    for (const id of ["work", "trip", "codes"]) await this.#change(id);
    await first.erase({ conversationId: "other" });
    await first.conversations.create({ id: "other" });
    for (let turn = 0; turn < 20; turn += 1) await this.#append(2);
    await this.#settle();
    await this.close();
    // Summaries are made now, of all together: while messages come, it is chance which of them each one has.
    await this.open({ languageModel: scriptedModel() });
    await this.#settle();
    return this.#memories;
  }

  async #settle() {
    for (const memory of this.#memories) await memory.settled();
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
      // A small window may ask for a summary, which the next question must not be there before.
      await memory.settled();
      told.push({ question, window, context });
    }
  }
  return told;
}

/**
 * Fails where one storage answers otherwise than the other.
 *
 * @param {{ way: keyof typeof WAYS, questions?: string[], seed?: number }} options
 * @returns {Promise<number>} How many groups were found in all.
 */
export async function assertAlike(one, other, { way, questions = QUESTIONS, seed = 11 }) {
  const told = [];
  for (const storage of [one, other]) {
    const life = new Life(storage, `alike by ${way} ${seed}`, WAYS[way], seed);
    try {
      const memories = await life.live();
      told.push([]);
      for (const memory of memories) told.at(-1).push(...(await answers(memory, questions)));
    } finally {
      await life.close();
    }
  }
  const [expected, found] = told;
  for (const [at, answer] of expected.entries()) assert.deepEqual(found[at], answer, answer.question);
  return expected.reduce((sum, { groups }) => sum + (groups?.length ?? 0), 0);
}
