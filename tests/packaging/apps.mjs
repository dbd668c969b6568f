// Tiny apps that install the packed tarball as a user does: made in a folder of their own, built, run, taken away.
import { spawn } from "node:child_process";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { launchBrowser } from "../e2e/browser.mjs";
import { TEXT } from "./shared/text.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const QUIET = ["--no-engine-strict", "--no-audit", "--no-fund", "--no-progress", "--ignore-scripts", "--loglevel=error"];
const COMMAND_MS = 300_000;
const START_MS = 120_000;
const JOB_MS = 90_000;

/** Packs what is in dist/ as `npm publish` would; answers with the tarball's path. */
export async function pack(folder) {
  const shown = await command("npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder], root);
  const packed = JSON.parse(shown);
  const [{ filename }] = Array.isArray(packed) ? packed : Object.values(packed);
  return join(folder, filename);
}

/**
 * Makes the app: the files of `tests/packaging/<template>` and the shared ones, its locked packages, and the tarball.
 * `packages` false: there is nothing to install beside the tarball. `shared`: the folder of the shared files.
 */
export async function makeApp(tarball, { template, packages = true, shared = "." }) {
  const folder = mkdtempSync(join(tmpdir(), `throughline-app-${template}-`));
  cpSync(join(here, "shared"), join(folder, shared), { recursive: true });
  if (existsSync(join(here, template))) cpSync(join(here, template), folder, { recursive: true, filter: (path) => !path.includes("node_modules") });
  if (packages) await command("npm", ["ci", "--prefer-offline", ...QUIET], folder);
  else writeFileSync(join(folder, "package.json"), `{ "name": "app", "private": true, "type": "module" }\n`);
  await command("npm", ["install", "--no-save", "--no-package-lock", "--prefer-offline", ...QUIET, tarball], folder);
  return {
    folder,
    version: (name) => JSON.parse(readFileSync(join(folder, "node_modules", name, "package.json"), "utf8")).version,
    run: (name, args, env) => command(name, args, folder, env),
    bin: (name, args, env) => command(join(folder, "node_modules/.bin", name), args, folder, env),
    write: (name, text) => {
      mkdirSync(join(folder, name, ".."), { recursive: true });
      writeFileSync(join(folder, name), text);
    },
    read: (name) => readFileSync(join(folder, name), "utf8"),
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
}

/** Runs a command to its end and answers with what it printed; rejects with all of that where it fails. */
export function command(name, args, cwd, env = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(name, args, { cwd, env: environment(env), stdio: ["ignore", "pipe", "pipe"], detached: true });
    const printed = { stdout: "", stderr: "" };
    child.stdout.on("data", (data) => (printed.stdout += data));
    child.stderr.on("data", (data) => (printed.stderr += data));
    const timer = setTimeout(() => stop(child), COMMAND_MS);
    child.on("error", reject);
    child.on("close", (code) => {
      clearTimeout(timer);
      if (code === 0) resolve(printed.stdout);
      else reject(new Error(`${name} ${args.join(" ")} ended with ${code}\n${printed.stdout.slice(-2_000)}\n${printed.stderr.slice(-2_000)}`));
    });
  });
}

/**
 * Starts a server of the app, gives its address to `use` once it answers, and ends it. `args` are made from the port; `bin` is a tool
 * of its packages, or a path.
 */
export async function withServer(app, bin, args, use, env = {}) {
  const port = await freePort();
  const child = spawn(join(app.folder, bin.includes("/") ? bin : `node_modules/.bin/${bin}`), args(String(port)), {
    cwd: app.folder, env: environment({ PORT: String(port), ...env }), stdio: ["ignore", "pipe", "pipe"], detached: true,
  });
  let printed = "";
  let ended = false;
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (data) => (printed += data));
  child.on("close", () => (ended = true));
  try {
    const url = `http://localhost:${port}/`;
    const end = Date.now() + START_MS;
    for (;;) {
      const response = await fetch(url).catch(() => undefined);
      if (response !== undefined && response.status < 500) break;
      if (ended || Date.now() > end) throw new Error(`${bin} did not start\n${printed.slice(-2_000)}`);
      await new Promise((done) => setTimeout(done, 200));
    }
    return await use(url);
  } catch (error) {
    throw new Error(`${error.message}\n${printed.slice(-2_000)}`, { cause: error });
  } finally {
    stop(child);
    await new Promise((done) => (ended ? done() : child.once("close", done)));
  }
}

