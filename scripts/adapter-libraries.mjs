// The libraries that the adapters are tested with, in a package of their own beside those tests, and the built package beside
// them, as `npm install throughline` would put it: adapters find React, LangChain and the others there. `npm test` does it
// before the tests; by hand: node scripts/adapter-libraries.mjs

import { cpSync, mkdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { ROOT, installPackages, main } from "./toolchain.mjs";

const FOLDER = "tests/adapters";

/** The libraries of the lockfile, where they are missing or older than it, and the package as it is built now. */
export async function ensureAdapterLibraries() {
  const modules = join(ROOT, FOLDER, "node_modules");
  await installPackages(FOLDER, {
    name: "Install the libraries of the adapters' tests",
    advice: "The libraries that the adapters are tested with could not be installed. Check the network and run the same command again.",
    // Some ask for a newer Node than these tests need: what is strict here must not be there.
    arguments: ["--no-engine-strict"],
  });
  const beside = join(modules, "throughline.new");
  rmSync(beside, { recursive: true, force: true });
  mkdirSync(beside, { recursive: true });
  for (const name of ["package.json", "dist"]) cpSync(join(ROOT, name), join(beside, name), { recursive: true });
  rmSync(join(modules, "throughline"), { recursive: true, force: true });
  renameSync(beside, join(modules, "throughline"));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) await main(ensureAdapterLibraries);
