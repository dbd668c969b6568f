// What the search box asks: the engine itself, with every section of the documentation as a message. It lives in the
// memory of the page; nothing is stored and nothing is sent.

import { createMemory, memoryStorage } from "./throughline/index.js";

const MOST_HITS = 8;
const EXCERPT = 180;
/** How long a question waits for its vector: the table comes after the words, and a page is used before it is there. */
const QUERY_EMBEDDING_MS = 60;

/** Opens the index: it answers by words as soon as this resolves, and by meaning as well a moment later. */
export async function openIndex() {
  const [pages, memory] = await Promise.all([loadSections(), openMemory()]);
  const sections = new Map();
  for (const { file, title: page, sections: own } of pages) {
    await memory.conversations.create({ id: file, title: page });
    const messages = own.map(({ id, title, text }) => {
      sections.set(`${file}#${id}`, { address: id === "" ? file : `${file}#${id}`, page, title, text });
      return { id: `${file}#${id}`, role: "user", content: `${page}: ${title}\n${text}` };
    });
    await memory.append(file, messages, { format: "openai" });
  }
  return { search: (query) => search(memory, sections, query), settled: () => memory.settled() };
}

async function loadSections() {
  const response = await fetch(new URL("sections.json", import.meta.url));
  if (!response.ok) throw new Error(`sections.json: ${response.status}`);
  return response.json();
}

function openMemory() {
  return createMemory({
    storage: memoryStorage(),
    tokenizer: "estimate",
    ...(navigator.connection?.saveData ? {} : { embedder: lateEmbedder() }),
    policy: { limits: { queryEmbeddingTimeoutMs: QUERY_EMBEDDING_MS } },
  });
}

/** The embedder that ships with the package; its table (3 MB) is fetched for the first text. */
function lateEmbedder() {
  let table;
  const load = () => (table ??= import("./throughline/static-embedder.js").then(({ createStaticEmbedder }) => createStaticEmbedder()));
  return { id: "static-minilm-256", dimensions: 256, maxBatchSize: 256, maxInputTokens: 512, remote: false, embed: async (texts, options) => (await load()).embed(texts, options) };
}

async function search(memory, sections, query) {
  const groups = await memory.recall(query, { topK: MOST_HITS, before: 0, after: 0, explain: false });
  const hits = groups.flatMap((group) => group.hits).sort((one, other) => other.score - one.score);
  return hits.slice(0, MOST_HITS).map(({ id }) => {
    const { text, ...section } = sections.get(id);
    return { ...section, excerpt: excerptOf(text, query) };
  });
}

/** The piece of a text that says most of the query, in parts: those that are words of the query are marked. */
function excerptOf(text, query) {
  const words = [...new Set(query.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) ?? [])].sort((one, other) => other.length - one.length);
  const line = text.replaceAll(/\s+/g, " ");
  if (words.length === 0) return [{ words: line.slice(0, EXCERPT), isFound: false }];
  const pattern = new RegExp(`(${words.map((word) => word.replaceAll(/[^\p{L}\p{N}_]/gu, "")).join("|")})`, "giu");
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
