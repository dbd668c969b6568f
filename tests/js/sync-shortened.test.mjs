// A sealed log that is written anew: what was erased is gone from it, and no device misses anything.

import assert from "node:assert/strict";
import { test } from "node:test";
import { isMemoryError } from "throughline";
import { memoryLog, sealedLogHandler, syncMemory } from "throughline/sync";
import { START, chained, logKey, openBatch } from "../../dist/adapters/sync/log-seal.js";
import { random } from "./random.mjs";
import { sealedLogCases } from "./sealed-log-cases.mjs";
import { play } from "./sync-play.mjs";
import { carrier, normalForm, openStore, settle } from "./sync-support.mjs";

const first = Number(process.env.SYNC_FIRST ?? 1);
const seeds = Number(process.env.SYNC_SEEDS ?? 4);
const key = Uint8Array.from({ length: 32 }, (_, index) => index * 5);
const through = (log, fate) => carrier(sealedLogHandler({ logFor: () => log }), fate);
const user = (content, id) => ({ ...(id === undefined ? {} : { id }), role: "user", content });
const rejectsWith = (code) => (error) => isMemoryError(error, code);

for (const { name, run } of sealedLogCases) test(`a log in memory: ${name}`, () => run(async () => memoryLog()));

/** What a log says to those who have its key. */
async function opened(log) {
  const sealing = await logKey(key);
  const { entries, start, chain = START } = await log.read(0, Number.MAX_SAFE_INTEGER);
  const batches = [];
  for (let at = start, before = chain; at < start + entries.length; at += 1) {
    batches.push(await openBatch(sealing, entries[at - start], at, before));
    before = await chained(before, entries[at - start]);
  }
  return JSON.stringify(batches);
}

/** A log through which two devices have said something, and one of them has removed a message. */
async function withSomethingErased() {
  const [one, two] = [await openStore(), await openStore()];
  const log = memoryLog();
  const options = { exchange: through(log), key };
  await one.conversations.create({ id: "c" });
  await one.append("c", [user("Kept"), user("Secret", "s"), user("Behind")]);
  await one.facts.add({ fact: "Plays the cello" });
  await settle([one, two], options);
  await one.remove("c", "s");
  await settle([one, two], options);
  return { one, two, log, options };
}

test("written anew, the log has no byte of what was erased; devices that are there, behind and new come to the same", async () => {
  const { one, two, log, options } = await withSomethingErased();
  const behind = await openStore();
  await syncMemory(behind, options);
  await two.append("c", user("From two"));
  await syncMemory(two, options);
  await syncMemory(one, options);
  assert.ok((await opened(log)).includes("Secret"));
  const { sent } = await syncMemory(one, { ...options, compact: true });
  assert.deepEqual(sent, { conversations: 0, messages: 0 });
  assert.ok(!(await opened(log)).includes("Secret"));
  const { start, length } = await log.read(0, 1);
  assert.ok(start > 0 && start < length);
  const fresh = await openStore();
  for (const device of [two, behind, fresh]) await syncMemory(device, options);
  for (const device of [two, behind, fresh]) assert.deepEqual(await normalForm(device), await normalForm(one));
  assert.equal((await fresh.history("c")).length, 3);
  // Nothing new, nothing added; and what is said then goes on behind it.
  const before = (await log.read(0, 1)).length;
  for (const device of [one, two, behind, fresh]) await syncMemory(device, options);
  assert.equal((await log.read(0, 1)).length, before);
  await fresh.append("c", user("From the new one"));
  await settle([fresh, one, two, behind], options);
  for (const device of [one, two, behind]) assert.deepEqual(await normalForm(device), await normalForm(fresh));
});

