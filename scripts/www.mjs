// Bundles the demo's TypeScript into www/dist/app.js. The package itself stays outside the bundle, as a site that serves it
// would have it: "throughline" is fetched from /throughline/.

import { existsSync } from "node:fs";
import { join } from "node:path";
import { ROOT, Stop, step } from "./toolchain.mjs";

/** Addresses under which the demo finds the package's entries. */
const ENTRIES = {
  throughline: "/throughline/index.js",
  "throughline/static-embedder": "/throughline/static-embedder.js",
};

/** Brings www/dist/app.js up to date. */
export async function bundleDemo() {
  const entry = ["www/app.ts", "www/src/app.ts", "www/main.ts", "www/src/main.ts"].find((path) => existsSync(join(ROOT, path)));
  if (entry === undefined) throw new Stop("The demo's entry (www/app.ts) is missing from this copy of the repository.");
  await step(
    "Bundle the demo",
    { inputs: ["www/app.ts", "www/main.ts", "www/src", "scripts/www.mjs", "package-lock.json"], outputs: ["www/dist/app.js"] },
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
