// Two pages and a worker of one user: what one stores the others show within a second. ROUNDS is how many summary updates each
// of them tries (`npm run test:long -- tabs` for 1,000).
/* global memory, heardInWorker */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { BACK_ENDS, openSite } from "./pages.mjs";

/** Summary updates that each of three tries. */
const ROUNDS = Number(process.env.ROUNDS ?? 150);
/** How long others may take to show what was stored. */
const SECOND_MS = 1_000;

/** Runs in pages and in the worker: a message and a forced summary, again and again. */
const summarising = `
  const sections = { goal: ["Ship"], confirmed: ["The port is 8471"], decisions: [], constraints: [], failed: [], open: [], next: [], identifiers: ["8471"] };
  const languageModel = { contextWindow: 32000, generate: async () => JSON.stringify(sections) };
  const policy = { budget: { recentTokens: 1 }, compaction: { automatic: false }, facts: { extract: false } };
  globalThis.withModel = (userId) => throughline.createMemory({ userId, tokenizer: "estimate", languageModel, policy });
  globalThis.summarise = async (memory, rounds) => {
    const versions = [];
    const codes = [];
    let appended = 0;
    memory.on("compaction", ({ version, remote }) => remote || versions.push(version));
    for (let round = 0; round < rounds; round += 1) {
      appended += (await memory.append("c", { role: "user", content: "The port is 8471, again. ".repeat(20) })).length;
      await memory.compact("c", { force: true }).catch(({ code }) => codes.push(code));
    }
    return { versions, codes, appended };
  };`;

const script = `${summarising}
  globalThis.openWithModel = async (userId) => (globalThis.memory = await withModel(userId));
  globalThis.open = async (userId) => {
    globalThis.memory = await throughline.createMemory({ userId, tokenizer: "estimate" });
    globalThis.heard = [];
    for (const name of ["append", "stream", "conversation", "fact", "storage"]) {
      memory.on(name, (payload) => heard.push({ name, at: Date.now(), ...payload }));
    }
  };
  globalThis.summariseInWorker = (rounds) => new Promise((resolve) => {
    worker.onmessage = ({ data }) => data.versions && resolve(data);
    worker.postMessage({ rounds });
  });
  globalThis.startWorker = (userId, isSummarising = false) => new Promise((resolve, reject) => {
    globalThis.trusted ??= trustedTypes.createPolicy("own", { createScriptURL: (url) => url });
    globalThis.worker = new Worker(trusted.createScriptURL("/worker.js"), { type: "module" });
    worker.onerror = reject;
    worker.onmessage = ({ data }) => data === "open" ? resolve() : heardInWorker.push(data);
    globalThis.heardInWorker = [];
    worker.postMessage({ userId, isSummarising });
  });`;
