// The demo's service worker: bundled with a list of every file that the page is made of and its hash, so that it can keep one
// whole version, and never parts of two.

import { createHash } from "node:crypto";
import { existsSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, posix, relative } from "node:path";
import { ROOT } from "./toolchain.mjs";

const PACKAGE = join(ROOT, "dist");
/** Folders and files of the page that are served as they are. */
export const PAGE_FOLDERS = ["index.html", "manifest.webmanifest", "icons", "icon.svg", "styles", "sample", "dist"];
/** Only who turns such a model on needs these. */
const LATER = [/^dist\/(webllm|transformers)-worker\.js$/];
/** For surroundings that cannot load files: a page with a service worker can. */
const NEVER = [/^throughline\/(wasm-inline|inline\/.*|import\/import-worker-inline)\.js$/, /\.map$/, /cl100k_base/];

/**
 * Writes `service-worker.js` into a folder that has the built page in it.
 *
 * @param {string} site the folder
 * @param {string[]} entries addresses of the package's entries that the page imports, below /throughline/
 */
export async function bundleServiceWorker(site, entries) {
  const { build } = await import("esbuild");
  const all = Object.entries(pageFiles(site, entries));
  const isLater = ([name]) => LATER.some((pattern) => pattern.test(name));
  const listed = (list) => JSON.stringify(Object.fromEntries(list));
  const version = createHash("sha256").update(listed(all)).digest("hex").slice(0, 16);
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: ["www/src/service-worker.ts"],
    bundle: true,
    format: "iife",
    target: "es2022",
    minify: true,
    write: false,
    define: { FILES: listed(all.filter((file) => !isLater(file))), LATER: listed(all.filter(isLater)), VERSION: JSON.stringify(version) },
  });
  writeFileSync(join(site, "service-worker.js"), outputFiles[0].text);
}

/** Hashes of the page's files by address, relative to the page. */
function pageFiles(site, entries) {
  const own = PAGE_FOLDERS.flatMap((name) => filesUnder(join(site, name))).map((path) => [relative(site, path).replaceAll("\\", "/"), path]);
  const shared = reachable(entries.map((address) => address.replace(/^\/throughline\//, ""))).map((name) => [`throughline/${name}`, join(PACKAGE, name)]);
  const wanted = [...own, ...shared].filter(([name]) => !NEVER.some((pattern) => pattern.test(name)));
  return Object.fromEntries(wanted.sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, path]) => [name, createHash("sha256").update(readFileSync(path)).digest("hex")]));
}

function filesUnder(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).sort().flatMap((name) => filesUnder(join(path, name)));
}

/** The package's files that these entries can load, by what stands in them. */
function reachable(entries) {
  const found = new Set();
  const open = [...entries, "import/import-worker.js", "worker/index.js"];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    if (found.has(name) || !existsSync(join(PACKAGE, name))) continue;
    found.add(name);
    if (!name.endsWith(".js")) continue;
    const text = readFileSync(join(PACKAGE, name), "utf8");
    for (const [, other] of text.matchAll(/(?:\bfrom\s*|\bimport\s*\(?\s*|\bnew URL\(\s*)["'](\.{1,2}\/[^"']+)["']/g)) {
      open.push(posix.normalize(posix.join(dirname(name), other)));
    }
  }
  return [...found];
}
