// A power cut while a browser writes, by the model of power-cut.mjs: nothing that was acknowledged as durable is lost, and what
// is left is a consistent prefix. It needs strace.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { Bench, faultsAfterBurst } from "./crash.mjs";
import { cutPower, storeFiles, tracer } from "./power-cut.mjs";
import { ENGINES, RUNS, delayOf, replay, runs } from "./runs.mjs";

// WebKit's store is written by a process that is not below the one that is started, so it cannot be traced.
for (const name of ENGINES.filter((each) => each !== "webkit")) {
  test(`${name}: a power cut loses nothing that was acknowledged as durable`, () => cutInBursts(name, { relaxed: false }));
  test(`${name}: of relaxed messages it takes only what came after the last barrier`, () => cutInBursts(name, { relaxed: true }));
}

async function cutInBursts(name, { relaxed }) {
  for (const run of runs(Math.ceil(RUNS / 3))) {
    const folder = mkdtempSync(join(tmpdir(), "throughline-trace-"));
    const log = join(folder, "calls");
    const bench = await Bench.open(name);
    try {
      const before = storeFiles(name, bench.profile);
      bench.start({ tracer: tracer(log) });
      const words = await bench.killDuring({ kind: "burst", run, compacting: run % 2 === 0, relaxed }, 1_000 + delayOf(run, 2_000));
      cutPower(name, bench.profile, log, before);
      bench.start();
      const { kept } = await bench.job({ kind: "inspect" });
      const durable = words.map((word) => ({ ...word, stored: word.stored.filter(([, , isDurable]) => isDurable), version: 0 }));
      assert.ok(durable.some(({ stored }) => stored.length > 0), `run ${run} acknowledged something as durable`);
      assert.deepEqual(faultsAfterBurst(durable, kept, run), [], replay(run));
    } finally {
      await bench.close();
      rmSync(folder, { recursive: true, force: true });
    }
  }
}
