// Writes down what this version of the package stores, for the versions after it: a small varied database, made through the
// public API in Chromium, every record of every store. Run it once for each release, and commit what it writes.
//
//   node scripts/dump-release.mjs <name> [folder of the built package]
//
// tests/engine_releases.rs and tests/e2e/releases.test.mjs open each of them, for ever.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { launchBrowser } from "../tests/e2e/browser.mjs";
import { serve } from "./serve.mjs";

const root = fileURLToPath(new URL("..", import.meta.url));
const [name, folder = join(root, "dist")] = process.argv.slice(2);
if (name === undefined || !/^[\w.-]+$/.test(name)) throw new Error("Name the release: node scripts/dump-release.mjs 0.1.0");

const site = mkdtempSync(join(tmpdir(), "throughline-release-"));
writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
writeFileSync(join(site, "page.js"), `import * as throughline from "/throughline/index.js"; globalThis.throughline = throughline; document.title = "ready";`);
const server = await serve({ port: 0, mounts: { "/throughline/": resolve(folder), "/": site } });
const browser = await launchBrowser();
try {
  const page = await browser.newPage();
  await page.goto(server.url);
  await page.waitForFunction(() => document.title === "ready");
  await page.evaluate(live);
  const dump = await page.evaluate(dumped, "throughline:reader");
  const sealed = await page.evaluate(sealing, `sealed ${name}`);
  dump.sealed = { ...sealed, ...(await page.evaluate(dumped, sealed.database)) };
  const file = join(root, "tests/releases", `${name}.json`);
  writeFileSync(file, `${JSON.stringify({ name, ...dump }, undefined, 0).replaceAll('],["', '],\n["').replaceAll('"],[[', '"],\n[[')}\n`);
  console.log(`tests/releases/${name}.json: version ${dump.version}, ${Object.entries(dump.stores).map(([store, records]) => `${store} ${records.length}`).join(", ")}`);
} finally {
  await browser.close();
  await server.close();
  rmSync(site, { recursive: true, force: true });
}

