// Makes the whole site in a folder: the pages, the pictures, the sections for the search, the engine that searches.

import { copyFileSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { ROOT, Stop } from "../../scripts/toolchain.mjs";
import { ApiReference } from "./api.mjs";
import { errorPage } from "./error-codes.mjs";
import { layout } from "./layout.mjs";
import { MarkdownPages } from "./markdown.mjs";
import { writtenPages } from "./navigation.mjs";
import { sectionsOf } from "./sections.mjs";

/** Scripts of the site, as they stand in this folder. */
const SCRIPTS = ["search.js", "search-index.js"];

/**
 * @param {string} folder Is made anew.
 * @returns {Promise<{ undocumented: string[], pages: { file: string, html: string }[] }>} `undocumented`: what has no comment.
 * @throws {Stop} naming every link that leads nowhere.
 */
export async function buildSite(folder) {
  const written = writtenPages();
  const files = new Map([...written.map(({ source, file }) => [source, file]), ["js/types", "api/index.html"]]);
  const markdown = new MarkdownPages(files);
  const reference = await ApiReference.read(markdown);
  const errors = { source: "docs/errors.md", file: "errors.html", group: "Reference", text: errorPage(reference.throwing) };
  const texts = [...written, errors].map((page) => withHtml(page, markdown));
  const pages = [...texts, ...reference.pages(usesOf(written))];
  if (markdown.problems.length > 0) throw new Stop(markdown.problems.join("\n"));
  rmSync(folder, { recursive: true, force: true });
  for (const page of pages) writeInto(folder, page.file, layout(page, pages));
  for (const [path, address] of markdown.assets) copyInto(folder, address, path);
  writeInto(folder, "sections.json", JSON.stringify(pages.map(({ file, label, html, title }) => ({ file, title: label, sections: sectionsOf({ title, html }) }))));
  writeInto(folder, "site.css", [join(ROOT, "www/styles/base.css"), join(import.meta.dirname, "site.css")].map((path) => readFileSync(path, "utf8")).join("\n"));
  for (const name of SCRIPTS) copyInto(folder, name, join(import.meta.dirname, name));
  copyInto(folder, "icon.svg", join(ROOT, "www/icon.svg"));
  copyPackage(join(folder, "throughline"));
  return { undocumented: reference.undocumented, pages: pages.map(({ file }) => ({ file, html: readFileSync(join(folder, file), "utf8") })) };
}

function withHtml(page, markdown) {
  const { html, headings } = markdown.render(page.text, page);
  const title = headings.find(({ level }) => level === 1)?.text ?? page.file;
  return { ...page, html, headings, title, label: page.file === "index.html" ? "Overview" : title.replace(/:.*/, "") };
}

/** Pages whose code imports an entry of the package, by its name. */
function usesOf(pages) {
  const uses = new Map();
  for (const { text, file } of pages) {
    const label = /^# (.*?)(?::.*)?$/m.exec(text)?.[1] ?? file;
    const code = [...text.matchAll(/^```\w+\n([\s\S]*?)^```/gm)].map(([, block]) => block).join("\n");
    for (const name of new Set([...code.matchAll(/from "(throughline[^"]*)"/g)].map(([, each]) => each))) {
      uses.set(name, [...(uses.get(name) ?? []), { file, label: file === "index.html" ? "the overview" : label }]);
    }
  }
  return uses;
}

/** What the search runs: the package as it is published, without what it does not load. */
function copyPackage(folder) {
  const dist = join(ROOT, "dist");
  if (!existsSync(join(dist, "engine.wasm"))) throw new Stop("The package is not built. Run: npm run build");
  const isLoaded = (name) => /^(?:(?:client|worker)\/)?[a-z-]+\.js$|^engine\.wasm$|^static-minilm-256\.bin$/.test(name) && name !== "wasm-inline.js";
  for (const name of readdirSync(dist, { recursive: true }).map((each) => each.replaceAll("\\", "/")).filter(isLoaded)) copyInto(folder, name, join(dist, name));
}

function writeInto(folder, name, text) {
  const path = join(folder, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

function copyInto(folder, name, from) {
  mkdirSync(dirname(join(folder, name)), { recursive: true });
  copyFileSync(from, join(folder, name));
}
