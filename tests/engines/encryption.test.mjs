// Encryption at rest in browsers beside Chromium, which `tests/e2e/encryption.test.mjs` covers: what was written through every
// door is nowhere in the profile folder.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bench } from "./crash.mjs";
import { MARKERS } from "./markers.js";
import { markersIn } from "./profile-scan.mjs";
import { ENGINES } from "./runs.mjs";

const newSeed = () => crypto.getRandomValues(new Uint32Array(1))[0];

/** Fills a new profile; answers what was found, and which markers are in its files: open, erased, and when the browser ended. */
async function filled(name, key) {
  const bench = await Bench.open(name);
  try {
    bench.start();
    const seed = newSeed();
    const told = await bench.job({ kind: "mark", seed, key });
    const found = { open: markersIn(bench.profile, seed) };
    await bench.job({ kind: "eraseMarked" });
    found.erased = markersIn(bench.profile, seed);
    await bench.browser.close();
    found.ended = markersIn(bench.profile, seed);
    return { told, found };
  } finally {
    await bench.close();
  }
}

for (const name of ENGINES.filter((one) => !one.startsWith("chromium"))) {
  test(`${name}: with a key no marker is in the profile folder, at any time; without one they are`, async (context) => {
    const plain = await filled(name, null);
    const seen = plain.found.open.length;
    context.diagnostic(`without a key: ${seen} of ${MARKERS}, erased: ${plain.found.erased.length}, the browser ended: ${plain.found.ended.length}`);
    // What Firefox packs, or WebKit has not written yet, is not seen.
    assert.ok(seen >= MARKERS / 2, `the search sees only ${seen} markers`);
    const sealed = await filled(name, [...crypto.getRandomValues(new Uint8Array(32))]);
    assert.deepEqual(sealed.told, plain.told, "the same answers as without a key");
    assert.ok(sealed.told.found > 0 && sealed.told.summary && sealed.told.segments > 0, JSON.stringify(sealed.told));
    assert.deepEqual(sealed.found, { open: [], erased: [], ended: [] });
  });
}
