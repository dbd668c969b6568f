// The documentation's pages: every link leads somewhere, nothing is loaded from elsewhere, and what is made from the source
// (the API, the error codes) is all there.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, posix } from "node:path";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { errorCodes, errorPage } from "../../docs/site/error-codes.mjs";
import { highlight } from "../../docs/site/highlight.mjs";
import { CONTENT_SECURITY_POLICY } from "../../docs/site/layout.mjs";
import { sectionsOf } from "../../docs/site/sections.mjs";
import { MemoryError } from "../../dist/errors.js";

const root = new URL("../../", import.meta.url);
const manifest = JSON.parse(readFileSync(new URL("package.json", root), "utf8"));
let folder;
let pages;
let undocumented;

before(async () => {
  const { buildSite } = await import("../../docs/site/build.mjs");
  folder = mkdtempSync(join(tmpdir(), "throughline-docs-"));
  ({ pages, undocumented } = await buildSite(folder));
});

after(() => rmSync(folder, { recursive: true, force: true }));

const anchorsOf = (html) => new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id));
const files = () => new Set(readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile()).map((entry) => posix.relative(folder, join(entry.parentPath, entry.name))));

test("every link and picture is there, and every anchor", () => {
  const there = files();
  const anchors = new Map(pages.map(({ file, html }) => [file, anchorsOf(html)]));
  let checked = 0;
  for (const { file, html } of pages) {
    for (const [, address] of html.matchAll(/ (?:href|src)="([^"]*)"/g)) {
      if (/^https:/.test(address)) continue;
      const [path, anchor] = address.split("#");
      const target = path === "" ? file : posix.join(posix.dirname(file), path);
      assert.ok(there.has(target), `${file} links ${address}`);
      if (anchor !== undefined) assert.ok(anchors.get(target)?.has(anchor), `${file} links ${address}, an anchor that is not there`);
      checked += 1;
    }
  }
  assert.ok(checked > 1_000, String(checked));
});

test("a link that leads nowhere stops the build", async () => {
  const { MarkdownPages } = await import("../../docs/site/markdown.mjs");
  const markdown = new MarkdownPages(new Map([["docs/guide.md", "guide.html"]]));
  const page = { source: "docs/some.md", file: "api/some.html" };
  assert.match(markdown.fragment("[a](guide.md#install), [b](https://example.org)", page), /href="\.\.\/guide\.html#install".*href="https:\/\/example\.org"/);
  assert.deepEqual(markdown.problems, []);
  markdown.fragment("[a](gone.md) ![b](gone.png)", page);
  assert.deepEqual(markdown.problems, ["docs/some.md links gone.md, which is not there.", "docs/some.md shows gone.png, which is not there."]);
});

test("pages load nothing from elsewhere, run nothing inline, and say so in a policy", () => {
  for (const { file, html } of pages) {
    const loaded = [...html.matchAll(/<(?:script|link|img|iframe|source|video|audio|object|embed)\b[^>]*(?:src|href)="([^"]*)"/g)].map(([, address]) => address);
    assert.deepEqual(loaded.filter((address) => /^(?:[a-z]+:|\/\/)/i.test(address)), [], file);
    assert.ok(html.includes(`<meta http-equiv="Content-Security-Policy" content="${CONTENT_SECURITY_POLICY}">`), file);
    assert.doesNotMatch(html, /<script(?![^>]*\bsrc=)|<style|\sstyle="|\son[a-z]+="/, file);
  }
});

