// Two devices and a server: random work, partitions, cuts; in the end all have the same, nothing is lost, nothing returns.

import { test } from "node:test";
import { play } from "./sync-play.mjs";
import { exchangeWith } from "./sync-support.mjs";

const first = Number(process.env.SYNC_FIRST ?? 1);
const seeds = Number(process.env.SYNC_SEEDS ?? 12);

test("two devices and a server come to the same, whatever is cut, doubled or lost", async () => {
  for (let seed = first; seed < first + seeds; seed += 1) {
    await play(seed, ({ one, two, server, fate }) => ({
      options: (isUnsteady) => ({ exchange: exchangeWith(server, isUnsteady ? fate : undefined) }),
      everybody: [one, two, server],
    }));
  }
});
