// Runs in the browser under test: the jobs of promises.test.mjs, what the storage promises beside being killed.

import { createMemory, indexedDbStorage } from "/throughline/index.js";
import { MARKERS, fillWithMarkers, floats, isVector, marker } from "/markers.js";
import { everyRecord, removeDatabase, removeRecord } from "/records.js";
import { readRelease, readSealedRelease, restoreRelease } from "/release.js";

const sections = { goal: ["Ship"], confirmed: ["The port is 8471"], decisions: [], constraints: [], failed: [], open: [], next: [], identifiers: ["8471"] };
const languageModel = { contextWindow: 32_000, generate: async () => JSON.stringify(sections) };
const policy = { budget: { recentTokens: 1 }, compaction: { automatic: false }, facts: { extract: false } };

/** The memory that stays open from one job to the next, and what it heard of other tabs. */
let memory;
const heard = [];

const open = (userId, options = {}) => createMemory({ userId, tokenizer: "estimate", ...options });
const nameOf = (userId) => `throughline:${userId}`;
const until = async (isTrue) => {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
};

/** The result, or what the error says of itself. */
const attempt = (work) => work.then((done) => ({ done }), ({ code, details }) => ({ code, details }));

/** As binary text, so that bytes are looked for in bytes. */
const binary = (bytes) => new TextDecoder("latin1").decode(bytes);

