// What the search box asks: the engine itself, in a worker, with every section of the documentation as a message. It lives in
// the worker's memory; nothing is stored and nothing is sent.

import { createMemoryClient } from "./throughline/client/index.js";
import { memoryStorage } from "./throughline/index.js";

const MOST_HITS = 8;
const EXCERPT = 180;
/** Weight of the reference's hits. */
const REFERENCE = 0.85;
/** How long a question waits for its vector: the table comes after the words, and a page is used before it is there. */
const QUERY_EMBEDDING_MS = 60;

/** Sections in one append: questions have their turn between them. */
const AT_ONCE = 12;
/** Pages that are in before the first question is answered. */
const FIRST_PAGES = 3;

/**
 * Opens the index. It answers with what is in by then: the first pages at once, all of them when `whole` resolves, by meaning
 * as well as by words a moment later.
 */
export async function openIndex() {
  const filled = {};
  const whole = new Promise((resolve, reject) => Object.assign(filled, { resolve, reject }));
  let isWhole = false;
  const [pages, memory] = await Promise.all([loadSections(), openMemory(whole)]);
  const sections = new Map();
  for (const page of pages.slice(0, FIRST_PAGES)) await add(memory, sections, page);
  addAll(memory, sections, pages.slice(FIRST_PAGES)).then(() => {
    isWhole = true;
    filled.resolve();
  }, filled.reject);
  return {
    search: (query) => search(memory, sections, query),
    whole,
    get isWhole() {
      return isWhole;
    },
    /** Resolves when the vectors are there as well. */
    settled: () => whole.then(() => memory.settled()),
  };
}

async function addAll(memory, sections, pages) {
  for (const page of pages) await add(memory, sections, page);
}

async function add(memory, sections, { file, title: page, sections: own }) {
  await memory.conversations.create({ id: file, title: page });
  for (let start = 0; start < own.length; start += AT_ONCE) {
    const messages = own.slice(start, start + AT_ONCE).map(({ id, title, text }) => {
      const name = `${file}#${id}`;
      sections.set(name, { address: id === "" ? file : name, page, title, text });
      // Each type of the reference stands by itself: its page's name would lift all of them.
      const head = file.startsWith("api/") ? title : `${page}: ${title}`;
      return { id: name, role: "user", content: `${head}\n${text}` };
    });
    await memory.append(file, messages, { format: "openai" });
  }
}

async function loadSections() {
  const response = await fetch(new URL("sections.json", import.meta.url));
  if (!response.ok) throw new Error(`sections.json: ${response.status}`);
  return response.json();
}

function openMemory(whole) {
  return createMemoryClient(startWorker, {
    storage: memoryStorage(),
    tokenizer: "estimate",
    ...(navigator.connection?.saveData ? {} : { embedder: lateEmbedder(whole) }),
    policy: { limits: { queryEmbeddingTimeoutMs: QUERY_EMBEDDING_MS } },
  });
}

function startWorker() {
  const address = new URL("throughline/worker/index.js", import.meta.url).href;
  // The pages' policy wants it said that this is meant as a script.
  const scripts = globalThis.trustedTypes?.createPolicy("throughline-docs", { createScriptURL: (url) => url });
  return new Worker(scripts?.createScriptURL(address) ?? address, { type: "module" });
}

/** The embedder that ships with the package; its table (3 MB) is fetched once all words are in. */
function lateEmbedder(whole) {
  let table;
  const load = () => (table ??= whole.then(() => import("./throughline/static-embedder.js")).then(({ createStaticEmbedder }) => createStaticEmbedder()));
  return { id: "static-minilm-256", dimensions: 256, maxBatchSize: 256, maxInputTokens: 512, remote: false, embed: async (texts, options) => (await load()).embed(texts, options) };
}

async function search(memory, sections, query) {
  const groups = await memory.recall(query, { topK: 2 * MOST_HITS, before: 0, after: 0, explain: false });
  const hits = groups.flatMap((group) => group.hits).map(({ id, score }) => ({ ...sections.get(id), score: score * weightOf(sections.get(id), query) }));
  hits.sort((one, other) => other.score - one.score);
  return hits.slice(0, MOST_HITS).map(({ address, page, title, text }) => ({ address, page, title, excerpt: excerptOf(text, query) }));
}

/** What explains stands before what only names; a section of that very name before all. */
function weightOf({ address, title }, query) {
  if (title.toLowerCase() === query.toLowerCase()) return 2;
  return address.startsWith("api/") ? REFERENCE : 1;
}

/** The piece of a text that says most of the query, in parts: those that are words of the query are marked. */
function excerptOf(text, query) {
  const all = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [])].sort((one, other) => other.length - one.length);
  const long = all.filter((word) => word.length > 3);
  const words = long.length > 0 ? long : all;
  const line = text.replaceAll(/\s+/g, " ");
  if (words.length === 0) return [{ words: line.slice(0, EXCERPT), isFound: false }];
  // At the beginning of words, of identifiers' parts too.
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(${words.join("|")})`, "giu");
  const from = bestStart(line, [...line.matchAll(pattern)]);
  const piece = line.slice(from, from + EXCERPT);
  const parts = piece.split(pattern).map((part, position) => ({ words: part, isFound: position % 2 === 1 })).filter((part) => part.words !== "");
  return [...(from > 0 ? [{ words: "... ", isFound: false }] : []), ...parts, ...(from + EXCERPT < line.length ? [{ words: " ...", isFound: false }] : [])];
}

/** Where the piece with most different words of the query begins. */
function bestStart(line, matches) {
  let best = { start: 0, found: 0 };
  for (const { index } of matches.slice(0, 200)) {
    const start = index < 60 ? 0 : line.lastIndexOf(" ", index - 40) + 1;
    const found = new Set(matches.filter((each) => each.index >= start && each.index < start + EXCERPT).map(([word]) => word.toLowerCase())).size;
    if (found > best.found) best = { start, found };
  }
  return best.start;
}
