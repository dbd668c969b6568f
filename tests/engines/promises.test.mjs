// What the storage promises beside surviving a kill, in every engine: tabs of one user, erasure, databases of older releases,
// damage that is told, private windows, backups, and that all is there again. `tests/e2e` has more of each, in Chromium alone.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, rmSync } from "node:fs";
import { describe, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Bench } from "./crash.mjs";
import { MARKERS } from "./markers.js";
import { storeFiles } from "./power-cut.mjs";
import { filesIn } from "./profile-scan.mjs";
import { EXPECTED_SEALED, expectedOfRelease } from "./release.js";
import { ENGINES } from "./runs.mjs";

const folder = new URL("../releases/", import.meta.url);
const releases = readdirSync(folder).map((file) => JSON.parse(readFileSync(new URL(file, folder), "utf8")));

/** Whether everything goes with the window, as each engine lets it be told: `null` is what it does not. */
const EPHEMERAL = {
  // Chromium keeps no difference that a page could see.
  "chromium-leveldb": { usual: null, private: null },
  "chromium-sqlite": { usual: null, private: null },
  firefox: { usual: false, private: true },
  // WebKitGTK has no private file system of the origin, which is what would be refused there.
  webkit: { usual: null, private: null },
};
/**
 * Firefox writes what localStorage was given once the page has left it alone for 5 seconds, and 5 seconds later, by its source;
 * a signal ends it at once.
 */
const WRITTEN_MS = 15_000;
const SAID = 40;
const ROUNDS = 15;
const KEPT = 30;

async function within(name, work, how) {
  const bench = await Bench.open(name);
  try {
    bench.start(how);
    await work(bench);
  } finally {
    await bench.close();
  }
}

/** The browser is closed as people close it, and started again. */
async function restarted(bench, { meanwhile = () => undefined, ...how } = {}) {
  await bench.browser.close();
  bench.station.forget();
  meanwhile();
  bench.start(how);
}

const sorted = (numbers) => [...numbers].sort((one, other) => one - other);
const upTo = (count) => Array.from({ length: count }, (_, index) => index + 1);

