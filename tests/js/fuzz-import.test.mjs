// Damaged exports through the whole chain of the importers: seeded changes of the fixtures, for FUZZ_SECONDS seconds
// (default 3), from seed FUZZ_START on (default 1, so that every run of the tests is the same). Only typed errors, nothing
// leaks into prototypes, and what comes out is read by the engine. A failure names the seed: FUZZ_SEED=<seed> runs it alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { FIXTURES, LINE_FIXTURES } from "./import-fixtures.mjs";
import { SECONDS, fuzz, places } from "./fuzz-run.mjs";
import { random } from "./random.mjs";
import { gzipOf, importInto, RecordingEngine, zipOf } from "./import-support.mjs";

const HTML =
  '<html><body><div class="outer-cell mdl-cell"><p class="mdl-typography--title">Gemini Apps<br></p><div class="content-cell mdl-cell mdl-typography--body-1">Prompted x<br>Dec 3, 2024, 10:31:12 AM EST<br><p>two</p></div><div class="content-cell"></div></div></body></html>';
const ODD_VALUES = [null, 0, -1, 1e308, 1.7e9, "", "x", "0", [], {}, true, false, "\ud800", "a\u0000b", "x".repeat(5000), "東".repeat(300), [[[[]]]], [null], { a: null }, "all", "tool", "__proto__", "constructor", "seq:1", "#0"];
const TOKENS = ['"', "\\", "{", "}", "[", "]", ",", ":", "null", "1e999", '"__proto__":', "\u0000", "\ufeff", "\n", "<", "&#x110000;", "\ud800"];

function changeValue(value, pick) {
  const all = places(value);
  if (all.length === 0) return;
  const [holder, key] = all[pick(all.length)];
  const [otherHolder, otherKey] = all[pick(all.length)];
  switch (pick(5)) {
    case 0: delete holder[key]; break;
    case 1: holder[key] = structuredClone(ODD_VALUES[pick(ODD_VALUES.length)]); break;
    case 2: if (typeof otherHolder[otherKey] !== "object") holder[key] = otherHolder[otherKey]; break;
    case 3: if (Array.isArray(holder)) holder.push(structuredClone(holder[key])); break;
    default: if (!Array.isArray(holder)) Object.defineProperty(holder, ["__proto__", "constructor", "toString", "id"][pick(4)], { value: { polluted: 1 }, enumerable: true, configurable: true, writable: true });
  }
}

function changeText(text, pick) {
  const at = pick(text.length + 1);
  const length = pick(20);
  switch (pick(4)) {
    case 0: return text.slice(0, at) + text.slice(at + length);
    case 1: return text.slice(0, at) + TOKENS[pick(TOKENS.length)] + text.slice(at);
    case 2: return text.slice(0, at) + text.slice(pick(text.length + 1)).slice(0, 200) + text.slice(at);
    default: return pick(4) === 0 ? text.slice(0, at) : text.slice(0, at) + String.fromCharCode(pick(256)) + text.slice(at + 1);
  }
}

/** The file of a seed. */
function fileOf(seed) {
  const pick = random(seed);
  const names = [...Object.keys(FIXTURES), ...Object.keys(LINE_FIXTURES), "html"];
  const name = names[pick(names.length)];
  let text = HTML;
  if (name !== "html") {
    const value = structuredClone(FIXTURES[name] ?? LINE_FIXTURES[name]);
    for (let changes = pick(6); changes > 0; changes -= 1) changeValue(value, pick);
    text = name in FIXTURES ? JSON.stringify(value, undefined, pick(2)) : value.map((line) => JSON.stringify(line)).join(pick(2) ? "\n" : "\r\n");
  }
  for (let changes = pick(3) === 0 || name === "html" ? pick(4) : 0; changes > 0; changes -= 1) text = changeText(text, pick);
  const packing = pick(6);
  const bytes = packing === 0 ? zipOf({ "a.json": text, "b.json": text }) : packing === 1 ? gzipOf(text) : new TextEncoder().encode(text);
  if (packing < 2 && pick(2) === 0) bytes[pick(bytes.length)] ^= 1 << pick(8);
  return bytes;
}

async function check(seed, memory) {
  const engine = new RecordingEngine();
  try {
    await importInto(engine, fileOf(seed));
  } catch (error) {
    assert.ok(isMemoryError(error, "invalid_argument"), error.stack);
    assert.deepEqual(engine.calls, [], "an error of the file comes before anything is stored");
    return "refused";
  }
  assert.equal({}.polluted, undefined);
  assert.equal(Object.hasOwn(Object.prototype, "polluted"), false);
  for (const [id, { messages, activeLeaf, importHash, source }] of engine.conversations) {
    assert.ok(messages.has(activeLeaf) && typeof importHash === "string", "it is whole");
    const chat = await memory.conversations.create({ id: `${id}.${seed}`.slice(0, 400) });
    const raws = [...messages.values()].map(({ raw }) => raw);
    try {
      const appended = await memory.append(chat.id, raws);
      assert.deepEqual(appended.map((each) => each.id), raws.map((raw) => raw.id));
    } catch (error) {
      // Messages that are handed on as they are, the engine judges; those that are made here it must take.
      if (!(source === "messages" && isMemoryError(error, "invalid_argument"))) throw error;
    }
    await memory.conversations.delete(chat.id);
  }
  return engine.conversations.size > 0 ? "imported" : "nothing";
}

test(`damaged exports, for ${SECONDS} s`, async (context) => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await fuzz(context, ["refused", "imported", "nothing"], (seed) => check(seed, memory));
  await memory.close();
});
