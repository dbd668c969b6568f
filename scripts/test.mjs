// `npm test`: installs what is missing and runs every check, in the order in which they fail fastest. With names of parts
// as arguments (lint, rust, js, browser, adapters, postgres, fuzz, deny) only those. The last line is the total. `npm run fuzz` fuzzes for as many
// seconds as FUZZ_SECONDS says, an hour by default.

import { spawn } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ensureAdapterLibraries } from "./adapter-libraries.mjs";
import { build } from "./build.mjs";
import { ensureDocsPackages } from "./docs.mjs";
import { ensureStrace } from "./engines.mjs";
import { setUpPostgres } from "./postgres.mjs";
import {
  ROOT, Stop, ensureCargoDeny, ensureChromium, ensurePackages, ensureRust, ensureWasmBindgen, environment, main, run, say,
} from "./toolchain.mjs";
import { bundleDemo, ensureDemoPackages } from "./www.mjs";

const total = { passed: 0, failed: 0, skipped: 0 };
const WASM_TARGET = "wasm32-unknown-unknown";
/** Seconds that each fuzz target runs within the tests. */
const FUZZ_SECONDS = 60;

const PARTS = {
  lint: { say: "Format and lints", run: lint },
  rust: { say: "Rust tests", run: testRust },
  js: { say: "JavaScript tests", run: testJs },
  browser: { say: "Browser tests", run: testBrowser },
  adapters: { say: "Adapters with the real libraries", run: testAdapters },
  postgres: { say: "The store over PostgreSQL, in WebAssembly", run: testPostgres },
  fuzz: { say: "Fuzzing", run: fuzz },
  deny: { say: "Licences and sources of the crates", run: checkCrates },
};

await main(async () => {
  const names = process.argv.slice(2);
  const unknown = names.find((name) => !(name in PARTS));
  if (unknown !== undefined) throw new Stop(`There is no part "${unknown}". The parts are ${Object.keys(PARTS).join(", ")}; none: all.`);
  await ensurePackages();
  await ensureRust();
  for (const [name, part] of Object.entries(PARTS)) {
    if (names.length > 0 && !names.includes(name)) continue;
    console.log(`\n## ${part.say}`);
    await part.run();
  }
  const skipped = total.skipped > 0 ? `, ${total.skipped} skipped` : "";
  console.log(`\n${total.passed} passed, ${total.failed} failed${skipped}`);
  if (total.failed > 0) process.exitCode = 1;
});

async function lint() {
  await check("cargo fmt", "cargo", ["fmt", "--check"], "Run: cargo fmt");
  await check("clippy", "cargo", ["clippy", "--workspace", "--all-targets", "--features", "tiktoken,instant-distance", "--", "-D", "warnings"]);
  await check("clippy for WebAssembly", "cargo", ["clippy", "--target", WASM_TARGET, "--features", "wasm", "--lib", "--", "-D", "warnings"]);
  await build();
  await ensureDemoPackages();
  await check("eslint", process.execPath, ["node_modules/eslint/bin/eslint.js", ...["js", "scripts", "bench", "tests", "www", "docs"].filter(isThere)]);
  const projects = isThere("www") ? ["tsconfig.json", "tsconfig.www.json"] : ["tsconfig.json"];
  for (const project of projects) {
    await check(`types of ${project}`, process.execPath, ["node_modules/typescript/bin/tsc", "--noEmit", "-p", project]);
  }
}

async function testRust() {
  await counted("cargo", ["test", "--workspace", "--no-fail-fast", "--features", "tiktoken,instant-distance", ...quiet()], {}, countCargo);
}

async function testJs() {
  await build();
  await ensureDocsPackages();
  await nodeTests("tests/js");
}

async function testBrowser() {
  const { browser, driver } = await ensureChromium();
  await build();
  await ensureAdapterLibraries();
  await ensureDocsPackages();
  await setUpPostgres();
  await rustInBrowser(driver);
  // Once, before the tests that serve it: those that run beside each other would bundle it under each other's feet.
  await bundleDemo();
  await nodeTests("tests/e2e", { CHROME_PATH: browser });
  // Where strace is missing it is installed, or what needs it is left out with a word.
  const withStrace = await ensureStrace();
  // What else is promised has more tests in tests/e2e, as far as Chromium goes.
  await nodeTests("tests/engines", { CHROME_PATH: browser }, (name) => !name.startsWith("promises") && (withStrace || !name.startsWith("power-cut")));
}

/** The adapters with the libraries that they are for; these are installed in a folder of their own. */
async function testAdapters() {
  const { browser } = await ensureChromium();
  await build();
  await ensureAdapterLibraries();
  await nodeTests("tests/adapters", { CHROME_PATH: browser });
}

