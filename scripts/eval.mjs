// `npm run eval [-- --data DIR --json]`: retrieval quality on real conversations (the Cargo example `eval`). With the
// package built and the static embedder in it, its vectors are made first and measured beside the others. With --context
// (and --skipped): what of the evidence stands in the contexts that are built (the example `eval_context`).

import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { dataFolder } from "./serve.mjs";
import { ROOT, Stop, TOOLS, ensureRust, main, run } from "./toolchain.mjs";

await main(async () => {
  if (!existsSync(join(ROOT, "examples/eval/main.rs"))) throw new Stop("The example examples/eval/main.rs is missing from this copy of the repository.");
  const data = dataFolder();
  if (data === undefined) throw new Stop("The conversations to measure on are not part of the repository: name their folder, npm run eval -- --data DIR");
  await ensureRust();
  const given = process.argv.slice(2).filter((argument, index, all) => argument !== "--data" && all[index - 1] !== "--data");
  if (given.includes("--context")) {
    const rest = given.filter((argument) => argument !== "--context");
    await run("cargo", ["run", "--release", "--features", "tiktoken", "--example", "eval_context", "--", "--data", data, ...rest]);
    return;
  }
  await run("cargo", ["run", "--release", "--example", "eval", "--", "--data", data, ...(await staticVectors(data)), ...given]);
});

async function staticVectors(data) {
  if (!existsSync(join(ROOT, "dist/static-embedder.js"))) {
    console.error("- Static vectors are left out: npm run build first to have them.");
    return [];
  }
  mkdirSync(TOOLS, { recursive: true });
  const file = join(TOOLS, "locomo-static.f32");
  await run(process.execPath, [join(ROOT, "scripts/embed-static.mjs"), "--data", data, "--out", file]);
  return ["--static", file];
}
