// What the other scripts share: where things are, how commands are run and told about, which tools are needed and how each
// comes to be there. Plain Node: nothing here needs `npm install` first.

import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
export const TOOLS = join(ROOT, ".tools");
const TOOLS_BIN = join(TOOLS, "bin");
const STAMPS = join(TOOLS, "stamps");
const CARGO_DENY_VERSION = "0.20.2";
const WASM_TARGET = "wasm32-unknown-unknown";

/** A failure that a person can do something about: its message is a sentence that says what. */
export class Stop extends Error {}

/** Runs the main function of a script; a {@link Stop} is printed as its sentence alone. */
export async function main(run) {
  try {
    await run();
  } catch (error) {
    process.exitCode = 1;
    console.error(error instanceof Stop ? `\n${error.message}` : error);
  }
}

export function say(text) {
  console.log(`- ${text}`);
}

/** Environment for commands: our own tools are found first. */
export function environment(extra = {}) {
  return { ...process.env, PATH: `${TOOLS_BIN}${delimiter}${process.env.PATH ?? ""}`, ...extra };
}

/** Runs a command with its output shown; rejects with a {@link Stop} that ends in `advice` where it fails. */
export function run(command, args, { advice, env, cwd = ROOT } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd, env: environment(env), stdio: ["ignore", "inherit", "inherit"] });
    const shown = [command, ...args].join(" ");
    child.on("error", () => reject(new Stop(`${command} could not be started. ${advice ?? `Install it and see that it is on your PATH.`}`)));
    child.on("close", (code) => {
      if (code === 0) resolve();
      else reject(new Stop(`This failed: ${shown}\n${advice ?? "What went wrong is told above; mend it and run the same command again."}`));
    });
  });
}

/** What a command prints, or undefined where it is not there or fails. */
export function output(command, args) {
  const result = spawnSync(command, args, { cwd: ROOT, env: environment(), encoding: "utf8" });
  return result.status === 0 ? result.stdout.trim() : undefined;
}

/** Content hash of files and folders, the folders walked; what is not there counts as not there. */
export function contentHash(paths, extra = "") {
  const hash = createHash("sha256").update(extra);
  for (const path of paths.flatMap((each) => filesUnder(join(ROOT, each)))) {
    hash.update(`\0${relative(ROOT, path)}\0`).update(readFileSync(path));
  }
  return hash.digest("hex");
}

function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).sort().flatMap((name) => filesUnder(join(path, name)));
}

/**
 * Does a step unless its inputs are those of the last time and its outputs are still there. Says how long it took.
 */
export async function step(name, { inputs, extra = "", outputs = [] }, work) {
  const stamp = join(STAMPS, name.replaceAll(/[^a-z0-9]+/gi, "-"));
  const hash = contentHash(inputs, extra);
  const isFresh = existsSync(stamp) && readFileSync(stamp, "utf8") === hash;
  if (isFresh && outputs.every((path) => existsSync(join(ROOT, path)))) return false;
  const begin = Date.now();
  say(`${name} ...`);
  await work();
  mkdirSync(STAMPS, { recursive: true });
  writeFileSync(stamp, hash);
  say(`${name}: done in ${((Date.now() - begin) / 1000).toFixed(1)} s`);
  return true;
}

/** npm packages of the lockfile, installed where they are missing or older than it. */
export async function ensurePackages() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  if (major < 20 || (major === 20 && minor < 19)) {
    throw new Stop(`Node ${process.versions.node} is too old: install Node 20.19 or later and run the same command again.`);
  }
  const done = "node_modules/.package-lock.json";
  await step("Install npm packages", { inputs: ["package-lock.json"], outputs: [done] }, () =>
    run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
      advice: "The npm packages could not be installed. Check the network (a proxy? a registry setting in ~/.npmrc?) and run the same command again.",
    }),
  );
}

/**
 * The packages of a folder's own lock file, installed where they are missing or older than it; no script of theirs is run.
 *
 * @param {string} folder with a package.json and a package-lock.json, from the project's root
 * @param {{ name: string, advice: string, arguments?: string[] }} options `name`: of the step; `advice`: how to go on when
 * it fails; `arguments`: further ones of npm
 */
export function installPackages(folder, { name, advice, arguments: further = [] }) {
  return step(name, { inputs: [`${folder}/package-lock.json`], outputs: [`${folder}/node_modules/.package-lock.json`] }, () =>
    run("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund", ...further], { cwd: join(ROOT, folder), advice }),
  );
}

