/** Cases about get, scan and count, and about what comes back: text, bytes and keys as they were given. */

import type { RecordKey, RecordRange } from "../../types/external-storage.js";
import { STORES, compareKeys, record, same, type Examination, type Handle } from "./conformance-place.js";

/** Keys in the order of the port: it is written out here, and all else is compared with it. */
const ORDERED: readonly RecordKey[] = [
  [], [0], [2], [2, 0], [2, "a"], [10], [Number.MAX_SAFE_INTEGER], [""], ["\0"], ["10"], ["2"], ["A"], ["a"], ["a", 0], ["a", 10], ["a", 10, 1],
  ["a", 11], ["a", ""], ["a", "10"], ["a\0"], ["aa"], ["é"],
  // In UTF-16 it begins with D83D and so is before U+FF5E; in UTF-8 it is behind.
  ["😀"], ["😀", 1], ["\uff5e"], ["\uffff"],
];

/** Written in another order than they are read. */
async function putOrdered(handle: Handle): Promise<void> {
  const puts = ORDERED.map((key) => record("notes", key, "{}")).reverse();
  await handle.put(...puts.slice(9), ...puts.slice(0, 9));
}

/** Every range between keys that are there and some that are not, also such as hold nothing. */
function ranges(): Omit<RecordRange, "store">[] {
  const bounds = [undefined, [], [3], [10], ["a"], ["a", 10, 0], ["😀"], ["\uffff", 0]];
  return bounds.flatMap((lower) => bounds.flatMap((upper) => [true, false].map((lowerOpen) => ({
    lowerOpen, ...(lower !== undefined && { lower }), ...(upper !== undefined && { upper }),
  }))));
}

function isIn({ lower, lowerOpen, upper }: Omit<RecordRange, "store">, key: RecordKey): boolean {
  const low = lower === undefined ? 1 : compareKeys(key, lower);
  return (lowerOpen ? low > 0 : low >= 0) && (upper === undefined || compareKeys(key, upper) < 0);
}

