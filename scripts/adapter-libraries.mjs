// The libraries that the adapters for models are tested with, in a package of their own beside those tests.

import { existsSync, mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { ROOT, installPackages } from "./toolchain.mjs";

const FOLDER = "tests/adapters";

/** Installs them where they are missing or older than the lockfile, and puts this package beside them. */
export async function ensureAdapterLibraries() {
  const modules = join(ROOT, FOLDER, "node_modules");
  await installPackages(FOLDER, {
    name: "Install the libraries of the adapters' tests",
    advice: "The libraries that the adapters are tested with could not be installed. Check the network and run the same command again.",
    // Some ask for a newer Node than these tests need: what is strict here must not be there.
    arguments: ["--no-engine-strict"],
  });
  mkdirSync(modules, { recursive: true });
  if (!existsSync(join(modules, "throughline"))) symlinkSync(ROOT, join(modules, "throughline"), "junction");
}
