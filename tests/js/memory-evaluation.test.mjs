// The labelled conversations of tests/evaluation on the built package, with the scripted models and without vectors. The
// floors are what was measured, less a little: what falls below them is a loss that somebody has to explain. The whole
// evaluation is `npm run eval:memory`.
import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { evaluate } from "../evaluation/evaluation.mjs";
import { labelledUsers } from "../evaluation/labelled-set.mjs";
import { figures } from "../evaluation/retrieval.mjs";
import { tables } from "../evaluation/tables.mjs";

describe("the labelled set", () => {
  test("names only facts, messages and kinds that are there, and every fact is recognised by its own words and no trap's", () => {
    for (const user of labelledUsers()) {
      assert.ok(user.facts.size > 5 && user.traps.length > 5, user.id);
      for (const { fact, message, kind } of user.probes) {
        assert.ok(fact === undefined || user.facts.has(fact), `${user.id}: ${fact}`);
        assert.ok(message === undefined || user.places.has(message), `${user.id}: ${message}`);
        assert.ok(kind === "abstention" || fact !== undefined || message !== undefined, `${user.id}: a probe about nothing`);
      }
    }
  });
});
