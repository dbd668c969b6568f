// What a bundle of an app holds: what the app uses, and nothing beside it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { test } from "node:test";
import { build } from "esbuild";

const root = fileURLToPath(new URL("../..", import.meta.url));
const { exports, peerDependencies = {}, sideEffects } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8"));
const entries = Object.entries(exports).filter(([, target]) => typeof target === "object").map(([name, target]) => ({ name: name.replace(/^\./, "throughline"), file: target.default }));
/** Entries that hold the engine, or the way to it; those of tools count tokens with it. */
const ENGINE = new Set(["throughline", "throughline/worker", "throughline/client", "throughline/tools", "throughline/mcp"]);
/** Characters of an entry, at most. That for PostgreSQL runs on servers, and has the steps from every released layout to this one. */
const mostOf = (name) => (name === "throughline/postgres" ? 80_000 : 60_000);

/** The text of the first chunk of a page with this code, without what is loaded later. */
async function bundled(code) {
  const { outputFiles } = await build({
    stdin: { contents: code, resolveDir: root, sourcefile: "app.js" }, bundle: true, splitting: true, format: "esm", platform: "browser",
    outdir: "out", minify: true, write: false, logLevel: "silent", external: [...Object.keys(peerDependencies), "node:*"], entryNames: "app",
  });
  const start = outputFiles.find(({ path }) => path.endsWith("app.js")).text;
  const named = [...start.matchAll(/(?:from|import)\s*"\.\/(chunk-[^"]+)"/g)].map(([, name]) => name);
  return start + outputFiles.filter(({ path }) => named.some((name) => path.endsWith(name))).map(({ text }) => text).join("");
}

test("an entry that is imported and not used leaves nothing in the bundle", async () => {
  const kept = Array.isArray(sideEffects) ? sideEffects : [];
  for (const { name } of entries.filter((each) => !kept.includes(each.file))) {
    assert.equal((await bundled(`import * as unused from "${name}";`)).trim(), "", name);
  }
});

test("of the main entry, what needs no engine brings none", async () => {
  const text = await bundled(`import { isMemoryError, memoryStorage } from "throughline"; console.log(isMemoryError, memoryStorage());`);
  assert.ok(text.length < 4_000, `${text.length} bytes`);
  assert.doesNotMatch(text, /engine\.wasm/);
});

test("no adapter brings the engine, a vocabulary or another adapter's library", async () => {
  for (const { name } of entries.filter((each) => !ENGINE.has(each.name))) {
    const text = await bundled(`import * as all from "${name}"; console.log(all);`);
    assert.ok(!/engine\.wasm|\.bin\.gz/.test(text), name);
    assert.ok(text.length < mostOf(name), `${name}: ${text.length} characters`);
  }
});
