// `npm run bench:backup`: export and import of a generated memory in Node, with the built package; `-- --messages N` (default
// 10,000). Each step in a process of its own, so that its peak of memory is its own.

import { spawnSync } from "node:child_process";
import { mkdtempSync, openAsBlob, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const WORDS = "port staging importer deploy cache index token window branch merge error timeout retry budget summary fact memory vector chunk page".split(" ");
const PER_CONVERSATION = 500;
const { values } = parseArgs({ options: { messages: { type: "string", default: "10000" }, step: { type: "string" }, file: { type: "string" } } });
const messages = Number(values.messages);

if (values.step === undefined) {
  const folder = mkdtempSync(join(tmpdir(), "throughline-backup-"));
  const run = (step, file) => {
    const { status } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), "--step", step, "--file", join(folder, file), "--messages", values.messages], { stdio: "inherit" });
    if (status !== 0) process.exitCode = 1;
  };
  run("export", "backup.gz");
  run("import", "backup.gz");
  rmSync(folder, { recursive: true, force: true });
} else {
  const { createMemory, memoryStorage } = await import("throughline");
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await (values.step === "export" ? exporting : importing)(memory);
  await memory.close();
}

async function exporting(memory) {
  for (let from = 0; from < messages; from += PER_CONVERSATION) {
    const { id } = await memory.conversations.create({ id: `chat-${String(from).padStart(7, "0")}` });
    const count = Math.min(PER_CONVERSATION, messages - from);
    await memory.append(id, Array.from({ length: count }, (_, at) => ({ id: `m${at}`, role: at % 2 ? "assistant" : "user", content: text(from + at) })));
  }
  const { result, figures } = await timed(memory, () => memory.export());
  writeFileSync(values.file, Buffer.from(await result.arrayBuffer()));
  tell("export", figures);
}

async function importing(memory) {
  const file = await openAsBlob(values.file);
  tell("import", (await timed(memory, () => memory.import(file, { trusted: true }))).figures);
  const again = Buffer.from(await (await memory.export()).arrayBuffer());
  const isSame = again.equals(readFileSync(values.file));
  console.log(`exported again: ${isSame ? "byte for byte the same file" : "ANOTHER FILE"}`);
  if (!isSame) process.exitCode = 1;
  tell("import again", (await timed(memory, () => memory.import(file, { trusted: true }))).figures);
}

/** About 70 words, of which few are the same. */
function text(seed) {
  let state = seed + 1;
  return Array.from({ length: 70 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state % 5 === 0 ? (state % 100_000).toString(36) : WORDS[(state >>> 8) % WORDS.length];
  }).join(" ");
}

async function timed(memory, work) {
  globalThis.gc?.();
  const before = process.memoryUsage().rss;
  let peak = before;
  const watch = setInterval(() => (peak = Math.max(peak, process.memoryUsage().rss)), 20);
  const begin = performance.now();
  const result = await work();
  const seconds = (performance.now() - begin) / 1000;
  clearInterval(watch);
  return { result, figures: { seconds, grownBytes: peak - before, wasmBytes: (await memory.stats()).wasmBytes } };
}

function tell(step, { seconds, grownBytes, wasmBytes }) {
  const mb = (bytes) => (bytes / 1e6).toFixed(1);
  console.log(`${step}: ${messages} messages, ${seconds.toFixed(1)} s, file ${mb(statSync(values.file).size)} MB, the process grew by ${mb(grownBytes)} MB, WebAssembly has ${mb(wasmBytes)} MB with the store in it`);
}
