// Backups for the tests: memories to be exported, and files as docs/backup.md describes them, made without the package.
import { createHash } from "node:crypto";
import { gunzipSync } from "node:zlib";
import { createMemory, memoryStorage } from "throughline";

export const open = (options = {}) => createMemory({ storage: memoryStorage(), tokenizer: "estimate", ...options });

/** Texts that break what is careless: half a pair, NUL, numbers and keys that JSON parsers change. */
export const ODD = { id: "odd", role: "user", content: "half \ud800, \u0000, 東京 \u{1F469}\u200D\u{1F680}", ["__proto__"]: { polluted: 1 }, constructor: 1.5, deep: [[[{ a: 1e21 }]]] };

/** A memory with branches, a removed message, facts, and a forgotten one. */
export async function filled(options) {
  const memory = await open(options);
  const chat = await memory.conversations.create({ id: "a", title: "Ports" });
  await memory.append(chat.id, [{ id: "m1", role: "user", content: "We use port 8471." }, { role: "assistant", content: "Noted: port 8471." }]);
  Object.defineProperty(ODD, "__proto__", { enumerable: true });
  await memory.append(chat.id, [ODD, { role: "assistant", content: "What?" }]);
  await memory.edit(chat.id, "m1", { id: "m1b", role: "user", content: "We use port 9000." });
  await memory.conversations.create({ id: "b", projectId: "work", remember: false });
  await memory.append("b", [{ id: "one", role: "user", content: "one" }, { id: "two", role: "assistant", content: "two" }, { id: "three", role: "user", content: "three" }]);
  await memory.remove("b", "two");
  await memory.facts.add({ fact: "Likes tea", key: "drink", pinned: true });
  const city = await memory.facts.add({ fact: "Lives in Riga" });
  await memory.facts.add({ fact: "Likes coffee", key: "drink" });
  await memory.facts.forget(city.id);
  return memory;
}

export const bytesOf = async (blob) => Buffer.from(await blob.arrayBuffer());

/** The lines of an unencrypted backup. */
export const linesOf = async (blob) => gunzipSync(await bytesOf(blob)).toString("utf8").split("\n").slice(0, -1);

/** A whole file of these records: first line, hashes and counts as they should be. */
export function fileOf(records, { version = 1, end = {}, checkEvery = 5 } = {}) {
  const hash = createHash("sha256");
  const lines = [];
  const put = (line) => {
    lines.push(line);
    hash.update(`${line}\n`);
  };
  const sum = () => hash.copy().digest("hex");
  const counts = {};
  put(JSON.stringify({ format: "throughline-backup", version }));
  records.forEach((record, at) => {
    const text = typeof record === "string" ? record : JSON.stringify(record);
    const kind = /^\{"(\w+)"/.exec(text)?.[1];
    counts[kind] = (counts[kind] ?? 0) + 1;
    put(text);
    if (at % checkEvery === checkEvery - 1) put(JSON.stringify({ check: { sha256: sum() } }));
  });
  put(JSON.stringify({ end: { ...counts, ...end, sha256: sum() } }));
  return `${lines.join("\n")}\n`;
}

/** What is in a memory, as far as anybody can see. */
export async function seen(memory) {
  const { items } = await memory.conversations.list();
  return { conversations: items.length, facts: (await memory.facts.list({})).length };
}
