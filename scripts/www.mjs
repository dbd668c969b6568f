// Bundles the demo's TypeScript into www/dist. The package itself stays outside the bundle, as a site that serves it would
// have it: "throughline" is fetched from /throughline/. What a view needs is a file of its own, fetched when it is shown.

import { rmSync } from "node:fs";
import { join } from "node:path";
import { PAGE_FOLDERS, bundleServiceWorker } from "./offline-files.mjs";
import { ROOT, installPackages, step } from "./toolchain.mjs";

/** Addresses under which the demo finds the package's entries. */
const ENTRIES = {
  throughline: "/throughline/index.js",
  "throughline/anthropic": "/throughline/adapters/anthropic.js",
  "throughline/chrome-ai": "/throughline/adapters/chrome-ai.js",
  "throughline/client": "/throughline/client/index.js",
  "throughline/encryption": "/throughline/encryption.js",
  "throughline/gemini": "/throughline/adapters/gemini.js",
  "throughline/openai": "/throughline/adapters/openai.js",
  "throughline/static-embedder": "/throughline/static-embedder.js",
  "throughline/transformers": "/throughline/adapters/transformers.js",
  "throughline/webllm": "/throughline/adapters/webllm.js",
};

/** What runs beside the page: each a file of its own, with a policy of its own (demo-policy.mjs). */
const WORKERS = ["outside-worker", "webllm-worker", "transformers-worker"];

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
      const options = {
        absWorkingDir: ROOT,
        outdir: join(ROOT, "www/dist"),
        bundle: true,
        format: "esm",
        target: "es2022",
        minify: true,
        logLevel: "warning",
        plugins: [packageEntries, wholeTransformers],
      };
      await esbuild.build({ ...options, entryPoints: { app: "www/src/app.ts" }, splitting: true, chunkNames: "[name]-[hash]", sourcemap: true });
      await esbuild.build({ ...options, entryPoints: WORKERS.map((name) => `www/src/${name}.ts`) });
    },
  );
  await step(
    "Bundle the demo's service worker",
    { inputs: [...PAGE_FOLDERS.map((name) => `www/${name}`), "dist", "www/src/service-worker.ts", "scripts/offline-files.mjs"], outputs: ["www/service-worker.js"] },
    () => writeServiceWorker(join(ROOT, "www")),
  );
}

/** Writes the service worker of a folder that has the page in it, with the list of its files and of the package's. */
export function writeServiceWorker(folder) {
  return bundleServiceWorker(folder, Object.values(ENTRIES));
}

/** The library's file that has its runtime's own code in it; the entry that bundlers are given expects a second package. */
const wholeTransformers = {
  name: "whole-transformers",
  setup(build) {
    build.onResolve({ filter: /^@huggingface\/transformers$/ }, () => ({ path: join(ROOT, "www/node_modules/@huggingface/transformers/dist/transformers.min.js") }));
  },
};

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
