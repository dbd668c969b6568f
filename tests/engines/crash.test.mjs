// Browsers that are killed: nothing that was acknowledged is lost, nothing is half there (spec of the runs: runs.mjs).
import assert from "node:assert/strict";
import { test } from "node:test";
import { Bench, faultsAfterBurst, faultsAfterImport } from "./crash.mjs";
import { ENGINES, RUNS, delayOf, replay, runs } from "./runs.mjs";

/** Longer than this is no slow machine: something is read or made again that should not be, or a limit was waited for. */
const REOPENED_MS = 10_000;

async function within(name, work) {
  const bench = await Bench.open(name);
  try {
    bench.start();
    await work(bench);
  } finally {
    await bench.close();
  }
}

for (const name of ENGINES) {
  test(`${name}: killed in bursts of appends and compactions, nothing acknowledged is lost`, async (context) => {
    let slowestMs = 0;
    await within(name, async (bench) => {
      for (const run of runs(RUNS)) {
        const words = await bench.killDuring({ kind: "burst", run, compacting: run % 2 === 0 }, delayOf(run, 2_000));
        assert.ok(words.some(({ stored }) => stored.length > 0), `run ${run} acknowledged something before it was killed`);
        bench.start();
        const { kept, openMs, nextSeq } = await bench.job({ kind: "inspect", question: "harbour ledger" });
        assert.deepEqual(faultsAfterBurst(words, kept, run), [], replay(run));
        slowestMs = Math.max(slowestMs, openMs);
        assert.ok(openMs < REOPENED_MS, `opened after ${Math.round(openMs)} ms, ${replay(run)}`);
        assert.equal(nextSeq, 1);
      }
    });
    context.diagnostic(`opened and answered after a kill in at most ${Math.round(slowestMs)} ms`);
  });

  test(`${name}: killed while importing, the import done again is whole and once`, async () => {
    await within(name, async (bench) => {
      for (const run of runs(Math.ceil(RUNS / 3))) {
        await bench.killDuring({ kind: "import", run }, delayOf(run, 1_500));
        bench.start();
        const { kept } = await bench.job({ kind: "import", run });
        assert.deepEqual(faultsAfterImport(kept, run), [], replay(run));
      }
    });
  });
}
