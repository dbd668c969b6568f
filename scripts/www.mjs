// Bundles the demo's TypeScript into www/dist/app.js. The package itself stays outside the bundle, as a site that serves it
// would have it: "throughline" is fetched from /throughline/.

import { join } from "node:path";
import { ROOT, step } from "./toolchain.mjs";

/** Addresses under which the demo finds the package's entries. */
const ENTRIES = {
  throughline: "/throughline/index.js",
  "throughline/anthropic": "/throughline/adapters/anthropic.js",
  "throughline/client": "/throughline/client/index.js",
  "throughline/gemini": "/throughline/adapters/gemini.js",
  "throughline/openai": "/throughline/adapters/openai.js",
  "throughline/static-embedder": "/throughline/static-embedder.js",
};

/** Brings www/dist/app.js up to date. */
export async function bundleDemo() {
  const entry = "www/src/app.ts";
  await step(
    "Bundle the demo",
    { inputs: ["www/src", "scripts/www.mjs", "package-lock.json"], outputs: ["www/dist/app.js"] },
    async () => {
      const esbuild = await import("esbuild");
      await esbuild.build({
        absWorkingDir: ROOT,
        entryPoints: [entry],
        outfile: join(ROOT, "www/dist/app.js"),
        bundle: true,
        format: "esm",
        target: "es2022",
        sourcemap: true,
        logLevel: "warning",
        plugins: [
          {
            name: "package-entries",
            setup(build) {
              build.onResolve({ filter: /^throughline(\/|$)/ }, ({ path }) =>
                path in ENTRIES
                  ? { path: ENTRIES[path], external: true }
                  : { errors: [{ text: `the package has no entry "${path}"` }] },
              );
            },
          },
        ],
      });
    },
  );
}
