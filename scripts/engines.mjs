// `npm run test:engines`: what the storage promises, in every browser engine that can be driven here: Chromium with both of its
// IndexedDB back ends, Firefox and WebKitGTK, each killed while it writes, its files searched for what was encrypted, the model
// of a power cut, and tabs, erasure, older databases, damage, private windows and backups. Names of browsers as arguments (of
// tests/engines/browsers.mjs) run only those; `--runs N` is how often each is killed.

import { spawn } from "node:child_process";
import { pathToFileURL } from "node:url";
import { BROWSERS, programOf } from "../tests/engines/browsers.mjs";
import { build } from "./build.mjs";
import { ROOT, Stop, environment, main, output, run, say } from "./toolchain.mjs";

const RUNS = 10;

/** Kills browsers `runs` times each, from run `seed` on. */
export async function testEngines({ names = Object.keys(BROWSERS), runs = RUNS, seed = 1 } = {}) {
  await build();
  for (const name of names) await ensureBrowser(name);
  const env = { ENGINES: names.join(","), RUNS: String(runs), SEED: String(seed) };
  say(`${names.join(", ")}: each is killed ${runs} times in bursts, and ${Math.ceil(runs / 3)} times in each of the other ways ...`);
  const files = ["crash", "encryption", "largest-message", "promises"].map((file) => `tests/engines/${file}.test.mjs`);
  if (await ensureStrace()) files.push("tests/engines/power-cut.test.mjs");
  await nodeTest(files, env);
}

async function ensureBrowser(name) {
  if (!(name in BROWSERS)) throw new Stop(`There is no browser "${name}". There are ${Object.keys(BROWSERS).join(", ")}.`);
  if (programOf(name) !== undefined) return;
  const packages = BROWSERS[name].package.split(" ");
  const advice = `The tests in ${name} need the Debian packages ${packages.join(", ")} (apt-get install ${packages.join(" ")}); or name other browsers: npm run test:engines -- chromium-leveldb chromium-sqlite`;
  if (!(await aptInstall(packages, advice)) || programOf(name) === undefined) throw new Stop(advice);
}

/** Whether strace is here, or could be installed. */
export async function ensureStrace() {
  const isThere = () => output("strace", ["--version"]) !== undefined;
  if (isThere()) return true;
  if (await aptInstall(["strace"], "strace could not be installed.").catch(() => false) && isThere()) return true;
  say("The model of a power cut needs strace, which is not here: it is left out.");
  return false;
}

async function aptInstall(packages, advice) {
  if (process.getuid?.() !== 0 || output("apt-get", ["--version"]) === undefined) return false;
  say(`Install ${packages.join(", ")}, once ...`);
  await run("apt-get", ["update", "-qq"], { advice });
  await run("apt-get", ["install", "-y", "-qq", ...packages], { advice, env: { DEBIAN_FRONTEND: "noninteractive" } });
  return true;
}

/** Runs test files by themselves. Rejects where one fails. */
export function nodeTest(files, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ["--test", "--test-reporter=spec", ...files], { cwd: ROOT, env: environment(env), stdio: "inherit" });
    child.on("error", reject);
    child.on("close", (code) => (code === 0 ? resolve() : reject(new Stop("Not every run went well: see above."))));
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    const { positionals, values } = (await import("node:util")).parseArgs({ allowPositionals: true, options: { runs: { type: "string" }, seed: { type: "string" } } });
    await testEngines({
      ...(positionals.length > 0 ? { names: positionals } : {}),
      runs: Number(values.runs ?? RUNS),
      seed: Number(values.seed ?? 1),
    });
  });
}
