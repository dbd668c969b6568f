// Sizes of what a page downloads to run the engine. `node scripts/sizes.mjs` shows them beside budget.json;
// `node scripts/sizes.mjs --record` writes them there (a change of more than 2 % needs that, and a reason in the commit).

import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { gzipSync } from "node:zlib";
import { ROOT, main } from "./toolchain.mjs";

const BUDGET = join(ROOT, "budget.json");

/** Not part of the first download: the fallback chunk, what is loaded for a key, and the entries that an app imports by themselves. */
const LATER = new Set(["wasm-inline.js", "workerd.js", "static-embedder.js", "word-piece.js", "encryption.js", "store-lock.js"]);

/** Bytes after gzip -9: the engine, and the JavaScript of the main entry. Vocabularies are not counted. */
export function measureSizes() {
  const dist = join(ROOT, "dist");
  const scripts = readdirSync(dist).filter((name) => name.endsWith(".js") && !LATER.has(name));
  const packed = (name) => gzipSync(readFileSync(join(dist, name)), { level: 9 }).length;
  return {
    engineGzipBytes: packed("engine.wasm"),
    javascriptGzipBytes: scripts.reduce((sum, name) => sum + packed(name), 0),
  };
}

/** What budget.json allows and what it recorded. */
export function readBudget() {
  return JSON.parse(readFileSync(BUDGET, "utf8"));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(() => {
    const sizes = measureSizes();
    const budget = readBudget();
    console.log(sizes, budget);
    if (process.argv.includes("--record")) writeFileSync(BUDGET, `${JSON.stringify({ ...budget, recorded: sizes }, undefined, 2)}\n`);
  });
}
