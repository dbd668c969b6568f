// Markers: words and vectors made of a seed, the same in a page and in the test, put through every door that an app has. The
// seed is in no file, so no cache of scripts can hold a marker.

/** How many there are. */
export const MARKERS = 113;
/** Those of these numbers are vectors; all others are words of 14 letters. */
export const isVector = (index) => index >= 85 && index < 90;

function noise(seed, index, step) {
  let state = (seed ^ Math.imul(index + 1, 0x9e3779b1) ^ Math.imul(step + 1, 0x85ebca6b)) >>> 0;
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) >>> 0;
  state = Math.imul(state ^ (state >>> 12), 0x297a2d39) >>> 0;
  return (state ^ (state >>> 15)) >>> 0;
}

/** A marker that is a word. */
export function marker(seed, index) {
  return Array.from({ length: 14 }, (_, step) => "abcdefghijklmnopqrstuvwxyz"[noise(seed, index, step) % 26]).join("");
}

/** A marker that is a vector. */
export function floats(seed, index) {
  return Float32Array.from({ length: 8 }, (_, step) => 0.1 + noise(seed, index, step) / 2 ** 33);
}

/** Everything that an app can write, with a marker in each. `open` opens a memory with these options. */
export async function fillWithMarkers(open, seed) {
  const m = (index) => marker(seed, index);
  const embedder = { id: m(99), dimensions: 8, embed: async (texts) => texts.map((text) => {
    const found = /vector(\d+)/.exec(text);
    return found === null ? Float32Array.from({ length: 8 }, (_, at) => text.length % (at + 2)) : floats(seed, Number(found[1]));
  }) };
  const answers = {
    episode: () => ({ ...summary(), goal: [m(100)] }),
    // What was said to live somewhere, with the words that show it.
    extract: (text) => {
      const [, seq, quote] = text.match(/\[(\d+)\] user[^[]*(I live in [a-z]{14})/) ?? [];
      return { facts: quote === undefined ? [] : [{ subject: "user", category: "identity", fact: quote, quote, seq: Number(seq), confidence: 0.9, kind: "statement" }] };
    },
    judge: () => ({ operations: [{ candidate: 1, operation: "ADD" }] }),
    audit: () => ({ findings: [] }),
  };
  const summary = () => ({ goal: [m(80)], confirmed: [m(81)], decisions: [m(82)], constraints: [], failed: [], open: [m(83)], next: [m(84)], identifiers: [] });
  const languageModel = { contextWindow: 32_000, generate: async ({ purpose, messages }) => (answers[purpose] ?? summary)(JSON.stringify(messages).replaceAll('\\"', '"')) };
  const memory = await open({ userId: m(98), embedder, languageModel });
  for (let index = 0; index < 10; index += 1) {
    const id = m(40 + index);
    await memory.conversations.create({ id, title: m(30 + index), projectId: m(70 + index % 5), source: m(75 + index % 5), importHash: m(90 + index % 5) });
    const said = [m(index), m(10 + index), m(20 + index)].map((word, at) => ({ role: at % 2 ? "assistant" : "user", content: "a note about " + word + " here" }));
    said[0].id = m(50 + index);
    if (index < 5) said.push({ role: "user", content: "vector" + (85 + index) });
    await memory.append(id, said);
    await memory.facts.add({ fact: "likes " + m(60 + index), category: "preference", key: m(95 + index % 3) + index });
  }
  for (let turn = 0; turn < 30; turn += 1) {
    await memory.append(m(40), Array.from({ length: 20 }, (_, at) => ({ role: at % 2 ? "assistant" : "user", content: m((turn + at) % 30) + " again and more words" })));
  }
  await memory.compact(m(40), { force: true });
  await fillRest(memory, m);
  await memory.settled();
  const stats = await memory.stats();
  const told = { found: (await memory.recall(m(3), { topK: 3 })).length, summary: JSON.stringify(await memory.summary(m(40))).includes(m(81)), vectors: stats.vectors, segments: stats.segments.count,
    episodes: (await memory.episodes.list()).length, learned: (await memory.facts.list()).filter(({ source }) => source.quote !== null).length };
  return { memory, told };
}

/** A note as text and as data, streams, a branch, a bill, an agreement, what a model learned, a session's end. */
async function fillRest(memory, m) {
  const id = m(41);
  await memory.notes.set(id, m(101), "a note of " + m(102));
  await memory.notes.set(id, "data", { [m(103)]: [m(104)] });
  const whole = await memory.stream(id, { id: m(105), role: "assistant", content: "" });
  for (const piece of ["it is ", m(106), " of course"]) {
    whole.write(piece);
    await whole.written();
  }
  await whole.complete();
  const half = await memory.stream(id, { role: "assistant", content: "" });
  half.write("half of " + m(107));
  await half.abort();
  await memory.edit(id, m(51), { id: m(108), role: "user", content: "or rather " + m(109) });
  await memory.reportUsage(id, { provider: m(110), model: m(111), inputTokens: 1_000 });
  await memory.facts.optIn("health");
  await memory.append(m(42), { role: "user", content: "I live in " + m(112) + ", by the way." });
  await memory.settled();
  await memory.episodes.end(m(42));
}
