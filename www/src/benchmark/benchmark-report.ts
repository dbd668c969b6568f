/** What a run of the benchmark found, as rows and as text. */

import { formatBytes, formatNumber } from "../wording.ts";

/** What was measured. Times are in milliseconds. */
export interface BenchmarkResult {
  messages: number;
  tokensPerSecond: number;
  /** Bytes of text per second, counted. */
  bytesPerSecond: number;
  vocabularyMs: number;
  appendOne: Spread;
  appendMany: number;
  vectorsPerSecond: number;
  vectorsMs: number;
  words: Spread;
  hybrid: Spread;
  context: Spread;
  /** From nothing to the first answer, of a database that is there. */
  open: Spread;
  engineBytes: number | null;
  storageBytes: number | null;
  memoryBytes: number;
  /** Longest time in which the page did not answer. */
  longestPauseMs: number;
}

/** Of many times. */
export interface Spread {
  p50: number;
  p95: number;
  count: number;
}

/** Of these times. */
export function spreadOf(times: readonly number[]): Spread {
  const sorted = [...times].sort((one, other) => one - other);
  const at = (share: number): number => sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? 0;
  return { p50: at(0.5), p95: at(0.95), count: times.length };
}

/** A row: what, how much, and how it was measured. */
export interface BenchmarkRow {
  id: string;
  label: string;
  value: string;
  how: string;
}

const milliseconds = (value: number): string => `${value < 10 ? value.toFixed(1) : value.toFixed(0)} ms`;
const both = ({ p50, p95 }: Spread): string => `${milliseconds(p50)}, p95 ${milliseconds(p95)}`;

/** The rows, of what has been measured so far. */
export function benchmarkRows(result: Partial<BenchmarkResult>): BenchmarkRow[] {
  const rows: BenchmarkRow[] = [];
  const add = <Name extends keyof BenchmarkResult>(name: Name, label: string, value: (measured: NonNullable<BenchmarkResult[Name]>) => string, how: (measured: NonNullable<BenchmarkResult[Name]>) => string): void => {
    const measured = result[name];
    if (measured !== undefined && measured !== null) rows.push({ id: name, label, value: value(measured), how: how(measured) });
  };
  const { messages = 0 } = result;
  add("tokensPerSecond", "Counting tokens", (value) => `${(value / 1e6).toFixed(2)} million a second`, () =>
    `o200k_base, exact; ${formatBytes(result.bytesPerSecond)} of text a second; ${vocabularyWords(result.vocabularyMs ?? 0)}`);
  add("appendOne", "Storing one message", both, ({ count }) => `until it is safe on disk, ${formatNumber(count)} one after the other`);
  add("appendMany", "Storing many", (value) => `${value.toFixed(2)} ms a message`, () => `64 at a time, ${formatNumber(messages)} in all, searchable at once`);
  add("words", "Searching by words", both, ({ count }) => `ten hits, ${formatNumber(count)} questions`);
  add("vectorsMs", "Index by meaning", (value) => `${(value / 1_000).toFixed(1)} s`, () => `${formatNumber(Math.round(result.vectorsPerSecond ?? 0))} messages a second with the shipped embedder, in the background, in the page's thread`);
  add("hybrid", "Searching by words and meaning", both, ({ count }) => `ten hits, ${formatNumber(count)} questions, each embedded here`);
  add("context", "Building a context", both, ({ count }) => `window of 8,000, ${formatNumber(count)} questions`);
  add("open", "Opening again", both, ({ count }) => `a worker, the engine and the database, to the first answer, ${formatNumber(count)} times`);
  add("storageBytes", "On disk", formatBytes, () => "what the browser says this site takes more than before; it rounds, and tidies up later");
  add("memoryBytes", "In working memory", formatBytes, () => "of the engine");
  add("engineBytes", "Engine", formatBytes, () => "WebAssembly as it was loaded, unpacked");
  add("longestPauseMs", "Longest pause of this page", milliseconds, () => "while all of this ran");
  return rows;
}

/** The race may have loaded it before. */
const vocabularyWords = (value: number): string => (value < 2 ? "the vocabulary was there" : `the vocabulary was there after ${milliseconds(value)}`);

/** As text, with where it was measured. */
export function benchmarkText(result: Partial<BenchmarkResult>): string {
  const { hardwareConcurrency, userAgent } = navigator;
  const head = [
    `Throughline, ${formatNumber(result.messages ?? 0)} messages, engine in a worker`,
    `${userAgent}, ${hardwareConcurrency} cores`,
    new Date().toISOString(),
  ];
  return [...head, "", ...benchmarkRows(result).map(({ label, value, how }) => `${label}: ${value} (${how})`)].join("\n");
}
