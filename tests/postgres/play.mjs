// Random work by two memories of one user over one storage, against a plain model of what must be there.
import assert from "node:assert/strict";
import { createMemory } from "../../dist/index.js";
import { hashingEmbedder, scriptedModel } from "../../dist/adapters/testing.js";
import { random } from "../js/random.mjs";

const STEPS = 60;

/** What a conversation is: every message that was said, which one each follows, and the one that the path ends with. */
class Chat {
  nodes = new Map();
  notes = new Map();
  leaf = null;

  say(id, word, parent) {
    this.nodes.set(id, { word, parent });
    this.leaf = id;
  }

  path() {
    const words = [];
    for (let id = this.leaf; id !== null; id = this.nodes.get(id).parent) words.unshift(this.nodes.get(id).word);
    return words;
  }

  /** What followed it follows what it followed; a path that ended with it ends before it, one of it alone with the newest there is. */
  remove(id) {
    const { parent } = this.nodes.get(id);
    for (const node of this.nodes.values()) if (node.parent === id) node.parent = parent;
    this.nodes.delete(id);
    if (this.leaf === id) this.leaf = parent ?? [...this.nodes.keys()].at(-1) ?? null;
  }
}

const wordOf = ({ content }) => content.split(" ")[0];
const said = (word) => `${word} was said, ${"and more was said with it, ".repeat(6)}in the end.`;

/** One seed, of a user of its own. What is wrong is thrown with all that was done before; in the end the user is erased. */
export async function play(seed, storage) {
  const below = random(seed);
  const pick = (list) => list[below(list.length)];
  const options = {
    userId: `play-${seed}`,
    storage,
    tokenizer: "estimate",
    ...(below(2) === 0 ? { embedder: hashingEmbedder({ dimensions: 16 }) } : {}),
    languageModel: scriptedModel(),
    policy: { facts: { extract: false }, budget: { recentTokens: 80 }, compaction: { highWaterTokens: 160 } },
  };
  const memories = [await createMemory(options), await createMemory(options)];
  const truth = { chats: new Map(), facts: new Map(), gone: new Set(), count: 0 };
  const log = [];
  try {
    for (let step = 0; step < STEPS; step += 1) {
      const at = below(2);
      log.push(`${at}: ${await work({ memory: memories[at], truth, pick, below })}`);
      if (below(8) === 0) await judge(pick(memories), truth, pick);
      if (below(25) === 0) {
        await memories[at].close();
        memories[at] = await createMemory(options);
        log.push(`${at} opens anew`);
      }
    }
    for (const memory of [...memories, await opened(memories, options)]) await judge(memory, truth, pick);
    await memories[0].erase({ user: true });
  } catch (error) {
    error.message = `seed ${seed} (replay: PLAY_FIRST=${seed} PLAY_SEEDS=1)\n${log.join("\n")}\n${error.message}`;
    throw error;
  } finally {
    for (const memory of memories) await memory.close();
  }
  return log.length;
}

async function opened(memories, options) {
  memories.push(await createMemory(options));
  return memories.at(-1);
}

async function work({ memory, truth, pick, below }) {
  if (below(6) === 0) return learn({ memory, truth, pick });
  if (truth.chats.size === 0 || below(12) === 0) {
    const { id } = await memory.conversations.create();
    truth.chats.set(id, new Chat());
    return `makes ${id}`;
  }
  const [id, chat] = pick([...truth.chats]);
  const step = pick(chat.nodes.size === 0 ? ["append"] : ["append", "append", "append", "append", "again", "edit", "turn", "remove", "note", "compact", "context", "erase"]);
  return `${step} ${id} ${await DOING[step]({ memory, id, chat, truth, pick, below })}`;
}

async function learn({ memory, truth, pick }) {
  const [id, fact] = truth.facts.size === 0 ? [] : pick([...truth.facts]);
  const step = id === undefined ? "add" : pick(["add", "add", "update", "forget"]);
  const text = `Likes thing${(truth.count += 1)}`;
  if (step === "add") truth.facts.set((await memory.facts.add({ fact: text })).id, text);
  if (step === "update") {
    const { id: now } = await memory.facts.update(id, { fact: text });
    truth.facts.delete(id);
    truth.facts.set(now, text);
  }
  if (step === "forget") {
    await memory.facts.forget(id);
    truth.facts.delete(id);
  }
  return `${step}s ${fact ?? ""} ${text}`;
}

