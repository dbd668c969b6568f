// A process with some of the clients of the benchmark: it is told what to do by its parent, and tells times.
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { hashingEmbedder } from "../../bench/embedder.mjs";
import { timed } from "../../bench/timing.mjs";

const WINDOW = { window: 16_000, reserve: 2_000 };

process.once("message", async ({ address, clients, of, visits, rounds, users, made, each, asked }) => {
  const storage = postgresStorage({ connectionString: address, maxConnections: clients.length });
  const report = { times: { open: [], append: [], recall: [], buildContext: [] }, errors: [], found: 0, asked: 0 };
  const embedder = hashingEmbedder();

  /** Times a call; what fails is told and gives nothing. */
  async function note(name, call) {
    try {
      const [took, answer] = await timed(call);
      report.times[name].push(took);
      return answer;
    } catch (error) {
      report.errors.push(`${name}: ${error.code ?? error.message}`);
      return undefined;
    }
  }

  /** What is appended is of other users' talk, so that it is no better answer than what is looked for. */
  async function visit(number, questions, said) {
    const memory = await note("open", () => createMemory({ userId: `user ${number}`, storage, embedder }));
    if (memory === undefined) return;
    memory.on("error", ({ code }) => report.errors.push(`in the background: ${code}`));
    for (const [round, { query, target }] of questions.entries()) {
      await note("append", () => memory.append("c0", { role: "user", content: said[round % said.length].query }));
      const groups = await note("recall", () => memory.recall(query));
      report.asked += 1;
      const at = target % each;
      const [conversation, seq] = [`c${Math.floor(at / 500)}`, (at % 500) + 1];
      if (groups?.some(({ conversationId, hits }) => conversationId === conversation && hits.some((hit) => hit.seq === seq))) report.found += 1;
      await note("buildContext", () => memory.buildContext({ conversationId: "c0", question: query, retrieval: "always", ...WINDOW }));
    }
    await memory.settled();
    await memory.close();
  }

  const template = (number) => number % made;
  const ownOf = (number) => asked.filter(({ target }) => Math.floor(target / each) === template(number));
  const askable = Array.from({ length: users }, (_, number) => number).filter((number) => ownOf(number).length > 0);
  await Promise.all(clients.map(async (client) => {
    for (let count = 0; count < visits; count += 1) {
      const number = askable[(client + count * of) % askable.length];
      const [own, others] = [ownOf(number), asked.filter(({ target }) => Math.floor(target / each) !== template(number))];
      const round = client + count * rounds;
      await visit(number, Array.from({ length: rounds }, (_, more) => own[(round + more) % own.length]), others.slice(round % (others.length - rounds)));
    }
  }));
  await storage.end();
  process.send(report);
  process.disconnect();
});
