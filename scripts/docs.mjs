// `npm run docs`: makes the documentation's pages in docs/dist from the files of docs/, the README and the source. With
// `-- --serve` they are shown; the search needs a server, everything else can be read from the folder as it is.

import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "./build.mjs";
import { portFromEnvironment, serve } from "./serve.mjs";
import { ROOT, installPackages, main, say } from "./toolchain.mjs";

const FOLDER = "docs/dist";

/** typedoc and the Markdown reader, from the lock file of docs/site. */
export function ensureDocsPackages() {
  return installPackages("docs/site", {
    name: "Install what makes the documentation",
    advice: "What makes the documentation could not be installed. Check the network and run the same command again.",
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    await build();
    await ensureDocsPackages();
    const { buildSite } = await import("../docs/site/build.mjs");
    const { CONTENT_SECURITY_POLICY } = await import("../docs/site/layout.mjs");
    const begin = Date.now();
    const { pages } = await buildSite(join(ROOT, FOLDER));
    say(`${pages.length} pages are in ${FOLDER} (${((Date.now() - begin) / 1000).toFixed(1)} s).`);
    if (!process.argv.includes("--serve")) return;
    const headers = { "Content-Security-Policy": `${CONTENT_SECURITY_POLICY}; frame-ancestors 'none'`, "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff" };
    const { url } = await serve({ port: portFromEnvironment(), mounts: { "/": join(ROOT, FOLDER) }, headers });
    console.log(`\nThe documentation is at ${url}\nIt stays until you stop it with Ctrl+C.`);
  });
}
