// The longest message that is taken is one record that every browser takes. Chromium's LevelDB, which has no limit near it
// (300 MB were stored), is left out.
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bench } from "./crash.mjs";
import { ENGINES } from "./runs.mjs";

for (const name of ENGINES.filter((one) => one !== "chromium-leveldb")) {
  test(`${name}: the longest message is stored in one record and comes back`, async (context) => {
    const bench = await Bench.open(name);
    try {
      bench.start();
      const { durable, appendMs, ms, isSame } = await bench.job({ kind: "largest", bytes: 16 * 1024 * 1024 });
      context.diagnostic(`stored in ${Math.round(appendMs)} ms; stored, read and erased in ${Math.round(ms)} ms`);
      assert.deepEqual({ durable, isSame }, { durable: true, isSame: true });
    } finally {
      await bench.close();
    }
  });
}
