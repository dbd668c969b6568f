// The store over PostgreSQL against a plain model, on connections that are lost at random. `PLAY_SEEDS` plays more, from `PLAY_FIRST` on.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { postgresStorage } from "../../dist/adapters/postgres.js";
import { random } from "../js/random.mjs";
import { openPglite, tablesWith } from "./pglite.mjs";
import { play } from "./play.mjs";

const first = Number(process.env.PLAY_FIRST ?? 1);
const seeds = Number(process.env.PLAY_SEEDS ?? 3);

let fate = () => 1;
let lost = 0;
/** A connection is lost now and then, before or after what was asked; what is asked once more gets through. */
let isAgain = false;
const { database, pool } = await openPglite(() => {
  isAgain = !isAgain && fate(12) === 0;
  if (!isAgain) return undefined;
  lost += 1;
  return fate(2) === 0 ? "before" : "after";
});
after(() => database.close());

for (const search of ["database", "engine"]) {
  test(`two memories of a user do what a plain model does, though connections are lost; search in the ${search}`, { timeout: 600_000 }, async () => {
    lost = 0;
    const storage = postgresStorage({ pool, ...(search === "engine" ? { search } : {}) });
    for (let seed = first; seed < first + seeds; seed += 1) {
      fate = random(seed + 1_000_000);
      await play(seed, storage);
      fate = () => 1;
      assert.deepEqual(await tablesWith(database, "(word|thing)[0-9]+"), [], "what is left after the user's end");
    }
    assert.ok(lost > 10 * seeds, `${lost} lost connections`);
  });
}
