// What stands between a tag and a release, and what the workflows may do.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fingerprint, notes, problems } from "../../scripts/release.mjs";
import { differing, hashOf, toolsOfBuild } from "../../scripts/reproduce.mjs";

const folder = new URL("../../.github/workflows/", import.meta.url);
const workflows = readdirSync(folder).map((name) => ({ name, text: readFileSync(new URL(name, folder), "utf8") }));
const ready = {
  manifest: { version: "1.2.3" }, cargo: `[package]\nname = "throughline"\nversion = "1.2.3"\n`,
  changelog: "# Changelog\n\nWords.\n\n## 1.2.3, 2027-01-31\n\nFixed:\n- One.\n\n## 1.2.2, 2027-01-01\n\n- Two.\n",
};

test("a tag is released only where everything says its version", () => {
  assert.deepEqual(problems("v1.2.3", ready), []);
  assert.equal(problems("v1.2.4", ready).length, 3);
  assert.match(problems("1.2.3", ready)[0], /no version/);
  assert.match(problems("v1.2.3", { ...ready, manifest: { version: "1.2.2" } })[0], /package\.json/);
  assert.match(problems("v1.2.3", { ...ready, cargo: ready.cargo.replace("1.2.3", "1.2.2") })[0], /Cargo\.toml/);
  assert.match(problems("v1.2.3", { ...ready, changelog: ready.changelog.replace("2027-01-31", "unreleased") })[0], /date/);
});

test("the notes of a release are its part of the changelog", () => {
  assert.equal(notes("v1.2.3", ready.changelog), "Fixed:\n- One.");
  assert.equal(notes("v1.2.2", ready.changelog), "- Two.");
  assert.throws(() => notes("v9.9.9", ready.changelog), /nothing about/);
});

test("the notes name the engine's hash and what it was built with; the release builds it twice before it is packed", () => {
  const engine = hashOf(new URL("../../dist/engine.wasm", import.meta.url));
  assert.match(fingerprint(engine, toolsOfBuild()), /SHA-256 `[0-9a-f]{64}`, built with rustc \d+\.\d+\.\d+.*, wasm-bindgen \d+\.\d+\.\d+, binaryen \d+\.\d+\.\d+\./);
  const { text } = workflows.find(({ name }) => name === "release.yml");
  assert.ok(text.indexOf("scripts/reproduce.mjs") > 0 && text.indexOf("scripts/reproduce.mjs") < text.indexOf("npm pack"));
});

test("two builds are compared file by file", () => {
  const folder = mkdtempSync(join(tmpdir(), "throughline-two-builds-"));
  const [one, other] = ["one", "other"].map((name) => join(folder, name));
  for (const build of [one, other]) {
    mkdirSync(join(build, "deep"), { recursive: true });
    writeFileSync(join(build, "deep", "same"), "1");
    writeFileSync(join(build, "changed"), build);
  }
  writeFileSync(join(one, "more"), "");
  writeFileSync(join(other, "deep", "more"), "");
  assert.deepEqual(differing(one, other), ["changed", join("deep", "more"), "more"]);
  assert.deepEqual(differing(one, one), []);
  rmSync(folder, { recursive: true });
});

test("the engine names no folder of the machine that built it", () => {
  const engine = readFileSync(new URL("../../dist/engine.wasm", import.meta.url)).toString("latin1");
  assert.ok(engine.includes("src/engine/"), "its panics name source files");
  assert.doesNotMatch(engine, /\/(home|root|Users|work|tmp)\/[\w.-]+\/|[A-Z]:\\(Users|a)\\/);
});

test("every action is pinned by its commit, with its version beside it", () => {
  const uses = workflows.flatMap(({ name, text }) => [...text.matchAll(/uses: *(.*)/g)].map(([, used]) => `${name}: ${used}`));
  assert.ok(uses.length >= 6);
  for (const used of uses) assert.match(used, /: [\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
});

test("workflows begin without rights to write; who publishes has a signature and no token, and runs no code of the repository", () => {
  for (const { name, text } of workflows) {
    assert.match(text, /^permissions:( \{\}|\n {2}contents: read)$/m, name);
    assert.doesNotMatch(text, /pull_request_target|secrets\.|write-all/, name);
  }
  const release = workflows.find(({ name }) => name === "release.yml").text;
  const publish = release.slice(release.indexOf("\n  publish:"), release.indexOf("\n  announce:"));
  assert.match(publish, /permissions:\n {6}id-token: write[^\n]*\n {4}steps/);
  assert.match(publish, /npm publish --provenance .*--ignore-scripts/);
  assert.doesNotMatch(publish, /checkout|npm (ci|install)|npm (run|test)/);
  assert.equal(release.split("id-token: write").length, 2);
});
