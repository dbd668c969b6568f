// `node scripts/reproduce.mjs`: does the commit make the same package elsewhere? Builds it once more, from a fresh clone, in a
// folder of another name and with a target directory of its own, and compares every file of dist/. Prints the engine's hash,
// which depends on the compiler too. The release does this; SECURITY.md says how to verify a published package.

import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { ROOT, Stop, environment, main, output, pinnedWasmBindgen, run, say } from "./toolchain.mjs";

/** The SHA-256 of a file, in hex. */
export function hashOf(path) {
  return createHash("sha256").update(readFileSync(path)).digest("hex");
}

/** The names of the files that two folders do not have alike, with all that is below; none where both are the same. */
export function differing(one, other) {
  const names = new Set([...filesOf(one), ...filesOf(other)]);
  const isSame = (name) => [one, other].every((folder) => existsSync(join(folder, name))) && hashOf(join(one, name)) === hashOf(join(other, name));
  return [...names].filter((name) => !isSame(name)).sort();
}

function filesOf(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => statSync(join(folder, name)).isFile());
}

/** With what the engine was built, as far as it decides which bytes come out. */
export function toolsOfBuild() {
  const binaryen = createRequire(import.meta.url)("binaryen/package.json").version;
  return `${output("rustc", ["--version"])}, wasm-bindgen ${pinnedWasmBindgen()}, binaryen ${binaryen}`;
}

async function reproduce() {
  const changed = output("git", ["status", "--porcelain", "--untracked-files=no"]);
  if (changed !== "") throw new Stop("There are changes that no commit has: commit them or put them away, since what is built elsewhere is the commit.");
  await build();
  const folder = mkdtempSync(join(tmpdir(), "throughline-built-elsewhere-"));
  try {
    const elsewhere = await buildIn(folder);
    const different = differing(join(ROOT, "dist"), join(elsewhere, "dist"));
    if (different.length > 0) {
      const kept = join(ROOT, ".tools", "elsewhere");
      rmSync(kept, { recursive: true, force: true });
      cpSync(join(elsewhere, "dist"), kept, { recursive: true });
      throw new Stop(`Built elsewhere, these files are others (what came out is in .tools/elsewhere): ${different.join(", ")}.`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  say(`The same package came out of both. engine.wasm: SHA-256 ${hashOf(join(ROOT, "dist/engine.wasm"))} (${toolsOfBuild()}).`);
}

/** A clone of the commit, built with the tools that are here. */
async function buildIn(folder) {
  const clone = join(folder, "a", "clone");
  mkdirSync(join(folder, "a"));
  await run("git", ["clone", "--quiet", ROOT, clone]);
  await run("git", ["checkout", "--quiet", "--detach", output("git", ["rev-parse", "HEAD"])], { cwd: clone });
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"), "junction");
  // npm's stamp is by the lock file, so that the linked packages are not installed over.
  mkdirSync(join(clone, ".tools", "stamps"), { recursive: true });
  cpSync(join(ROOT, ".tools/stamps/Install-npm-packages"), join(clone, ".tools/stamps/Install-npm-packages"));
  await run(process.execPath, ["scripts/build.mjs"], { cwd: clone, env: { PATH: environment().PATH, CARGO_TARGET_DIR: join(folder, "target") } });
  return clone;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(reproduce);
