// What every log of sealed batches must do: for the one in memory and the one in PostgreSQL.

import assert from "node:assert/strict";

const entry = (number, length = 4) => new Uint8Array(length).fill(number);
const numbers = ({ entries }) => entries.map((bytes) => [bytes.length, bytes[0]]);
const chain = "ab".repeat(32);
const filled = async (log, count) => {
  for (let at = 0; at < count; at += 1) assert.equal(await log.append(at, entry(at + 1)), true);
  return log;
};

/** `open` makes a log that is empty. */
export const sealedLogCases = [
  {
    name: "entries come back in order, as they were, in pages of about so many bytes and at least one",
    async run(open) {
      const log = await open();
      assert.deepEqual(await log.read(0, 100), { entries: [], start: 0, length: 0 });
      await filled(log, 5);
      assert.equal(await log.append(5, entry(6, 1_000)), true);
      assert.deepEqual(numbers(await log.read(0, 9)), [[4, 1], [4, 2]]);
      assert.deepEqual(numbers(await log.read(2, 8)), [[4, 3], [4, 4]]);
      assert.deepEqual(numbers(await log.read(5, 8)), [[1_000, 6]]);
      assert.deepEqual(numbers(await log.read(4, 8)), [[4, 5]]);
      const { entries, length } = await log.read(6, 8);
      assert.deepEqual([entries, length], [[], 6]);
    },
  },
  {
    name: "an entry is added only where the log is exactly that long, whoever is first",
    async run(open) {
      const log = await filled(await open(), 2);
      for (const at of [0, 1, 3]) assert.equal(await log.append(at, entry(9)), false);
      const raced = await Promise.all([11, 12, 13, 14].map((number) => log.append(2, entry(number))));
      assert.equal(raced.filter(Boolean).length, 1);
      const { entries, length } = await log.read(0, 100);
      assert.deepEqual([entries.length, length], [3, 3]);
    },
  },
  {
    name: "what is cut off is gone, the numbers go on, and a cut that was made already changes nothing",
    async run(open) {
      const log = await filled(await open(), 6);
      await log.cut(4, chain);
      const rest = await log.read(0, 100);
      assert.deepEqual([numbers(rest), rest.start, rest.length, rest.chain], [[[4, 5], [4, 6]], 4, 6, chain]);
      for (const before of [4, 2, 0, 6, 7]) await log.cut(before, "cd".repeat(32));
      assert.deepEqual(await log.read(0, 100), rest);
      assert.equal(await log.append(6, entry(7)), true);
      assert.deepEqual(numbers(await log.read(5, 100)), [[4, 6], [4, 7]]);
    },
  },
];
