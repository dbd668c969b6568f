/**
 * The benchmark: the engine in a worker, on a database of its own, with a conversation that is made up here. Whatever becomes
 * of the run, the database is erased behind it.
 */

import { countTokens, indexedDbStorage, type Embedder, type Memory } from "throughline";
import { createMemoryClient } from "throughline/client";
import { longConversation } from "../../../bench/cost/conversation.mjs";
import { shippedEmbedder } from "../shipped-embedder.ts";
import { startWorker } from "../workers.ts";
import { PauseWatch } from "./pause-watch.ts";
import { spreadOf, type BenchmarkResult } from "./benchmark-report.ts";

/** Never the one with the person's chats. */
export const DATABASE = "throughline-demo-benchmark";

const USER = "benchmark";
const CONVERSATION = "benchmark";
const ONE_BY_ONE = 100;
const TOGETHER = 64;
const QUESTIONS = 60;
const OPENED = 5;
/** So long the page's thread counts tokens before it lets others have it. */
const SLICE_MS = 12;

/** How far it is. */
export interface BenchmarkProgress {
  words: string;
  /** 0 to 1. */
  share: number;
  result: Partial<BenchmarkResult>;
}

/** Tells how far it is. */
type Tell = (words: string, share: number, measured?: Partial<BenchmarkResult>) => void;

/** Runs it. Rejects with the signal's reason where it is stopped, and with `engine_unavailable` where another tab runs one. */
export async function runBenchmark(messages: number, onProgress: (progress: BenchmarkProgress) => void, signal: AbortSignal): Promise<BenchmarkResult> {
  return await navigator.locks.request(DATABASE, { ifAvailable: true }, async (lock) => {
    if (!lock) throw new Error("A benchmark runs in another tab already. Wait until it has ended.");
    let result: Partial<BenchmarkResult> = { messages };
    const tell: Tell = (words, share, measured = {}) => {
      result = { ...result, ...measured };
      onProgress({ words, share, result });
    };
    const pauses = new PauseWatch();
    try {
      tell("Clearing what an earlier run may have left", 0);
      await erase();
      await measure(messages, tell, signal);
      tell("Erasing the benchmark's database", 0.98, { longestPauseMs: pauses.longestMs });
    } finally {
      pauses.end();
      await erase();
    }
    tell("Done", 1);
    return result as BenchmarkResult;
  });
}

async function measure(count: number, tell: Tell, signal: AbortSignal): Promise<void> {
  const texts = longConversation(Math.ceil(count / 2)).flatMap(({ question, answer }) => [question, answer]).slice(0, count);
  const questions = texts.filter((text, index) => index % 2 === 0 && text.startsWith("Earlier")).slice(-QUESTIONS);
  tell("Counting tokens", 0.02);
  tell("Storing messages", 0.1, await measureTokens(texts, signal));
  const before = (await navigator.storage?.estimate?.())?.usage;
  const words = await open();
  try {
    const appended = await measureAppends(words, texts, (share) => tell("Storing messages", 0.1 + 0.25 * share), signal);
    tell("Searching by words", 0.35, appended);
    const found = await timed(questions, (question) => words.recall(question, { signal }), signal);
    tell("Making vectors", 0.42, { words: spreadOf(found) });
  } finally {
    await words.close();
  }
  const hybrid = await open(shippedEmbedder());
  try {
    const vectors = await measureVectors(hybrid, count, (share) => tell("Making vectors", 0.42 + 0.4 * share), signal);
    tell("Searching by words and meaning", 0.82, vectors);
    const found = await timed(questions, (question) => hybrid.recall(question, { signal }), signal);
    const built = await timed(questions, (question) => hybrid.buildContext({ conversationId: CONVERSATION, question, window: 8_000, reserve: 1_000, signal }), signal);
    const { wasmBytes } = await hybrid.stats();
    const after = (await navigator.storage?.estimate?.())?.usage;
    const storageBytes = before === undefined || after === undefined ? null : Math.max(0, after - before);
    tell("Opening again", 0.92, { hybrid: spreadOf(found), context: spreadOf(built), memoryBytes: wasmBytes, storageBytes, engineBytes: engineBytes() });
  } finally {
    await hybrid.close();
  }
  const opened: number[] = [];
  for (let run = 0; run < OPENED; run += 1) {
    signal.throwIfAborted();
    const begin = performance.now();
    const again = await open();
    await again.recall(questions[run] ?? "port", { signal });
    opened.push(performance.now() - begin);
    await again.close();
  }
  tell("Erasing the benchmark's database", 0.97, { open: spreadOf(opened) });
}