/** Cargo and the wasm target. */
export async function ensureRust() {
  if (output("cargo", ["--version"]) === undefined) {
    throw new Stop("Rust is missing: install it with rustup (https://rustup.rs), open a new shell and run the same command again.");
  }
  const libraries = join(output("rustc", ["--print", "sysroot"]) ?? "", "lib", "rustlib");
  if (existsSync(join(libraries, WASM_TARGET))) return;
  say(`Add Rust's ${WASM_TARGET} target ...`);
  await run("rustup", ["target", "add", WASM_TARGET], {
    advice: `Rust's target for WebAssembly could not be added. With rustup: rustup target add ${WASM_TARGET}. Without: install your distribution's package of Rust's standard library for it.`,
  });
}

/** The wasm-bindgen CLI of exactly the version that Cargo.toml pins: on the PATH, else built into .tools. */
export async function ensureWasmBindgen() {
  const version = pinnedWasmBindgen();
  const isThere = (tool) => output(tool, ["--version"])?.endsWith(` ${version}`);
  if (isThere("wasm-bindgen") && isThere("wasm-bindgen-test-runner")) return;
  say(`Build wasm-bindgen ${version}, once: this takes about 4 minutes of processor time and shows its progress.`);
  // Not --locked: the lockfile in that package asks for a crate version that not every registry mirror has.
  await run("cargo", ["install", "--root", TOOLS, "wasm-bindgen-cli", "--version", version, "--force"], {
    advice: `wasm-bindgen ${version} could not be built. Check the network and run the same command again; or put a ready wasm-bindgen and wasm-bindgen-test-runner of this version into .tools/bin.`,
  });
}

/** cargo-deny, on the PATH or built into .tools. */
export async function ensureCargoDeny() {
  if (output("cargo-deny", ["--version"]) !== undefined) return;
  say(`Build cargo-deny ${CARGO_DENY_VERSION}, once: this takes about 3 minutes of processor time and shows its progress.`);
  await run("cargo", ["install", "--root", TOOLS, "cargo-deny", "--version", CARGO_DENY_VERSION, "--locked"], {
    advice: "cargo-deny could not be built. Check the network and run the same command again.",
  });
}

/** The version in Cargo.toml's `wasm-bindgen = { version = "=x.y.z" }`: the only place that names it. */
export function pinnedWasmBindgen() {
  const pin = /^wasm-bindgen = .*"=([0-9.]+)"/m.exec(readFileSync(join(ROOT, "Cargo.toml"), "utf8"));
  if (pin === null) throw new Stop("Cargo.toml must pin wasm-bindgen exactly, as =x.y.z.");
  return pin[1];
}

/** Where cargo puts what it builds. */
export function targetDirectory() {
  return process.env.CARGO_TARGET_DIR ?? join(ROOT, "target");
}

/** Paths of Chromium and its driver; installed with apt-get where that is possible. */
export async function ensureChromium() {
  const found = findChromium();
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && output("apt-get", ["--version"]) !== undefined) {
    say("Install Chromium and its driver, once ...");
    await run("apt-get", ["update", "-qq"], { advice: CHROMIUM_ADVICE });
    await run("apt-get", ["install", "-y", "-qq", "chromium", "chromium-driver"], {
      env: { DEBIAN_FRONTEND: "noninteractive" },
      advice: CHROMIUM_ADVICE,
    });
  }
  const installed = findChromium();
  if (installed === undefined) throw new Stop(CHROMIUM_ADVICE);
  return installed;
}

const CHROMIUM_ADVICE =
  "The browser tests need Chromium (or Chrome) and a chromedriver of the same version. Install both (Debian, Ubuntu: " +
  "apt-get install chromium chromium-driver), or name them in CHROME_PATH and CHROMEDRIVER, and run the same command again.";

function findChromium() {
  const browser = firstExisting([
    process.env.CHROME_PATH, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome", "/snap/bin/chromium",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome", "/Applications/Chromium.app/Contents/MacOS/Chromium",
    "C:\\Program Files\\Google\\Chrome\\Application\\chrome.exe",
  ]);
  const driver = firstExisting([
    process.env.CHROMEDRIVER, "/usr/bin/chromedriver", "/usr/lib/chromium/chromedriver", "/usr/local/bin/chromedriver",
    "/opt/homebrew/bin/chromedriver", "/snap/bin/chromium.chromedriver",
  ]);
  return browser === undefined || driver === undefined ? undefined : { browser, driver };
}

function firstExisting(paths) {
  return paths.find((path) => path !== undefined && path !== "" && existsSync(path));
}
