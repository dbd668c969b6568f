// The database of a release (tests/releases), written into a browser and read as an app reads it. Its functions stand alone:
// a page imports them, and a driver can also send their text into one, where `throughline` is the package.
/* global throughline */

/** Writes a release's records into a database of its layout. */
export async function restoreRelease({ name, database: given = `throughline:${name}`, version, stores }) {
  const request = indexedDB.open(given, version);
  request.onupgradeneeded = () => Object.keys(stores).forEach((store) => request.result.createObjectStore(store));
  await new Promise((resolve, reject) => { request.onsuccess = resolve; request.onerror = reject; });
  const database = request.result;
  const transaction = database.transaction(Object.keys(stores), "readwrite");
  for (const [store, records] of Object.entries(stores)) {
    for (const [key, body, blob] of records) {
      const value = blob === undefined ? { body } : { body, blob: Uint8Array.from(globalThis.atob(blob), (unit) => unit.charCodeAt(0)) };
      transaction.objectStore(store).put(value, key);
    }
  }
  await new Promise((resolve, reject) => { transaction.oncomplete = resolve; transaction.onabort = reject; });
  database.close();
}

/** Opens what a release stored, goes on with it, and answers what was found. */
export async function readRelease(userId) {
  const memory = await throughline.createMemory({ userId, tokenizer: "estimate" });
  const texts = async (query) => (await memory.recall(query)).flatMap(({ messages }) => messages.map(({ content }) => content ?? ""));
  const { length } = await memory.history("work", { all: true });
  const [{ seq }] = await memory.append("work", { role: "user", content: "A lighthouse in Reykjavik" });
  await memory.settled();
  const read = {
    length, seq,
    isSummarised: (await memory.summary("work")).version >= 1,
    facts: (await memory.facts.list()).map(({ fact }) => fact),
    isFound: ((await texts("harbour of Valparaíso"))[0] ?? "").includes("Valparaíso"),
    hasContext: (await memory.buildContext({ conversationId: "work", question: "Where is the staging server?", window: 8_000 })).messages.length > 1,
    isAddedFound: (await texts("Reykjavik")).length > 0,
    sessions: {
      episodes: (await memory.episodes.list()).length,
      project: (await memory.summary("plan").catch(() => ({ tree: [] }))).tree.some(({ level }) => level === "project"),
      note: (await memory.notes.get("plan", "status").catch(() => null))?.content ?? null,
      consent: (await memory.facts.consent()).optedIn,
      calls: (await memory.stats()).usage.map(({ model, calls }) => [model, calls]),
    },
  };
  await memory.close();
  return read;
}

/** What `readRelease` answers for a release. */
export function expectedOfRelease({ stores }) {
  const ofWork = stores.messages.filter(([[chat]]) => chat === "work");
  const hasSessions = stores.episodes.length > 0;
  return {
    length: ofWork.filter(([, body]) => JSON.parse(body).removed !== true).length,
    seq: ofWork.length + 1,
    isSummarised: true,
    facts: ["I prefer water to tea."],
    isFound: true,
    hasContext: true,
    isAddedFound: true,
    sessions: hasSessions
      ? { episodes: stores.episodes.length, project: true, note: { done: ["parse"], next: "check" }, consent: ["health"], calls: [["gpt-5", 1]] }
      : { episodes: 0, project: false, note: null, consent: [], calls: [] },
  };
}

/** Opens what a release encrypted, with another key and with its own, and answers what was found. */
export async function readSealedRelease({ userId, key }) {
  const { createMemory, indexedDbStorage } = throughline;
  const opened = (bytes) => createMemory({ userId, tokenizer: "estimate", storage: indexedDbStorage({ key: Uint8Array.from(bytes) }) });
  const refused = await opened(key.map((byte) => byte ^ 1)).catch(({ code }) => code);
  const memory = await opened(key);
  const before = await memory.history("work");
  await memory.append("work", { role: "user", content: "And Reykjavik" });
  const read = {
    refused, before, after: (await memory.history("work")).length,
    facts: (await memory.facts.list()).map(({ fact }) => fact),
    note: (await memory.notes.get("work", "plan")).content,
    found: (await memory.recall("harbour"))[0]?.messages[0]?.content,
  };
  await memory.close();
  return read;
}

/** What `readSealedRelease` answers. */
export const EXPECTED_SEALED = {
  refused: "storage_key_wrong",
  before: [{ role: "user", content: "The harbour of Valparaíso." }, { id: "last", role: "assistant", content: "Noted." }],
  after: 3, facts: ["I prefer water to tea."], note: "Sail", found: "The harbour of Valparaíso.",
};
