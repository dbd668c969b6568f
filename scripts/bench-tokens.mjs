// `node scripts/bench-tokens.mjs [folder of .txt files]`: the token counter of the built package in Node, by process CPU.
// "Cold" is the first pass over a text by a new counter: what counting once and keeping the count costs. Without a folder
// the demo's sample conversation is the text.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { build } from "./build.mjs";
import { ROOT, main } from "./toolchain.mjs";

const RUNS = 5;

await main(async () => {
  await build();
  const { loadEngine } = await import(join(ROOT, "dist/engine-instance.js"));
  const { vocabularyBytes } = await import(join(ROOT, "dist/vocabularies.js"));
  const { TokenCounter } = await loadEngine();
  console.log("| encoding | text | MB | cold MB/s, median of 5 |\n|---|---|---|---|");
  for (const encoding of ["o200k_base", "cl100k_base"]) {
    const bytes = await vocabularyBytes(encoding);
    const [startMs] = timed(() => new TokenCounter(encoding, bytes).count("hello"));
    console.log(`| ${encoding} | start: bytes to first count | | ${startMs.toFixed(0)} ms |`);
    for (const [name, text] of texts()) {
      const size = Buffer.byteLength(text) / 1e6;
      const times = Array.from({ length: RUNS }, () => {
        const counter = new TokenCounter(encoding, bytes);
        counter.count("warm");
        const [ms] = timed(() => counter.count(text));
        counter.free();
        return ms;
      }).sort((a, b) => a - b);
      console.log(`| ${encoding} | ${name} | ${size.toFixed(2)} | ${((size / times[RUNS >> 1]) * 1e3).toFixed(0)} |`);
    }
    for (const [name, character] of [["one letter", "a"], ["spaces", " "], ["one Han character", "中"]]) {
      const text = character.repeat(Math.floor(1e6 / Buffer.byteLength(character)));
      const counter = new TokenCounter(encoding, bytes);
      const [ms] = timed(() => counter.count(text));
      counter.free();
      console.log(`| ${encoding} | 1 MB of ${name} | 1.00 | ${ms.toFixed(0)} ms |`);
    }
  }
});

function timed(call) {
  const before = process.cpuUsage();
  const answer = call();
  const { user, system } = process.cpuUsage(before);
  return [(user + system) / 1e3, answer];
}

function texts() {
  const folder = process.argv[2];
  if (folder === undefined) return [["sample conversation", readFileSync(join(ROOT, "www/sample/conversation.json"), "utf8")]];
  return readdirSync(folder)
    .filter((name) => name.endsWith(".txt"))
    .map((name) => [name.slice(0, -4), readFileSync(join(folder, name), "utf8")]);
}
