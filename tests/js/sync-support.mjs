// Stores that exchange, and what they must have in common. Used by the tests of one rule each and by the random ones.
/* global Request */

import { createMemory, memoryStorage } from "throughline";
import { syncHandler, syncMemory } from "throughline/sync";

/** A memory of the one user, in a store of its own. */
export const openStore = (options = {}) => createMemory({ storage: memoryStorage(), userId: "alex", tokenizer: "estimate", ...options });

/** Carries messages to a handler; `fate` says what becomes of each: by default it arrives once, and so does its answer. */
export function carrier(handler, fate = () => "whole") {
  const exchange = async (body) => {
    exchange.messages += 1;
    exchange.bytes += body.length;
    const send = async () => (await handler(new Request("https://app.example/sync", { method: "POST", body }))).text();
    const becomes = fate();
    if (becomes === "lost") throw new TypeError("fetch failed");
    if (becomes === "doubled") await send();
    const answer = await send();
    if (becomes === "unanswered") throw new TypeError("fetch failed");
    return answer;
  };
  return Object.assign(exchange, { messages: 0, bytes: 0 });
}

/** A device's exchange with a server's memory. */
export const exchangeWith = (server, fate) => carrier(syncHandler({ memoryFor: () => server }), fate);

/** Exchanges in turn until everybody has everything. */
export async function settle(devices, options) {
  for (let round = 0; round < 5; round += 1) for (const device of devices) await syncMemory(device, options);
}

/** What a store has, without what is each store's own: positions, ids by position, tokens. */
export async function normalForm(memory) {
  const { items } = await memory.conversations.list({ limit: 1_000 });
  const forms = await Promise.all(items.map((conversation) => conversationForm(memory, conversation)));
  return { conversations: forms.sort((one, other) => (one.id < other.id ? -1 : 1)), facts: await factsForm(memory) };
}

async function factsForm(memory) {
  const lists = await Promise.all(["active", "proposed", "superseded", "deleted"].map((status) => memory.facts.list({ status })));
  const facts = lists.flat();
  const texts = new Map(facts.map(({ id, fact }) => [id, fact]));
  return facts.map(({ fact, key, status, pinned, supersedes }) => `${fact} (${key}, ${status}, ${pinned}) > ${texts.get(supersedes) ?? "-"}`).sort();
}

async function conversationForm(memory, { id, title, projectId, remember, createdAt }) {
  const tree = await memory.conversations.tree(id);
  const entries = await memory.history(id, { all: true, withStatus: true });
  const texts = new Map(entries.map((entry) => [entry.id, `${entry.message.content}${entry.status === "complete" ? "" : ` (${entry.status})`}`]));
  const messages = tree.map((node) => `${texts.get(node.parentId) ?? "-"} > ${texts.get(node.id)}`).sort();
  const path = (await memory.history(id)).map(({ content }) => content);
  const notes = (await memory.notes.list(id)).map((note) => [note.id, note.content]).sort();
  return { id, title, projectId, remember, createdAt, messages, path, notes };
}
