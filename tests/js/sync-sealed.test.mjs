// Devices that exchange through a log which the server cannot read.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isMemoryError } from "throughline";
import { memoryLog, sealedLogHandler, syncMemory } from "throughline/sync";
import { play } from "./sync-play.mjs";
import { carrier, normalForm, openStore } from "./sync-support.mjs";

const first = Number(process.env.SYNC_FIRST ?? 1);
const seeds = Number(process.env.SYNC_SEEDS ?? 4);
const key = Uint8Array.from({ length: 32 }, (_, index) => index * 7);
const through = (log, fate) => carrier(sealedLogHandler({ logFor: () => log }), fate);
const user = (content) => ({ role: "user", content });
const rejectsWith = (code) => (error) => isMemoryError(error, code);

/** A log whose entries a server can tamper with. */
function openLog() {
  const log = memoryLog();
  const entries = [];
  return {
    entries,
    read: async (from) => ({ entries: entries.slice(from), length: entries.length }),
    append: async (at, entry) => (await log.append(at, entry)) && entries.push(entry) > 0,
  };
}

test("two devices come to the same through a log that holds no word of it", async () => {
  const [one, two] = [await openStore(), await openStore()];
  const log = openLog();
  const options = { exchange: through(log), key };
  await one.conversations.create({ id: "c", title: "Kingfishers" });
  await one.append("c", user("Which colour has the kingfisher?"));
  assert.deepEqual((await syncMemory(one, options)).sent, { conversations: 1, messages: 1 });
  assert.deepEqual((await syncMemory(two, options)).received, { conversations: 1, messages: 1 });
  await two.append("c", { role: "assistant", content: "Turquoise." });
  await one.conversations.update("c", { title: "Birds" });
  for (const device of [two, one, two]) await syncMemory(device, options);
  assert.deepEqual(await normalForm(two), await normalForm(one));
  assert.deepEqual((await one.history("c")).length, 2);
  const stored = Buffer.concat(log.entries).toString("latin1");
  for (const word of ["kingfisher", "Birds", "Turquoise", "pieces"]) assert.ok(!stored.includes(word));
  // Nothing new, nothing added.
  const { length } = log.entries;
  for (const device of [one, two]) await syncMemory(device, options);
  assert.equal(log.entries.length, length);
  await one.erase({ user: true });
  for (const device of [one, two]) await syncMemory(device, options);
  assert.deepEqual((await two.conversations.list()).items, []);
  const late = await openStore();
  await late.conversations.create({ id: "late" });
  for (const device of [late, one]) await syncMemory(device, options);
  assert.deepEqual((await one.conversations.list()).items.map(({ id }) => id), ["late"]);
});

test("a log that was cut, changed, put in another order or played again is noticed, and another key told", async () => {
  const tampered = {
    cut: (entries) => entries.splice(1),
    changed: (entries) => (entries[2] = entries[2].map((byte, index) => (index === 40 ? byte ^ 1 : byte))),
    swapped: (entries) => entries.splice(1, 2, entries[2], entries[1]),
    "left out": (entries) => entries.splice(1, 1),
    "played again": (entries) => entries.splice(2, 0, entries[1]),
  };
  for (const [how, tamper] of Object.entries(tampered)) {
    const [one, two] = [await openStore(), await openStore()];
    const log = openLog();
    const options = { exchange: through(log), key };
    for (const id of ["a", "b", "c"]) {
      await one.conversations.create({ id });
      await syncMemory(one, options);
      if (id === (how === "cut" ? "b" : "a")) await syncMemory(two, options);
    }
    assert.equal(log.entries.length, 3);
    tamper(log.entries);
    await assert.rejects(syncMemory(two, options), rejectsWith("storage_corrupt"), how);
    // Nothing of it was taken, and the device goes on alone.
    assert.deepEqual((await two.conversations.list()).items.map(({ id }) => id).sort(), how === "cut" ? ["a", "b"] : ["a"]);
  }
  const log = openLog();
  const [one, two] = [await openStore(), await openStore()];
  await one.conversations.create({ id: "a" });
  await syncMemory(one, { exchange: through(log), key });
  await assert.rejects(syncMemory(two, { exchange: through(log), key: new Uint8Array(32) }), rejectsWith("storage_key_wrong"));
  await assert.rejects(syncMemory(two, { exchange: through(log), key: new Uint8Array(31) }), rejectsWith("invalid_argument"));
});

test("two devices come to the same through a log, whatever is cut, doubled or lost", async () => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const log = memoryLog();
    await play(seed, ({ one, two, fate }) => ({
      options: (isUnsteady) => ({ exchange: through(log, isUnsteady ? fate : undefined), key }),
      everybody: [one, two],
    }));
  }
});
