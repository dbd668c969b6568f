// `npm run eval [-- arguments]`: measures retrieval on real conversations (the Cargo example `eval`). With the package
// built and the static embedder there, its vectors are made first.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, Stop, ensureRust, main, run, say } from "./toolchain.mjs";

await main(async () => {
  if (!existsSync(join(ROOT, "examples/eval.rs"))) throw new Stop("The example examples/eval.rs is missing from this copy of the repository.");
  await ensureRust();
  if (existsSync(join(ROOT, "dist/static-embedder.js")) && existsSync(join(ROOT, "scripts/embed-static.mjs"))) {
    await run(process.execPath, [join(ROOT, "scripts/embed-static.mjs")]);
  } else {
    say("Static vectors are left out: run npm run build first to have them.");
  }
  await run("cargo", ["run", "--release", "--example", "eval", "--", ...process.argv.slice(2)]);
});
