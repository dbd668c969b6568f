// What it costs to wait for the disk (goals R4 and R15), and what writes that share a transaction would gain, on both of
// Chromium's IndexedDB back ends.
//
//   node bench/durability.mjs [--appends 400] [--rounds 30] [--messages 600]
//
// Build the package first.

import { parseArgs } from "node:util";
import { main } from "../scripts/toolchain.mjs";
import { at, onEachBackEnd, shown } from "./back-ends.mjs";

/** Calls that are made without waiting for each other. */
const AT_ONCE = [1, 4, 16, 64];
const PAGE = String.raw`
  import { createMemory, indexedDbStorage } from "/throughline/index.js";
  import { timed } from "/timing.js";
  import { Random } from "/random.js";
  const random = new Random(7);
  const WORDS = Array.from({ length: 4000 }, (_, index) => "w" + index.toString(36) + "abcdefghij"[index % 10]);
  const text = () => Array.from({ length: 26 }, () => random.of(WORDS)).join(" ");
  const say = (at = 0) => ({ role: at % 2 ? "assistant" : "user", content: text() });
  const open = (name, options = {}) => createMemory({ userId: "bench", tokenizer: "estimate", ...options, storage: indexedDbStorage({ name }) });

  /** One append after the other. */
  globalThis.appends = async (durability, count) => {
    const memory = await open("appends-" + durability, { policy: { durability } });
    await memory.conversations.create({ id: "c" });
    const times = [];
    for (let turn = -20; turn < count; turn += 1) {
      const message = say(turn);
      const [ms] = await timed(() => memory.append("c", message));
      if (turn >= 0) times.push(ms);
    }
    await memory.close();
    return times;
  };
  /** The write that takes ten relaxed messages to the disk. */
  globalThis.barriers = async (rounds) => {
    const memory = await open("barriers", { policy: { durability: "relaxed" } });
    await memory.conversations.create({ id: "c" });
    const times = [];
    for (let round = 0; round < rounds; round += 1) {
      for (let turn = 0; turn < 10; turn += 1) await memory.append("c", say(turn));
      times.push((await timed(() => memory.flush()))[0]);
    }
    await memory.close();
    return times;
  };
  let opened = 0;
  /** Appends that do not wait for each other: milliseconds until all are stored, by message. */
  globalThis.together = async (count, conversations, rounds) => {
    const memory = await open("together-" + count + "-" + conversations + "-" + opened++);
    for (let at = 0; at < conversations; at += 1) await memory.conversations.create({ id: "c" + at });
    const times = [];
    for (let round = -2; round < rounds; round += 1) {
      const messages = Array.from({ length: count }, (_, at) => say(at));
      const [ms] = await timed(() => Promise.all(messages.map((message, at) => memory.append("c" + (at % conversations), message))));
      if (round >= 0) times.push(ms / count);
    }
    await memory.close();
    return times;
  };
  /** The writes of so many appends by hand, strict: each in its own transaction, or all in one. By message. */
  globalThis.byHand = async (count, isShared, rounds) => {
    const stores = ["meta", "conversations", "messages", "message_ids"];
    const database = await new Promise((resolve, reject) => {
      const request = indexedDB.open("by-hand-" + count + "-" + isShared, 1);
      request.onupgradeneeded = () => stores.forEach((store) => request.result.createObjectStore(store));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
    let seq = 0;
    const write = (messages) => new Promise((resolve, reject) => {
      const transaction = database.transaction(stores, "readwrite", { durability: "strict" });
      transaction.oncomplete = resolve;
      transaction.onabort = () => reject(transaction.error);
      transaction.objectStore("conversations").get(["c"]).onsuccess = () => {
        for (const body of messages) {
          seq += 1;
          transaction.objectStore("messages").put({ body }, ["c", seq]);
          transaction.objectStore("message_ids").put({ body: String(seq) }, ["c", "seq:" + seq]);
        }
        transaction.objectStore("conversations").put({ body: String(seq) }, ["c"]);
        transaction.objectStore("meta").put({ body: String(seq) }, ["stamp"]);
        transaction.commit();
      };
    });
    const times = [];
    for (let round = -2; round < rounds; round += 1) {
      const messages = Array.from({ length: count }, () => JSON.stringify({ raw: JSON.stringify(say()), text: text() }));
      const [ms] = await timed(() => isShared ? write(messages) : Promise.all(messages.map((message) => write([message]))));
      if (round >= 0) times.push(ms / count);
    }
    database.close();
    return times;
  };
  /** How long each transaction that writes takes while messages, vectors and summaries are stored. */
  globalThis.transactions = async (count) => {
    const times = [];
    const begin = IDBDatabase.prototype.transaction;
    IDBDatabase.prototype.transaction = function (stores, mode, options) {
      const transaction = begin.call(this, stores, mode, options);
      const began = performance.now();
      if (mode === "readwrite") transaction.addEventListener("complete", () => times.push(performance.now() - began));
      return transaction;
    };
    const vector = (text) => { const own = new Random(text.length * 7919 + text.charCodeAt(1)); return Float32Array.from({ length: 384 }, () => own.next() - 0.5); };
    const embedder = { id: "made-up", dimensions: 384, embed: async (texts) => texts.map(vector) };
    const summary = { goal: ["keep the notes of this run in order"], confirmed: ["notes were read and kept, one by one, as they came"] };
    const languageModel = { contextWindow: 16_000, generate: async ({ purpose }) => purpose === "summarize" ? summary : { candidates: [] } };
    const memory = await open("transactions", { embedder, languageModel });
    const chat = async (id) => {
      await memory.conversations.create({ id });
      for (let turn = 0; turn < count / 4; turn += 1) {
        await memory.append(id, say(turn));
        if (turn % 50 === 49) await memory.compact(id, { force: true }).catch(() => undefined);
      }
    };
    await Promise.all(["a", "b", "c", "d"].map(chat));
    await memory.conversations.create({ id: "long" });
    await memory.append("long", Array.from({ length: count }, (_, at) => say(at)));
    await memory.settled();
    await memory.close();
    IDBDatabase.prototype.transaction = begin;
    return times;
  };
  document.title = "ready";
`;