/** Opens the page in Chromium and waits for its outcome. Adds what was downloaded, and how the package's files came. */
export async function inBrowser(url) {
  const browser = await launchBrowser();
  try {
    const page = await browser.newPage();
    const errors = [];
    const responses = [];
    page.on("pageerror", (error) => errors.push(error.message));
    page.on("response", (response) => responses.push(response));
    await page.goto(url);
    try {
      // Vite's development server answers 504 where it met a package for the first time, and a page that did not hear its call
      // to reload stays empty until a person does so.
      const isOver = (timeout) => page.waitForFunction(() => globalThis.outcome !== undefined, undefined, { timeout });
      const isDone = await isOver(JOB_MS / 2).then(() => true, () => false);
      if (!isDone && responses.some((response) => response.status() === 504)) await page.reload();
      if (!isDone) await isOver(JOB_MS);
    } catch (error) {
      const refused = responses.filter((response) => !response.ok()).map((response) => `${response.status()} ${response.url()}`);
      throw new Error(`The page has no outcome. ${[...errors, ...refused, error.message].join("; ")}`, { cause: error });
    }
    const result = await page.evaluate(() => globalThis.outcome);
    return { ...result, ...(errors.length > 0 ? { error: errors.join("; ") } : {}), ...(await downloaded(responses)) };
  } finally {
    await browser.close();
  }
}

async function downloaded(responses) {
  let bytes = 0;
  const files = new Set();
  for (const response of responses) {
    const { responseBodySize } = await response.request().sizes().catch(() => ({ responseBodySize: 0 }));
    bytes += responseBodySize;
    const isPage = (response.headers()["content-type"] ?? "").includes("html");
    const [, extension] = /\.(wasm|gz|bin)$/.exec(new URL(response.url()).pathname) ?? [];
    if (extension !== undefined && response.ok() && !isPage) files.add(extension);
  }
  const from = (extension) => (files.has(extension) ? "file" : "chunk");
  return { bytes, came: { engine: from("wasm"), vocabulary: from("gz"), table: from("bin") } };
}

/** What is wrong with an outcome, in words; `undefined` where nothing is. `isStored`: there is an IndexedDB here. */
export function wrong(outcome, { isStored }) {
  if (outcome.error !== undefined) return outcome.error;
  const expected = {
    tokens: countTokens(TEXT), exact: true, durable: isStored, vectors: 42, mode: "hybrid", counted: true, fits: true, found: true,
  };
  const differing = Object.keys(expected).filter((key) => outcome[key] !== expected[key]);
  return differing.length === 0 ? undefined : differing.map((key) => `${key} is ${outcome[key]} instead of ${expected[key]}`).join(", ");
}

/** The line of JSON that a program printed last. */
export function lastJson(text) {
  const line = text.trim().split("\n").reverse().find((each) => each.startsWith("{"));
  if (line === undefined) throw new Error(`No outcome was printed:\n${text.slice(-2_000)}`);
  return JSON.parse(line);
}

/** Without what would tell the app's tools that they run within a test, and without what they would send home. */
function environment(extra) {
  const inherited = Object.entries(process.env).filter(([name]) => !["NODE_TEST_CONTEXT", "NODE_OPTIONS"].includes(name));
  return {
    ...Object.fromEntries(inherited), CI: "true", NEXT_TELEMETRY_DISABLED: "1", WRANGLER_SEND_METRICS: "false", ASTRO_TELEMETRY_DISABLED: "1", DO_NOT_TRACK: "1", NO_COLOR: "1", ...extra,
  };
}

/** Ends a command and what it started: it is a process group of its own. */
function stop(child) {
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}
