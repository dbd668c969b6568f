// The client and its worker in a real page: the same contexts, traps, workers that end, policies, the page's life, imports.
/* global Event, caches */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { after, before, test } from "node:test";
import { CONTENT_SECURITY_POLICY, serve } from "../../scripts/serve.mjs";
import { comparable, scenario } from "../js/worker-scenario.mjs";
import { launchBrowser } from "./browser.mjs";

const root = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = `
  import * as throughline from "/throughline/index.js";
  import { createMemoryClient } from "/throughline/client/index.js";
  import { createStaticEmbedder } from "/throughline/static-embedder.js";
  const policy = globalThis.trustedTypes.createPolicy("test", { createScriptURL: (address) => address });
  const workers = [];
  const newWorker = (path = "/memory-worker.js") => { workers.push(new Worker(policy.createScriptURL(path), { type: "module" })); return workers.at(-1); };
  const client = (options, path) => createMemoryClient(() => newWorker(path), { tokenizer: "estimate", ...options });
  const code = (promise) => promise.then(() => "none", (error) => [error.code, error.retryable, error.message]);
  Object.assign(globalThis, { throughline, createMemoryClient, createStaticEmbedder, workers, newWorker, client, code });
  document.title = "ready";`;
/** A worker whose engine traps at its next call once it is told to; what replaces it does not. */
const TRAPPING = `
  const { instantiate } = WebAssembly;
  let isArmed = false;
  addEventListener("message", ({ data }) => { isArmed ||= data === "trap"; });
  WebAssembly.instantiate = async (module, imports) => {
    const { exports } = await instantiate(module, imports);
    const trapping = ([name, value]) => [name, typeof value !== "function" || !name.startsWith("engine_") ? value : (...given) => {
      if (isArmed) { isArmed = false; throw new WebAssembly.RuntimeError("unreachable"); }
      return value(...given);
    }];
    return { instance: { exports: Object.fromEntries(Object.entries(exports).map(trapping)) }, module };
  };
  await import("/throughline/worker/index.js");
  postMessage("loaded");`;
/** A worker without slow timers: what happens at once happens because the page said so. */
const HASTY = `
  const { setTimeout: later } = globalThis;
  globalThis.setTimeout = (work, ms, ...given) => (ms >= 1_000 ? 0 : later(work, ms, ...given));
  await import("/throughline/worker/index.js");
  postMessage("loaded");`;

let browser;
let context;
let site;
let server;
let strict;

before(async () => {
  site = mkdtempSync(join(tmpdir(), "throughline-worker-"));
  const files = {
    "index.html": `<!doctype html><title>t</title><script type="module" src="page.js"></script>`,
    "other.html": `<!doctype html><title>ready</title>`,
    "page.js": PAGE,
    "memory-worker.js": `import "/throughline/worker/index.js";`,
    "trapping.js": TRAPPING,
    "hasty.js": HASTY,
    "broken.js": `import "/nowhere.js";`,
  };
  for (const [name, text] of Object.entries(files)) writeFileSync(join(site, name), text);
  const mounts = { "/throughline/": join(root, "dist"), "/": site };
  server = await serve({ port: 0, mounts });
  strict = await serve({ port: 0, mounts, headers: { "Content-Security-Policy": CONTENT_SECURITY_POLICY.replace(" 'wasm-unsafe-eval'", "") } });
  browser = await launchBrowser([], { keepPages: true });
  context = await browser.newContext();
});

after(async () => {
  await browser?.close();
  await Promise.all([server?.close(), strict?.close()]);
  rmSync(site, { recursive: true, force: true });
});

async function openPage(base = server.url) {
  const page = await context.newPage();
  const requests = [];
  page.on("request", (request) => requests.push(new URL(request.url()).pathname));
  page.on("pageerror", (error) => assert.fail(error));
  await page.goto(base);
  await page.waitForFunction(() => document.title === "ready");
  return { page, requests };
}

test("whatever a memory can do on IndexedDB, it does the same through a worker", async () => {
  const { page, requests } = await openPage();
  await page.evaluate(`globalThis.scenario = ${scenario}`);
  const [here, there] = [
    await page.evaluate(() => globalThis.scenario((options) => globalThis.throughline.createMemory({ userId: "here", ...options }))),
    await page.evaluate(() => globalThis.scenario((options) => globalThis.client({ userId: "there", ...options }))),
  ];
  assert.equal(comparable(there), comparable(here));
  assert.deepEqual(there.stats.slice(0, 2), here.stats.slice(0, 2));
  assert.equal(requests.filter((path) => path.endsWith("/engine.wasm")).length, 2, "one for the page's own engine, one for its workers");
  assert.equal(requests.filter((path) => path.endsWith("/worker/index.js")).length, 1);
  await page.close();
});