test("pages have one first heading, no level is left out, every picture is described, no anchor is there twice", () => {
  for (const { file, html } of pages) {
    const main = html.slice(html.indexOf("<main"), html.indexOf("</main>"));
    const levels = [...main.matchAll(/<h([1-6])\b/g)].map(([, level]) => Number(level));
    assert.deepEqual([levels[0], levels.filter((level) => level === 1).length], [1, 1], file);
    levels.forEach((level, index) => assert.ok(index === 0 || level <= levels[index - 1] + 1, `${file}: heading ${index + 1} is of level ${level}`));
    for (const [image] of main.matchAll(/<img\b[^>]*>/g)) assert.match(image, /alt="[^"]{10,}"/, file);
    assert.match(html, /<html lang="en">[\s\S]*<title>[^<]{5,}<\/title>/, file);
    const ids = [...html.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
    assert.equal(new Set(ids).size, ids.length, `${file}: ${ids.filter((id, index) => ids.indexOf(id) !== index).join()}`);
  }
});

test("the reference has everything that the package exports", async () => {
  const all = pages.filter(({ file }) => file.startsWith("api/")).map(({ html }) => html).join("\n");
  const headings = new Set([...all.matchAll(/<h2 id="([^"]+)"/g)].map(([, id]) => id));
  for (const target of Object.values(manifest.exports).filter(({ types }) => types !== undefined)) {
    const declarations = readFileSync(new URL(target.types, root), "utf8");
    const named = [...declarations.matchAll(/^export (?:declare )?(?:abstract )?(?:async )?(?:function|class|interface|type|const) (\w+)/gm)].map(([, name]) => name);
    const again = [...declarations.matchAll(/^export (?:type )?\{([^}]+)\}/gm)].flatMap(([, list]) => list.split(",").map((each) => each.trim().replace(/^type /, "").split(/\s+as\s+/).at(-1)).filter(Boolean));
    for (const name of [...named, ...again]) assert.ok(headings.has(name), `${target.types}: ${name} is not in the reference`);
  }
  assert.doesNotMatch(pages.find(({ file }) => file === "api/index.html").html, /<td>\s*<\/td>/, "an entry that says not what it is");
  const { Memory } = await import("../../dist/memory.js");
  for (const method of Object.getOwnPropertyNames(Memory.prototype).filter((name) => name !== "constructor")) assert.ok(all.includes(`<h3 id="Memory.${method}">`), method);
});

test("everything that the package exports has a comment, each field and method too", () => {
  assert.deepEqual(undocumented, []);
});

test("every error code has its meaning, what to do, and whether a retry helps", () => {
  const source = readFileSync(new URL("js/errors.ts", root), "utf8");
  const codes = [...source.slice(source.indexOf("const RETRYABLE"), source.indexOf("} as const")).matchAll(/^ {2}([a-z_]+): (true|false),$/gm)].map(([, code]) => code);
  assert.ok(codes.length >= 24);
  assert.deepEqual(errorCodes().map(({ code }) => code).sort(), [...codes].sort());
  for (const { code, advice, isRetryable } of errorCodes()) {
    assert.equal(new MemoryError(code, "").retryable, isRetryable, code);
    assert.ok(advice.length > 5, code);
  }
  const { html } = pages.find(({ file }) => file === "errors.html");
  for (const code of codes) assert.ok(anchorsOf(html).has(code), code);
  assert.match(errorPage([{ name: "Memory.append", throws: "`conflict`" }]), /Named by \[`Memory\.append`\]\(api:Memory\.append\)/);
  assert.match(html, /href="api\/throughline\.html#Memory\.append"/);
  assert.match(pages.find(({ file }) => file === "api/throughline.html").html, /Rejects with<\/strong>[^\n]*href="\.\.\/errors\.html#conflict"/);
});

test("the search knows every page, and its sections lead to anchors", () => {
  const known = JSON.parse(readFileSync(join(folder, "sections.json"), "utf8"));
  assert.deepEqual(known.map(({ file }) => file), pages.map(({ file }) => file));
  for (const { file, sections } of known) {
    const anchors = anchorsOf(pages.find((page) => page.file === file).html);
    for (const { id, text } of sections) {
      assert.ok(id === "" || anchors.has(id), `${file}#${id}`);
      assert.ok(text.length > 0);
    }
  }
  const html = '<h1 id="a">A</h1><p>one &lt;b&gt; <code>two</code></p><h2 id="b">B <i>c</i></h2><h3 id="d">D</h3><table><tr><td>x</td><td>y</td></tr></table>';
  assert.deepEqual(sectionsOf({ title: "T", html: '<h2 id="f">f <span class="kind">function</span></h2><p>x</p>' }), [{ id: "f", title: "f", text: "x" }]);
  assert.deepEqual(sectionsOf({ title: "T", html }), [{ id: "a", title: "A", text: "one <b> two" }, { id: "d", title: "D", text: "x  y" }]);
});

test("code is coloured without a character lost", () => {
  const code = 'const a = "x // no"; // yes <b>\nawait f(`t${1}`, 2_000);';
  const html = highlight(code, "ts");
  assert.equal(html.replaceAll(/<[^>]+>/g, "").replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&quot;", '"'), code);
  assert.match(html, /<span class="comment">\/\/ yes &lt;b&gt;<\/span>/);
  assert.match(html, /<span class="string">&quot;x \/\/ no&quot;<\/span>/);
  assert.equal(highlight("a < b", "text"), "a &lt; b");
});

test("pages stay light", (context) => {
  const packed = (name) => gzipSync(readFileSync(join(folder, name))).length;
  const sizes = pages.map(({ file }) => ({ file, bytes: packed(file) })).sort((one, other) => other.bytes - one.bytes);
  context.diagnostic(`heaviest page ${sizes[0].file}, ${sizes[0].bytes} bytes gzip; median ${sizes[sizes.length >> 1].bytes}`);
  for (const { file, bytes } of sizes) assert.ok(bytes < 60_000, `${file}: ${bytes}`);
  const frame = packed("site.css") + packed("search.js");
  assert.ok(frame < 8_000, `style and search box: ${frame}`);
  for (const name of readdirSync(join(folder, "pictures"))) assert.ok(statSync(join(folder, "pictures", name)).size < 250_000, name);
});

test("commands and files that the pages name are there", async () => {
  const { writtenPages } = await import("../../docs/site/navigation.mjs");
  let checked = 0;
  for (const { source, text } of writtenPages()) {
    for (const [, name] of text.matchAll(/\bnpm run ([a-z][a-z:]*)/g)) {
      assert.ok(name in manifest.scripts, `${source}: there is no "npm run ${name}"`);
      checked += 1;
    }
    for (const [, path] of text.matchAll(/`((?:bench|docs|js|scripts|src|tests|www)\/[\w./-]+\.(?:rs|ts|mjs|js|css|md|png|svg))`/g)) {
      assert.ok(existsSync(new URL(path, root)), `${source} names ${path}, which is not there`);
      checked += 1;
    }
  }
  assert.ok(checked > 100, String(checked));
});
