/**
 * Mutual exclusion of everything that has the same user's data open, so that background work is done once: between tabs and
 * workers by the platform's Web Locks, else (Node, or memory storage, which no other tab sees) within this module.
 */

import type { CheckedOptions } from "./options.js";

const held = new WeakMap<object, Set<string>>();
const everywhere = {};

/** Takes the lock if it is free now: a function that releases it, else `null`. With `steal`, another tab loses it. */
export async function tryLock({ storage, userId }: CheckedOptions, name: string, steal = false): Promise<(() => void) | null> {
  if (storage.kind === "memory") return tryLocal(storage, `${userId}:${name}`);
  if (storage.kind === "external") {
    const { given } = storage;
    return given.tryLock === undefined ? tryLocal(given, `${userId}:${name}`) : given.tryLock(userId, name);
  }
  const full = `throughline:${storage.name}:${userId}:${name}`;
  const locks = (globalThis as { navigator?: { locks?: LockManager } }).navigator?.locks;
  return locks === undefined ? tryLocal(everywhere, full) : tryShared(locks, full, steal);
}

function tryLocal(owner: object, name: string): (() => void) | null {
  const names = held.get(owner) ?? new Set<string>();
  held.set(owner, names);
  if (names.has(name)) return null;
  names.add(name);
  return () => void names.delete(name);
}

function tryShared(locks: LockManager, name: string, steal: boolean): Promise<(() => void) | null> {
  return new Promise((resolve, reject) => {
    locks
      .request(name, steal ? { steal } : { ifAvailable: true }, (lock) => {
        if (lock === null) {
          resolve(null);
          return undefined;
        }
        return new Promise<void>((release) => resolve(release));
      })
      .catch(reject);
  });
}
