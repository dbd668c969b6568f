// A chat of eight hours (spec R11): so many turns in one page, each an append, a context and an answer, with everything that goes on
// behind them (vectors, summaries, facts, segments). What JavaScript holds after garbage collection must not grow; the memory of
// WebAssembly has the index in it and grows with the messages.
//
//   node bench/long-chat.mjs [--turns 5000] [--looks 10]
//
// Build the package first.

import { loadavg } from "node:os";
import { parseArgs } from "node:util";
import { main } from "../scripts/toolchain.mjs";
import { onEachBackEnd } from "./back-ends.mjs";
import { watchPageHeap } from "./heap.mjs";

const PAGE = String.raw`
  import { createMemory, indexedDbStorage } from "/throughline/index.js";
  import { Random } from "/random.js";
  const random = new Random(7);
  const WORDS = Array.from({ length: 4000 }, (_, index) => "w" + index.toString(36) + "abcdefghij"[index % 10]);
  const text = () => Array.from({ length: 30 }, () => random.of(WORDS)).join(" ");
  const vector = (text) => { const own = new Random(text.length * 7919 + text.charCodeAt(1)); return Float32Array.from({ length: 64 }, () => own.next() - 0.5); };
  const embedder = { id: "made-up", dimensions: 64, embed: async (texts) => texts.map(vector) };
  const calls = {};
  const languageModel = {
    contextWindow: 32_000,
    generate: async ({ purpose, messages }) => {
      calls[purpose] = (calls[purpose] ?? 0) + 1;
      const told = messages[0].content.match(/w[0-9a-z]+/g)?.slice(-20).join(" ") ?? "";
      return purpose === "extract" ? { facts: [] } : purpose === "judge" ? { operations: [] } : { goal: ["Go on"], confirmed: [told], summary: told };
    },
  };
  let turn = 0;
  const begin = Date.UTC(2026, 0, 5, 9);
  const memory = await createMemory({
    userId: "bench", tokenizer: "estimate", embedder, languageModel, clock: () => begin + turn * 5_760, storage: indexedDbStorage({ name: "long" }),
  });
  const { id } = await memory.conversations.create();
  globalThis.turns = async (count) => {
    for (const last = turn + count; turn < last; turn += 1) {
      const content = text();
      await memory.append(id, { role: "user", content });
      await memory.buildContext({ conversationId: id });
      await memory.append(id, { role: "assistant", content: text() });
    }
    await memory.settled();
    const { wasmBytes, vectors, summarizedUntilSeq } = { ...(await memory.stats()), ...(await memory.summary(id)) };
    return { wasmBytes, vectors, summarizedUntilSeq, messages: (await memory.stats()).messages, calls };
  };
  document.title = "ready";
`;

await main(async () => {
  const { values } = parseArgs({ options: { turns: { type: "string", default: "5000" }, looks: { type: "string", default: "10" } } });
  const [turns, looks] = [Number(values.turns), Number(values.looks)];
  await onEachBackEnd(PAGE, async (title, run, page) => {
    const heap = await watchPageHeap(page);
    const mb = (bytes) => (bytes / 1e6).toFixed(2);
    const seen = [];
    console.log(`\n${title}\n\n| turns | JavaScript MB | WebAssembly MB | messages, vectors, summarised |\n| --- | --- | --- | --- |`);
    for (let look = 1; look <= looks; look += 1) {
      const { wasmBytes, messages, vectors, summarizedUntilSeq, calls } = await run("turns", turns / looks);
      seen.push(await heap.bytes());
      console.log(`| ${(turns / looks) * look} | ${mb(seen.at(-1))} | ${mb(wasmBytes)} | ${messages}, ${vectors}, ${summarizedUntilSeq} |`);
      if (look === looks) console.log(`calls of the model: ${JSON.stringify(calls)}`);
    }
    console.log(`grown after the first ${turns / looks} turns: ${((seen.at(-1) / seen[0] - 1) * 100).toFixed(1)} % (load ${loadavg()[0].toFixed(1)})`);
  });
});
