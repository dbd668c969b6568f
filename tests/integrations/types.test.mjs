// What the adapters declare fits the real libraries' own types, and nothing in it is `any`.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";

const here = fileURLToPath(new URL(".", import.meta.url));
const tsc = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
const strict = ["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "false", "--skipLibCheck", "--target", "es2022", "--lib", "es2023,dom,dom.iterable,dom.asynciterable,esnext.disposable"];

test("the adapters fit the libraries' types", async () => {
  const args = [tsc, ...strict, "--module", "nodenext", "--moduleResolution", "nodenext", `${here}types/adapters.ts`];
  await promisify(execFile)(process.execPath, args, { cwd: here }).catch(({ stdout, stderr }) => assert.fail(stdout + stderr));
});

test("no adapter's declaration says any", () => {
  const folder = `${here}node_modules/throughline/dist/adapters/`;
  for (const name of readdirSync(folder, { recursive: true }).filter((each) => each.endsWith(".d.ts"))) {
    const declared = readFileSync(folder + name, "utf8").replace(/\/\*.*?\*\//gs, "");
    assert.doesNotMatch(declared, /\bany\b/, name);
  }
});
