/**
 * An embedder that needs no model runtime: a table of 256 numbers per WordPiece token, and the mean of a text's rows.
 * About 0.1 ms per message, everywhere JavaScript runs. Its table (3.3 MB) is a file of the package, fetched when the
 * embedder is made and never before.
 */

import { beginsWith, readFile, readPackageFile, unpack, type PackageFile } from "./package-file.js";
import { WordPiece } from "./word-piece.js";

const ID = "static-minilm-256";
const DIMENSIONS = 256;
const MAX_INPUT_TOKENS = 512;
const MAX_BATCH_SIZE = 256;
/** Longest stretch of work before the page gets its turn. */
const SLICE_MS = 8;

const MAGIC = "TLSTATIC";
const VERSION = 1;
const HEADER_BYTES = 32;

const PACKAGED_TABLE: PackageFile = {
  address: () => new URL("./static-minilm-256.bin", import.meta.url),
  chunk: () => import("./inline/static-minilm-256.js"),
  isRight: (bytes) => beginsWith(bytes, MAGIC),
};

/** Settings of {@link createStaticEmbedder}. */
export interface StaticEmbedderOptions {
  /**
   * The table: where it is, or its bytes, as packed or already gunzipped. Default: `static-minilm-256.bin` beside this
   * module; where a bundler or server has lost it, a chunk with the same bytes as text, a third larger.
   */
  readonly source?: URL | string | ArrayBuffer | Uint8Array;
  /** Aborts the download. */
  readonly signal?: AbortSignal;
}

/** An embedder in the shape that `createMemory` takes. */
export interface StaticEmbedder {
  /** Names the table: vectors of another one are never compared with its. */
  readonly id: "static-minilm-256";
  /** Length of every vector. */
  readonly dimensions: 256;
  /** Nothing leaves the device. */
  readonly remote: false;
  /** Most texts that the engine gives in one call; more work all the same. */
  readonly maxBatchSize: number;
  /** Tokens of one text that count; what comes after them is ignored. */
  readonly maxInputTokens: number;
  /**
   * One vector of length 1 per text, in order; all zeros for a text without words. Works in slices of 8 ms, so that
   * a page stays responsive. Rejects with `aborted` once the signal is.
   */
  embed(texts: readonly string[], options?: { readonly signal?: AbortSignal }): Promise<Float32Array[]>;
}

/** What can go wrong here. The codes are those of the package. */
export type StaticEmbedderErrorCode = "embedding_failed" | "invalid_argument" | "aborted";

/** A failure of the embedder. `isMemoryError` knows it; the message never holds a user's text. */
export class StaticEmbedderError extends Error {
  /** What failed. */
  readonly code: StaticEmbedderErrorCode;
  /** Whether the same call can succeed later. */
  readonly retryable: boolean;
  /** Always left out. */
  readonly details: undefined = undefined;

