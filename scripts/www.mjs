// Bundles the demo's TypeScript into www/dist. The package itself stays outside the bundle, as a site that serves it would
// have it: "throughline" is fetched from /throughline/. What a view needs is a file of its own, fetched when it is shown.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { ROOT, installPackages, step } from "./toolchain.mjs";

/** Addresses under which the demo finds the package's entries. */
const ENTRIES = {
  throughline: "/throughline/index.js",
  "throughline/anthropic": "/throughline/adapters/anthropic.js",
  "throughline/client": "/throughline/client/index.js",
  "throughline/gemini": "/throughline/adapters/gemini.js",
  "throughline/openai": "/throughline/adapters/openai.js",
  "throughline/static-embedder": "/throughline/static-embedder.js",
};

/** Installs the demo's own libraries where they are missing or older than its lock file. */
export function ensureDemoPackages() {
  return installPackages("www", {
    name: "Install the demo's libraries",
    advice: "The demo's libraries could not be installed. Check the network and run the same command again.",
  });
}

/** Brings www/dist up to date. */
export async function bundleDemo() {
  await ensureDemoPackages();
  await step(
    "Bundle the demo",
    { inputs: ["www/src", "bench/cost", "bench/random.mjs", "www/package-lock.json", "scripts/www.mjs", "package-lock.json"], outputs: ["www/dist/app.js"] },
    async () => {
      const esbuild = await import("esbuild");
      // Files of the bundle before have other names.
      rmSync(join(ROOT, "www/dist"), { recursive: true, force: true });
      await esbuild.build({
        absWorkingDir: ROOT,
        entryPoints: { app: "www/src/app.ts" },
        outdir: join(ROOT, "www/dist"),
        bundle: true,
        splitting: true,
        chunkNames: "[name]-[hash]",
        format: "esm",
        target: "es2022",
        minify: true,
        sourcemap: true,
        logLevel: "warning",
        plugins: [packageEntries],
      });
    },
  );
}

const packageEntries = {
  name: "package-entries",
  setup(build) {
    build.onResolve({ filter: /^throughline(\/|$)/ }, ({ path }) =>
      path in ENTRIES
        ? { path: ENTRIES[path], external: true }
        : { errors: [{ text: `the package has no entry "${path}"` }] },
    );
  },
};
