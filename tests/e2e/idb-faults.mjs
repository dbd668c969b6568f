/* global IDBFactory, IDBOpenDBRequest, IDBTransaction, IDBDatabase, IDBObjectStore, DOMException, Event, EventTarget */
// A random workload on an IndexedDB that fails at random: at open, transaction, request and commit, with seven names of
// errors, and by silence. Whatever was acknowledged must be there once, whatever was refused at most once.

import { openSite } from "./pages.mjs";

/**
 * One run in a browser of its own: `operations` at most, and so many faults. Answers what was acknowledged and refused, and
 * `wrong`: what is lost, doubled or told falsely, as texts.
 */
export async function runFaults({ switches, seed, faults, operations, rate }) {
  const site = await openSite({ switches, script: `(${faultyDatabase})();\n(${workload})();` });
  try {
    const page = await site.openPage();
    const done = await page.evaluate((options) => globalThis.run(options), { seed, faults, operations, rate });
    const fresh = await site.openPage();
    const wrong = await fresh.evaluate((log) => globalThis.check(log), done.log);
    return { ...done, log: undefined, wrong };
  } finally {
    await site.close();
  }
}

/** Runs in the page: puts faults into the browser's own objects, with the probability `faulty.rate` each time. */
function faultyDatabase() {
  const NAMES = ["AbortError", "InvalidStateError", "UnknownError", "TimeoutError", "TransactionInactiveError", "QuotaExceededError", "NotReadableError"];
  /** After these nobody can tell whether a commit went through. */
  const UNSURE = NAMES.slice(0, 4);
  const HANGS = 0.06;
  /** Opening and committing are rarer than requests, and what they break is worth more. */
  const WEIGHTS = { open: 10, transaction: 1, request: 0.5, commit: 5 };
  const faulty = { rate: 0, left: 0, random: Math.random, injected: {} };
  globalThis.faulty = faulty;

  // Limits of seconds pass in twentieths of them.
  const { setTimeout: realTimeout } = globalThis;
  globalThis.setTimeout = (call, ms, ...given) => realTimeout(call, ms >= 1_000 ? ms / 20 : ms, ...given);

  const pick = (list) => list[Math.floor(faulty.random() * list.length)];
  const strikes = (place) => {
    if (faulty.left <= 0 || faulty.random() >= faulty.rate * WEIGHTS[place]) return false;
    faulty.left -= 1;
    faulty.injected[place] = (faulty.injected[place] ?? 0) + 1;
    return true;
  };
  const swallow = (target, names) => names.forEach((name) => target.addEventListener(name, (event) => event.stopImmediatePropagation()));
  const failWith = (transaction, name) => Object.defineProperty(transaction, "error", { value: new DOMException("", name), configurable: true });

  const { open } = IDBFactory.prototype;
  IDBFactory.prototype.open = function (...given) {
    if (!strikes("open")) return open.apply(this, given);
    const request = Object.setPrototypeOf(new EventTarget(), IDBOpenDBRequest.prototype);
    const own = { error: new DOMException("", pick(UNSURE)), result: undefined, readyState: "done", transaction: null };
    for (const name of ["onsuccess", "onerror", "onblocked", "onupgradeneeded"]) own[name] = null;
    for (const [name, value] of Object.entries(own)) Object.defineProperty(request, name, { value, writable: true });
    const event = new Event("error", { cancelable: true });
    if (faulty.random() >= HANGS) realTimeout(() => { request.dispatchEvent(event); request.onerror?.(event); });
    return request;
  };

  const { transaction: begin } = IDBDatabase.prototype;
  const { commit } = IDBTransaction.prototype;
  IDBDatabase.prototype.transaction = function (...given) {
    if (strikes("transaction")) throw new DOMException("", pick(NAMES));
    const transaction = begin.apply(this, given);
    if (given[1] !== "readwrite" || !strikes("commit")) return transaction;
    const kind = faulty.random();
    if (kind < HANGS) swallow(transaction, ["complete", "abort"]);
    else if (kind < 0.6) {
      // It is committed, and the page is told that it was aborted.
      transaction.addEventListener("complete", (event) => {
        event.stopImmediatePropagation();
        failWith(transaction, pick(UNSURE));
        transaction.dispatchEvent(new Event("abort"));
      });
    } else {
      // It is aborted where it would be committed.
      transaction.commit = () => { failWith(transaction, pick(NAMES)); transaction.abort(); };
      transaction.addEventListener("abort", () => (transaction.commit = commit));
    }
    return transaction;
  };

  for (const method of ["get", "put", "delete", "getAll", "getKey", "count"]) {
    const original = IDBObjectStore.prototype[method];
    IDBObjectStore.prototype[method] = function (...given) {
      if (!strikes("request")) return original.apply(this, given);
      const kind = faulty.random();
      if (kind < 0.3) throw new DOMException("", pick(NAMES));
      const request = original.apply(this, given);
      if (kind < 0.3 + HANGS) swallow(request, ["success", "error"]);
      else {
        failWith(this.transaction, pick(NAMES));
        this.transaction.abort();
      }
      return request;
    };
  }
}

