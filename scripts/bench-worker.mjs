// `npm run bench:worker [-- --messages 10000] [--runs 3]`: what the engine costs the page's thread, in the page and in a worker
// (`throughline/client`): 10,000 messages are imported in Chromium while every task of the thread is traced, then calls are timed.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { build } from "./build.mjs";
import { serve } from "./serve.mjs";
import { ROOT, ensureChromium, main } from "./toolchain.mjs";

const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const CATEGORIES = ["disabled-by-default-devtools.timeline", "blink.user_timing", "__metadata"];
/** The goal: no task of the page's thread is longer. */
const GOAL_MS = 8;
const MESSAGES_EACH = 50;

/** Runs in the page. */
const PAGE = String.raw`
import { createMemory } from "/throughline/index.js";
import { createMemoryClient } from "/throughline/client/index.js";
const open = {
  "in the page": (options) => createMemory(options),
  "in a worker": (options) => createMemoryClient(() => new Worker("/throughline/worker/index.js", { type: "module" }), options),
};
const timed = async (times, work) => {
  const took = [];
  for (let at = 0; at < times; at += 1) {
    const begin = performance.now();
    await work(at);
    took.push(performance.now() - begin);
  }
  return took;
};
globalThis.prepare = async (where) => {
  globalThis.memory = await open[where]({ userId: "bench " + Date.now() });
  // So that everything is loaded, the vocabulary too.
  await memory.conversations.create({ id: "first" });
  await memory.append("first", { role: "user", content: "so that everything is loaded" });
  await memory.settled();
};
globalThis.measureImport = async () => {
  const [file] = document.querySelector("input").files;
  const begin = performance.now();
  performance.mark("import begins");
  const { messages } = await memory.import(file);
  performance.mark("import ends");
  return { messages, ms: performance.now() - begin };
};
globalThis.measureCalls = async () => {
  const ask = (at) => memory.buildContext({ conversationId: "first", question: "What was said about word" + (at * 37 % 900) + " and word" + (at * 11 % 900) + "?", system: "s", window: 16000, reserve: 4000, retrieval: "always" });
  await timed(20, ask);
  return {
    append: await timed(200, (at) => memory.append("first", { role: "user", content: "One more message, number " + at + ", of some ten words or so." })),
    buildContext: await timed(100, ask),
    list: await timed(200, () => memory.conversations.get("first")),
  };
};
document.title = "ready";
`;

/** An export in which every conversation has as many messages; the same each time. */
function exported(messages) {
  let state = 7;
  const next = (below) => (state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0) % below;
  const text = () => Array.from({ length: 20 + next(80) }, () => `word${next(900)}`).join(" ");
  const conversation = (number) => ({
    id: `chat-${number}`,
    conversations: Array.from({ length: MESSAGES_EACH }, (_, at) => ({ from: at % 2 ? "gpt" : "human", value: text() })),
  });
  return JSON.stringify(Array.from({ length: messages / MESSAGES_EACH }, (_, number) => conversation(number)));
}

/** The tasks of the page's thread between the two marks of the import, in milliseconds of the clock and of the processor. */
function tasksOf(trace) {
  const events = JSON.parse(trace).traceEvents;
  const mark = (name) => events.find((event) => event.name === name && event.cat.includes("blink.user_timing"));
  const [begin, end] = [mark("import begins"), mark("import ends")];
  return events
    .filter(({ name, pid, tid, ts, dur = 0 }) => name === "RunTask" && pid === begin.pid && tid === begin.tid && ts + dur > begin.ts && ts < end.ts)
    .map(({ dur = 0, tdur = 0 }) => ({ ms: dur / 1_000, cpuMs: tdur / 1_000 }));
}

async function run(browser, url, file, where) {
  const page = await (await browser.newContext()).newPage();
  try {
    await page.goto(url);
    await page.waitForFunction(() => document.title === "ready");
    await page.setInputFiles("input", file);
    await page.evaluate((where) => globalThis.prepare(where), where);
    await browser.startTracing(page, { categories: CATEGORIES });
    const { messages, ms } = await page.evaluate(() => globalThis.measureImport());
    const tasks = tasksOf((await browser.stopTracing()).toString("utf8"));
    const calls = await page.evaluate(() => globalThis.measureCalls());
    return { messages, ms, tasks, calls };
  } finally {
    await page.context().close();
  }
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];
}

function print(where, { messages, ms, tasks, calls }) {
  const longest = (key) => Math.max(...tasks.map((task) => task[key])).toFixed(1);
  const busy = tasks.reduce((sum, task) => sum + task.cpuMs, 0).toFixed(0);
  const over = tasks.filter((task) => task.ms > GOAL_MS).length;
  console.log(`${where}: ${messages} messages in ${(ms / 1_000).toFixed(1)} s; the page's thread: longest task ${longest("ms")} ms (${longest("cpuMs")} ms of processor), ${over} over ${GOAL_MS} ms, busy for ${busy} ms`);
  for (const [name, took] of Object.entries(calls)) {
    console.log(`  ${name}: median ${median(took).toFixed(2)} ms, p95 ${took.toSorted((a, b) => a - b)[Math.floor(took.length * 0.95)].toFixed(2)} ms`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options: { messages: { type: "string", default: "10000" }, runs: { type: "string", default: "3" } } });
  const { browser: executablePath } = await ensureChromium();
  await build();
  const folder = mkdtempSync(join(tmpdir(), "throughline-worker-"));
  const { chromium } = await import("playwright-core");
  let server;
  let browser;
  try {
    writeFileSync(join(folder, "export.json"), exported(Number(values.messages)));
    writeFileSync(join(folder, "index.html"), `<!doctype html><title>t</title><input type="file"><script type="module" src="page.js"></script>`);
    writeFileSync(join(folder, "page.js"), PAGE);
    server = await serve({ port: 0, mounts: { "/throughline/": join(ROOT, "dist"), "/": folder }, headers: {} });
    browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, args: SWITCHES });
    console.log(`Chromium ${browser.version()}`);
    for (let at = 0; at < Number(values.runs); at += 1) {
      for (const where of ["in the page", "in a worker"]) print(where, await run(browser, server.url, join(folder, "export.json"), where));
    }
  } finally {
    await browser?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  }
});
