// What encryption at rest costs: two memories in one page, one with a key, asked for the same by turns, on both of
// Chromium's IndexedDB back ends.
//
//   node bench/encryption.mjs [--appends 400] [--messages 10000] [--opens 5] [--conversations 2000]
//
// Build the package first. The last columns are what the key adds, in percent or milliseconds.

import { parseArgs } from "node:util";
import { main } from "../scripts/toolchain.mjs";
import { at, onEachBackEnd, shown } from "./back-ends.mjs";

const PAGE = String.raw`
  import { createMemory, indexedDbStorage } from "/throughline/index.js";
  import { holdKey } from "/throughline/storage-key.js";
  import { StoreLock } from "/throughline/store-lock.js";
  import { timed } from "/timing.js";
  import { Random } from "/random.js";
  const random = new Random(7);
  const WORDS = Array.from({ length: 4000 }, (_, index) => "w" + index.toString(36) + "abcdefghij"[index % 10]);
  const text = () => Array.from({ length: 26 }, () => random.of(WORDS)).join(" ");
  const key = crypto.getRandomValues(new Uint8Array(32));
  const vector = (text) => { const own = new Random(text.length * 7919 + text.charCodeAt(1)); return Float32Array.from({ length: 384 }, () => own.next() - 0.5); };
  const embedder = { id: "made-up", dimensions: 384, embed: async (texts) => texts.map(vector) };
  const openOne = (sealed, options = {}) => createMemory({ userId: "bench", tokenizer: "estimate", ...options, storage: indexedDbStorage({ name: sealed ? "sealed" : "plain", ...(sealed ? { key } : {}) }) });
  const both = async (use) => { const first = random.next() < 0.5; await use(first); await use(!first); };
  globalThis.appends = async (count) => {
    const memories = { false: await openOne(false), true: await openOne(true) };
    const times = { false: [], true: [] };
    for (const sealed of [false, true]) await memories[sealed].conversations.create({ id: "c" });
    for (let turn = 0; turn < count + 20; turn += 1) {
      const content = text();
      await both(async (sealed) => {
        const [ms] = await timed(() => memories[sealed].append("c", { role: turn % 2 ? "assistant" : "user", content }));
        if (turn >= 20) times[sealed].push(ms);
      });
    }
    for (const sealed of [false, true]) await memories[sealed].close();
    return times;
  };
  globalThis.fill = async (count) => {
    const times = { false: [], true: [] };
    const memories = { false: await openOne(false, { embedder }), true: await openOne(true, { embedder }) };
    for (let batch = 0; batch < count / 500; batch += 1) {
      const messages = Array.from({ length: 500 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: text() }));
      await both(async (sealed) => {
        await memories[sealed].conversations.create({ id: "b" + batch });
        const [ms] = await timed(() => memories[sealed].append("b" + batch, messages));
        times[sealed].push(ms / 500);
        await memories[sealed].settled();
      });
    }
    for (const sealed of [false, true]) await memories[sealed].close();
    return times;
  };
  globalThis.openings = async (count) => {
    const times = { false: [], true: [] };
    for (let turn = 0; turn < count; turn += 1) {
      await both(async (sealed) => {
        const [ms, memory] = await timed(async () => {
          const memory = await openOne(sealed, { embedder });
          await memory.recall(WORDS[turn] + " " + WORDS[turn + 7], { topK: 10 });
          return memory;
        });
        times[sealed].push(ms);
        await memory.close();
      });
    }
    return times;
  };
  // A user with many small conversations: what is read at the opening is small records only.
  globalThis.fillMany = async (count) => {
    for (const sealed of [false, true]) {
      const memory = await openOne(sealed, { userId: "many" });
      for (let start = 0; start < count; start += 50) {
        await Promise.all(Array.from({ length: Math.min(50, count - start) }, async (_, at) => {
          const { id } = await memory.conversations.create({ id: "many-" + (start + at) });
          await memory.append(id, { role: "user", content: text() });
        }));
      }
      await memory.close();
    }
  };
  globalThis.openingsOfMany = async (count) => {
    const times = { false: [], true: [] };
    for (let turn = 0; turn < count; turn += 1) {
      await both(async (sealed) => {
        const [ms, memory] = await timed(() => openOne(sealed, { userId: "many" }));
        times[sealed].push(ms);
        await memory.close();
      });
    }
    return times;
  };
  globalThis.recalls = async (count) => {
    const times = { false: [], true: [] };
    const memories = { false: await openOne(false, { embedder }), true: await openOne(true, { embedder }) };
    for (let turn = 0; turn < count + 5; turn += 1) {
      const query = random.of(WORDS) + " " + random.of(WORDS);
      await both(async (sealed) => {
        const [ms] = await timed(() => memories[sealed].recall(query, { topK: 10 }));
        if (turn >= 5) times[sealed].push(ms);
      });
    }
    for (const sealed of [false, true]) await memories[sealed].close();
    return times;
  };
  // The cipher alone: so many records of so many bytes, opened in one call.
  globalThis.ciphers = async (records, bytes, repeats) => {
    const { seal, open } = await new StoreLock(holdKey(key)).unlock(undefined);
    const label = new Uint8Array(60);
    const sealed = await seal(Array.from({ length: records * 2 }, (_, at) => (at % 2 ? new Uint8Array(bytes) : label)));
    const items = sealed.flatMap((one) => [label, one]);
    const times = [];
    for (let turn = 0; turn < repeats; turn += 1) times.push((await timed(() => open(items)))[0]);
    return times;
  };
  document.title = "ready";
`;