test("contexts of a real conversation are byte for byte those of the page, with an embedder of the page's", async () => {
  const read = (name) => JSON.parse(readFileSync(join(root, "www/sample", name), "utf8"));
  const conversation = read("conversation.json");
  const messages = Array.isArray(conversation) ? conversation : conversation.messages;
  const questions = read("questions.json").questions.map(({ question }) => question).slice(0, 8);
  const { page } = await openPage();
  const [here, there] = await page.evaluate(async ([messages, questions]) => {
    const answers = [];
    const embedder = await globalThis.createStaticEmbedder();
    for (const open of [globalThis.throughline.createMemory, globalThis.client]) {
      const memory = await open({ userId: `sample ${answers.length}`, embedder, tokenizer: "o200k_base", clock: () => Date.UTC(2026, 0, 1) });
      await memory.conversations.create({ id: "real" });
      await memory.append("real", messages);
      await memory.settled();
      const built = [];
      for (const question of questions) built.push(await memory.buildContext({ conversationId: "real", question, system: "s", window: 6_000, reserve: 1_000, format: "openai" }));
      answers.push(built);
      await memory.close();
    }
    return answers;
  }, [messages, questions]);
  assert.ok(here.length > 3 && here.some(({ receipt }) => receipt.retrieval.mode === "hybrid") && here.every(({ receipt }) => receipt.tokens.exact));
  assert.equal(comparable(there), comparable(here));
  await page.close();
});

test("after a trap in the worker the engine is replaced, the call is carried out, and what was stored is there", async () => {
  const { page } = await openPage();
  const answer = await page.evaluate(async () => {
    const worker = globalThis.newWorker("/trapping.js");
    await new Promise((resolve) => { worker.onmessage = resolve; });
    const memory = await globalThis.createMemoryClient(worker, { userId: "trap", tokenizer: "estimate" });
    await memory.conversations.create({ id: "c" });
    await memory.append("c", { role: "user", content: "before" });
    worker.postMessage("trap");
    await memory.append("c", { role: "user", content: "after" });
    worker.postMessage("trap");
    const added = await globalThis.code(memory.facts.add({ fact: "Likes tea" }));
    const contents = (await memory.history("c")).map(({ content }) => content);
    await memory.close();
    worker.terminate();
    return { added, contents };
  });
  assert.deepEqual(answer.contents, ["before", "after"]);
  // Only the first instance traps: the second is the platform's own.
  assert.equal(answer.added, "none");
  await page.close();
});

test("where a worker ends, another one goes on: what can be done twice is, nothing is doubled or lost", async () => {
  const { page } = await openPage();
  const answer = await page.evaluate(async () => {
    const memory = await globalThis.client({ userId: "ending" });
    await memory.conversations.create({ id: "c" });
    const kill = () => globalThis.workers.at(-1).terminate();
    for (let round = 0; round < 5; round += 1) {
      await memory.conversations.get("c");
      const appended = [0, 1, 2].map((n) => memory.append("c", { role: "user", content: `${round} ${n}` }));
      await new Promise((resolve) => setTimeout(resolve, round * 3));
      kill();
      await Promise.all(appended);
    }
    await memory.conversations.get("c");
    const fact = memory.facts.add({ fact: "Likes tea" });
    await Promise.resolve();
    kill();
    const added = await globalThis.code(fact);
    const contents = (await memory.history("c")).map(({ content }) => content);
    const made = globalThis.workers.length;
    await memory.close();
    return { added, contents, made };
  });
  assert.deepEqual(answer.contents, Array.from({ length: 15 }, (_, n) => `${Math.floor(n / 3)} ${n % 3}`));
  assert.deepEqual(answer.added.slice(0, 2), ["engine_unavailable", false]);
  assert.match(answer.added[2], /may or may not/);
  assert.equal(answer.made, 7);
  await page.close();
});

test("a worker that the app gave and ended is told, and what was acknowledged is in storage", async () => {
  const { page } = await openPage();
  const answer = await page.evaluate(async () => {
    const worker = globalThis.newWorker();
    const memory = await globalThis.createMemoryClient(worker, { userId: "given", tokenizer: "estimate" });
    await memory.conversations.create({ id: "c" });
    await memory.append("c", { role: "user", content: "kept" });
    worker.terminate();
    const told = await globalThis.code(memory.history("c"));
    await memory.close();
    const anew = await globalThis.client({ userId: "given" });
    const contents = (await anew.history("c")).map(({ content }) => content);
    await anew.close();
    return { told, contents };
  });
  assert.deepEqual(answer.told.slice(0, 2), ["engine_unavailable", false]);
  assert.match(answer.told[2], /function that makes workers/);
  assert.deepEqual(answer.contents, ["kept"]);
  await page.close();
});

test("a policy without wasm-unsafe-eval is told in words, and so is a worker's file that cannot be loaded", async () => {
  const { page } = await openPage(strict.url);
  const [refused] = await page.evaluate(() => globalThis.code(globalThis.client({ userId: "policy" })));
  assert.equal(refused, "wasm_blocked_by_csp");
  await page.close();
  const { page: free } = await openPage();
  const broken = await free.evaluate(() => Promise.all(["/broken.js", "/absent.js"].map((path) => globalThis.code(globalThis.client({ userId: "broken" }, path)))));
  for (const told of broken) {
    assert.deepEqual(told.slice(0, 2), ["engine_unavailable", true]);
    assert.match(told[2], /throughline\/worker/);
  }
  await free.close();
});

