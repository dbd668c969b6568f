// Part of `npm run test:long`: faults of IndexedDB over a random workload. `--runs N` seeds, `--seed N` the first of them.

import { Stop, ensureChromium, ensurePackages, say } from "./toolchain.mjs";
import { build } from "./build.mjs";

const FAULTS = 1_000;
const OPERATIONS = 10_000;
/** Probability of a fault at each call of IndexedDB: so that they last for about all operations. */
const RATE = 0.012;

/** Runs the seeds one after the other, and stops at what is wrong. */
export async function testIdbFaults({ runs, seed }) {
  await ensurePackages();
  const { browser } = await ensureChromium();
  process.env.CHROME_PATH = browser;
  await build();
  const { runFaults } = await import("../tests/e2e/idb-faults.mjs");
  const { BACK_ENDS } = await import("../tests/e2e/pages.mjs");
  for (let number = seed; number < seed + runs; number += 1) {
    for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
      const { wrong, injected, acknowledged, operations, codes } = await runFaults({ switches, seed: number, faults: FAULTS, operations: OPERATIONS, rate: RATE });
      const faults = Object.values(injected).reduce((sum, count) => sum + count, 0);
      say(`seed ${number} on ${backEnd}: ${faults} faults, ${operations} operations, ${acknowledged} acknowledged, refused ${JSON.stringify(codes)}, wrong ${wrong.length}`);
      if (wrong.length > 0) throw new Stop(`${wrong.slice(0, 5).join("; ")}. Again: npm run test:long -- idb-faults --seed ${number} --runs 1`);
    }
  }
}
