// The adapters against the real libraries' own types, by TypeScript; nothing in what they declare is `any`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";

test("adapters fit the libraries' own types", async () => {
  const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
  const project = fileURLToPath(new URL("tsconfig.json", import.meta.url));
  await promisify(execFile)(process.execPath, [compiler, "-p", project]).catch(({ stdout }) => assert.fail(stdout));
});

test("no adapter's declaration says any", () => {
  const folder = fileURLToPath(new URL("node_modules/throughline/dist/adapters/", import.meta.url));
  for (const name of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith(".d.ts"))) {
    const declared = readFileSync(folder + name, "utf8").replace(/\/\*.*?\*\//gs, "");
    assert.doesNotMatch(declared, /\bany\b/, name);
  }
});