async function digestOf(file) {
  const bytes = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

export const PROMISES = {
  /** One more tab of this site. */
  openTab({ tab }) {
    window.open(`/?tab=${tab}`, "_blank", "noopener");
    return {};
  },

  /** Opens a memory that stays open, and listens to what other tabs do. */
  async follow({ userId }) {
    memory = await open(userId, { languageModel, policy });
    memory.on("append", ({ count, remote }) => remote && heard.push({ count, at: Date.now() }));
    return {};
  },

  async create({ id }) {
    await memory.conversations.create({ id });
    return {};
  },

  /** Appends messages one by one, none waiting for another; answers their positions and when all were stored. */
  async say({ id, from, count }) {
    const appends = Array.from({ length: count }, (_, number) => memory.append(id, { id: `${from}-${number}`, role: "user", content: `Message ${number} of ${from}` }));
    const stored = (await Promise.all(appends)).flat().map(({ id: own, seq }) => [own, seq]);
    return { stored, at: Date.now() };
  },

  /** Waits until other tabs have told of so many messages; answers when it heard of the last, and what this tab shows. */
  async hear({ id, count }) {
    const sum = () => heard.reduce((total, { count: more }) => total + more, 0);
    await until(() => sum() >= count);
    const { at } = heard.at(-1);
    return { at, ids: (await memory.history(id, { withStatus: true })).map(({ id: own }) => own) };
  },

  /** A message and a forced summary, again and again: the versions that this tab made, and how it was refused. */
  async summarise({ id, rounds }) {
    const versions = [];
    const codes = [];
    memory.on("compaction", ({ version, remote }) => remote || versions.push(version));
    for (let round = 0; round < rounds; round += 1) {
      await memory.append(id, { role: "user", content: "The port is 8471, again. ".repeat(20) });
      await memory.compact(id, { force: true }).catch(({ code }) => codes.push(code));
    }
    return { versions, codes };
  },

  async state({ id }) {
    return { version: (await memory.summary(id)).version, ids: (await memory.history(id, { withStatus: true })).map(({ id: own }) => own) };
  },

  async close() {
    await memory.close();
    return {};
  },

  /** Writes a marker through every door, and leaves the memory open. */
  async fillMarked({ seed }) {
    const filled = await fillWithMarkers((options) => createMemory({ tokenizer: "estimate", ...options }), seed);
    memory = filled.memory;
    return filled.told;
  },

  /** Erases a conversation or a message whose id is a marker, or all; answers where something may remain. */
  async erase({ seed, conversation, message }) {
    const [conversationId, messageId] = [conversation, message].map((index) => index && marker(seed, index));
    const { remains } = await memory.erase(conversationId ? { conversationId } : messageId ? { messageId } : { user: true });
    await memory.settled();
    return remains.map(({ place }) => place);
  },

  /** The numbers of the markers that are in any store. */
  async markersInStores({ seed }) {
    const texts = [];
    for (const { key, value: { blob, ...rest } } of await everyRecord()) {
      texts.push(JSON.stringify([key, rest]));
      if (blob !== undefined) texts.push(binary(blob));
    }
    const all = texts.join("\n");
    return Array.from({ length: MARKERS }, (_, index) => index)
      .filter((index) => all.includes(isVector(index) ? binary(floats(seed, index)) : marker(seed, index)));
  },

  /** What a release stored, and what it encrypted. */
  async release({ release }) {
    globalThis.throughline = { createMemory, indexedDbStorage };
    await restoreRelease(release);
    const read = await readRelease(release.name);
    if (release.sealed === undefined) return { read };
    await restoreRelease(release.sealed);
    return { read, sealed: await readSealedRelease(release.sealed) };
  },

  /** A conversation of some messages; answers what the app's own place was given to keep. */
  async fill({ userId, count }) {
    let hint = null;
    const storageHint = { load: () => hint, save: (text) => { hint = text; } };
    const filled = await open(userId, { storageHint });
    await filled.conversations.create({ id: "c" });
    for (let number = 0; number < count; number += 1) await filled.append("c", { role: "user", content: `message ${number} that nobody may lose` });
    await filled.close();
    // It is told at an opening, and at most every ten seconds.
    await (await open(userId, { storageHint })).close();
    return { hint };
  },

  /** Opens what `fill` left and reads it, with what the app's own place has. */
  read({ userId, hint = null, onDataLoss = "reject" }) {
    return attempt((async () => {
      const opened = await open(userId, { onDataLoss, storageHint: { load: () => hint, save: () => undefined } });
      const messages = (await opened.conversations.list()).items.length === 0 ? 0 : (await opened.history("c")).length;
      const verified = await opened.storage.verify();
      const { damage } = await opened.storage.info();
      await opened.close();
      return { messages, verified, damage };
    })());
  },

  /** Removes one message's record of the conversation, beside the engine. */
  async removeMessage({ userId, seq }) {
    const { key } = (await everyRecord()).find(({ store, key: [, position] }) => store === "messages" && position === seq);
    await removeRecord(nameOf(userId), "messages", key);
    return {};
  },

  async removeDatabase({ userId }) {
    await removeDatabase(nameOf(userId));
    return {};
  },

  /** The database is removed while a memory has it open; then a message. */
  async removeUnderneath({ userId }) {
    const opened = await open(userId);
    await removeDatabase(nameOf(userId));
    const refused = await attempt(opened.append("c", { role: "user", content: "never acknowledged" }));
    await opened.close();
    return refused;
  },

  /** What is told of the storage that this window gets. */
  async surroundings({ userId }) {
    const told = [];
    const opened = await open(userId);
    opened.on("storage", ({ state }) => told.push(state));
    await opened.conversations.create({ id: "c" });
    await opened.append("c", { role: "user", content: "kept while the window is open" });
    const { ephemeral, partitioned } = await opened.storage.info();
    const { length } = await opened.history("c");
    await opened.close();
    return { ephemeral, partitioned, told, length };
  },

  /** Exported, imported by another user, twice, and exported again. */
  async backup({ count }) {
    const from = await open("from");
    for (const id of ["one", "two"]) {
      await from.conversations.create({ id, title: `Chat ${id}` });
      await from.append(id, Array.from({ length: count }, (_, at) => ({ id: `${id}-${at}`, role: at % 2 ? "assistant" : "user", content: `message ${at} of ${id}: Größe 漢字 🚢` })));
      await from.edit(id, `${id}-0`, { role: "user", content: "said in another way" });
    }
    await from.facts.add({ fact: "Likes tea" });
    const file = await from.export();
    await from.close();
    const to = await open("to");
    const { imported, messages } = await to.import(file, { trusted: true });
    const { unchanged } = await to.import(file, { trusted: true });
    const again = await to.export();
    await to.close();
    return { digests: [await digestOf(file), await digestOf(again)], imported, messages, unchanged, bytes: file.size };
  },
};
