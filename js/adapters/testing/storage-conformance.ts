import type { HeldStorage } from "../../external-storage.js";
import type { ExternalStorage } from "../../types/external-storage.js";
import { COMMITS } from "./conformance-commits.js";
import { HANDLES } from "./conformance-handles.js";
import { Place, type ExaminedStorage } from "./conformance-place.js";
import { READING } from "./conformance-reading.js";

/** One promise of a storage. */
export interface ConformanceCase {
  /** What is promised. */
  readonly name: string;
  /** Rejects where the storage does not keep it, with an error that says what was seen. */
  run(): Promise<void>;
}

/**
 * What every storage must do that is given to `externalStorage`, as cases for any test runner: the order of keys, ranges, what
 * comes back, checks, whole transactions, several handles at once, users, destruction; locks and channels where it has them.
 * That strict commits outlive a power cut it cannot see.
 *
 * Each case works as a user of its own, `conformance-1` and so on, whose records are destroyed before and after.
 *
 * ```ts
 * import { test } from "node:test";
 * import { storageConformance } from "throughline/testing";
 *
 * for (const { name, run } of storageConformance({ open: openRecords })) test(name, run);
 * ```
 *
 * @param storage What `externalStorage` made, or its options.
 */
export function storageConformance(storage: ExternalStorage | ExaminedStorage): ConformanceCase[] {
  const examined = "kind" in storage ? (storage as HeldStorage).given : storage;
  return Object.entries({ ...READING, ...COMMITS, ...HANDLES }).map(([name, examination], index) => ({
    name,
    run: () => new Place(examined, `conformance-${index + 1}`).examine(examination),
  }));
}
