// Random work on two devices and a server, apart and together, with exchanges that are cut, doubled and lost.

import assert from "node:assert/strict";
import { isMemoryError } from "throughline";
import { syncMemory } from "throughline/sync";
import { scriptedModel } from "throughline/testing";
import { random } from "./random.mjs";
import { normalForm, openStore, settle } from "./sync-support.mjs";

const STEPS = 70;

function summarising() {
  return { languageModel: scriptedModel(), policy: { facts: { extract: false }, budget: { recentTokens: 80 }, compaction: { highWaterTokens: 160 } } };
}

/** A message around its word, long enough to be summarised one day. */
const said = (word) => `${word} was said, ${"and more was said with it, ".repeat(6)}in the end.`;
const wordOf = (content) => content.split(" ")[0];

/** What was said, and what became of it as far as anybody knew. */
class Truth {
  #said = 0;
  /** Texts by conversation. */
  said = new Map();
  /** Texts that were removed, or were there when their conversation was erased. */
  gone = new Set();
  /** Ids of conversations that were erased at some time, somewhere: what was said in them may be gone. */
  erased = new Set();
  /** Texts of facts that were forgotten or erased. */
  forgotten = new Set();

  /** Those that were written more than once: a later one may stay. */
  again = new Set();

  /** The text of a new fact: two of them have little in common. */
  fact() {
    this.#said += 1;
    return `Likes thing${this.#said}`;
  }

  text(conversationId) {
    this.#said += 1;
    const text = `word${this.#said}`;
    this.said.set(text, conversationId);
    return text;
  }

  async erase(memory, conversationId) {
    for (const { content } of await memory.history(conversationId, { all: true })) this.gone.add(wordOf(content));
    this.erased.add(conversationId);
  }
}

/** One seed. `exchangeOf` makes the devices' exchange with the server, and what they settle through in the end. */
export async function play(seed, connect) {
  const below = random(seed);
  const pick = (list) => list[below(list.length)];
  // Clocks differ by up to a minute. One device and the server summarise, each by itself.
  const wrong = pick([-60_000, 0, 0, 60_000]);
  const [one, two, server] = [await openStore(summarising()), await openStore({ clock: () => Date.now() + wrong }), await openStore(summarising())];
  const devices = [one, two];
  const truth = new Truth();
  const fate = () => pick(["whole", "whole", "whole", "whole", "whole", "doubled", "lost", "unanswered"]);
  const { options, everybody } = connect({ one, two, server, fate });
  const log = [];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const at = below(5) === 0 ? server : pick(devices);
      const memory = everybody.includes(at) ? at : pick(devices);
      log.push(await work({ memory, name: memory === one ? "one" : memory === two ? "two" : "server", pick, below, truth }));
      if (below(4) === 0) {
        const device = pick(devices);
        const outcome = await syncMemory(device, options(true)).then(() => "whole", (error) => error);
        if (outcome !== "whole" && !isMemoryError(outcome, "exchange_failed")) throw outcome;
        log.push(`${device === one ? "one" : "two"} exchanges: ${outcome === "whole" ? outcome : "cut"}`);
      }
    }
    await settle(devices, options(false));
    await judge(everybody, truth);
  } catch (error) {
    error.message = `seed ${seed} (replay: SYNC_FIRST=${seed} SYNC_SEEDS=1 node --test tests/js/sync-random.test.mjs)\n${log.join("\n")}\n${error.message}`;
    throw error;
  } finally {
    for (const memory of [one, two, server]) await memory.close();
  }
}

async function judge(everybody, truth) {
  const [first, ...others] = await Promise.all(everybody.map(normalForm));
  for (const other of others) assert.deepEqual(other, first);
  await judgeSummaries(everybody, truth);
  const remembered = new Set(first.facts.map((line) => line.split(" (")[0]));
  for (const text of truth.forgotten) assert.ok(truth.again.has(text) || !remembered.has(text), `${text} was forgotten and is back`);
  const there = new Set(first.conversations.flatMap(({ messages }) => messages.map((line) => wordOf(line.split(" > ")[1]))));
  for (const [text, conversationId] of truth.said) {
    if (truth.gone.has(text)) assert.ok(!there.has(text), `${text} of ${conversationId} was erased and is back`);
    else if (!truth.erased.has(conversationId)) assert.ok(there.has(text), `${text} of ${conversationId} is lost`);
  }
}

/** No summary says what was removed, and each ends on the active path. */
async function judgeSummaries(everybody, truth) {
  for (const memory of everybody) {
    for (const { id } of (await memory.conversations.list({ limit: 1_000 })).items) {
      const summary = await memory.summary(id);
      for (const word of JSON.stringify(summary).match(/word\d+/g) ?? []) assert.ok(!truth.gone.has(word), `${word} was removed, and a summary says it`);
      const active = new Set((await memory.conversations.tree(id)).filter((node) => node.active).map(({ seq }) => seq));
      assert.ok(summary.summarizedUntilSeq === 0 || active.has(summary.summarizedUntilSeq), `the summary of ${id} is of another path`);
    }
  }
}

