/** A model's answer while it arrives: the same for every provider. */

import { MemoryError } from "../../errors.js";

/** What was billed, in the shape of accounting. Left out is what the provider did not tell. */
export interface AnswerUsage {
  /** `"openai"`, `"anthropic"`, `"gemini"`, `"webllm"` or `"chrome-ai"`. */
  provider: string;
  /** The model that answered, as the provider names it. */
  model: string;
  /** Tokens of the request, those from the cache included. */
  inputTokens?: number;
  /** Tokens of the answer, those of its reasoning included. */
  outputTokens?: number;
  /** Of `inputTokens`, those read from the provider's cache. */
  cachedTokens?: number;
  /** Of `inputTokens`, those written to the provider's cache, where that is billed apart. */
  cacheWriteTokens?: number;
}

/**
 * Why an answer ended: it was finished; it was too long; tools are to be called; the provider held it back; or for another
 * reason, which is in the provider's documentation.
 */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "other";

/** A whole answer. */
export interface FinishedAnswer {
  /** What it says, without reasoning. */
  text: string;
  /** The message in the provider's own format, with calls, reasoning and signatures: what `append` takes. */
  message: Record<string, unknown>;
  /** Why it ended. */
  finishReason: FinishReason;
  /** What it took. */
  usage: AnswerUsage;
}

/**
 * An answer that arrives. It is read whether or not anybody iterates; who iterates gets the text in pieces, once, and leaving
 * the loop early aborts the call.
 *
 * ```ts
 * for await (const piece of answer) show(piece);
 * const { message, usage } = await answer.finished;
 * ```
 */
export interface ChatAnswer<Finished = FinishedAnswer> extends AsyncIterable<string> {
  /** The whole answer. Rejects as the iteration does: with `model_failed`, `timeout` or `aborted`. */
  readonly finished: Promise<Finished>;
}

/** What is sent: a built context, or what an app put together itself, in the format that the provider takes. */
export interface SendableContext<Message extends object = object> {
  /** The system text. */
  readonly system: string;
  /** The messages, in order. */
  readonly messages: readonly Message[];
  /** Where the provider's cache can be told to stop, as `buildContext` says. */
  readonly cacheBreakpoints?: readonly {
    readonly after: string;
    readonly systemLength?: number;
    readonly messageIndex?: number;
  }[];
}

/** Reads an answer: gives text away as it comes, and answers with the whole. */
export type AnswerReader<Finished = FinishedAnswer> = (signal: AbortSignal, give: (piece: string) => void) => Promise<Finished>;

/** Starts to read. */
export function startAnswer<Finished>(signal: AbortSignal | undefined, read: AnswerReader<Finished>): ChatAnswer<Finished> {
  const pieces: string[] = [];
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  else signal?.addEventListener("abort", abort, { once: true });
  let wake = (): void => undefined;
  let isDone = false;
  const finished = read(controller.signal, (piece) => {
    if (piece === "") return;
    pieces.push(piece);
    wake();
  }).finally(() => {
    isDone = true;
    signal?.removeEventListener("abort", abort);
    wake();
  });
  // Who only iterates is told there.
  finished.catch(() => undefined);
  let isTaken = false;
  async function* iterate(): AsyncGenerator<string> {
    try {
      for (;;) {
        while (pieces.length > 0) yield pieces.shift() as string;
        if (isDone) break;
        await new Promise<void>((resolve) => (wake = resolve));
      }
      await finished;
    } finally {
      if (!isDone) controller.abort();
    }
  }
  return {
    finished,
    [Symbol.asyncIterator]() {
      if (isTaken) throw new MemoryError("invalid_argument", "An answer can be iterated once; answer.finished has the whole text.");
      isTaken = true;
      return iterate();
    },
  };
}