/** The cases, by what is promised. */
export const READING: Record<string, Examination> = {
  "get answers in the order asked, with null where there is nothing": async (place) => {
    const handle = await place.open();
    await handle.put(record("facts", ["a"], "in a"), record("facts", ["b"], "in b"), record("meta", ["a"], "in meta"));
    const asked = [["facts", "b"], ["meta", "b"], ["meta", "a"], ["facts", "a"], ["facts", "b"]] as const;
    const seen = await handle.get(asked.map(([store, key]) => ({ store, key: [key] })));
    same("records", seen.map((found) => found?.body ?? null), ["in b", null, "in meta", "in a", "in b"]);
    same("records of no address", await handle.get([]), []);
  },

  "get of keys in a row, with gaps, twice and downwards": async (place) => {
    const handle = await place.open();
    const stored = [1, 2, 3, 5, 6, 9];
    await handle.put(...stored.map((seq) => record("messages", ["a", seq], String(seq))), record("messages", ["b", 4], "other"));
    for (const asked of [[1, 2, 3], [0, 1, 2, 3, 4, 5, 6, 7], [5, 6, 5, 6, 3, 2, 1], [3, 4, 5], [7, 8], [9, 10]]) {
      const seen = await handle.get(asked.map((seq) => ({ store: "messages", key: ["a", seq] })));
      same(`records of ${asked.join(" ")}`, seen.map((found) => found?.body ?? null), asked.map((seq) => (stored.includes(seq) ? String(seq) : null)));
    }
  },

  "keys are in order: numbers before text, text by UTF-16 code units, a shorter key before those it begins": async (place) => {
    const handle = await place.open();
    await putOrdered(handle);
    same("the whole store", await handle.keys("notes"), ORDERED);
    same("the whole store, reversed", await handle.keys("notes", { reverse: true }), [...ORDERED].reverse());
  },

  "scan and count keep to their bounds, in both directions": async (place) => {
    const handle = await place.open();
    same("records of an empty store", await handle.count("notes"), 0);
    await putOrdered(handle);
    for (const range of ranges()) {
      const expected = ORDERED.filter((key) => isIn(range, key));
      same(`keys of ${JSON.stringify(range)}`, await handle.keys("notes", range), expected);
      same(`keys of ${JSON.stringify(range)}, reversed`, await handle.keys("notes", { ...range, reverse: true }), [...expected].reverse());
      same(`count of ${JSON.stringify(range)}`, await handle.count("notes", range), expected.length);
    }
  },

  "scan answers no more than its limit, from the end where it is reversed": async (place) => {
    const handle = await place.open();
    await putOrdered(handle);
    for (const limit of [0, 1, 2, ORDERED.length, ORDERED.length + 1, 4_294_967_295]) {
      same(`the first ${limit}`, await handle.keys("notes", { limit }), ORDERED.slice(0, limit));
      same(`the last ${limit}`, await handle.keys("notes", { limit, reverse: true }), [...ORDERED].reverse().slice(0, limit));
    }
  },

  "stores are apart": async (place) => {
    const handle = await place.open();
    await handle.put(...STORES.map((store) => record(store, ["same"], `in ${store}`)));
    for (const store of STORES) {
      same(store, await handle.scan(store), [{ key: ["same"], record: { body: `in ${store}` } }]);
    }
  },

  "bodies come back to the letter, and a check knows them": async (place) => {
    const bodies = [
      "{}", "", "a\0b \\u0000", "{\"lone\":\"a\\ud800b\"}", "👩‍👩‍👧‍👦 e\u0301 \u202egpj", "[\ufeff\ufffd\uffff\u{10ffff}\u2028\ue000",
      "{\"__proto__\":{\"admin\":true},\"constructor\":1}", "{\"n\":9007199254740993,\"e\":1e999}", "no json \\ \" ' \n\r\t", " {\"b\":1, \"a\":2} ",
    ];
    const handle = await place.open();
    await handle.put(...bodies.map((body, number) => record("messages", [number], body)));
    const addresses = bodies.map((_body, number) => ({ store: "messages", key: [number] }));
    same("bodies read by key", (await handle.get(addresses)).map((found) => found?.body), bodies);
    same("bodies read by range", (await handle.scan("messages")).map(({ record: found }) => found.body), bodies);
    const checks = addresses.map((address, number) => ({ ...address, body: bodies[number] as string }));
    same("the answer of a commit that checks them", await handle.commit({ checks }), true);
  },

  "bytes come back as they were; no bytes and none are two things": async (place) => {
    const all = Uint8Array.from({ length: 256 }, (_, index) => index);
    const blobs = [undefined, new Uint8Array(), Uint8Array.of(0), all, all.subarray(3, 7), new Uint8Array(Float32Array.of(0.5, -0, Number.NaN, 3e38).buffer)];
    const handle = await place.open();
    for (const [number, blob] of blobs.entries()) {
      for (const former of [undefined, Uint8Array.of(9, 9, 9)]) {
        await handle.put(record("embeddings", ["c", number, 0], "{}", former));
        await handle.put(record("embeddings", ["c", number, 0], "{}", blob));
        const [found] = await handle.get([{ store: "embeddings", key: ["c", number, 0] }]);
        same(`bytes ${number} read by key`, found?.blob ?? null, blob ?? null);
      }
    }
    same("bytes read by range", (await handle.scan("embeddings")).map(({ record: found }) => found.blob ?? null), blobs.map((blob) => blob ?? null));
  },

  "a megabyte of text and one of bytes": async (place) => {
    const text = "abc é漢😀 ".repeat(125_000);
    const blob = Uint8Array.from({ length: 1_000_000 }, (_, index) => index % 251);
    const handle = await place.open();
    await handle.put(record("segment_chunks", ["big", 0], text, blob));
    const [found] = await handle.get([{ store: "segment_chunks", key: ["big", 0] }]);
    same("whether both are as they were", [found?.body === text, found?.blob?.length, found?.blob?.every((byte, index) => byte === index % 251)], [true, 1_000_000, true]);
  },

  "keys are of any text, and numbers exact": async (place) => {
    const texts = ["", "\0", "a\0", "/", "../a", "a/b", "constructor", "__proto__", "😀", "\ufffd", "a,b", "%", "_", "a'b", " ", "x".repeat(2_000)];
    const numbers = [0, 1, 255, 256, 2 ** 31, 2 ** 32 - 1, 2 ** 32, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER];
    const keys: RecordKey[] = [...texts.map((text) => ["in", text]), ...numbers.map((number) => ["in", number])];
    const handle = await place.open();
    await handle.put(...keys.map((key) => record("conversations", key, JSON.stringify(key))));
    same("all keys", await handle.keys("conversations"), [...keys].sort(compareKeys));
    for (const key of keys) same(`the record of ${JSON.stringify(key).slice(0, 40)}`, await handle.body("conversations", key), JSON.stringify(key));
  },
};
