// The example of the README, run as it stands there.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { test } from "node:test";

const root = new URL("../../", import.meta.url);

test("the README's example runs, and shows what it promises", () => {
  const [, example] = /```js\n(.*?)```/s.exec(readFileSync(new URL("README.md", root), "utf8")) ?? [];
  assert.ok(example?.includes("createMemory"), "the README has no example");
  assert.ok(example.trim().split("\n").length <= 25);
  // A module of the package itself, so that "throughline" is found by its own exports.
  const file = new URL("dist/readme-example.mjs", root);
  writeFileSync(file, example);
  try {
    const shown = execFileSync(process.execPath, [file.pathname], { encoding: "utf8", timeout: 60_000 });
    assert.match(shown, /^\d+ system \d+, memory \d+, episodes 0, summary 0, notes 0, recent \d+, documents 0, retrieved \d+, question \d+\n$/);
    const [, memory] = /memory (\d+)/.exec(shown);
    assert.ok(Number(memory) > 0, shown);
  } finally {
    rmSync(file, { force: true });
  }
});
