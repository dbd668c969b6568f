// The core of the engine knows no JavaScript: without the `wasm` feature no crate of that world is in its tree.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const root = fileURLToPath(new URL("../..", import.meta.url));
const JS_CRATES = ["wasm-bindgen", "wasm-bindgen-futures", "js-sys", "web-sys", "idb"];

function crates(...features) {
  const args = ["tree", "--no-default-features", ...features, "--edges", "normal", "--target", "wasm32-unknown-unknown", "--prefix", "none", "--format", "{p}"];
  return new Set(execFileSync("cargo", args, { cwd: root, encoding: "utf8" }).split("\n").map((line) => line.split(" ")[0]));
}

test("the core's crates name no JS crate", () => {
  const found = crates();
  assert.ok(found.has("throughline"), "cargo tree shows the crate");
  assert.deepEqual(JS_CRATES.filter((name) => found.has(name)), []);
});

test("the adapter's crates do, so that the check above can fail", () => {
  const found = crates("--features", "wasm");
  assert.deepEqual(JS_CRATES.filter((name) => !found.has(name)), []);
});
