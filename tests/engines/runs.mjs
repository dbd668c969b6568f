// Which browsers are run, and how often: ENGINES names them (by default Chromium with both of its ways to store IndexedDB),
// RUNS how often each is killed, SEED the first run's number.

export const ENGINES = (process.env.ENGINES ?? "chromium-leveldb,chromium-sqlite").split(",");
export const RUNS = Number(process.env.RUNS ?? 3);
const SEED = Number(process.env.SEED ?? 1);

/** The numbers of `count` runs; all that is random in a run follows from its number. */
export function runs(count) {
  return Array.from({ length: count }, (_, index) => SEED + index);
}

/** Milliseconds until the kill, at least 100. */
export function delayOf(run, most) {
  return 100 + ((run * 2_654_435_761) >>> 0) % most;
}

/** What a failure says about doing the same again. */
export function replay(run) {
  return `run ${run}; again with SEED=${run} RUNS=1 (where it is killed within a write is not the same each time)`;
}