test("in a worker and in the page at once, one user's memory is one", async () => {
  const { page } = await openPage();
  const answer = await page.evaluate(async () => {
    const options = { userId: "both", tokenizer: "estimate" };
    const memories = [await globalThis.client(options), await globalThis.throughline.createMemory(options), await globalThis.client(options)];
    await memories[0].conversations.create({ id: "c" });
    const remote = new Promise((resolve) => { memories[1].on("append", (told) => told.remote && resolve(told.conversationId)); });
    const seqs = await Promise.all(memories.flatMap((memory, at) => Array.from({ length: 10 }, (_, n) => memory.append("c", { role: "user", content: `${at} says ${n}` }).then(([{ seq }]) => seq))));
    const lengths = await Promise.all(memories.map((memory) => memory.history("c").then(({ length }) => length)));
    const heard = await remote;
    await Promise.all(memories.map((memory) => memory.close()));
    return { seqs, lengths, heard };
  });
  assert.deepEqual(answer.seqs.sort((a, b) => a - b), Array.from({ length: 30 }, (_, n) => n + 1));
  assert.deepEqual([answer.lengths, answer.heard], [[30, 30, 30], "c"]);
  await page.close();
});

test("a page that is hidden or left puts on disk what its worker acknowledged before", async () => {
  const { page } = await openPage();
  const marked = await page.evaluate(async () => {
    const worker = globalThis.newWorker("/hasty.js");
    await new Promise((resolve) => { worker.onmessage = resolve; });
    const memory = await globalThis.createMemoryClient(worker, { userId: "relaxed", tokenizer: "estimate", policy: { durability: "relaxed" } });
    await memory.conversations.create({ id: "c" });
    const [{ durable }] = await memory.append("c", { role: "user", content: "not on disk" });
    const told = async () => {
      const cache = await caches.open("throughline");
      const [request] = (await cache.keys()).slice(-1);
      return request === undefined ? 0 : (await (await cache.match(request)).json()).positions;
    };
    const before = await told();
    Object.defineProperty(document, "visibilityState", { value: "hidden", configurable: true });
    document.dispatchEvent(new Event("visibilitychange"));
    await memory.history("c");
    for (let tries = 0; tries < 200 && (await told()) !== 1; tries += 1) {
      globalThis.dispatchEvent(new Event("pagehide"));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    const after = await told();
    worker.terminate();
    return { durable, before, after };
  });
  assert.deepEqual(marked, { durable: false, before: 0, after: 1 });
  await page.close();
});

/** Leaves a page and comes back to it, while another page stores something; what it found, or `null` where it was loaded anew. */
async function leaveAndReturn(page, other) {
  await page.evaluate(async () => {
    // What is still being stored keeps a page out of the cache.
    await globalThis.memory.settled();
    // Playwright loses sight of a page that comes from the cache: the page itself tells the other one.
    globalThis.addEventListener("pageshow", async ({ persisted }) => {
      while (!globalThis.heard.some(({ state, remote }) => state === "resumed" && remote)) await new Promise((resolve) => setTimeout(resolve, 20));
      const contents = (await globalThis.memory.history("c")).map(({ content }) => content);
      await globalThis.memory.append("c", { role: "user", content: "back" });
      globalThis.localStorage.setItem("returned", JSON.stringify({ persisted, contents, resumed: globalThis.heard.filter(({ state }) => state === "resumed").length }));
    });
  });
  await page.goto(`${server.url}/other.html`);
  await other.evaluate(() => globalThis.memory.append("c", { role: "user", content: "meanwhile" }));
  await page.evaluate(() => void setTimeout(() => globalThis.history.back(), 50));
  const told = other.waitForFunction(() => globalThis.localStorage.getItem("returned"), undefined, { timeout: 10_000 });
  return told.then((value) => value.jsonValue()).then(JSON.parse, () => null);
}

test("a page that comes back from the browser's cache goes on with its worker, and sees what was stored meanwhile", async (t) => {
  let returned = null;
  // The browser may load a page anew at any time, for want of memory say: that is no failure, and is tried again.
  for (let trial = 0; trial < 4 && returned === null; trial += 1) {
    const [{ page }, { page: other }] = [await openPage(), await openPage()];
    const open = (target) => target.evaluate(async (userId) => {
      globalThis.memory = await globalThis.client({ userId });
      globalThis.heard = [];
      for (const name of ["append", "storage"]) globalThis.memory.on(name, (told) => globalThis.heard.push({ name, ...told }));
    }, `returning-${trial}`);
    await open(page);
    await page.evaluate(async () => {
      await globalThis.memory.conversations.create({ id: "c" });
      await globalThis.memory.append("c", { role: "user", content: "first" });
    });
    await open(other);
    returned = await leaveAndReturn(page, other);
    if (returned === null) t.diagnostic("the page was loaded anew");
    else await other.waitForFunction(() => globalThis.heard.some(({ name, remote }) => name === "append" && remote));
    await other.close();
  }
  assert.deepEqual(returned, { persisted: true, contents: ["first", "meanwhile"], resumed: 1 });
});