/** What needs no server; `npm run test:postgres` runs all. */
async function testPostgres() {
  await build();
  await setUpPostgres();
  await nodeTests("tests/postgres", {}, (name) => name.startsWith("quick"));
  await ensureWasmBindgen();
  await counted("cargo", ["test", "--target", WASM_TARGET, "--features", "wasm", "--test", "store_external"], {
    CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: "wasm-bindgen-test-runner",
    THROUGHLINE_STORE: pathToFileURL(join(ROOT, "tests/postgres/conformance-store.mjs")).href,
  }, countCargo);
}

/** The fuzz targets, side by side: each runs as long as the slowest. In their own parts they run for three seconds. */
async function fuzz() {
  await build();
  const seconds = process.env.FUZZ_SECONDS ?? String(FUZZ_SECONDS);
  say(`Messages and imports, ${seconds} seconds each ...`);
  const env = { FUZZ_SECONDS: seconds };
  await Promise.all([
    counted("cargo", ["test", "--test", "fuzz_messages", ...quiet()], env, countCargo),
    counted(process.execPath, ["--test", "--test-reporter=spec", "tests/js/fuzz-import.test.mjs", "tests/js/fuzz-backup.test.mjs"], env, countNode),
  ]);
}

/** The Rust tests that need a browser, once for each way in which Chromium stores IndexedDB (a webdriver*.json each). */
async function rustInBrowser(driver) {
  const tests = readdirSync(join(ROOT, "tests")).filter((name) => /_browser.*\.rs$/.test(name)).map((name) => name.replace(/\.rs$/, ""));
  if (tests.length === 0) return;
  await ensureWasmBindgen();
  for (const capabilities of readdirSync(ROOT).filter((name) => /^webdriver.*\.json$/.test(name)).sort()) {
    say(`In Chromium as ${capabilities} says ...`);
    await counted(
      "cargo",
      ["test", "--target", WASM_TARGET, "--features", "wasm", ...tests.flatMap((name) => ["--test", name])],
      {
        CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUNNER: "wasm-bindgen-test-runner",
        CHROMEDRIVER: driver,
        WASM_BINDGEN_TEST_WEBDRIVER_JSON: join(ROOT, capabilities),
        WASM_BINDGEN_TEST_TIMEOUT: "300",
      },
      countCargo,
    );
  }
}

/** Licences, sources and duplicates. Advisories would need a database from elsewhere and are left out. */
async function checkCrates() {
  await ensureCargoDeny();
  await check("cargo deny (licences, bans, sources; advisories are not checked here)", "cargo-deny", ["check", "licenses", "bans", "sources"]);
}

/** A command that is one check. It is told when it fails, and the next one runs all the same. */
async function check(name, command, args, advice) {
  try {
    await run(command, args, { advice });
    total.passed += 1;
    say(`${name}: passed`);
  } catch (error) {
    if (!(error instanceof Stop)) throw error;
    total.failed += 1;
    console.error(`${name}: failed. ${error.message}`);
  }
}

async function nodeTests(folder, env, isWanted = () => true) {
  if (!isThere(folder)) return;
  const names = readdirSync(join(ROOT, folder)).filter((name) => name.endsWith(".test.mjs") && isWanted(name));
  const files = names.map((name) => join(folder, name));
  if (files.length === 0) return;
  await counted(process.execPath, ["--test", "--test-reporter=spec", ...files], env, countNode);
}

/** Runs a test runner, shows what it prints, and adds its own count to the total. */
async function counted(command, args, env, count) {
  const { code, text } = await captured(command, args, env);
  const { passed, failed, skipped } = count(text);
  total.passed += passed;
  total.skipped += skipped;
  // A run that ends badly without a failed test (it did not compile, it crashed) counts as one.
  total.failed += code !== 0 ? Math.max(failed, 1) : failed;
  if (code === 0 && passed + failed === 0) {
    total.failed += 1;
    console.error(`No test ran: ${[command, ...args].join(" ")}`);
  }
}

function captured(command, args, env) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: ROOT, env: environment(env), stdio: ["ignore", "pipe", "inherit"] });
    const chunks = [];
    child.stdout.on("data", (chunk) => {
      process.stdout.write(chunk);
      chunks.push(chunk);
    });
    child.on("error", () => reject(new Stop(`${command} could not be started: install it and see that it is on your PATH.`)));
    child.on("close", (code) => resolve({ code, text: Buffer.concat(chunks).toString("utf8") }));
  });
}

function countCargo(text) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const [, passed, failed, ignored] of text.matchAll(/test result: .*? (\d+) passed; (\d+) failed; (\d+) ignored/g)) {
    counts.passed += Number(passed);
    counts.failed += Number(failed);
    counts.skipped += Number(ignored);
  }
  return counts;
}

function countNode(text) {
  const number = (name) => Number(new RegExp(`^(?:ℹ|#) ${name} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  return { passed: number("pass"), failed: number("fail") + number("cancelled"), skipped: number("skipped") + number("todo") };
}

function quiet() {
  return process.env.CI === "true" ? ["--quiet"] : [];
}

function isThere(path) {
  return existsSync(join(ROOT, path));
}
