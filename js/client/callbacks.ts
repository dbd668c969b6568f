/** The app's callbacks, asked by the worker: they run in the page, where the app defined them. */

import { MemoryError } from "../errors.js";
import type { CheckedOptions } from "../options.js";
import type { Vector } from "../types.js";
import { handingOver, type Answers } from "./line.js";
import type { AskedOfPage, PackedVectors } from "./protocol.js";

/** Answers for the callbacks of these options. What is no callback of theirs is never asked. */
export function callbacksOf(options: CheckedOptions): Omit<Answers<AskedOfPage>, "chunk"> {
  const { embedder, languageModel, onDataLoss, storageHint, vocabulary } = options;
  return {
    embed: async ({ texts, purpose }, signal) => packed(await embedder?.embed(texts, { signal, purpose })),
    generate: async (request, signal) => {
      const answer: unknown = await languageModel?.generate({ ...request, signal });
      // As text: an object of the app's may hold what cannot cross. What is neither is refused by the worker.
      return typeof answer === "object" && answer !== null ? JSON.stringify(answer) : answer;
    },
    vocabulary,
    onDataLoss: (damage) => (typeof onDataLoss === "function" ? onDataLoss(damage) : onDataLoss),
    loadHint: () => storageHint?.load(),
    saveHint: async (text) => {
      await storageHint?.save(text);
      return undefined;
    },
  };
}

/**
 * Vectors in one piece of memory that is handed over. They are copied into it once: the app may keep its own. What is no list
 * of vectors of one length is left as it is, for the engine to say what is wrong with it.
 */
function packed(vectors: unknown): unknown {
  if (!Array.isArray(vectors) || !vectors.every(isVector)) return described(vectors);
  const [first] = vectors;
  const length = first?.length ?? 0;
  if (length === 0 || vectors.some((vector) => vector.length !== length)) return vectors;
  const numbers = new Float32Array(vectors.length * length);
  vectors.forEach((vector, index) => numbers.set(vector instanceof Float32Array ? vector : Float32Array.from(vector, Number), index * length));
  const pack: PackedVectors = { length, numbers };
  return handingOver(pack, [numbers.buffer]);
}

function isVector(value: unknown): value is Vector {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

/** What is no vectors, so that it can cross and the engine refuses it in its own words. */
function described(value: unknown): unknown {
  return Array.isArray(value) ? value.map((each: unknown) => (isVector(each) ? each : null)) : typeof value === "object" ? {} : undefined;
}

/** The streams that exports write into. */
export class ExportStreams {
  readonly #writers = new Map<number, WritableStreamDefaultWriter<Uint8Array>>();
  #last = 0;

  /** A number for the stream. */
  add(to: unknown): number {
    if (!(to instanceof WritableStream)) throw new MemoryError("invalid_argument", "export: options.to must be a WritableStream.");
    this.#last += 1;
    this.#writers.set(this.#last, (to as WritableStream<Uint8Array>).getWriter());
    return this.#last;
  }

  /** Takes the next bytes in; without bytes, closes or aborts the stream. */
  async take(stream: number, bytes: Uint8Array | undefined, failure: { error: unknown } | undefined): Promise<undefined> {
    const writer = this.#writers.get(stream);
    if (bytes !== undefined) await writer?.write(bytes);
    else if (failure === undefined) await writer?.close();
    else await writer?.abort(failure.error);
    return undefined;
  }

  /** It is over. A stream that is neither closed nor aborted, since the worker has ended, is aborted. */
  remove(stream: number, failure?: { error: unknown }): void {
    const writer = this.#writers.get(stream);
    this.#writers.delete(stream);
    if (failure !== undefined) void writer?.abort(failure.error).catch(() => undefined);
    writer?.releaseLock();
  }
}
