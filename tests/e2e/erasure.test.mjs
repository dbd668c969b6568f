// What is erased is in no store, and in the WebAssembly memory of no tab; and what Chromium's two ways of storing IndexedDB
// still have of it on disk, until when.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { chromium } from "playwright-core";
import { serve } from "../../scripts/serve.mjs";
import { filesIn } from "../engines/profile-scan.mjs";
import { BACK_ENDS } from "./pages.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Put together, so that no cache of scripts holds it. */
const PREFIX = ["z", "q", "m"].join("");

const PAGE = String.raw`
  import { createMemory } from "/throughline/index.js";
  import init from "/throughline/engine-glue.js";
  import { everyRecord } from "/engines/records.js";
  const prefix = ["z", "q", "m"].join("");
  const m = (number) => prefix + String(number).padStart(3, "0");
  const inText = (text) => [...new Set(text.match(new RegExp(prefix + "\\d{3}", "g")) ?? [])];
  const vector = (text) => Array.from({ length: 16 }, (_, at) => 0.01 + (text.charCodeAt(at % Math.max(text.length, 1)) || 1) % (at + 7));
  const facts = (prompt) => {
    let seq = 0;
    const found = [];
    for (const line of prompt.split("\n")) {
      seq = Number(/^\[(\d+)\]/.exec(line)?.[1] ?? seq);
      const quote = new RegExp("I like " + prefix + "\\d{3}").exec(line)?.[0];
      if (quote) found.push({ fact: "The user likes " + quote.slice(7), category: "preference", confidence: 0.9, quote, seq, kind: "statement" });
    }
    return found;
  };
  const generate = async ({ purpose, messages }) => {
    const prompt = messages[0].content;
    if (purpose === "extract") return { facts: facts(prompt) };
    if (purpose === "judge") return { operations: [] };
    return {
      goal: ["Remember what was said"], confirmed: inText(prompt).map((word) => "They spoke of " + word), decisions: ["Go on, because it is worth it"],
      constraints: [], failed: [], open: [], next: ["Answer the next question"], identifiers: [],
    };
  };
  globalThis.open = async () => {
    globalThis.memory = await createMemory({
      userId: "eraser", tokenizer: "estimate",
      embedder: { id: "letters", dimensions: 16, maxBatchSize: 32, maxInputTokens: 200, embed: async (texts) => texts.map(vector) },
      languageModel: { contextWindow: 32_000, generate },
      policy: { compaction: { highWaterTokens: 600 }, budget: { recentTokens: 300 } },
    });
  };
  globalThis.fill = async () => {
    const { memory } = globalThis;
    const id = m(0);
    await memory.conversations.create({ id, title: m(1), projectId: m(2) });
    const say = (message, options) => memory.append(id, message, options);
    await say({ role: "user", id: m(3), name: m(4), content: "I like " + m(5) + " a lot" });
    await say({ role: "assistant", content: m(6), tool_calls: [{ id: m(7), type: "function", function: { name: m(8), arguments: JSON.stringify({ path: m(9) }) } }] });
    await say({ role: "tool", tool_call_id: m(7), content: m(10) });
    await say({ role: "assistant", content: [{ type: "tool_use", id: m(11), name: m(12), input: { file: m(13) } }] }, { format: "anthropic" });
    await say({ role: "user", content: [{ type: "tool_result", tool_use_id: m(11), content: m(14) }] }, { format: "anthropic" });
    await say({ role: "user", parts: [{ text: m(15) }] }, { format: "gemini" });
    await say({ type: "human", data: { content: m(16) } }, { format: "langchain" });
    await say({ type: "function_call", call_id: m(17), name: m(18), arguments: "{\"a\":\"" + m(19) + "\"}" }, { format: "openai-responses" });
    await say({ type: "function_call_output", call_id: m(17), output: m(20) }, { format: "openai-responses" });
    await memory.edit(id, m(3), { role: "user", id: m(21), content: m(22) });
    for (const number of [23, 25]) {
      const stream = await memory.stream(id, { id: m(number), role: "assistant", content: "" });
      stream.write("Well, it is " + m(number + 1));
      await (number === 23 ? stream.complete() : stream.abort());
    }
    const lines = Array.from({ length: 80 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: "Line " + at + " says " + m(30 + at % 60) + " and more words." }));
    await say(lines);
    await memory.conversations.create({ id: "kept" });
    await memory.append("kept", [{ role: "user", id: m(90), content: "I like " + m(91) + " very much" }, { role: "user", id: m(92), content: "And " + m(93) }]);
    await memory.facts.add({ fact: m(94), key: m(95) });
    await memory.settled();
    await memory.compact(id, { force: true });
  };
  globalThis.use = async () => {
    const { memory } = globalThis;
    for (const question of [m(5), m(31), m(91), m(96)]) {
      await memory.recall(question);
      for (const conversationId of [m(0), "kept"]) await memory.buildContext({ conversationId, question, system: m(97) });
    }
    await memory.recall({ toString: () => m(98) }).catch(() => undefined);
  };
  globalThis.eraseConversation = async () => globalThis.memory.erase({ conversationId: m(0) });
  globalThis.eraseMessage = async () => globalThis.memory.erase({ messageId: m(90) });
  // The markers in bytes, as UTF-8 and as UTF-16.
  const inBytes = (bytes) => {
    const found = new Set();
    for (let at = bytes.indexOf(prefix.charCodeAt(0)); at >= 0; at = bytes.indexOf(prefix.charCodeAt(0), at + 1)) {
      for (const width of [1, 2]) {
        const text = String.fromCharCode(...[0, 1, 2, 3, 4, 5].map((index) => bytes[at + index * width]));
        if (text.startsWith(prefix) && /^\d{3}$/.test(text.slice(3))) found.add(Number(text.slice(3)));
      }
    }
    return found;
  };
  globalThis.inMemory = async () => {
    const { memory } = await init({});
    return [...inBytes(new Uint8Array(memory.buffer))].sort((a, b) => a - b);
  };
  globalThis.inStores = async () => {
    const found = new Set();
    for (const { key, value: { blob, ...rest } } of await everyRecord()) {
      for (const word of inText(JSON.stringify([key, rest]))) found.add(Number(word.slice(3)));
      if (blob !== undefined) for (const number of inBytes(new Uint8Array(blob.buffer ?? blob))) found.add(number);
    }
    return [...found].sort((a, b) => a - b);
  };
  document.title = "ready";
`;

