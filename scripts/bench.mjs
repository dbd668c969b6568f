// `npm run bench [-- --json] [--sizes 1000,10000]`: what the built package costs in Chromium. One run, one browser, fresh
// database per size; medians and p95 over many calls. Callbacks (the embedder) are subtracted from what they are part of.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { build } from "./build.mjs";
import { serve } from "./serve.mjs";
import { ROOT, ensureChromium, main } from "./toolchain.mjs";

const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const QUERIES = 200;

async function bench() {
  const json = process.argv.includes("--json");
  const at = process.argv.indexOf("--sizes");
  const sizes = (at >= 0 ? process.argv[at + 1] : "1000,10000").split(",").map(Number);
  const log = console.log;
  if (json) console.log = console.error;
  const { browser: executablePath } = await ensureChromium();
  await build();
  const site = mkdtempSync(join(tmpdir(), "throughline-bench-"));
  writeFileSync(join(site, "index.html"), `<!doctype html><title>t</title><script type="module" src="page.js"></script>`);
  writeFileSync(join(site, "page.js"), `import * as throughline from "/throughline/index.js";\nimport { createStaticEmbedder } from "/throughline/static-embedder.js";\n${pageSide}\nglobalThis.measure = (size, words, queries) => measure(throughline, createStaticEmbedder, size, words, queries);\ndocument.title = "ready";`);
  // Isolated, so that the page's clock has steps of 5 microseconds.
  const headers = { "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Embedder-Policy": "require-corp" };
  const server = await serve({ port: 0, mounts: { "/throughline/": join(ROOT, "dist"), "/": site }, headers });
  const { chromium } = await import("playwright-core");
  const browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, args: SWITCHES });
  try {
    const results = [];
    for (const size of sizes) {
      const page = await (await browser.newContext()).newPage();
      await page.goto(server.url);
      await page.waitForFunction(() => document.title === "ready");
      results.push(...(await page.evaluate(([size, words, queries]) => globalThis.measure(size, words, queries), [size, sampleWords(), QUERIES])));
      await page.close();
    }
    console.log = log;
    const report = { browser: `Chromium ${browser.version()}`, messagesOfWords: "12 to 60 words of the sample conversation", results };
    if (json) console.log(JSON.stringify(report, undefined, 2));
    else print(report);
  } finally {
    await browser.close();
    await server.close();
    rmSync(site, { recursive: true, force: true });
  }
}

/** The words of the sample conversation, with their frequencies. */
function sampleWords() {
  const conversation = JSON.parse(readFileSync(join(ROOT, "www/sample/conversation.json"), "utf8"));
  const messages = Array.isArray(conversation) ? conversation : conversation.messages;
  return messages.flatMap(({ content }) => (typeof content === "string" ? content.split(/\s+/u) : [])).filter((word) => word !== "");
}

function print({ browser, results }) {
  console.log(`\n${browser}\n`);
  console.log("| messages | what | runs | median ms | p95 ms |\n|---|---|---|---|---|");
  for (const { size, what, runs, median, p95, bytes } of results) {
    if (bytes !== undefined) console.log(`| ${size} | ${what} | | ${(bytes / 1e6).toFixed(1)} MB | |`);
    else console.log(`| ${size} | ${what} | ${runs} | ${median.toFixed(2)} | ${p95.toFixed(2)} |`);
  }
}

/** Runs in the page. */
const pageSide = String.raw`
async function measure({ createMemory }, createStaticEmbedder, size, words, queries) {
  let seed = 42;
  const random = (below) => { seed = (seed * 1664525 + 1013904223) >>> 0; return Math.floor((seed / 2 ** 32) * below); };
  const sentence = (length) => Array.from({ length }, () => words[random(words.length)]).join(" ");
  const shipped = await createStaticEmbedder();
  let callback = 0;
  const embedder = { ...shipped, embed: async (texts, options) => {
    const begin = performance.now();
    try { return await shipped.embed(texts, options); } finally { callback += performance.now() - begin; }
  } };
  const message = (index) => ({ id: "m" + index, role: index % 2 ? "assistant" : "user", content: "Note " + index + ": " + sentence(12 + random(48)), createdAt: 1.7e12 + index * 60000 + Math.floor(index / 40) * 8.64e7 });
  const rows = [];
  const timed = async (call) => { callback = 0; const begin = performance.now(); await call(); return performance.now() - begin - callback; };
  const row = (what, times) => {
    times.sort((a, b) => a - b);
    const pick = (share) => times[Math.min(times.length - 1, Math.floor(times.length * share))];
    rows.push({ size, what, runs: times.length, median: pick(0.5), p95: pick(0.95) });
  };
  const open = () => createMemory({ userId: "bench-" + size, embedder });
  let memory = await open();
  await memory.conversations.create({ id: "c" });
  const all = Array.from({ length: size }, (_, index) => message(index));
  row("append, 500 at once, per message", await (async () => {
    const times = [];
    for (let first = 0; first < size; first += 500) times.push((await timed(() => memory.append("c", all.slice(first, first + 500)))) / 500);
    return times;
  })());
  row("embed and index everything, per message", [(await timed(() => memory.settled())) / size]);
  const repeat = async (runs, call) => { const times = []; for (let run = 0; run < runs; run += 1) times.push(await timed(() => call(run))); return times; };
  await memory.close();
  row("open (createMemory)", await repeat(5, async () => { const opened = await open(); await opened.close(); }));
  row("open to first context", await repeat(5, async () => {
    const opened = await open();
    await opened.buildContext({ conversationId: "c", question: "What did note 7 say?" });
    await opened.close();
  }));
  memory = await open();
  await memory.buildContext({ conversationId: "c", question: "warm up" });
  const question = (run) => "What was said about " + sentence(5) + " in note " + random(size) + "?";
  row("recall", await repeat(queries, (run) => memory.recall(question(run), { conversationId: "c" })));
  row("buildContext, retrieving", await repeat(queries, (run) => memory.buildContext({ conversationId: "c", question: question(run), retrieval: "always" })));
  row("buildContext, no retrieval", await repeat(queries, (run) => memory.buildContext({ conversationId: "c", question: question(run), retrieval: "never" })));
  let index = size;
  row("append, one message", await repeat(queries, () => memory.append("c", message(index++))));
  await memory.settled();
  const stats = await memory.stats();
  rows.push({ size, what: "in storage", bytes: stats.storageBytes }, { size, what: "WebAssembly memory", bytes: stats.wasmBytes });
  await memory.close();
  return rows;
}
`;

await main(bench);
