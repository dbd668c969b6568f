// `npm run bench:import [-- --mb 200] [--shards 5] [--keep FILE] [--in-page]`: imports a generated ChatGPT export in Chromium through the
// built package, and prints what it takes: time, memory of page and worker, the longest task of the page's thread.

import { copyFileSync, mkdtempSync, openAsBlob, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BlobReader, TextReader, Uint8ArrayWriter, ZipWriter } from "@zip.js/zip.js";
import { build } from "./build.mjs";
import { serve } from "./serve.mjs";
import { ROOT, ensureChromium, main } from "./toolchain.mjs";

const SWITCHES = ["--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"];
const MEMORY_POLL_MS = 100;
const MB = 1e6;

async function bench() {
  const option = (name, otherwise) => {
    const at = process.argv.indexOf(name);
    return at >= 0 ? process.argv[at + 1] : otherwise;
  };
  const bytes = Number(option("--mb", "200")) * MB;
  const shards = Number(option("--shards", "5"));
  const { browser: executablePath } = await ensureChromium();
  await build();
  const folder = mkdtempSync(join(tmpdir(), "throughline-import-"));
  const { chromium } = await import("playwright-core");
  let server;
  let browser;
  try {
    const exported = await writeExport(join(folder, "export.zip"), bytes, shards);
    if (option("--keep") !== undefined) copyFileSync(join(folder, "export.zip"), option("--keep"));
    writeFileSync(join(folder, "index.html"), `<!doctype html><title>t</title><input type="file"><script type="module" src="page.js"></script>`);
    writeFileSync(join(folder, "page.js"), PAGE);
    server = await serve({ port: 0, mounts: { "/throughline/": join(ROOT, "dist"), "/": folder }, headers: {} });
    browser = await chromium.launch({ executablePath, chromiumSandbox: process.getuid?.() !== 0, args: SWITCHES });
    const page = await (await browser.newContext()).newPage();
    await page.goto(server.url);
    await page.waitForFunction(() => document.title === "ready");
    await page.setInputFiles("input", join(folder, "export.zip"));
    const heap = await watchHeap(page);
    const result = await page.evaluate((worker) => globalThis.measure(worker), !process.argv.includes("--in-page"));
    print(`Chromium ${browser.version()}`, exported, result, await heap.stop());
  } finally {
    await browser?.close();
    await server?.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** mulberry32: the same export every time. */
function random(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** A zip of shards of equal size. Text is about a third of it, as in exports that people have. */
async function writeExport(path, bytes, shards) {
  const next = random(7);
  const words = Array.from({ length: 20_000 }, () => Array.from({ length: 2 + Math.floor(next() * 9) }, () => String.fromCharCode(97 + Math.floor(next() ** 1.5 * 26))).join(""));
  const writer = new ZipWriter(new Uint8ArrayWriter(), { useWebWorkers: false });
  const facts = { conversations: 0, messages: 0, textBytes: 0, bytes: 0, largestShard: 0, shards };
  for (let shard = 0; shard < shards; shard += 1) {
    // Piece by piece into a file: one text of this size would be more than a text may be.
    const file = `${path}.${shard}`;
    writeFileSync(file, "[");
    let size = 2;
    let pending = [];
    while (size < bytes / shards) {
      const text = JSON.stringify(conversation(next, words, facts));
      pending.push(size === 2 ? text : `,${text}`);
      size += Buffer.byteLength(text) + 1;
      if (pending.length === 100) writeFileSync(file, pending.splice(0).join(""), { flag: "a" });
    }
    writeFileSync(file, `${pending.join("")}]`, { flag: "a" });
    await writer.add(`conversations-${String(shard).padStart(3, "0")}.json`, new BlobReader(await openAsBlob(file)));
    rmSync(file);
    facts.bytes += size;
    facts.largestShard = Math.max(facts.largestShard, size);
  }
  await writer.add("export_manifest.json", new TextReader(JSON.stringify({ export_files: [] })));
  const zip = await writer.close();
  writeFileSync(path, zip);
  return { ...facts, zipBytes: zip.length };
}

function conversation(next, words, facts) {
  const hex = (length) => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join("");
  const uuid = () => `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
  const text = (most) => {
    const said = Array.from({ length: 5 + Math.floor(next() ** 3 * most) }, () => words[Math.floor(next() ** 2 * words.length)]).join(" ");
    facts.textBytes += said.length;
    return said;
  };
  facts.conversations += 1;
  const begin = 1_680_000_000 + next() * 8e7;
  const mapping = { "client-created-root": { id: "client-created-root", message: null, parent: null, children: [] } };
  let parent = "client-created-root";
  // A few are very long, most are short.
  const turns = 1 + Math.floor(next() ** 6 * 300);
  for (let turn = 0; turn < turns * 2; turn += 1) {
    const isUser = turn % 2 === 0;
    const siblings = !isUser && next() < 0.05 ? 2 : 1;
    let id = parent;
    for (let sibling = 0; sibling < siblings; sibling += 1) {
      id = uuid();
      mapping[parent].children.push(id);
      mapping[id] = { id, parent, children: [], message: message(id, isUser, begin + turn * 30, text(isUser ? 120 : 400), uuid, next) };
      facts.messages += 1;
    }
    parent = id;
  }
  const id = uuid();
  return {
    title: words.slice(0, 3).join(" "), create_time: begin, update_time: begin + turns * 60, mapping, moderation_results: [], current_node: parent,
    plugin_ids: null, conversation_id: id, conversation_template_id: null, gizmo_id: null, is_archived: false, safe_urls: [], default_model_slug: "gpt-5",
    is_do_not_remember: false, memory_scope: "global_enabled", id,
  };
}

function message(id, isUser, time, text, uuid, next) {
  const metadata = isUser
    ? { request_id: uuid(), message_source: null, timestamp_: "absolute", message_type: null, serialization_metadata: { custom_symbol_offsets: [] }, dictation: false, selected_sources: [], targeted_reply: null }
    : {
        citations: [], content_references: [], search_result_groups: [], finish_details: { type: "stop", stop_tokens: [200_002] }, is_complete: true, model_slug: "gpt-5", default_model_slug: "gpt-5",
        parent_id: uuid(), request_id: uuid(), turn_exchange_id: uuid(), message_type: "next", timestamp_: "absolute", rebase_developer_message: true, safe_urls: [],
        // What makes real exports large: what a search found.
        search_queries: Array.from({ length: Math.floor(next() * 12) }, () => ({ type: "search", q: uuid(), url: `https://example.org/${uuid()}` })),
      };
  return {
    id, author: { role: isUser ? "user" : "assistant", name: null, metadata: { real_author: null } }, create_time: time, update_time: null,
    content: { content_type: "text", parts: [text] }, status: "finished_successfully", end_turn: isUser ? null : true, weight: 1, metadata, recipient: "all", channel: isUser ? null : "final",
  };
}

/** Polls the heaps of page and workers through the DevTools protocol. */
async function watchHeap(page) {
  const session = await page.context().newCDPSession(page);
  const workers = new Map();
  const peaks = { page: 0, worker: 0, both: 0 };
  const now = { page: 0, worker: 0 };
  session.on("Target.attachedToTarget", ({ sessionId }) => workers.set(sessionId, true));
  session.on("Target.detachedFromTarget", ({ sessionId }) => {
    workers.delete(sessionId);
    now.worker = 0;
  });
  session.on("Target.receivedMessageFromTarget", ({ message }) => {
    const { result } = JSON.parse(message);
    if (result?.usedSize !== undefined) now.worker = result.usedSize + (result.backingStorageSize ?? 0);
  });
  await session.send("Target.setAutoAttach", { autoAttach: true, waitForDebuggerOnStart: false, flatten: false });
  let isOver = false;
  const polling = (async () => {
    for (let id = 1; !isOver; id += 1) {
      for (const sessionId of workers.keys()) {
        await session.send("Target.sendMessageToTarget", { sessionId, message: JSON.stringify({ id, method: "Runtime.getHeapUsage" }) }).catch(() => undefined);
      }
      now.page = (await session.send("Runtime.getHeapUsage")).usedSize;
      peaks.page = Math.max(peaks.page, now.page);
      peaks.worker = Math.max(peaks.worker, now.worker);
      peaks.both = Math.max(peaks.both, now.page + now.worker);
      await new Promise((done) => setTimeout(done, MEMORY_POLL_MS));
    }
  })();
  return {
    stop: async () => {
      isOver = true;
      await polling;
      return peaks;
    },
  };
}

/** Runs in the page. */
const PAGE = String.raw`
import { createMemory } from "/throughline/index.js";
globalThis.measure = async (worker) => {
  const memory = await createMemory({ userId: "bench-import-" + Date.now() });
  const { id } = await memory.conversations.create();
  await memory.append(id, { role: "user", content: "so that everything is loaded" });
  let longestTask = 0;
  let longTasks = 0;
  new PerformanceObserver((list) => {
    for (const { duration } of list.getEntries()) { longTasks += 1; longestTask = Math.max(longestTask, duration); }
  }).observe({ type: "longtask" });
  let longestGap = 0;
  let isOver = false;
  let last = performance.now();
  // How much later than asked for a timer comes is how long something else had the thread.
  const tick = () => {
    const now = performance.now();
    longestGap = Math.max(longestGap, now - last - 4);
    last = now;
    if (!isOver) setTimeout(tick, 4);
  };
  setTimeout(tick, 4);
  const [file] = document.querySelector("input").files;
  let scanned = 0;
  const begin = performance.now();
  const report = await memory.import(file, { worker, onProgress: ({ phase }) => { if (phase === "scan") scanned = performance.now(); } });
  const ms = performance.now() - begin;
  const again = performance.now();
  const repeated = await memory.import(file, { worker });
  const repeatedMs = performance.now() - again;
  isOver = true;
  const { wasmBytes, storageBytes } = await memory.stats();
  await memory.close();
  return { ms, scanMs: scanned - begin, repeatedMs, unchanged: repeated.unchanged, imported: report.imported, messages: report.messages, skipped: report.skipped.length, longestTask, longTasks, longestGap, wasmBytes, storageBytes };
};
document.title = "ready";
`;

function print(browser, exported, result, heap) {
  const mb = (bytes) => `${(bytes / MB).toFixed(1)} MB`;
  const rows = [
    ["export", `${mb(exported.bytes)} in ${exported.shards} shards, ${mb(exported.zipBytes)} as a zip; ${mb(exported.textBytes)} of it text`],
    ["conversations, messages", `${result.imported} of ${exported.conversations}, ${result.messages} of ${exported.messages}`],
    ["import", `${(result.ms / 1000).toFixed(1)} s, of which scan ${(result.scanMs / 1000).toFixed(1)} s`],
    ["the same again", `${(result.repeatedMs / 1000).toFixed(1)} s, ${result.unchanged} unchanged`],
    ["peak JS heap, page", mb(heap.page)],
    ["peak JS heap, worker", mb(heap.worker)],
    ["peak JS heap, both, in largest shards", `${(heap.both / exported.largestShard).toFixed(2)} (goal: under 2)`],
    ["WebAssembly memory", mb(result.wasmBytes)],
    ["longest task of the page's thread", result.longTasks === 0 ? "under 50 ms" : `${result.longestTask.toFixed(0)} ms (${result.longTasks} over 50 ms; goal: none)`],
    ["most that a timer was late", `${result.longestGap.toFixed(0)} ms`],
    ["in storage", mb(result.storageBytes ?? 0)],
  ];
  console.log(`\n${browser}\n\n| what | |\n|---|---|`);
  for (const row of rows) console.log(`| ${row.join(" | ")} |`);
}

await main(bench);