/** Runs in the page: `run` works and keeps a log, `check` compares a log with what is stored. */
function workload() {
  const { throughline } = globalThis;
  const CHATS = ["a", "b", "c"];
  const open = () => throughline.createMemory({ userId: "faults", tokenizer: "estimate" });

  /** Mulberry32. */
  const randomFrom = (seed) => () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let value = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    value = (value + Math.imul(value ^ (value >>> 7), 61 | value)) ^ value;
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };

  globalThis.run = async ({ seed, faults, operations, rate }) => {
    const random = randomFrom(seed);
    const memory = await open();
    for (const id of CHATS) await memory.conversations.create({ id });
    const log = [];
    const codes = {};
    let acknowledged = 0;
    Object.assign(globalThis.faulty, { rate, left: faults, random: randomFrom(seed + 1) });
    const attempt = async (entry, work) => {
      log.push(entry);
      try {
        Object.assign(entry, { done: true }, await work());
        acknowledged += 1;
      } catch (error) {
        if (!throughline.isMemoryError(error)) throw error;
        codes[error.code] = (codes[error.code] ?? 0) + 1;
      }
    };
    const one = async (number) => {
      const chat = CHATS[Math.floor(random() * CHATS.length)];
      const text = `message ${number} of the run`;
      const kind = random();
      if (kind < 0.45) await attempt({ kind: "append", chat, text }, async () => ({ at: (await memory.append(chat, { role: "user", content: text }))[0].seq }));
      else if (kind < 0.6) {
        const messages = [{ role: "user", content: text }, { id: `own${number}`, role: "assistant", content: `${text}, answered` }];
        await attempt({ kind: "append", chat, text }, async () => ({ at: (await memory.append(chat, messages))[0].seq }));
      } else if (kind < 0.7) await attempt({ kind: "fact", text: `Fact ${number} is known` }, () => memory.facts.add({ fact: `Fact ${number} is known`, category: "other" }).then(() => ({})));
      else if (kind < 0.75) await attempt({ kind: "create", chat: `new${number}` }, () => memory.conversations.create({ id: `new${number}` }).then(() => ({})));
      else if (kind < 0.8) await attempt({ kind: "title", chat, text }, () => memory.conversations.update(chat, { title: text }).then(() => ({})));
      else if (kind < 0.85) {
        const target = log.filter((entry) => entry.kind === "append" && entry.done && entry.removal === undefined).at(-1);
        if (target !== undefined) {
          target.removal = "tried";
          await attempt({ kind: "remove" }, async () => { await memory.remove(target.chat, `seq:${target.at}`); target.removal = "done"; return {}; });
        }
      } else if (kind < 0.95) await attempt({ kind: "read" }, () => memory.history(chat, { limit: 20 }).then(() => ({})));
      else await attempt({ kind: "read" }, () => memory.buildContext({ conversationId: chat, question: "Which message?", window: 8_000 }).then(() => ({})));
    };
    let number = 0;
    // Three at a time, as an app does.
    while (number < operations && globalThis.faulty.left > 0) {
      await Promise.all([one(number), one(number + 1), one(number + 2)]);
      number += 3;
    }
    const { injected } = globalThis.faulty;
    globalThis.faulty.left = 0;
    await memory.flush();
    await memory.close();
    return { log, codes, acknowledged, operations: number, injected };
  };

  globalThis.check = async (log) => {
    const memory = await open();
    const wrong = [];
    const stored = {};
    for (const chat of CHATS) {
      stored[chat] = await memory.history(chat, { all: true, withStatus: true });
      const seqs = stored[chat].map(({ seq }) => seq);
      if (new Set(seqs).size !== seqs.length) wrong.push(`positions of ${chat} are doubled`);
    }
    const facts = (await memory.facts.list()).map(({ fact }) => fact);
    const chats = new Set();
    for (let before; ;) {
      const { items, next } = await memory.conversations.list({ limit: 100, ...(before === undefined ? {} : { before }) });
      for (const { id } of items) chats.add(id);
      if (next === undefined) break;
      before = next;
    }
    for (const { kind, chat, text, done, at, removal } of log) {
      if (kind === "append") {
        const found = stored[chat].filter(({ message }) => message.content === text);
        if (found.length > 1) wrong.push(`doubled: ${text}`);
        if (done && removal === undefined && found.length === 0) wrong.push(`lost: ${text}`);
        if (done && found.length === 1 && found[0].seq !== at) wrong.push(`elsewhere: ${text} at ${found[0].seq}, told ${at}`);
        if (removal === "done" && found.length > 0) wrong.push(`not removed: ${text}`);
      } else if (kind === "fact") {
        const count = facts.filter((fact) => fact === text).length;
        if (count > 1) wrong.push(`doubled: ${text}`);
        if (done && count === 0) wrong.push(`lost: ${text}`);
      } else if (kind === "create" && done && !chats.has(chat)) wrong.push(`lost: ${chat}`);
    }
    for (const chat of CHATS) {
      const titles = log.filter((entry) => entry.kind === "title" && entry.chat === chat);
      const { title } = await memory.conversations.get(chat);
      const last = titles.findLastIndex(({ done }) => done);
      // Those after the last acknowledged one may have been written. Three run at a time, so its neighbours may have won.
      if (last >= 0 && !titles.slice(Math.max(0, last - 2)).some(({ text }) => text === title)) wrong.push(`lost: the title of ${chat}`);
    }
    await memory.close();
    return wrong;
  };
}
