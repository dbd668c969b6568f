/** Cases about several handles on a user's records, about users, locks and channels. */

import { isMemoryError } from "../../errors.js";
import type { StorageChannel } from "../../types/external-storage.js";
import { STORES, record, same, together, type Examination, type Handle, type Place } from "./conformance-place.js";

const COUNTER = { store: "meta", key: ["counter"] };
const HEARING_MS = 5_000;

/** Moves the counter from what was read to the next number. */
function increment(handle: Handle, read: string | null): Promise<boolean> {
  return handle.commit({ checks: [{ ...COUNTER, body: read }], puts: [{ ...COUNTER, record: { body: String(Number(read ?? 0) + 1) } }] });
}

function counter(handle: Handle): Promise<string | null> {
  return handle.body("meta", COUNTER.key);
}

/** So many increments, each tried until its check holds. */
async function increments(handle: Handle, count: number): Promise<void> {
  for (let done = 0; done < count; ) if (await increment(handle, await counter(handle))) done += 1;
}

/** Every call of a handle fails with `storage_unavailable`. */
async function everythingFails(handle: Handle): Promise<void> {
  const calls: Record<string, () => Promise<unknown>> = {
    get: () => handle.get([COUNTER]),
    scan: () => handle.scan("meta"),
    count: () => handle.count("meta"),
    commit: () => increment(handle, null),
    "an empty commit": () => handle.commit({}),
  };
  for (const [name, call] of Object.entries(calls)) {
    const seen = await call().then(() => "an answer", (error: unknown) => (isMemoryError(error) ? error.code : `an error that is no MemoryError: ${String(error)}`));
    same(`${name} after the records were destroyed`, seen, "storage_unavailable");
  }
}

/** The cases, by what is promised. */
export const HANDLES: Record<string, Examination> = {
  "a handle sees what the other wrote, also in its checks": async (place) => {
    const [first, second] = [await place.open(), await place.open()];
    await first.put({ ...COUNTER, record: { body: "1" } });
    const read = await counter(second);
    same("what the other wrote", read, "1");
    same("a commit of the first", await increment(first, read), true);
    same("a commit of the second on what was before", await increment(second, read), false);
    same("the counter", await counter(second), "2");
  },

  "of two commits at once on the same record one wins": async (place) => {
    const [first, second] = [await place.open(), await place.open()];
    for (let round = 0; round < 20; round += 1) {
      const [one, other] = await Promise.all([counter(first), counter(second)]);
      const wins = await Promise.all([increment(first, one), increment(second, other)]);
      same("wins of two", wins.filter(Boolean).length, 1);
      same("the counter", await counter(first), String(round + 1));
    }
  },

  "no increment of two handles is lost": async (place) => {
    const [first, second] = [await place.open(), await place.open()];
    await together(increments(first, 30), increments(second, 30));
    same("the counter", await counter(second), "60");
  },

  "what was committed is there when it is opened again": async (place) => {
    const first = await place.open();
    same("the commit", await first.commit({ puts: STORES.map((store) => record(store, ["k", 1], store, Uint8Array.of(1, 2))), strict: true }), true);
    place.close(first);
    const second = await place.open();
    for (const store of STORES) same(store, await second.scan(store), [{ key: ["k", 1], record: { body: store, blob: Uint8Array.of(1, 2) } }]);
  },

  "closing one handle leaves the other alone": async (place) => {
    const [first, second] = [await place.open(), await place.open()];
    await first.put({ ...COUNTER, record: { body: "1" } });
    place.close(first);
    same("the counter", await counter(second), "1");
    same("a commit", await increment(second, "1"), true);
  },

  "destroyed records are gone, and whoever has them open is told": async (place) => {
    const [first, second] = [await place.open(), await place.open()];
    await first.put(...STORES.map((store) => record(store, ["k"], "{}")));
    await first.opened.destroy();
    await everythingFails(first);
    await everythingFails(second);
    const third = await place.open();
    for (const store of STORES) same(store, await third.count(store), 0);
    same("a commit on the new records", await increment(third, null), true);
    await everythingFails(second);
    same("the new records", await counter(third), "1");
  },

  "users are apart": async (place) => {
    const others = [`${place.userId}:other`, `${place.userId}%`, `${place.userId}'`];
    for (const other of others) await place.destroy(other);
    const first = await place.open();
    await first.put({ ...COUNTER, record: { body: "1" } });
    for (const other of others) {
      const handle = await place.open(other);
      same("records of another user", await handle.count("meta"), 0);
      await handle.put({ ...COUNTER, record: { body: "2" } });
      await handle.opened.destroy();
    }
    same("the counter", await counter(first), "1");
  },

  "a reading call that nobody waits for any more disturbs nothing": async (place) => {
    const handle = await place.open();
    await handle.put({ ...COUNTER, record: { body: "1" } });
    for (const isEarly of [true, false]) {
      const stop = new AbortController();
      if (isEarly) stop.abort();
      const read = handle.opened.get([COUNTER], { signal: stop.signal });
      stop.abort();
      await read.catch(() => undefined);
      same("the counter", await counter(handle), "1");
    }
  },

  "a lock is one holder's at a time, by user and name": async (place) => {
    const { storage, userId } = place;
    if (storage.tryLock === undefined) return;
    const take = (user: string, lock: string): Promise<(() => void) | null> | undefined => storage.tryLock?.(user, lock);
    const release = await take(userId, "work");
    same("a lock that is free", typeof release, "function");
    same("one that is held", await take(userId, "work"), null);
    const others = [await take(userId, "other"), await take(`${userId}:other`, "work")];
    same("those of another name and another user", others.map((each) => typeof each), ["function", "function"]);
    for (const each of [release, ...others]) each?.();
    same("one that was released", typeof (await again(() => take(userId, "work")))?.(), "undefined");
  },

  "a channel tells the others of its name, not itself": async (place) => {
    if (place.storage.channel === undefined) return;
    const open = (name: string): [StorageChannel, unknown[]] => {
      const channel = (place.storage.channel as NonNullable<Place["storage"]["channel"]>)(name);
      const heard: unknown[] = [];
      channel.onmessage = ({ data }) => void heard.push(data);
      return [channel, heard];
    };
    const [[one, own], [other, heard], [far, foreign]] = [open("conformance"), open("conformance"), open("conformance-far")];
    // A channel over a network may need a moment until it hears.
    await again(() => {
      one.postMessage({ kind: "append", conversationId: "c" });
      return Promise.resolve(heard[0] ?? null);
    });
    same("what the other heard first", heard[0], { kind: "append", conversationId: "c" });
    same("what was heard by itself, and by one of another name", [own.length, foreign.length], [0, 0]);
    for (const channel of [one, other, far]) channel.close();
  },
};

/** What a call answers once it is not `null`; releasing and telling may take a moment. */
async function again<Answer>(call: () => Promise<Answer | null> | undefined): Promise<Answer | null> {
  for (const end = Date.now() + HEARING_MS; ; ) {
    const answer = (await call()) ?? null;
    if (answer !== null || Date.now() > end) return answer;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
