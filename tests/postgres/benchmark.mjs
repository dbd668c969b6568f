// What scripts/bench-postgres.mjs measures: where the package finds its libraries.
import { createMemory, memoryStorage } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { hashingEmbedder } from "throughline/testing";

const shown = (name, times, { p50, p95 }) => ({ call: name, runs: times.length, "p50 ms": p50.toFixed(1), "p95 ms": p95.toFixed(1) });

/** Rows of a table. */
export async function benchmark({ address, corpus, clients, rounds, batch, conversation, timed, summary }) {
  const rows = [];
  const storage = postgresStorage({ connectionString: address, maxConnections: clients });
  for (const [where, kept] of [["PostgreSQL", storage], ["in memory", memoryStorage()]]) {
    const note = (name, times) => rows.push(shown(`${where}: ${name}`, times, summary(times)));
    const options = (userId) => ({ userId, storage: kept, tokenizer: "estimate", embedder: hashingEmbedder() });
    const memory = await createMemory(options("one"));
    const batches = [];
    for (let at = 0; at < corpus.texts.length; at += batch) {
      const id = `c${Math.floor(at / conversation)}`;
      if (at % conversation === 0) await memory.conversations.create({ id });
      const list = corpus.texts.slice(at, at + batch).map((content, index) => ({ role: index % 2 === 0 ? "user" : "assistant", content }));
      batches.push((await timed(() => memory.append(id, list)))[0]);
    }
    note(`append of ${batch}`, batches);
    await memory.settled();
    const times = { append: [], recall: [], buildContext: [] };
    for (const { query } of corpus.asked.slice(0, rounds)) {
      times.append.push((await timed(() => memory.append("c0", { role: "user", content: query })))[0]);
      await memory.settled();
      times.recall.push((await timed(() => memory.recall(query)))[0]);
      times.buildContext.push((await timed(() => memory.buildContext({ conversationId: "c0", question: query, window: 16_000, reserve: 2_000 })))[0]);
    }
    for (const [name, list] of Object.entries(times)) note(name, list);
    const opening = [];
    for (let round = 0; round < 5; round += 1) {
      const [took, opened] = await timed(async () => {
        const again = await createMemory(options("one"));
        await again.recall(corpus.asked[round].query);
        return again;
      });
      opening.push(took);
      await opened.close();
    }
    note("open and first recall", opening);
    await memory.close();
    const users = await Promise.all(Array.from({ length: clients }, (_, user) => createMemory(options(`user ${user}`))));
    await Promise.all(users.map((each) => each.conversations.create({ id: "c" })));
    const begin = performance.now();
    const together = (await Promise.all(users.map(async (each, user) => {
      const took = [];
      for (let round = 0; round < rounds; round += 1) took.push((await timed(() => each.append("c", { role: "user", content: corpus.texts[user * rounds + round] })))[0]);
      return took;
    }))).flat();
    const seconds = (performance.now() - begin) / 1000;
    note(`append, ${clients} users at once (${Math.round(together.length / seconds)} a second)`, together);
    await Promise.all(users.map((each) => each.close()));
  }
  await storage.end();
  return rows;
}
