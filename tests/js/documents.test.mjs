// Every test that docs/formats.md and docs/reliability.md name is there, every rule, quirk and row has one, and the profiles
// are those that exist.
import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../..", import.meta.url);
const text = (path) => readFileSync(new URL(path, root), "utf8");
const document = text("docs/formats.md");
const rowsOf = (prefix) => [...document.matchAll(new RegExp(`^\\| (${prefix}\\d+) \\|(.*)\\|$`, "gm"))].map(([, name, rest]) => ({ name, rest }));
const quoted = (row) => [...row.matchAll(/`([^`]+)`/g)].map(([, name]) => name);

function sources(folder) {
  return readdirSync(new URL(folder, root), { withFileTypes: true }).filter(({ name }) => name !== "node_modules").map((entry) =>
    entry.isDirectory() ? sources(`${folder}${entry.name}/`) : text(`${folder}${entry.name}`)).join("\n");
}

const rust = sources("tests/") + sources("src/formats/");

test("every rule and every quirk has its row and its tests", () => {
  const rules = rowsOf("R");
  assert.deepEqual(rules.map(({ name }) => name), Array.from({ length: 23 }, (_, index) => `R${index + 1}`));
  for (const { name, rest } of rules) {
    const tests = quoted(rest.split("|").at(-1));
    assert.ok(tests.length > 0, `${name} names no test`);
    for (const each of tests) assert.ok(rust.includes(`fn ${each}(`), `${name}: there is no test ${each}`);
  }
  const quirks = rowsOf("Q");
  assert.deepEqual([...new Set(quirks.map(({ name }) => name))], Array.from({ length: 14 }, (_, index) => `Q${index + 1}`));
  const imports = text("tests/js/import-chatgpt.test.mjs");
  for (const { rest } of quirks) for (const each of quoted(rest)) assert.ok(imports.includes(`test("${each}"`), `there is no test ${each}`);
});

test("every other test that is named is there", () => {
  for (const each of quoted(document).filter((name) => /^[a-z]+(_[a-z]+){2,}$/.test(name))) assert.ok(rust.includes(`fn ${each}(`), each);
});

test("the profiles are those of the table in the code", () => {
  const names = [...text("src/formats/profile.rs").matchAll(/name: "([a-z-]+)"/g)].map(([, name]) => name);
  const section = document.slice(document.indexOf("## Profiles"), document.indexOf("## Rules"));
  assert.deepEqual([...section.matchAll(/^\| `([a-z-]+)` \|/gm)].map(([, name]) => name), names);
});

test("every row of what goes wrong has its tests, and they are there", () => {
  const reliability = text("docs/reliability.md");
  const rows = [...reliability.matchAll(/^\| (\d+) \|(.*)\|$/gm)].map(([, number, rest]) => ({ number: Number(number), tests: quoted(rest.split("|").at(-1)) }));
  assert.deepEqual(rows.map(({ number }) => number), Array.from({ length: 65 }, (_, index) => index + 1));
  const all = sources("tests/") + sources("src/");
  // As the name of a test, not in a comment or of a function beside the tests.
  const isThere = (name) => {
    const exact = name.replaceAll(/[\\^$.*+?()[\]{}|]/g, "\\$&");
    const rustTest = `#\\[(?:[\\w:]+::)?(?:wasm_bindgen_)?test(?:\\([^\\n]*\\))?\\](?:\\s*(?:#\\[[^\\n]*\\]|//[^\\n]*))*\\s*(?:pub )?(?:async )?fn ${exact}\\(`;
    return new RegExp(/^[a-z0-9_]+$/.test(name) ? rustTest : `\\btest\\(["'\`][^\\n]*${exact}`).test(all);
  };
  const absent = rows.flatMap(({ number, tests }) => tests.filter((each) => !isThere(each)).map((each) => `row ${number}: there is no test ${each}`));
  for (const { number, tests } of rows) {
    assert.ok(tests.length > 0, `row ${number} names no test`);
  }
  assert.deepEqual(absent, []);
});

test("every field of the articles' memory schemas is where docs/memory.md says that it is", () => {
  const rows = [...text("docs/memory.md").matchAll(/^\| (.+) \| (.+) \| (.+) \|(.*)\|$/gm)].map(([, field, api, record]) => ({ field, api, record }))
    .filter(({ field }) => field !== "articles' field" && !field.startsWith("---"));
  assert.ok(rows.length >= 50, String(rows.length));
  const types = sources("js/types/");
  const records = sources("src/").replaceAll(/\bpub(\([a-z]+\))? /g, "");
  const body = (source, start) => source.slice(start, source.indexOf("\n}", start));
  const isInApi = (name, field) => [...types.matchAll(new RegExp(`export (interface|type) ${name}\\b`, "g"))]
    .some(({ index }) => field === undefined || new RegExp(`\\b(readonly )?${field}\\??:`).test(body(types, index)));
  const isInRecord = (name, field) => [...records.matchAll(new RegExp(`^(struct|enum) ${name}\\b`, "gm"))]
    .some(({ index }) => new RegExp(`^ +${field}(:|,)`, "m").test(body(records, index)));
  for (const { field, api, record } of rows) {
    for (const name of quoted(api)) assert.ok(isInApi(...name.split(".")), `${field}: there is no ${name} in js/types`);
    for (const name of quoted(record)) assert.ok(isInRecord(...name.split(".")), `${field}: there is no ${name} in src`);
  }
});
