// `npm run bench`: what the built package costs in Chromium, in tables. bench/README.md names the options.

import { cpus, loadavg } from "node:os";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { drawCurve } from "../bench/curve.mjs";
import { OWN_VECTORS, OWN_WORDS, PEER_VECTORS, PEER_WORDS, runHybrid, runVectors, runWords } from "../bench/index-run.mjs";
import { buildIndexes, installPeers, openSite } from "../bench/site.mjs";
import { tables } from "../bench/tables.mjs";
import { runWholeEngine } from "../bench/whole-engine-run.mjs";
import { build } from "./build.mjs";
import { dataFolder } from "./serve.mjs";
import { ROOT, Stop, main } from "./toolchain.mjs";

const PARTS = ["package", "words", "vectors", "hybrid", "cost", "demo"];
const REAL_ROWS = 40_000;
/** Messages of `--corpus` are cut to about so many characters. */
const MESSAGE_CHARACTERS = 150;

function option(name, otherwise) {
  const at = process.argv.indexOf(`--${name}`);
  return at >= 0 && process.argv[at + 1] !== undefined ? process.argv[at + 1] : otherwise;
}

function readOptions() {
  const has = (name) => process.argv.includes(`--${name}`);
  const all = has("all");
  const numbers = (text) => text.split(",").map(Number);
  const only = option("only", undefined);
  const parts = only === undefined ? (all || has("peers") ? PARTS : ["package"]) : only.split(",");
  const unknown = parts.find((part) => !PARTS.includes(part));
  if (unknown !== undefined) throw new Stop(`There is no part "${unknown}". The parts are ${PARTS.join(", ")}.`);
  const sizes = option("sizes", all ? "1000,10000,100000" : undefined);
  return {
    all, parts, peers: all || has("peers"), json: has("json"),
    packageSizes: numbers(sizes ?? "1000,10000"), indexSizes: numbers(sizes ?? "10000").filter((size) => size >= 5_000),
    vectorSizes: numbers(option("vectors", all ? "100000" : "10000")),
    repeats: Number(option("repeats", "5")), queries: Number(option("queries", "200")), limitMs: Number(option("limit", "1800")) * 1_000, opens: Number(option("opens", "5")),
    turns: Number(option("turns", "600")),
    modes: option("modes", "hybrid,words").split(","), engines: option("engines", undefined)?.split(","), corpus: option("corpus", undefined), out: option("out", undefined), curve: option("curve", undefined),
  };
}