test("cut anywhere, writing anew goes on with the next exchange", async () => {
  for (let cutAt = 1; ; cutAt += 1) {
    const { one, two, log, options } = await withSomethingErased();
    let carried = 0;
    const exchange = through(log, () => (++carried === cutAt ? (cutAt % 2 === 0 ? "lost" : "unanswered") : "whole"));
    const outcome = await syncMemory(one, { ...options, exchange, compact: true }).then(() => "whole", (error) => error.code);
    // Whoever was cut before it began asks again; from then on nobody needs to.
    const isBegun = (await one.changes.load("server"))?.rewriting !== undefined;
    await syncMemory(one, { ...options, compact: !isBegun && outcome !== "whole" });
    assert.ok(!(await opened(log)).includes("Secret"), `cut at message ${cutAt}`);
    const fresh = await openStore();
    await settle([fresh, two, one], options);
    for (const device of [two, fresh]) assert.deepEqual(await normalForm(device), await normalForm(one));
    if (outcome === "whole") return assert.ok(cutAt > 4);
    assert.equal(outcome, "exchange_failed");
  }
});

test("two devices that write it anew at once lose nothing", async () => {
  const { one, two, log, options } = await withSomethingErased();
  await two.append("c", user("From two"));
  await Promise.all([one, two].map((device) => syncMemory(device, { ...options, compact: true })));
  assert.ok(!(await opened(log)).includes("Secret"));
  const fresh = await openStore();
  await settle([one, two, fresh], options);
  for (const device of [two, fresh]) assert.deepEqual(await normalForm(device), await normalForm(one));
  assert.equal((await fresh.history("c")).length, 3);
});

test("everything erased, the log loses what was before it without being asked", async () => {
  const { one, two, log, options } = await withSomethingErased();
  await one.erase({ user: true });
  await syncMemory(one, options);
  const left = await opened(log);
  for (const word of ["Kept", "Secret", "cello"]) assert.ok(!left.includes(word), word);
  await settle([two, one], options);
  assert.deepEqual((await two.conversations.list()).items, []);
});

test("a log that has grown by much is written anew without being asked, and not again at once", async () => {
  const { one, two, log, options } = await withSomethingErased();
  for (let at = 0; at < 270; at += 1) {
    await one.notes.set("c", "plan", `note ${at}`);
    await syncMemory(one, options);
  }
  const { start, length } = await log.read(0, 1);
  assert.ok(start > 200 && length - start < 50, `${start} of ${length}`);
  assert.ok(!(await opened(log)).includes("Secret"));
  await syncMemory(two, options);
  assert.deepEqual(await normalForm(two), await normalForm(one));
});

test("a log that was cut where nobody had written everything anew is refused, and nothing of it taken", async () => {
  const { log, options } = await withSomethingErased();
  const sealing = await logKey(key);
  const { entries } = await log.read(0, Number.MAX_SAFE_INTEGER);
  assert.ok(entries.length > 1 && (await openBatch(sealing, entries[0], 0, START)) !== null);
  await log.cut(1, await chained(START, entries[0]));
  const fresh = await openStore();
  await assert.rejects(syncMemory(fresh, options), rejectsWith("storage_corrupt"));
  assert.deepEqual((await fresh.conversations.list()).items, []);
});

test("what is to be forgotten in a conversation that became temporary reaches devices that come later", async () => {
  const { one, two, options } = await withSomethingErased();
  const behind = await openStore();
  await settle([behind], options);
  await one.conversations.update("c", { remember: false });
  await syncMemory(one, { ...options, compact: true });
  for (const device of [two, behind]) await syncMemory(device, options);
  for (const device of [two, behind]) assert.equal((await device.conversations.get("c")).remember, false);
});

test("two devices come to the same through a log that is written anew now and then, whatever is cut, doubled or lost", async () => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    const log = memoryLog();
    const below = random(seed + 1_000);
    await play(seed, ({ one, two, fate }) => ({
      options: (isUnsteady) => ({ exchange: through(log, isUnsteady ? fate : undefined), key, compact: isUnsteady && below(3) === 0 }),
      everybody: [one, two],
    }));
  }
});