function row(what, times, shares) {
  const [plain, sealed] = [times.false, times.true].map((all) => shares.map((share) => at(all, share)));
  const added = plain.map((ms, index) => `${((sealed[index] / ms - 1) * 100).toFixed(0)} %`);
  const difference = plain.map((ms, index) => shown(sealed[index] - ms));
  console.log(`| ${what} | ${plain.map(shown).join(" / ")} | ${sealed.map(shown).join(" / ")} | ${added.join(" / ")} | ${difference.join(" / ")} |`);
}

async function measure(title, run, { appends, messages, opens, conversations }) {
  console.log(`\n${title}\n\n| ms | plain | with a key | added | added ms |\n| --- | --- | --- | --- | --- |`);
  const times = await run("appends", appends);
  row("append one, p50 / p95", times, [0.5, 0.95]);
  const ratios = times.true.map((ms, pair) => ms / times.false[pair]);
  const quartiles = [0.25, 0.5, 0.75].map((share) => `${((at(ratios, share) - 1) * 100).toFixed(0)} %`);
  console.log(`| append one, ${appends} pairs: quartiles of what is added | | | ${quartiles.join(" / ")} | |`);
  row(`append 500 at once, per message, p50`, await run("fill", messages), [0.5]);
  row(`open to first answer over ${messages}, p50`, await run("openings", opens), [0.5]);
  await run("fillMany", conversations);
  row(`open with ${conversations} conversations, p50`, await run("openingsOfMany", opens), [0.5]);
  row(`recall over ${messages}, p50 / p95`, await run("recalls", 100), [0.5, 0.95]);
  for (const [records, bytes] of [[16, 1 << 20], [256, 1 << 16], [16_384, 1 << 10]]) {
    console.log(`- opening 16 MB as ${records} records: ${shown(at(await run("ciphers", records, bytes, 5), 0.5))} ms`);
  }
}

await main(async () => {
  const { values } = parseArgs({ options: { appends: { type: "string", default: "400" }, messages: { type: "string", default: "10000" }, opens: { type: "string", default: "5" }, conversations: { type: "string", default: "2000" } } });
  const [appends, messages, opens, conversations] = [values.appends, values.messages, values.opens, values.conversations].map(Number);
  await onEachBackEnd(PAGE, (title, run) => measure(title, run, { appends, messages, opens, conversations }));
});
