// The app that tests/adapters/react.test.mjs drives: hooks and parts under a provider, in StrictMode.

import { Component, createElement as h, StrictMode, Suspense, useState } from "react";
import { createRoot, hydrateRoot } from "react-dom/client";
import { createMemory } from "throughline";
import {
  ContextBar, ContextSections, FactList, MemoryProvider, SummaryTree, useContextReceipt, useConversation, useFacts, useMemory, useSummary,
} from "throughline/react";
import { Hydrated } from "./react-hydrated.mjs";

const counts = { opened: 0, closed: 0, contexts: 0 };
globalThis.counts = counts;

/** Opens a memory and counts. */
async function open(userId, options) {
  counts.opened += 1;
  const memory = await createMemory({ userId, tokenizer: "estimate", ...options });
  globalThis.memory = memory;
  memory.on("context", () => (counts.contexts += 1));
  const close = memory.close.bind(memory);
  memory.close = () => {
    counts.closed += 1;
    return close();
  };
  return memory;
}

function Chat({ id, newest }) {
  const { status, error, conversation, entries, append, edit } = useConversation(id, { newest });
  globalThis.chat = { append, edit, entries };
  return h("section", { "data-status": status, "data-error": error?.code },
    h("h2", null, conversation?.title ?? "none"),
    h("ol", { "aria-label": "Messages" }, entries.map((entry) => h("li", { key: entry.seq, "data-message-status": entry.status }, String(entry.message.content)))));
}

function Facts() {
  const { status, facts, add, approve, forget, update, sources } = useFacts();
  globalThis.facts = { add };
  return h("section", { "data-status": status }, h(FactList, { facts, onApprove: approve, onForget: forget, onUpdate: update, onShowSource: (...source) => (globalThis.source = source), sourcesOf: sources, conversationName: (id) => `Chat ${id}` }));
}

function Inspector({ id }) {
  const [question, setQuestion] = useState("Which port?");
  globalThis.ask = setQuestion;
  const { receipt, status, error } = useContextReceipt(question === null ? null : { conversationId: id, question, retrieval: "always", window: 2_000 }, { delayMs: 60 });
  return h("section", { "data-status": status, "data-error": error?.code },
    receipt === undefined ? null : [h(ContextBar, { key: "bar", receipt }), h(ContextSections, { key: "sections", receipt })]);
}

function SummaryView({ id }) {
  const { summary } = useSummary(id);
  return summary === undefined ? null : h(SummaryTree, { summary, onShowRange: (...range) => (globalThis.range = range) });
}

function State({ children }) {
  const state = useMemory();
  globalThis.state = state;
  return h("main", { "data-memory": state.status }, state.status === "failed" ? h("button", { onClick: state.retry }, "Again") : null, children);
}

let wake;
const sleeping = new Promise((resolve) => (wake = resolve));
let isAwake = false;
function Sleeper() {
  if (!isAwake) throw sleeping;
  return h("p", null, "awake");
}
globalThis.wake = () => {
  isAwake = true;
  wake();
};

class Boundary extends Component {
  state = {};
  static getDerivedStateFromError = (error) => ({ code: error.code });
  render() {
    return this.state.code === undefined ? this.props.children : h("p", null, this.state.code);
  }
}

/** Script of a model that summarises. */
const sections = { goal: ["Ship the importer"], confirmed: ["The port is 8471"], decisions: [], constraints: [], failed: [], open: [], next: [], identifiers: ["8471"] };
const languageModel = { contextWindow: 32_000, generate: async () => JSON.stringify(sections) };

/** A model that finds one fact, wherever it is said. */
const learningModel = {
  contextWindow: 32_000,
  generate: async ({ purpose, messages }) => {
    const at = purpose === "extract" && /\[(\d+)\] user[^\n]*\n> [^\n]*I live in Riga/.exec(messages.at(-1).content);
    return JSON.stringify({ facts: at ? [{ fact: "Lives in Riga", category: "identity", key: "home", confidence: 0.9, quote: "I live in Riga", seq: Number(at[1]), kind: "statement", valid_days: null }] : [] });
  },
};

const summarising = { languageModel, policy: { budget: { recentTokens: 400 }, facts: { extract: false } } };
/** Options of the memory, where a scene wants any. */
const OPTIONS = { inspector: summarising, look: summarising, learning: { languageModel: learningModel } };

let tries = 0;
const SCENES = {
  chat: (id) => [h(Chat, { key: "chat", id })],
  newest: (id) => [h(Chat, { key: "chat", id, newest: 2 })],
  idle: () => [h(Chat, { key: "chat", id: null })],
  facts: () => [h(Facts, { key: "facts" })],
  learning: () => [h(Facts, { key: "facts" })],
  inspector: (id) => [h(Inspector, { key: "inspector", id }), h(SummaryView, { key: "summary", id })],
  look: (id) => [h(Inspector, { key: "inspector", id }), h(Facts, { key: "facts" }), h(SummaryView, { key: "summary", id })],
  suspense: (id) => [h(Suspense, { key: "suspense", fallback: h("p", null, "asleep") }, h(Sleeper), h(Chat, { id }))],
};

globalThis.render = (scene, { userId, id }) => {
  const root = createRoot(document.getElementById("root"));
  globalThis.unmount = () => root.unmount();
  const provided = () => open(userId, OPTIONS[scene]);
  const failsOnce = () => (tries++ === 0 ? Promise.reject(new Error("no")) : provided());
  const content = h(State, null, SCENES[scene === "failing" ? "chat" : scene](id));
  root.render(h(StrictMode, null, h(MemoryProvider, { open: scene === "failing" ? failsOnce : provided }, content)));
};
globalThis.renderAlone = () => {
  createRoot(document.getElementById("root")).render(h(Boundary, null, h(Chat, { id: "c" })));
};
globalThis.hydrate = (userId) => {
  hydrateRoot(document.getElementById("root"), h(StrictMode, null, h(Hydrated, { open: () => open(userId) })));
};
document.title = "ready";