  constructor(code: StaticEmbedderErrorCode, message: string, options: { retryable?: boolean; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "MemoryError";
    this.code = code;
    this.retryable = options.retryable ?? false;
    Object.defineProperty(this, Symbol.for("throughline.MemoryError"), { value: true });
  }
}

/**
 * Loads the table and answers with the embedder.
 *
 * ```js
 * const memory = await createMemory({ embedder: await createStaticEmbedder() });
 * ```
 *
 * Rejects with `embedding_failed` when the file cannot be fetched (a retry can help) or is not the table (it cannot),
 * with `invalid_argument` for an unusable source, with `aborted` when the signal was aborted.
 */
export async function createStaticEmbedder(options: StaticEmbedderOptions = {}): Promise<StaticEmbedder> {
  const { signal } = options;
  throwIfAborted(signal);
  const table = parseTable(await unpackTable(await load(options)));
  return {
    id: ID,
    dimensions: DIMENSIONS,
    remote: false,
    maxBatchSize: MAX_BATCH_SIZE,
    maxInputTokens: MAX_INPUT_TOKENS,
    async embed(texts, { signal } = {}) {
      if (!Array.isArray(texts) || texts.some((text) => typeof text !== "string")) {
        throw new StaticEmbedderError("invalid_argument", "embed takes an array of strings.");
      }
      throwIfAborted(signal);
      const vectors: Float32Array[] = [];
      let sliceEnd = performance.now() + SLICE_MS;
      for (const text of texts as readonly string[]) {
        if (performance.now() >= sliceEnd) {
          await nextTurn();
          throwIfAborted(signal);
          sliceEnd = performance.now() + SLICE_MS;
        }
        vectors.push(embedText(table, text));
      }
      return vectors;
    },
  };
}

interface Table {
  readonly tokenizer: WordPiece;
  /** One per row. */
  readonly scales: Float32Array;
  /** Two dimensions a byte, the even one in the low half; value = (half - 8) x scale. */
  readonly halves: Uint8Array;
}

/** The mean of the rows of a text's tokens, as a direction. */
function embedText({ tokenizer, scales, halves }: Table, text: string): Float32Array {
  const sums = new Float32Array(DIMENSIONS);
  for (const token of tokenizer.tokenize(text, MAX_INPUT_TOKENS)) {
    const scale = scales[token] ?? 0;
    const start = (token * DIMENSIONS) / 2;
    for (let pair = 0; pair < DIMENSIONS / 2; pair += 1) {
      const byte = halves[start + pair] as number;
      sums[2 * pair] = (sums[2 * pair] as number) + ((byte & 15) - 8) * scale;
      sums[2 * pair + 1] = (sums[2 * pair + 1] as number) + ((byte >> 4) - 8) * scale;
    }
  }
  let square = 0;
  for (const sum of sums) square += sum * sum;
  if (square > 0) {
    const factor = 1 / Math.sqrt(square);
    for (let dimension = 0; dimension < DIMENSIONS; dimension += 1) sums[dimension] = (sums[dimension] as number) * factor;
  }
  return sums;
}

async function load({ source, signal }: StaticEmbedderOptions): Promise<Uint8Array> {
  if (source instanceof Uint8Array) return source;
  if (source instanceof ArrayBuffer) return new Uint8Array(source);
  const url = source === undefined ? undefined : addressOf(source);
  try {
    return await (url === undefined ? readPackageFile(PACKAGED_TABLE, signal) : readFile(url, signal));
  } catch (cause) {
    throwIfAborted(signal);
    throw new StaticEmbedderError(
      "embedding_failed",
      "The embedder's table could not be loaded. Check that static-minilm-256.bin is served beside the bundle, or give its address or bytes as `source`.",
      { retryable: true, cause },
    );
  }
}

function addressOf(source: URL | string): URL {
  try {
    return new URL(source, globalThis.location?.href);
  } catch (cause) {
    throw new StaticEmbedderError("invalid_argument", "`source` is neither an address nor bytes.", { cause });
  }
}

async function unpackTable(bytes: Uint8Array): Promise<Uint8Array> {
  try {
    return await unpack(bytes);
  } catch (cause) {
    throw notTheTable("it ends early or is damaged", cause);
  }
}

/** Checks all of the file before any of it is used. Layout: scripts/pack-static-embedder.mjs. */
function parseTable(bytes: Uint8Array): Table {
  if (bytes.byteLength < HEADER_BYTES) throw notTheTable("it is too short");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const field = (number: number): number => view.getUint32(MAGIC.length + number * 4, true);
  if (String.fromCharCode(...bytes.subarray(0, MAGIC.length)) !== MAGIC) throw notTheTable("it begins otherwise");
  if (field(0) !== VERSION) throw notTheTable(`it has version ${field(0)}, and this module reads version ${VERSION}`);
  const [rows, dimensions, vocabularyBytes, sum] = [field(1), field(2), field(3), field(4)];
  const vocabularyStart = HEADER_BYTES + rows * 4 + (rows * DIMENSIONS) / 2;
  if (dimensions !== DIMENSIONS || bytes.byteLength !== vocabularyStart + Math.ceil(vocabularyBytes / 4) * 4) {
    throw notTheTable("its size does not fit its header");
  }
  // A copy, because words need an aligned start and the caller may change its bytes.
  const words = new Uint32Array(bytes.slice(HEADER_BYTES).buffer);
  if (checksum(words) !== sum) throw notTheTable("its checksum does not fit");
  const text = new TextDecoder().decode(new Uint8Array(words.buffer, vocabularyStart - HEADER_BYTES, vocabularyBytes));
  const tokenizer = new WordPiece(text);
  if (tokenizer.size !== rows) throw notTheTable("its vocabulary does not fit its rows");
  return {
    tokenizer,
    scales: new Float32Array(words.buffer, 0, rows),
    halves: new Uint8Array(words.buffer, rows * 4, (rows * DIMENSIONS) / 2),
  };
}

/** Over 32-bit words, so that four megabytes take a millisecond or two. Finds damage, not malice. */
function checksum(words: Uint32Array): number {
  let sum = 0x811c9dc5;
  for (const word of words) {
    sum = Math.imul(sum ^ word, 0x01000193);
    sum ^= sum >>> 15;
  }
  return sum >>> 0;
}

function notTheTable(reason: string, cause?: unknown): StaticEmbedderError {
  const message = `The file is not the embedder's table: ${reason}. A server that answers with a page for missing files, or a cut download, looks like this.`;
  return new StaticEmbedderError("embedding_failed", message, { cause });
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted === true) {
    throw new StaticEmbedderError("aborted", "The caller aborted.", { cause: signal.reason });
  }
}

/**
 * Lets the event loop run. By a message: timers are held back for a second or more in hidden tabs, and what comes after
 * `scheduler.yield()` goes before everyone else's tasks.
 */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
