// Whether the tab that holds a lock sleeps: only one that was asked, could hear it, and has not answered for three seconds.
import assert from "node:assert/strict";
import { test } from "node:test";
import { FrozenHolder } from "../../dist/frozen-holder.js";

/** Refused every 200 ms for so long; answers after how many milliseconds the holder was said to sleep. */
function refused(t, ms, { canAsk = true, answers = () => false, gapAt = Infinity } = {}) {
  let now = 1_000;
  t.mock.method(performance, "now", () => now);
  let asked = 0;
  const holder = new FrozenHolder((name) => {
    assert.equal(name, "work");
    asked += 1;
    return canAsk;
  });
  for (let waited = 0; waited < ms; waited += 200) {
    if (holder.sleeps("work")) return { slept: waited, asked };
    if (answers(waited)) holder.answered("work");
    now += waited === gapAt ? 60_000 : 200;
  }
  return { slept: undefined, asked };
}

test("a holder that does not answer sleeps after three seconds, one that answers never does", (t) => {
  assert.deepEqual(refused(t, 60_000), { slept: 3_000, asked: 1 });
  const awake = refused(t, 60_000, { answers: () => true });
  assert.equal(awake.slept, undefined);
  assert.ok(awake.asked >= 15, `asked ${awake.asked} times`);
  assert.equal(refused(t, 60_000, { answers: (waited) => waited < 10_000 }).slept, 15_000, "asked in vain at 12 s");
});

test("who cannot ask, or slept itself, takes nothing away", (t) => {
  assert.equal(refused(t, 60_000, { canAsk: false }).slept, undefined);
  // Asked anew after the gap.
  assert.equal(refused(t, 60_000, { gapAt: 2_800 }).slept, 6_000);
});