/** One step at one store; answers what it was. */
async function work({ memory, name, pick, below, truth }) {
  if (below(6) === 0) return `${name} ${await learn({ memory, pick, below, truth })}`;
  const { items } = await memory.conversations.list({ limit: 100 });
  if (items.length === 0 || below(9) === 0) return create({ memory, name, pick, below });
  const { id } = pick(items);
  const tree = await memory.conversations.tree(id);
  const step = pick(tree.length === 0 ? ["append", "append", "update", "note"] : STEPS_BY_WEIGHT);
  return `${name} ${await DOING[step]({ memory, id, tree, pick, below, truth })}`;
}

const STEPS_BY_WEIGHT = [
  "append", "append", "append", "append", "append", "stream", "edit", "edit", "answerAnew", "turn", "turn", "remove", "remove", "update", "note", "note", "compact", "compact", "erase",
];

async function create({ memory, name, pick, below }) {
  // A few ids that meet one another, and many that never do.
  const id = below(3) === 0 ? pick(["home", "work"]) : `chat${below(1_000_000)}`;
  const made = await memory.conversations.create({ id }).catch((error) => error);
  return `${name} makes ${id}${made instanceof Error ? " (there)" : ""}`;
}

/** A fact is written, changed, forgotten or erased. */
async function learn({ memory, pick, below, truth }) {
  const known = await memory.facts.list();
  const step = known.length === 0 ? "add" : pick(["add", "add", "add", "update", "forget", "erase"]);
  const { id, fact } = known.length === 0 ? {} : pick(known);
  if (step === "add") {
    // Some say what was said before, and some are about what another one is about.
    const isAgain = below(4) === 0 && known.length > 0;
    const text = isAgain ? fact : truth.fact();
    if (isAgain) truth.again.add(text);
    await memory.facts.add({ fact: text, ...(below(2) === 0 ? { key: pick(["stack", "city"]) } : {}) });
    return `adds ${text}`;
  }
  if (step === "update") {
    const change = below(2) === 0 ? { fact: truth.fact() } : { pinned: below(2) === 0 };
    await memory.facts.update(id, change);
    return `changes ${fact}: ${JSON.stringify(change)}`;
  }
  if (step === "forget") await memory.facts.forget(id);
  else await memory.erase({ factId: id });
  truth.forgotten.add(fact);
  return `${step}s ${fact}`;
}

const DOING = {
  async append({ memory, id, below, truth }) {
    const texts = [truth.text(id), ...(below(2) === 0 ? [truth.text(id)] : [])];
    const messages = texts.map((content) => ({ ...(below(2) === 0 ? { id: `own-${content}` } : {}), role: below(2) === 0 ? "user" : "assistant", content: said(content) }));
    await memory.append(id, messages);
    return `appends ${texts} to ${id}`;
  },
  async stream({ memory, id, below, truth }) {
    const content = truth.text(id);
    const stream = await memory.stream(id, { role: "assistant", content: said(content) });
    if (below(3) === 0) await stream.abort();
    else await stream.complete();
    return `streams ${content} to ${id}`;
  },
  async edit({ memory, id, tree, pick, truth }) {
    const content = truth.text(id);
    const { id: messageId } = pick(tree);
    await memory.edit(id, messageId, { role: "user", content: said(content) });
    return `edits ${messageId} of ${id} to ${content}`;
  },
  async answerAnew({ memory, id, tree, pick, truth }) {
    const content = truth.text(id);
    const { id: parentId } = pick(tree);
    await memory.append(id, { role: "assistant", content: said(content) }, { parentId });
    return `answers ${parentId} of ${id} with ${content}`;
  },
  async turn({ memory, id, tree, pick }) {
    const { id: messageId } = pick(tree);
    await memory.setActiveLeaf(id, messageId);
    return `turns ${id} to ${messageId}`;
  },
  async remove({ memory, id, tree, pick, below, truth }) {
    const { id: messageId } = pick(tree);
    const descendants = below(4) === 0;
    const before = await memory.history(id, { all: true });
    await memory.remove(id, messageId, { descendants });
    const after = new Set((await memory.history(id, { all: true })).map(({ content }) => content));
    for (const { content } of before) if (!after.has(content)) truth.gone.add(wordOf(content));
    return `removes ${messageId} of ${id}${descendants ? " and what follows" : ""}`;
  },
  async update({ memory, id, pick, below }) {
    const change = pick([{ title: `Title ${below(1_000)}` }, { projectId: `project ${below(3)}` }, { title: null }]);
    await memory.conversations.update(id, change);
    return `updates ${id}: ${JSON.stringify(change)}`;
  },
  async note({ memory, id, pick, below }) {
    const note = pick(["plan", "mood"]);
    if (below(4) === 0) await memory.notes.delete(id, note);
    else await memory.notes.set(id, note, `note ${below(1_000)}`);
    return `notes ${note} in ${id}`;
  },
  async compact({ memory, id }) {
    const made = await memory.compact(id).catch((error) => error);
    if (made instanceof Error && made.code !== "invalid_config") throw made;
    return `compacts ${id}: ${made instanceof Error ? "no model" : made.version}`;
  },
  async erase({ memory, id, truth }) {
    await truth.erase(memory, id);
    await memory.conversations.delete(id);
    return `erases ${id}`;
  },
};
