/** Cases about what a commit does, and what it leaves alone. */

import type { KeyedRecord, RecordCommit, RecordKey } from "../../types/external-storage.js";
import { compareKeys, record, same, together, type Examination, type Handle } from "./conformance-place.js";

/** The range of keys that begin with a prefix, as the engine asks for it. */
function under(store: string, prefix: RecordKey): RecordCommit["deleteRanges"][number] {
  if (prefix.length === 0) return { store, lowerOpen: false };
  const last = prefix[prefix.length - 1] as string | number;
  const after = typeof last === "number" ? last + 1 : `${last}\0`;
  return { store, lower: prefix, lowerOpen: false, upper: [...prefix.slice(0, -1), after] };
}

/** Everything that the cases write, to see that nothing changed. */
async function everything(handle: Handle): Promise<KeyedRecord[]> {
  const lists = [await handle.scan("meta"), await handle.scan("facts"), await handle.scan("messages")];
  return lists.flat();
}

/** The cases, by what is promised. */
export const COMMITS: Record<string, Examination> = {
  "a check that does not hold leaves everything as it was, strict or not": async (place) => {
    const handle = await place.open();
    await handle.put(record("meta", ["counter"], "{\"n\":1}"), record("facts", ["f1"], "x"), record("messages", ["c", 1], "1"), record("messages", ["c", 2], "2"));
    const before = await everything(handle);
    const writes = {
      puts: [record("meta", ["counter"], "{\"n\":2}"), record("facts", ["f2"], "y")],
      deletes: [{ store: "facts", key: ["f1"] }],
      deleteRanges: [under("messages", ["c"])],
    };
    const holding = { store: "meta", key: ["counter"], body: "{\"n\":1}" };
    const failing = [...["{\"n\":2}", "{\"n\": 1}", "", null].map((body) => ({ ...holding, body })), { store: "facts", key: ["f9"], body: "" }];
    for (const fails of failing) {
      for (const checks of [[holding, fails], [fails, holding], [fails]]) {
        for (const strict of [false, true]) {
          same(`the answer of a commit that checks ${JSON.stringify(fails)}`, await handle.commit({ ...writes, checks, strict }), false);
          same("everything after it", await everything(handle), before);
        }
      }
    }
    same("the answer where all hold", await handle.commit({ ...writes, checks: [holding, { store: "facts", key: ["f2"], body: null }], strict: true }), true);
    same("everything after it", await everything(handle), [{ key: ["counter"], record: { body: "{\"n\":2}" } }, { key: ["f2"], record: { body: "y" } }]);
  },

  "a check of absence holds once, and again after a removal": async (place) => {
    const handle = await place.open();
    const address = { store: "message_ids", key: ["c", "m1"] };
    const first = { checks: [{ ...address, body: null }], puts: [{ ...address, record: { body: "1" } }] };
    same("the first writer", await handle.commit(first), true);
    same("the second writer", await handle.commit(first), false);
    same("removing it", await handle.commit({ deletes: [address] }), true);
    same("the first writer after that", await handle.commit(first), true);
  },

  "checks look at what was there before the commit": async (place) => {
    const handle = await place.open();
    const address = { store: "meta", key: ["k"] };
    await handle.put({ ...address, record: { body: "1" } });
    const commit = { checks: [{ ...address, body: "1" }], deleteRanges: [under("meta", ["k"])], deletes: [address], puts: [{ ...address, record: { body: "2" } }] };
    same("the answer", await handle.commit(commit), true);
    same("the record", await handle.body("meta", ["k"]), "2");
  },

  "ranges are removed, then single records, then records are put, the later of two": async (place) => {
    const handle = await place.open();
    await handle.put(...[0, 1, 2, 3].map((number) => record("segment_chunks", ["s", number], "old", Uint8Array.of(1))));
    const commit = {
      puts: [record("segment_chunks", ["s", 0], "new"), record("segment_chunks", ["s", 1], "first", Uint8Array.of(2)), record("segment_chunks", ["s", 1], "second")],
      deletes: [{ store: "segment_chunks", key: ["s", 0] }, { store: "segment_chunks", key: ["none"] }],
      deleteRanges: [under("segment_chunks", ["s"]), under("segment_chunks", ["none"])],
    };
    same("the answer", await handle.commit(commit), true);
    same("all records", await handle.scan("segment_chunks"), [{ key: ["s", 0], record: { body: "new" } }, { key: ["s", 1], record: { body: "second" } }]);
  },

  "a range is removed to its bounds, and in its store only": async (place) => {
    const handle = await place.open();
    const keys: RecordKey[] = [[], [1], ["a"], ["a", 1], ["a", 1, 2], ["a", 2], ["a", "x"], ["a\0"], ["ab"], ["😀"]];
    for (const [store, prefix] of [["notes", ["a", 1]], ["notes", ["a"]], ["notes", ["none"]], ["notes", []], ["episodes", []]] as const) {
      await handle.put(...keys.map((key) => record("notes", key, "{}")), record("jobs", ["a", 1], "{}"));
      same("the answer", await handle.commit({ deleteRanges: [under(store, prefix)] }), true);
      const left = keys.filter((key) => store !== "notes" || compareKeys(key.slice(0, prefix.length), prefix) !== 0);
      same(`keys without those of ${store} ${JSON.stringify(prefix)}`, await handle.keys("notes"), [...left].sort(compareKeys));
      same("records of another store", await handle.count("jobs"), 1);
    }
    await handle.put(...keys.map((key) => record("notes", key, "{}")));
    await handle.commit({ deleteRanges: [{ store: "notes", lower: ["a"], lowerOpen: true, upper: ["ab"] }] });
    same("keys without what is behind a and before ab", await handle.keys("notes"), [[], [1], ["a"], ["ab"], ["😀"]]);
  },

  "a commit of nothing, or of checks alone": async (place) => {
    const handle = await place.open();
    for (const strict of [false, true]) same("of nothing", await handle.commit({ strict }), true);
    same("of a check that holds", await handle.commit({ checks: [{ store: "meta", key: ["none"], body: null }] }), true);
    same("of one that does not", await handle.commit({ checks: [{ store: "meta", key: ["none"], body: "" }] }), false);
  },

  "five hundred records in one commit": async (place) => {
    const handle = await place.open();
    const numbers = Array.from({ length: 500 }, (_, number) => number);
    await handle.put(...[...numbers].reverse().map((number) => record("messages", ["c", number], String(number))));
    const found = await handle.scan("messages", { lower: ["c", 100], upper: ["c", 400] });
    same("three hundred of them", found.map(({ record: { body } }) => body), numbers.slice(100, 400).map(String));
    const got = await handle.get(numbers.map((number) => ({ store: "messages", key: ["c", number] })));
    same("all of them by key", got.map((each) => each?.body), numbers.map(String));
  },

  "what one commit wrote is seen together, or not at all": async (place) => {
    const [writer, reader] = [await place.open(), await place.open()];
    const addresses = ["first", "last"].map((key) => ({ store: "meta", key: [key] }));
    const write = async (round: number): Promise<void> => writer.put(...addresses.map((address) => ({ ...address, record: { body: String(round) } })));
    await write(0);
    let isWriting = true;
    const writing = async (): Promise<void> => {
      for (let round = 1; round <= 40 && isWriting; round += 1) await write(round);
      isWriting = false;
    };
    const reading = async (): Promise<void> => {
      while (isWriting) {
        const [first, last] = await reader.get(addresses);
        same("two records of one commit", first?.body, last?.body);
        const [one, other] = await reader.scan("meta");
        same("the same by range", one?.record.body, other?.record.body);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
    };
    await together(writing(), reading().finally(() => (isWriting = false)));
  },
};
