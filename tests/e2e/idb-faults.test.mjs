// Two hundred faults of IndexedDB over a random workload, on both back ends. `npm run test:long -- idb-faults` runs more.
import assert from "node:assert/strict";
import { test } from "node:test";
import { runFaults } from "./idb-faults.mjs";
import { BACK_ENDS } from "./pages.mjs";

for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  test(`200 faults on ${backEnd}: nothing acknowledged is lost, nothing is doubled`, async () => {
    const { wrong, injected, acknowledged, operations, codes } = await runFaults({ switches, seed: 5, faults: 200, operations: 5_000, rate: 0.03 });
    assert.deepEqual(wrong, []);
    const places = Object.keys(injected).sort();
    assert.deepEqual(places, ["commit", "open", "request", "transaction"]);
    assert.equal(Object.values(injected).reduce((sum, count) => sum + count), 200);
    assert.ok(acknowledged > operations / 2, `${acknowledged} of ${operations}; refused: ${JSON.stringify(codes)}`);
  });
}