function open(embedder?: Embedder): Promise<Memory> {
  return createMemoryClient(() => startWorker("engine"), { userId: USER, storage: indexedDbStorage({ name: DATABASE }), ...(embedder ? { embedder } : {}) });
}

/** An empty database stays: one that is gone without the engine's knowledge is told as lost. */
async function erase(): Promise<void> {
  const memory = await open();
  try {
    await memory.erase({ user: true });
  } finally {
    await memory.close();
  }
}

/** In the page's thread, in slices. */
async function measureTokens(texts: readonly string[], signal: AbortSignal): Promise<Partial<BenchmarkResult>> {
  const begin = performance.now();
  await countTokens("warm", "o200k_base");
  const vocabularyMs = performance.now() - begin;
  let [tokens, bytes, busyMs] = [0, 0, 0];
  let sliceBegin = performance.now();
  for (const text of texts) {
    const counted = await countTokens(text, "o200k_base");
    tokens += counted.tokens;
    bytes += text.length;
    const sliceMs = performance.now() - sliceBegin;
    if (sliceMs < SLICE_MS) continue;
    busyMs += sliceMs;
    await breathe();
    signal.throwIfAborted();
    sliceBegin = performance.now();
  }
  busyMs += performance.now() - sliceBegin;
  return { tokensPerSecond: (tokens * 1_000) / busyMs, bytesPerSecond: (bytes * 1_000) / busyMs, vocabularyMs };
}

async function measureAppends(memory: Memory, texts: readonly string[], told: (share: number) => void, signal: AbortSignal): Promise<Partial<BenchmarkResult>> {
  await memory.conversations.create({ id: CONVERSATION });
  const messages = texts.map((content, index) => ({ id: `b${index}`, role: index % 2 === 0 ? "user" : "assistant", content }));
  const first = messages.slice(0, ONE_BY_ONE);
  const one = await timed(first, (message) => memory.append(CONVERSATION, message, { format: "openai" }), signal);
  const rest = messages.slice(ONE_BY_ONE);
  const begin = performance.now();
  for (let from = 0; from < rest.length; from += TOGETHER) {
    signal.throwIfAborted();
    await memory.append(CONVERSATION, rest.slice(from, from + TOGETHER), { format: "openai" });
    told(from / rest.length);
  }
  return { appendOne: spreadOf(one), appendMany: (performance.now() - begin) / Math.max(1, rest.length) };
}

async function measureVectors(memory: Memory, count: number, told: (share: number) => void, signal: AbortSignal): Promise<Partial<BenchmarkResult>> {
  const begin = performance.now();
  for (;;) {
    signal.throwIfAborted();
    const { jobs, waitingForVectors } = await memory.stats();
    if (jobs === 0 && waitingForVectors === 0) break;
    told(1 - waitingForVectors / count);
    await Promise.race([memory.settled(), new Promise((resolve) => setTimeout(resolve, 150))]);
  }
  const vectorsMs = performance.now() - begin;
  return { vectorsMs, vectorsPerSecond: (count * 1_000) / vectorsMs };
}

async function timed<Item>(items: readonly Item[], action: (item: Item) => Promise<unknown>, signal: AbortSignal): Promise<number[]> {
  const times: number[] = [];
  for (const item of items) {
    signal.throwIfAborted();
    const begin = performance.now();
    await action(item);
    times.push(performance.now() - begin);
  }
  return times;
}

/** What was loaded as the engine, unpacked. */
function engineBytes(): number | null {
  const entry = performance.getEntriesByType("resource").find(({ name }) => name.endsWith("/engine.wasm")) as PerformanceResourceTiming | undefined;
  return entry && entry.decodedBodySize > 0 ? entry.decodedBodySize : null;
}

/** Lets the page draw and answer. */
function breathe(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}