async function bench() {
  const options = readOptions();
  // The answer is what is printed last; what is under way is told beside it.
  const log = console.log;
  console.log = console.error;
  const say = (text) => console.error(`- ${text}`);
  const has = (part) => options.parts.includes(part);
  if (has("package")) await build();
  const costs = has("cost") ? await measureCosts(options, say) : undefined;
  const demo = has("demo") ? await measureDemo(options, say) : undefined;
  const apart = [["cost", "Cost", costs], ["demo", "The demo", demo]].filter(([, , part]) => part !== undefined);
  if (options.parts.every((part) => ["cost", "demo"].includes(part))) {
    log(options.json ? JSON.stringify(Object.fromEntries(apart.map(([name, , { report }]) => [name, report])), undefined, 2) : apart.map(([, , { text }]) => text).join("\n\n"));
    return;
  }
  if (options.parts.some((part) => !["package", "cost", "demo"].includes(part))) await buildIndexes();
  if (options.peers) await installPeers();
  const chosen = (own, peers) => [...own, ...(options.peers ? peers : [])].filter((name) => options.engines === undefined || options.engines.includes(name));
  const words = has("words") ? chosen(OWN_WORDS, PEER_WORDS) : [];
  const vectors = has("vectors") ? chosen(OWN_VECTORS, PEER_VECTORS) : [];
  const data = dataFolder();
  const files = options.corpus === undefined ? {} : { "texts.json": JSON.stringify(readTexts(options.corpus)) };
  const site = await openSite({ engines: [...words, ...vectors, "throughline-messages"], files, data });
  const report = { browser: `Chromium ${site.version}`, processors: `${cpus().length} x ${cpus()[0]?.model.trim()}`, load: [loadavg()[0]] };
  const save = () => options.out !== undefined && writeFileSync(options.out, JSON.stringify(report, undefined, 2));
  // Written after each result: a run of an hour that is ended early has measured something.
  const adder = (part) => (result) => {
    (report[part] ??= []).push(result);
    save();
  };
  try {
    const run = { repeats: options.repeats, limitMs: options.limitMs, queries: options.queries, textsUrl: options.corpus === undefined ? undefined : "/texts.json", say, isNamed: options.engines !== undefined };
    if (words.length > 0) await runWords(site, { ...run, engines: words, sizes: options.indexSizes, add: adder("words") });
    if (vectors.length > 0) await runVectors(site, { ...run, engines: vectors, queries: options.queries, datasets: datasets(options, data), add: adder("vectors") });
    if (has("hybrid")) await runHybrid(site, { ...run, sizes: options.indexSizes, add: adder("hybrid") });
    if (has("package")) await runWholeEngine(site, { sizes: options.packageSizes, queries: options.queries, opens: options.opens, modes: options.modes, say, add: adder("package") });
  } finally {
    await site.close();
  }
  report.load.push(loadavg()[0]);
  save();
  if (options.curve !== undefined && has("package")) writeFileSync(options.curve, drawCurve(report.package.filter(({ mode }) => mode === options.modes[0])));
  for (const [name, , part] of apart) report[name] = part.report;
  save();
  log(options.json ? JSON.stringify(report, undefined, 2) : [tables(report), ...apart.map(([, title, { text }]) => `### ${title}\n\n${text}\n`)].join("\n"));
}

/** The page itself, from the package as it is built. */
async function measureDemo({ opens }, say) {
  const { demoTables, runDemo } = await import("../bench/demo-run.mjs");
  const report = await runDemo({ runs: opens, say });
  return { report, text: demoTables(report) };
}

/** Without a browser: the built package in Node. */
async function measureCosts({ turns }, say) {
  if (!existsSync(join(ROOT, "dist/index.js"))) throw new Stop("The package is not built: npm run build first.");
  const { runCost } = await import("../bench/cost/cost-run.mjs");
  const { costTables } = await import("../bench/cost/cost-tables.mjs");
  const reports = [];
  for (const settings of [{ pauseEvery: 0 }, { pauseEvery: 10 }, { pauseEvery: 0, extract: true }]) {
    say(`cost of ${turns} turns: ${JSON.stringify(settings)}`);
    reports.push(await runCost({ turns, ...settings, say }));
  }
  return { report: reports, text: costTables(reports) };
}

/** Real vectors where they are, made-up ones beyond. */
function datasets({ vectorSizes }, data) {
  const real = data === undefined ? [] : [{ name: "real", size: REAL_ROWS, real: { rows: "/data/paragraphs/vectors.minilm384.f16", queries: "/data/paragraphs/queries.minilm384.f16" } }];
  return [...real, ...vectorSizes.map((size) => ({ name: "made up", size }))];
}

/** The texts of a folder's files, cut into messages at the ends of paragraphs and, in long ones, of sentences. */
function readTexts(folder) {
  const files = readdirSync(folder).filter((name) => /\.(txt|md)$/.test(name)).sort();
  const paragraphs = files.flatMap((name) => readFileSync(join(folder, name), "utf8").split(/\n\s*\n/u));
  const texts = paragraphs.flatMap((paragraph) => paragraph.replaceAll(/\s+/gu, " ").trim().match(new RegExp(`.{${MESSAGE_CHARACTERS},}?[.!?](?= |$)|.+$`, "gu")) ?? []);
  const usable = texts.map((text) => text.trim()).filter((text) => text.split(" ").length >= 6);
  if (usable.length === 0) throw new Stop(`There is no .txt or .md file with text in ${folder}.`);
  return usable;
}

await main(bench);