/** The markers in the files of a profile, as UTF-8 and as UTF-16. */
function onDisk(folder) {
  const found = new Set();
  for (const { bytes } of filesIn(folder)) {
    for (const text of [bytes.toString("latin1"), bytes.toString("utf16le"), bytes.subarray(1).toString("utf16le")]) {
      for (const [word] of text.matchAll(new RegExp(`${PREFIX}\\d{3}`, "g"))) found.add(word);
    }
  }
  return found.size;
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  test(`what is erased is in no store and no tab's WebAssembly memory, and what is left on disk goes with the site's data (${backEnd})`, async (t) => {
    const [site, profile] = ["site", "profile"].map((name) => mkdtempSync(join(tmpdir(), `throughline-erasure-${name}-`)));
    writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
    writeFileSync(join(site, "page.js"), PAGE);
    const server = await serve({ port: 0, mounts: { "/throughline/": join(root, "dist"), "/engines/": join(root, "tests/engines"), "/": site } });
    const launch = () =>
      chromium.launchPersistentContext(profile, {
        executablePath: process.env.CHROME_PATH ?? "/usr/bin/chromium",
        chromiumSandbox: process.getuid?.() !== 0,
        args: ["--disable-gpu", "--no-first-run", ...switches],
      });
    let browser = await launch();
    try {
      const tab = async () => {
        const page = await browser.newPage();
        page.on("pageerror", (error) => assert.fail(error));
        await page.goto(server.url);
        await page.waitForFunction(() => document.title === "ready");
        await page.evaluate(() => globalThis.open());
        return page;
      };
      const [one, other] = [await tab(), await tab()];
      await one.evaluate(() => globalThis.fill());
      for (const page of [one, other]) await page.evaluate(() => globalThis.use());
      const held = async () => (await Promise.all([one, other].map((page) => page.evaluate(() => globalThis.inMemory())))).flat();
      assert.ok((await held()).filter((number) => number < 90).length > 20, "what is looked for is found before");
      const stored = await one.evaluate(() => globalThis.inStores());
      assert.ok(stored.length > 85, `stored are ${stored}`);
      const before = onDisk(profile);
      assert.ok(before > 50, `on disk are ${before}`);

      /** Both tabs hold none of these, at the latest a second later. */
      const lets = async (what, isErased) => {
        let left;
        for (let tries = 0; tries < 20; tries += 1) {
          left = (await held()).filter(isErased);
          if (left.length === 0) break;
          await pause(50);
        }
        assert.deepEqual(left, [], `in the memory of two tabs after ${what}`);
        assert.deepEqual((await one.evaluate(() => globalThis.inStores())).filter(isErased), [], `in the stores after ${what}`);
      };
      const { erased, remains } = await one.evaluate(() => globalThis.eraseConversation());
      assert.ok(erased.messages > 90 && erased.embeddings > 50 && erased.summaries > 0, JSON.stringify(erased));
      assert.deepEqual(remains.map(({ place }) => place), ["browser_files", "other_tabs", "page_memory"]);
      assert.match(remains[0].until, /LevelDB/);
      await lets("the conversation was erased", (number) => number < 90);
      await one.evaluate(() => globalThis.eraseMessage());
      await lets("a message was erased", (number) => number < 92);
      assert.ok((await one.evaluate(() => globalThis.inStores())).includes(93), "the rest stays");
      await one.evaluate(() => globalThis.memory.erase({ user: true }));
      await lets("all was erased", () => true);

      const left = { before, erased: onDisk(profile) };
      for (const page of [one, other]) await page.evaluate(() => globalThis.memory.close());
      // Chromium's SQLite keeps a database open for some seconds after the last page has closed it.
      const closedAt = Date.now();
      const isSettled = () => onDisk(profile) === 0 || Date.now() - closedAt > (backEnd === "sqlite" ? 20_000 : 1_000);
      while (!isSettled()) await pause(250);
      left.memoriesClosed = onDisk(profile);
      left.afterMs = Date.now() - closedAt;
      await browser.close();
      left.browserClosed = onDisk(profile);
      browser = await launch();
      const page = await tab();
      await page.evaluate(() => globalThis.memory.close());
      left.reopened = onDisk(profile);
      const devtools = await browser.newCDPSession(page);
      await devtools.send("Storage.clearDataForOrigin", { origin: new URL(server.url).origin, storageTypes: "all" });
      for (let tries = 0; tries < 40 && onDisk(profile) > 0; tries += 1) await pause(50);
      left.cleared = onDisk(profile);
      t.diagnostic(`markers in the profile, ${backEnd}: ${JSON.stringify(left)}`);
      assert.equal(left.cleared, 0, "clearing the site's data removes the rest");
      if (backEnd === "sqlite") assert.equal(left.memoriesClosed, 0, "gone once no tab has the memory open");
    } finally {
      await browser.close();
      await server.close();
      for (const folder of [site, profile]) rmSync(folder, { recursive: true, force: true });
    }
  });
}