for (const name of ENGINES) {
  describe(name, () => {
    test("two tabs of one user: appends never collide, each shows the other's, no summary is lost, and all is there again", (context) =>
      within(name, async (bench) => {
        const [one, other] = ["first", "second"].map((tab) => (job) => bench.job(job, { tab }));
        await one({ kind: "openTab", tab: "second" });
        for (const tab of [one, other]) await tab({ kind: "follow", userId: "tabs" });
        await one({ kind: "create", id: "c" });

        const said = await Promise.all([[one, "one"], [other, "other"]].map(([tab, from]) => tab({ kind: "say", id: "c", from, count: SAID })));
        const stored = said.flatMap(({ stored: own }) => own);
        assert.deepEqual(sorted(stored.map(([, seq]) => seq)), upTo(2 * SAID));
        const inOrder = stored.sort(([, one], [, other]) => one - other).map(([id]) => id);
        for (const tab of [one, other]) assert.deepEqual((await tab({ kind: "hear", id: "c", count: SAID })).ids, inOrder);

        const lateMs = [];
        for (let number = 1; number <= 10; number += 1) {
          const hearing = other({ kind: "hear", id: "c", count: SAID + number });
          const { stored: [[id]], at } = await one({ kind: "say", id: "c", from: `late-${number}`, count: 1 });
          const shown = await hearing;
          assert.equal(shown.ids.at(-1), id);
          lateMs.push(shown.at - at);
        }
        context.diagnostic(`the other tab shows a message at most ${Math.max(...lateMs)} ms after it was stored`);

        const told = await Promise.all([one, other].map((tab) => tab({ kind: "summarise", id: "c", rounds: ROUNDS })));
        const { version, ids } = await one({ kind: "state", id: "c" });
        // Each version was made by one of them, and none twice; who was refused is told so by its name.
        assert.deepEqual(sorted(told.flatMap(({ versions }) => versions)), upTo(version));
        assert.deepEqual(told.flatMap(({ codes }) => codes).filter((code) => code !== "storage_conflict"), []);
        assert.ok(version >= ROUNDS, `${version} summaries`);
        assert.equal(ids.length, 2 * SAID + 10 + 2 * ROUNDS);
        for (const tab of [one, other]) await tab({ kind: "close" });

        await restarted(bench);
        await one({ kind: "follow", userId: "tabs" });
        assert.deepEqual(await one({ kind: "state", id: "c" }), { version, ids });
      }));

    test(`of ${MARKERS} markers none is in any store once its message, its conversation or all was erased`, (context) =>
      within(name, async (bench) => {
        const seed = crypto.getRandomValues(new Uint32Array(1))[0];
        await bench.job({ kind: "fillMarked", seed });
        const inStores = () => bench.job({ kind: "markersInStores", seed });
        const before = await inStores();
        assert.ok(before.length >= 100, `only ${before.length} markers were found in the stores before`);
        const isGone = (index) => !before.includes(index);
        const left = async (erased) => {
          const found = await inStores();
          assert.deepEqual(found.filter((index) => erased.includes(index)), []);
          return found;
        };

        // Words that the conversation alone has, its title, ids, notes and vector.
        const ofConversation = [0, 10, 20, 30, 40, 50, 85];
        assert.deepEqual(ofConversation.filter(isGone), []);
        const remains = await bench.job({ kind: "erase", seed, conversation: 40 });
        assert.ok(remains.includes("browser_files"), JSON.stringify(remains));
        const ofOthers = await left(ofConversation);
        context.diagnostic(`${before.length} before, ${ofOthers.length} once a conversation was erased`);
        // No other conversation lost a word.
        assert.deepEqual([1, 2, 11, 31, 41, 52, 86].filter((index) => !ofOthers.includes(index)), []);
        await bench.job({ kind: "erase", seed, message: 52 });
        const rest = await left([...ofConversation, 2, 52]);
        assert.ok(rest.includes(12) && rest.includes(42), "the conversation's other messages stay");
        await bench.job({ kind: "erase", seed });
        assert.deepEqual(await inStores(), []);
        await bench.job({ kind: "close" });
        await restarted(bench);
        assert.deepEqual(await inStores(), [], "nor once the browser was started again");
      }));

    for (const release of releases) {
      test(`what ${release.name} stored opens, is found and goes on`, () =>
        within(name, async (bench) => {
          const { read, sealed } = await bench.job({ kind: "release", release });
          assert.deepEqual(read, expectedOfRelease(release));
          if (release.sealed !== undefined) assert.deepEqual(sealed, EXPECTED_SEALED);
        }));
    }

    test("what was lost is told, with counts, and never a silent new start", () =>
      within(name, async (bench) => {
        const job = (kind, userId, more = {}) => bench.job({ kind, userId, ...more });
        const assertTold = async (userId, kind, lost, more) => {
          const { code, details } = await job("read", userId, more);
          assert.deepEqual([code, details?.kind, details?.lost], ["storage_corrupt", kind, lost], userId);
          // Nothing was changed by looking: it is told again.
          assert.equal((await job("read", userId, more)).code, "storage_corrupt", userId);
          return (await job("read", userId, { ...more, onDataLoss: "open" })).done;
        };
        const users = ["calm", "removed", "underneath", "record", "files"];
        for (const userId of users) await job("fill", userId, { count: KEPT });
        assert.deepEqual((await job("read", "calm")).done, { messages: KEPT, verified: null, damage: null });

        await job("removeDatabase", "removed");
        assert.equal((await assertTold("removed", "removed", KEPT)).messages, 0);

        assert.equal((await job("removeUnderneath", "underneath")).code, "storage_unavailable");
        await assertTold("underneath", "removed", KEPT);

        await job("removeMessage", "record", { seq: 7 });
        const rest = await job("read", "record", { onDataLoss: "open" });
        assert.deepEqual([rest.done.verified?.kind, rest.done.verified?.missing], ["damaged", 1]);

        // What the browser has on disk of all of them goes while it is closed; what it keeps for the site beside stays.
        await pause(WRITTEN_MS);
        await restarted(bench, { meanwhile: () => {
          const files = storeFiles(name, bench.profile);
          assert.ok(files.size > 0, "the store's files were found");
          for (const path of files.keys()) rmSync(path);
        } });
        assert.equal((await assertTold("files", "removed", KEPT)).messages, 0);

        // Everything of the site goes: only the app's own place can know.
        const { hint } = await job("fill", "hinted", { count: KEPT });
        assert.ok(!hint.includes("nobody may lose") && !hint.includes("hinted"), hint);
        await restarted(bench, { meanwhile: () => rmSync(bench.profile, { recursive: true, maxRetries: 5, retryDelay: 200 }) });
        await assertTold("hinted", "removed", KEPT, { hint });
      }));

    for (const isPrivate of [false, true]) {
      test(`${isPrivate ? "a private" : "a usual"} window: what is kept is there, and it is told what can be told`, () =>
        within(name, async (bench) => {
          const { ephemeral, partitioned, told, length } = await bench.job({ kind: "surroundings", userId: "window" });
          assert.deepEqual([length, ephemeral, partitioned], [1, EPHEMERAL[name][isPrivate ? "private" : "usual"], false]);
          assert.equal(told.includes("ephemeral"), ephemeral === true);
          if (!isPrivate) return;
          let plain;
          await restarted(bench, { isPrivate, meanwhile: () => {
            plain = [...filesIn(bench.profile)].filter(({ bytes }) => bytes.includes("kept while the window is open"));
          } });
          assert.deepEqual(plain.map(({ path }) => path), [], "it leaves no text behind");
          const { done } = await bench.job({ kind: "read", userId: "window" });
          assert.deepEqual(done, { messages: 0, verified: null, damage: null }, "what went with the window is not called lost");
        }, { isPrivate }));
    }

    test("exported, imported and exported again, it is the same byte for byte", () =>
      within(name, async (bench) => {
        const { digests, imported, messages, unchanged } = await bench.job({ kind: "backup", count: 300 });
        assert.deepEqual({ imported, messages, unchanged }, { imported: 2, messages: 602, unchanged: 2 });
        assert.equal(digests[0], digests[1]);
      }));
  });
}
