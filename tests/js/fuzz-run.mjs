// What the fuzz targets share: seeds for FUZZ_SECONDS seconds (default 3), from FUZZ_START on (default 1, so that every run of
// the tests is the same). A failure names its seed: FUZZ_SEED=<seed> runs it alone.
import assert from "node:assert/strict";

export const SECONDS = Number(process.env.FUZZ_SECONDS ?? 3);

/** Every place in a value, as [holder, key]. */
export function places(value, found = []) {
  for (const key of Object.keys(value ?? {})) {
    found.push([value, key]);
    if (typeof value[key] === "object") places(value[key], found);
  }
  return found;
}

/** Runs `check` with seed after seed; `outcomes` are the words that it answers with. Both ends must be reached. */
export async function fuzz(context, outcomes, check) {
  const alone = process.env.FUZZ_SEED;
  const first = Number(alone ?? process.env.FUZZ_START ?? 1);
  const counts = Object.fromEntries(outcomes.map((outcome) => [outcome, 0]));
  const until = performance.now() + SECONDS * 1000;
  let seed = first;
  do {
    try {
      counts[await check(seed)] += 1;
    } catch (error) {
      error.message = `FUZZ_SEED=${seed}: ${error.message}`;
      throw error;
    }
    seed += 1;
  } while (alone === undefined && performance.now() < until);
  context.diagnostic(`seeds ${first} to ${seed - 1}: ${JSON.stringify(counts)}`);
  if (alone === undefined) assert.ok(counts.imported > 0 && counts.refused > 0, "the changes reach both ends");
}
