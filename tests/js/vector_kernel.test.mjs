// Compiles tests/vector_kernel.rs for wasm and runs it here: the SIMD kernels, and their scalar twins in a build without.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const source = fileURLToPath(new URL("../vector_kernel.rs", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "throughline-kernel-"));
after(() => rmSync(folder, { recursive: true }));

for (const feature of ["+simd128", "-simd128"]) {
  test(`the vector kernels compute exactly, built with ${feature}`, async () => {
    const file = join(folder, `kernel${feature}.wasm`);
    const target = ["--target", "wasm32-unknown-unknown", "-C", `target-feature=${feature}`];
    execFileSync("rustc", ["--test", "--edition", "2024", "-C", "opt-level=3", ...target, source, "-o", file], { stdio: "inherit" });
    const bytes = readFileSync(file);
    const { instance } = await WebAssembly.instantiate(bytes);
    // The test harness of the standard library: a failed assertion traps.
    assert.equal(instance.exports.main(0, 0), 0);
  });
}
