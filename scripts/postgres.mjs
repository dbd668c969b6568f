// `npm run test:postgres`: the store over PostgreSQL with a real server, which the tests start in a folder of its own and stop.
// Of the server only its programs are needed, of any version from 13; where pgvector is installed too, vectors are tested as its.

import { cpSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { ROOT, Stop, ensureWasmBindgen, installPackages, main, output, run, say } from "./toolchain.mjs";

export const FOLDER = "tests/postgres";
const ADVICE =
  "These tests need the programs of PostgreSQL 13 or later: install them (Debian, Ubuntu: apt-get install postgresql), or name the folder of initdb in POSTGRES_BIN, and run the same command again.";

/** The client and PGlite, and the package as it is built now beside them. */
export async function setUpPostgres() {
  const modules = join(ROOT, FOLDER, "node_modules");
  await installPackages(FOLDER, {
    name: "Install the libraries of the PostgreSQL tests",
    advice: "The libraries that the store over PostgreSQL is tested with could not be installed. Check the network and run the same command again.",
  });
  const beside = join(modules, "throughline.new");
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(beside, { recursive: true });
  for (const name of ["package.json", "dist"]) cpSync(join(ROOT, name), join(beside, name), { recursive: true });
  rmSync(join(modules, "throughline"), { recursive: true, force: true });
  renameSync(beside, join(modules, "throughline"));
}

/** The server's programs, installed with apt-get where that is possible. */
async function ensureServer() {
  const { findPrograms } = await import(pathToFileURL(join(ROOT, FOLDER, "programs.mjs")));
  if (findPrograms() !== undefined) return;
  if (process.getuid?.() !== 0 || output("apt-get", ["--version"]) === undefined) throw new Stop(ADVICE);
  say("Install PostgreSQL, once ...");
  await run("apt-get", ["update", "-qq"], { advice: ADVICE });
  await run("apt-get", ["install", "-y", "-qq", "postgresql"], { env: { DEBIAN_FRONTEND: "noninteractive" }, advice: ADVICE });
  if (findPrograms() === undefined) throw new Stop(ADVICE);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    await ensureWasmBindgen();
    await build();
    await setUpPostgres();
    await ensureServer();
    const files = readdirSync(join(ROOT, FOLDER)).filter((name) => name.endsWith(".test.mjs")).map((name) => join(FOLDER, name));
    await run(process.execPath, ["--test", "--test-reporter=spec", ...files]);
  });
}
