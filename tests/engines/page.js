// Runs in the browser under test: takes jobs from the station until it is killed.
/* global IDBDatabase */

import { createMemory, indexedDbStorage, isMemoryError } from "/throughline/index.js";
import { fillWithMarkers } from "/markers.js";
import { exportOf, messageOf } from "/payload.js";
import { PROMISES } from "/promises.js";

const USER = "crash";
const WORDS = "harbour ledger violet engine cactus orbit window marble planet tunnel copper meadow signal lantern carpet anchor".split(" ");

/** Which tab this is goes with all that is asked and said. */
const post = (path, value) => fetch(path + location.search, { method: "POST", body: JSON.stringify(value) });

const embedder = {
  id: "words", dimensions: WORDS.length, maxBatchSize: 16,
  embed: async (texts) => texts.map((text) => WORDS.map((word) => text.split(word).length - 0.99)),
};

/** A summary that every check accepts; what it says is the newest note that it was shown. */
const languageModel = {
  contextWindow: 8_000,
  generate: async ({ purpose, messages }) => {
    if (purpose !== "summarize") return { candidates: [] };
    const notes = [...JSON.stringify(messages).matchAll(/Note (\d+-\d+-\d+)/g)].map(([, place]) => place);
    return { goal: ["keep the notes of this run in order, one by one, as they come"], confirmed: [`notes up to ${notes.at(-1) ?? "the beginning"} were read and kept`] };
  },
};

const open = (options = {}) => createMemory({ userId: USER, storage: indexedDbStorage({ name: "crash" }), tokenizer: "estimate", ...options });

let marked;

const JOBS = {
  ...PROMISES,

  /**
   * Four writers at once, one or two messages each time, until the browser is killed. With `relaxed`, messages are told as
   * durable once a write has ended that waited for the disk and began after they were acknowledged.
   */
  async burst({ run, conversations = 4, seconds = 60, compacting = false, relaxed = false }) {
    const sections = compacting ? { budget: { recentTokens: 300 }, facts: { extract: false } } : {};
    const policy = { ...sections, durability: relaxed ? "relaxed" : "strict" };
    const memory = await open({ embedder, policy, ...(compacting ? { languageModel } : {}) });
    const unsynced = relaxed ? watchDisk() : [];
    const until = performance.now() + seconds * 1_000;
    const write = async (conversation) => {
      const id = `run-${run}-${conversation}`;
      await memory.conversations.create({ id });
      for (let number = 0; performance.now() < until; ) {
        const count = number % 3 === 0 ? 2 : 1;
        const messages = Array.from({ length: count }, (_, offset) => messageOf(run, conversation, number + offset));
        const stored = await memory.append(id, messages);
        void post("/word", { id, stored: stored.map(({ id: own, seq, durable }) => [own, seq, durable]) });
        if (relaxed) unsynced.push({ id, stored: stored.map(({ id: own, seq }) => [own, seq, true]) });
        number += count;
        if (compacting && number % 12 === 0) {
          const { summarizedUntilSeq, version } = await memory.compact(id, { force: true });
          void post("/word", { id, stored: [], summarizedUntilSeq, version });
        }
        // Room for the background work between the writes: a tab is not busy all the time.
        if (number % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await Promise.all(Array.from({ length: conversations }, (_, conversation) => write(conversation)));
    await memory.close();
    return {};
  },

  /** An import, again where it was begun before. */
  async import({ run, conversations = 60, messages = 24 }) {
    const memory = await open({ embedder });
    const file = new File([exportOf(run, conversations, messages)], "conversations.json");
    void post("/word", { importing: true });
    const { imported } = await memory.import(file);
    const kept = await contents(memory);
    await memory.close();
    return { imported, kept };
  },

  /** Writes a marker through every door, with a key or without, and leaves the memory open. */
  async mark({ seed, key }) {
    const storage = indexedDbStorage({ name: "marked", ...(key === null ? {} : { key: Uint8Array.from(key) }) });
    const { memory, told } = await fillWithMarkers((options) => createMemory({ tokenizer: "estimate", storage, ...options }), seed);
    marked = memory;
    return told;
  },

  /** Erases all of that, and closes. */
  async eraseMarked() {
    await marked.erase({ user: true });
    await marked.close();
    return {};
  },

  /** The message that makes the largest record: quotation marks and one character outside Latin-1, as long as the limit lets it be. */
  async largest({ bytes }) {
    const memory = await open();
    const begin = performance.now();
    const message = { role: "user", content: `${'"'.repeat((bytes - 100) >> 1)}\u6f22` };
    const { id } = await memory.conversations.create({});
    const [{ durable }] = await memory.append(id, message);
    const appendMs = performance.now() - begin;
    await memory.close();
    const again = await open();
    const [kept] = await again.history(id);
    await again.erase({ conversationId: id });
    await again.close();
    return { durable, appendMs, ms: performance.now() - begin, isSame: kept?.content === message.content };
  },

  /** Opens what is there and reads all of it. */
  async inspect({ question }) {
    const begin = performance.now();
    const memory = await open({ embedder });
    const [first] = question === undefined ? [] : await memory.recall(question, { topK: 3 });
    const openMs = performance.now() - begin;
    const kept = await contents(memory);
    const found = first === undefined ? null : JSON.stringify(first.messages);
    // It goes on: what was there does not stand in the way of the next message.
    const { id } = await memory.conversations.create({});
    const [{ seq }] = await memory.append(id, [{ role: "user", content: "after the crash" }]);
    await memory.settled();
    await memory.erase({ conversationId: id });
    await memory.close();
    return { openMs, kept, found, nextSeq: seq };
  },
};

/** Words that are told once what they say is on disk. */
function watchDisk() {
  const waiting = [];
  const begin = IDBDatabase.prototype.transaction;
  IDBDatabase.prototype.transaction = function (stores, mode, options) {
    const transaction = begin.call(this, stores, mode, options);
    const before = new Set(waiting);
    const told = () => {
      for (const word of before) {
        const at = waiting.indexOf(word);
        if (at >= 0) void post("/word", waiting.splice(at, 1)[0]);
      }
    };
    if (transaction.durability === "strict" && mode === "readwrite") transaction.addEventListener("complete", told);
    return transaction;
  };
  return waiting;
}

/** Every conversation with its messages and its summary's cursor. */
async function contents(memory) {
  const kept = {};
  for (let before; ; ) {
    const { items, next } = await memory.conversations.list({ limit: 100, ...(before === undefined ? {} : { before }) });
    for (const { id } of items) {
      const entries = await memory.history(id, { withStatus: true });
      const { summarizedUntilSeq, version, text } = await memory.summary(id);
      kept[id] = { messages: entries.map(({ id: own, seq, message }) => [own, seq, message.content]), summarizedUntilSeq, version, summary: text };
    }
    if (next === undefined) return kept;
    before = next;
  }
}

addEventListener("unhandledrejection", ({ reason }) => void post("/failure", `unhandled rejection: ${String(reason)}`));
for (;;) {
  const job = await (await fetch(`/job${location.search}`)).json();
  try {
    await post("/result", await JOBS[job.kind](job));
  } catch (error) {
    await post("/failure", isMemoryError(error) ? `${error.code}: ${error.message}` : String(error?.stack ?? error));
  }
}
