// Changed backups whose hashes are right, through the whole chain: seeded changes of values and lines, for FUZZ_SECONDS
// seconds (default 3), from seed FUZZ_START on (default 1). Refused with a typed error and nothing stored, or imported whole
// and usable: every call that reads works afterwards. A failure names the seed: FUZZ_SEED=<seed> runs it alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isMemoryError } from "throughline";
import { fileOf, filled, linesOf, open, seen } from "./backup-support.mjs";
import { SECONDS, fuzz, places } from "./fuzz-run.mjs";
import { random } from "./random.mjs";

const ODD_VALUES = [null, 0, -1, 1, 2, 1.5, 1e308, 2 ** 31, 2 ** 32 - 1, 2 ** 53, "", "x", "f1", "f4294967295", [], {}, true, false, "\ud800", "a\u0000b", "x".repeat(5000), [null], "seq:1", "removed:0", "removed", "openai", "{}", '{"role":"tool"}', [1, 2, 2 ** 32 - 1]];

function change(records, pick) {
  const at = pick(records.length);
  const all = places(records[at]).slice(1);
  const [holder, key] = all[pick(Math.max(all.length, 1))] ?? [];
  switch (pick(7)) {
    case 0: records.splice(at, 1); break;
    case 1: records.splice(at, 0, structuredClone(records[pick(records.length)])); break;
    case 2: records.push(...records.splice(at, 1)); break;
    case 3: if (holder) delete holder[key]; break;
    case 4: if (holder && typeof holder[key] === "number") holder[key] += pick(5) - 2; break;
    default: if (holder) holder[key] = structuredClone(ODD_VALUES[pick(ODD_VALUES.length)]);
  }
}

async function check(seed, original) {
  const pick = random(seed);
  const records = structuredClone(original);
  for (let changes = 1 + pick(4); changes > 0 && records.length > 0; changes -= 1) change(records, pick);
  const memory = await open();
  // Half of the time into a memory that has some of it.
  const before = pick(2) === 0 ? nothing : await seen((await memory.import(Buffer.from(fileOf(original)), { trusted: true }), memory));
  try {
    await memory.import(Buffer.from(fileOf(records)), { trusted: pick(2) === 0 });
  } catch (error) {
    assert.ok(isMemoryError(error, "invalid_argument"), error);
    assert.deepEqual(await seen(memory), before);
    await memory.close();
    return "refused";
  }
  const { items } = await memory.conversations.list();
  for (const { id, messageCount } of items) {
    assert.ok(messageCount >= (await memory.history(id)).length);
    await memory.conversations.tree(id);
    await memory.append(id, { role: "user", content: "Which port is it?" });
    await memory.buildContext({ conversationId: id, question: "Which port?", window: 8000, reserve: 500 });
    await memory.summary(id);
  }
  await memory.recall("port");
  for (const { id } of await memory.facts.list({})) await memory.facts.history(id);
  await memory.facts.add({ fact: "Has a bicycle" });
  const again = await open();
  await again.import(await memory.export(), { trusted: true });
  if (items.length > 0) await memory.erase({ conversationId: items[0].id });
  await Promise.all([memory.close(), again.close()]);
  return "imported";
}

const nothing = { conversations: 0, facts: 0 };

test(`changed backups, for ${SECONDS} s`, async (context) => {
  const source = await filled();
  const lines = (await linesOf(await source.export())).map((line) => JSON.parse(line));
  const records = lines.filter((line) => !("format" in line || "check" in line || "end" in line));
  const head = { sections: [{ name: "goal", items: ["ship"] }], identifiers: ["8471"], summarizedUntilSeq: 2, version: 1, updatedAt: 1 };
  const last = records.findIndex((record) => "conversation" in record && record.conversation.id === "b");
  records.splice(last, 0, { summary: head }, { earlierSummary: { ...head, summarizedUntilSeq: 1 } }, { summaryPart: { level: 0, firstSeq: 1, lastSeq: 2, sections: [], children: [], sourceHashes: [], dirty: false } });
  await fuzz(context, ["refused", "imported"], (seed) => check(seed, records));
  await source.close();
});