const worker = `${summarising}
  let memory;
  onmessage = async ({ data: { userId, isSummarising, rounds } }) => {
    if (rounds !== undefined) return postMessage(await summarise(memory, rounds));
    memory = isSummarising ? await withModel(userId) : await throughline.createMemory({ userId, tokenizer: "estimate" });
    memory.on("append", (payload) => postMessage({ name: "append", at: Date.now(), ...payload }));
    postMessage("open");
  };`;

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  describe(`on ${backEnd}`, () => {
    let site;
    let one;
    let other;

    before(async () => {
      site = await openSite({ script, worker, switches });
      [one, other] = [await site.openPage(), await site.openPage()];
      for (const page of [one, other]) await page.evaluate(() => globalThis.open("ada"));
      await one.evaluate(() => globalThis.startWorker("ada"));
    });

    after(() => site?.close());

    /** What the page heard of the others since it was last asked, once there are so many. */
    async function heard(page, count) {
      await page.waitForFunction((count) => globalThis.heard.filter(({ remote }) => remote).length >= count, count);
      const events = await page.evaluate(() => JSON.stringify(globalThis.heard.splice(0), (key, value) => (key === "at" ? undefined : value)));
      return JSON.parse(events).filter(({ remote }) => remote);
    }

    test("each kind of change is told to the other page with what it carries", async () => {
      const fact = await one.evaluate(async () => {
        await memory.conversations.create({ id: "c", title: "Ports" });
        await memory.append("c", [{ id: "a", role: "user", content: "Which port?" }, { id: "b", role: "assistant", content: "8471" }]);
        await memory.conversations.update("c", { title: "Harbours" });
        await memory.setActiveLeaf("c", "a");
        await memory.remove("c", "b");
        const { id } = await memory.facts.add({ fact: "Ada likes ports.", category: "preference" });
        await memory.erase({ factId: id });
        const stream = await memory.stream("c", { id: "s", role: "assistant", content: "" });
        stream.write("9000");
        await stream.complete();
        await memory.erase({ conversationId: "c" });
        await memory.erase({ user: true });
        return id;
      });
      assert.deepEqual(await heard(other, 11), [
        { name: "conversation", conversationId: "c", state: "created", remote: true },
        { name: "append", conversationId: "c", count: 2, remote: true },
        { name: "conversation", conversationId: "c", state: "updated", remote: true },
        { name: "conversation", conversationId: "c", state: "turned", remote: true },
        { name: "storage", conversationId: "c", state: "message_removed", remote: true },
        { name: "fact", operation: "ADD", factId: fact, remote: true },
        { name: "fact", operation: "ERASE", factId: fact, remote: true },
        { name: "append", conversationId: "c", count: 1, remote: true },
        { name: "stream", conversationId: "c", id: "s", seq: 3, status: "complete", remote: true },
        { name: "storage", conversationId: "c", state: "conversation_deleted", remote: true },
        { name: "storage", state: "erased", remote: true },
      ]);
      assert.deepEqual(await one.evaluate(() => globalThis.heard.splice(0).filter(({ remote }) => remote)), [], "one's own events are not remote");
    });

    test("pages and workers show what another stored within a second", async () => {
      await one.evaluate(() => memory.conversations.create({ id: "fast" }));
      await heard(other, 1);
      await one.evaluate(() => (heardInWorker.length = 0));
      const late = [];
      for (let number = 0; number < 10; number += 1) {
        const stored = await one.evaluate(async (number) => {
          await memory.append("fast", { role: "user", content: `Message ${number}` });
          return Date.now();
        }, number);
        await other.waitForFunction((count) => globalThis.heard.filter(({ name }) => name === "append").length === count, number + 1);
        await one.waitForFunction((count) => heardInWorker.length === count, number + 1);
        const [at, inWorker] = [await other.evaluate(() => globalThis.heard.at(-1).at), await one.evaluate(() => heardInWorker.at(-1).at)];
        late.push(at - stored, inWorker - stored);
        assert.equal((await other.evaluate(() => memory.history("fast"))).length, number + 1);
      }
      assert.ok(Math.max(...late) < SECOND_MS, `${late} ms`);
    });

    test("another user hears nothing", async () => {
      const stranger = await site.openPage();
      await stranger.evaluate(() => globalThis.open("bob"));
      await one.evaluate(() => memory.append("fast", { role: "user", content: "Just for Ada" }));
      await heard(other, 1);
      assert.deepEqual(await stranger.evaluate(() => globalThis.heard), []);
      await stranger.close();
    });

    test("two pages and a worker summarise one conversation at once: no update is lost, and every loser is told", async () => {
      const pages = [one, other];
      await one.evaluate(() => globalThis.startWorker("summaries", true));
      await Promise.all(pages.map((page) => page.evaluate(() => globalThis.openWithModel("summaries"))));
      await one.evaluate(() => memory.conversations.create({ id: "c" }));
      const told = await Promise.all([
        ...pages.map((page) => page.evaluate((rounds) => globalThis.summarise(memory, rounds), ROUNDS)),
        one.evaluate((rounds) => globalThis.summariseInWorker(rounds), ROUNDS),
      ]);
      const summary = await one.evaluate(() => memory.summary("c"));
      assert.ok(summary.version > ROUNDS, `${summary.version} updates`);
      const updates = told.flatMap(({ versions }) => versions);
      // Each version was made by one of them, and none twice.
      assert.deepEqual(updates.sort((a, b) => a - b), Array.from({ length: summary.version }, (_, n) => n + 1));
      assert.deepEqual(told.flatMap(({ codes }) => codes).filter((code) => code !== "storage_conflict"), []);
      const { length } = await other.evaluate(() => memory.history("c"));
      assert.equal(length, told.reduce((sum, { appended }) => sum + appended, 0));
      assert.equal(length, 3 * ROUNDS);
    });
  });
}