const row = (what, times, shares) => console.log(`| ${what} | ${shares.map((share) => shown(at(times, share))).join(" | ")} |`);

async function measure(title, run, { appends, rounds, messages }) {
  console.log(`\n${title}\n\n| ms | p50 | p95 | p99 |\n| --- | --- | --- | --- |`);
  const shares = [0.5, 0.95, 0.99];
  for (const durability of ["strict", "relaxed"]) row(`append one, ${durability}`, await run("appends", durability, appends), shares);
  row("barrier after ten relaxed messages", await run("barriers", rounds * 3), shares);
  const times = await run("transactions", messages);
  row(`${times.length} transactions that write (messages, vectors, summaries)`, times, shares);
  console.log(`\n| ms a message, p50, strict | ${AT_ONCE.map((count) => `${count} at once`).join(" | ")} |\n| --- |${" --- |".repeat(AT_ONCE.length)}`);
  const kinds = {
    "append, one conversation": (count) => run("together", count, 1, rounds),
    "append, a conversation each": (count) => run("together", count, count, rounds),
    "by hand, a transaction each": (count) => run("byHand", count, false, rounds),
    "by hand, one transaction": (count) => run("byHand", count, true, rounds),
  };
  for (const [what, measured] of Object.entries(kinds)) {
    const figures = [];
    for (const count of AT_ONCE) figures.push(shown(at(await measured(count), 0.5)));
    console.log(`| ${what} | ${figures.join(" | ")} |`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options: { appends: { type: "string", default: "400" }, rounds: { type: "string", default: "30" }, messages: { type: "string", default: "600" } } });
  const [appends, rounds, messages] = [values.appends, values.rounds, values.messages].map(Number);
  await onEachBackEnd(PAGE, (title, run) => measure(title, run, { appends, rounds, messages }));
});