const message = (truth, role) => {
  const word = `word${(truth.count += 1)}x`;
  return { word, id: `m-${word}`, content: { id: `m-${word}`, role, content: said(word) } };
};

const DOING = {
  async append({ memory, id, chat, truth, below }) {
    const messages = Array.from({ length: 1 + below(3) }, () => message(truth, below(2) === 0 ? "user" : "assistant"));
    await memory.append(id, messages.map(({ content }) => content));
    for (const one of messages) chat.say(one.id, one.word, chat.leaf);
    return messages.map(({ word }) => word);
  },
  /** The same message once more is the one that is there. */
  async again({ memory, id, chat, pick }) {
    const [messageId] = pick([...chat.nodes]);
    const [known] = (await memory.history(id, { all: true })).filter((one) => one.id === messageId);
    await memory.append(id, known);
    return messageId;
  },
  async edit({ memory, id, chat, truth, pick }) {
    const [messageId, { parent }] = pick([...chat.nodes]);
    const { word, id: newId, content } = message(truth, "user");
    await memory.edit(id, messageId, content);
    chat.say(newId, word, parent);
    return `${messageId} to ${word}`;
  },
  async turn({ memory, id, chat, pick }) {
    const [messageId] = pick([...chat.nodes]);
    await memory.setActiveLeaf(id, messageId);
    chat.leaf = messageId;
    return messageId;
  },
  async remove({ memory, id, chat, truth, pick }) {
    const [messageId, { word }] = pick([...chat.nodes]);
    await memory.remove(id, messageId);
    chat.remove(messageId);
    truth.gone.add(word);
    return messageId;
  },
  async note({ memory, id, chat, pick, below }) {
    const [name, text] = [pick(["plan", "mood"]), `note ${below(1_000)}`];
    await memory.notes.set(id, name, text);
    chat.notes.set(name, text);
    return `${name} ${text}`;
  },
  async compact({ memory, id }) {
    return (await memory.compact(id)).version;
  },
  async context({ memory, id, chat, truth, pick }) {
    const [, { word }] = pick([...chat.nodes]);
    const context = await memory.buildContext({ conversationId: id, question: `What was said about ${word}?`, window: 4_000, reserve: 500 });
    assertNothingGone(JSON.stringify(context.messages), truth);
    return word;
  },
  async erase({ memory, id, chat, truth }) {
    await memory.conversations.delete(id);
    for (const { word } of chat.nodes.values()) truth.gone.add(word);
    truth.chats.delete(id);
    return "";
  },
};

function assertNothingGone(text, truth) {
  for (const word of text.match(/word\d+x/g) ?? []) assert.ok(!truth.gone.has(word), `${word} was removed, and is there`);
}

/** A memory has what the model has: paths, branches, notes, facts; it finds what is on a path, and nothing that is gone. */
async function judge(memory, truth, pick) {
  const { items } = await memory.conversations.list({ limit: 1_000 });
  assert.deepEqual(items.map(({ id }) => id).sort(), [...truth.chats.keys()].sort(), "conversations");
  for (const [id, chat] of truth.chats) {
    assert.deepEqual((await memory.history(id)).map(wordOf), chat.path(), `the path of ${id}`);
    assert.deepEqual((await memory.history(id, { all: true })).map(wordOf), [...chat.nodes.values()].map(({ word }) => word), `all of ${id}`);
    assert.deepEqual(new Map((await memory.notes.list(id)).map(({ id: name, content }) => [name, content])), chat.notes, `notes of ${id}`);
    const summary = await memory.summary(id);
    assertNothingGone(JSON.stringify(summary), truth);
  }
  const facts = (await memory.facts.list()).map(({ id, fact }) => [id, fact]);
  assert.deepEqual(new Map(facts), truth.facts, "facts");
  const talking = [...truth.chats].filter(([, chat]) => chat.path().length > 0);
  if (talking.length === 0) return;
  const [id, chat] = pick(talking);
  const word = pick(chat.path());
  const groups = await memory.recall(word, { before: 0, after: 0 });
  assert.ok(groups.some((group) => group.conversationId === id && group.messages.some((one) => wordOf(one) === word)), `${word} of ${id} is not found`);
  for (const gone of [...truth.gone].slice(-2)) assertNothingGone(JSON.stringify(await memory.recall(gone)), truth);
}