/** Runs in the page: a user's week, with everything that this version can store. */
async function live() {
  const words = (text) => text.toLowerCase().split(/\W+/).filter(Boolean);
  const embedder = {
    id: "eight", dimensions: 8,
    embed: async (texts) => texts.map((text) => {
      const vector = Array(8).fill(0.1);
      for (const word of words(text)) vector[[...word].reduce((sum, unit) => (sum * 31 + unit.codePointAt(0)) % 8, 7)] += 1;
      return vector;
    }),
  };
  const summary = { goal: ["Ship the importer"], confirmed: ["The port is 8471"], decisions: ["Use SQLite, because it needs no server"], constraints: [], failed: [], open: [], next: ["Write the tests"], identifiers: ["8471"] };
  const languageModel = { contextWindow: 32_000, generate: async ({ purpose }) => JSON.stringify(["extract", "judge", "audit"].includes(purpose) ? { facts: [] } : summary) };
  const memory = await globalThis.throughline.createMemory({ userId: "reader", tokenizer: "estimate", embedder, languageModel, policy: { budget: { recentTokens: 500 } } });
  await memory.conversations.create({ id: "work", title: "Ports", projectId: "importer" });
  await memory.append("work", [
    { role: "user", content: "The staging server listens on port 8471, in the harbour of Valparaíso." },
    { id: "answer", role: "assistant", content: "Noted: src/import/server.ts uses `STAGING_PORT`." },
    { role: "user", content: "스테이징 서버의 포트는 몇 번입니까? 日本語も少し。" },
    { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "lookup", arguments: '{"what":"port"}' } }] },
    { role: "tool", tool_call_id: "call_1", content: "8471" },
    { id: "last", role: "assistant", content: "8471." },
  ]);
  for (let number = 0; number < 24; number += 1) {
    await memory.append("work", { role: number % 2 === 0 ? "user" : "assistant", content: `Step ${number} of the importer: file${number}.rs is read, checked and written. ${"It takes a while. ".repeat(6)}` });
  }
  await memory.settled();
  await memory.compact("work", { force: true });
  await memory.conversations.create({ id: "home", remember: false });
  await memory.append("home", { role: "user", content: "Nobody should find this by searching." });
  await memory.facts.add({ fact: "I prefer tea to coffee.", category: "preference", key: "drink" });
  await memory.facts.add({ fact: "I prefer water to tea.", category: "preference", key: "drink" });
  const { id } = await memory.facts.add({ fact: "My dog is called Ignatius.", category: "other" });
  await memory.facts.forget(id);
  if (typeof memory.edit === "function") {
    await memory.edit("work", "last", { id: "better", role: "assistant", content: "It is 8471." });
    await memory.append("work", { id: "then", role: "user", content: "Thank you, and the lighthouse?" });
    await memory.setActiveLeaf("work", "seq:30");
    const removed = await memory.append("work", { id: "removed", role: "user", content: "Take this away: zanzibar." });
    await memory.remove("work", removed[0].id);
  }
  if (typeof memory.stream === "function") {
    const stream = await memory.stream("work", { id: "streamed", role: "assistant", content: "" });
    stream.write("A stream ");
    stream.write("of words.");
    await stream.complete();
  }
  await memory.conversations.create({ id: "plan", projectId: "importer" });
  for (let number = 0; number < 6; number += 1) {
    await memory.append("plan", { role: number % 2 === 0 ? "user" : "assistant", content: `Week ${number} of the plan: ${"parse, check and store. ".repeat(8)}` });
  }
  await memory.notes.set("plan", "status", { done: ["parse"], next: "check" });
  await memory.facts.optIn("health");
  for (const id of ["work", "plan"]) await memory.episodes.end(id);
  await memory.buildContext({ conversationId: "plan", question: "What is next?", window: 8_000 });
  await memory.reportUsage("plan", { provider: "openai", model: "gpt-5", inputTokens: 700, outputTokens: 20 });
  await memory.settled();
  await memory.close();
}

/** Runs in the page: an encrypted database, and what opens it. */
async function sealing(userId) {
  const { createMemory, indexedDbStorage } = globalThis.throughline;
  const names = async () => (await globalThis.indexedDB.databases()).map(({ name }) => name);
  const before = await names();
  const key = Array.from({ length: 32 }, (_, at) => at * 7);
  const memory = await createMemory({ userId, tokenizer: "estimate", storage: indexedDbStorage({ key: Uint8Array.from(key) }) });
  await memory.conversations.create({ id: "work", title: "Ports" });
  await memory.append("work", [{ role: "user", content: "The harbour of Valparaíso." }, { id: "last", role: "assistant", content: "Noted." }]);
  await memory.facts.add({ fact: "I prefer water to tea.", category: "preference", key: "drink" });
  await memory.notes.set("work", "plan", "Sail");
  await memory.settled();
  await memory.close();
  const database = (await names()).find((name) => !before.includes(name));
  return { userId, key, database };
}

/** Runs in the page: all records, bytes as base64. */
async function dumped(database) {
  const answer = (request) => new Promise((done, failed) => { request.onsuccess = () => done(request.result); request.onerror = () => failed(request.error); });
  const opened = await answer(globalThis.indexedDB.open(database));
  const stores = {};
  for (const name of [...opened.objectStoreNames]) {
    const store = opened.transaction([name]).objectStore(name);
    const [keys, values] = await Promise.all([answer(store.getAllKeys()), answer(store.getAll())]);
    // The record that keeps room for making room is filler, and is put back where it is missing.
    const isFiller = ({ blob }) => blob !== undefined && blob.length >= 128 * 1024;
    stores[name] = keys.map((key, index) => [key, values[index]]).filter(([, value]) => !isFiller(value)).map(([key, { body, blob }]) => {
      return blob === undefined ? [key, body] : [key, body, globalThis.btoa(String.fromCharCode(...blob))];
    });
  }
  const { version } = opened;
  opened.close();
  return { version, stores };
}
