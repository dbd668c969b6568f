// The adapters against the real libraries' own types, by TypeScript.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";

test("adapters fit the libraries' own types", async () => {
  const compiler = fileURLToPath(new URL("../../node_modules/typescript/bin/tsc", import.meta.url));
  const project = fileURLToPath(new URL("tsconfig.json", import.meta.url));
  await promisify(execFile)(process.execPath, [compiler, "-p", project]).catch(({ stdout }) => assert.fail(stdout));
});
