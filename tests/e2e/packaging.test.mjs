// The packed tarball, installed as a user does, in the environments that need nothing from elsewhere. `npm run test:packaging`
// runs all of them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { testPackaging } from "../../scripts/packaging.mjs";

test("the main job works from the tarball in a plain page and its worker, in Node by import and require, and through esbuild", { timeout: 180_000 }, async () => {
  const rows = await testPackaging(["plain-module", "node", "esbuild"]);
  assert.equal(rows.length, 6);
  for (const { name, mode, failure } of rows) assert.equal(failure, undefined, `${name}, ${mode}`);
});
