import { runFaults } from "./idb-faults.mjs";
import { BACK_ENDS } from "./pages.mjs";
for (const seed of [1]) for (const [backEnd, switches] of Object.entries(BACK_ENDS)) {
  const t = Date.now();
  const { wrong, injected, acknowledged, operations, codes } = await runFaults({ switches, seed, faults: 1000, operations: 10000, rate: 0.012 });
  const faults = Object.values(injected).reduce((sum, count) => sum + count, 0);
  console.log(`seed ${seed} on ${backEnd}: ${faults} faults, ${operations} operations, ${acknowledged} acknowledged, refused ${JSON.stringify(codes)}, wrong ${wrong.length} ${JSON.stringify(wrong.slice(0, 5))}, ${(Date.now() - t) / 1000} s`);
}
