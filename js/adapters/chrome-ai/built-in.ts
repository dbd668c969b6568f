/** The browser's built-in model (the Prompt API), as far as it is used. */

import { MemoryError } from "../../errors.js";

/** Whether there is a model: not in this browser, not for this device or language, or how far it is. */
export type ChromeAiAvailability = "unsupported" | "unavailable" | "downloadable" | "downloading" | "available";

/** A message of a session. */
export interface BuiltInMessage {
  role: "system" | "user" | "assistant";
  content: string;
}

/** A session. Names that Chrome had before are read too. */
export interface BuiltInSession {
  prompt(input: string, options: never): Promise<string>;
  promptStreaming(input: string, options: never): ReadableStream<string>;
  destroy(): void;
  addEventListener?(type: never, listener: never): void;
}

/** The global `LanguageModel`. */
export interface BuiltInApi {
  availability(options: never): Promise<string>;
  create(options: never): Promise<BuiltInSession>;
}

/** Options of all sessions. */
export interface SessionOptions {
  /** Languages of what goes in and comes out, as codes. Default `["en"]`. */
  languages?: readonly string[];
  /** In place of the global `LanguageModel`. */
  api?: BuiltInApi;
}

/** The global, where the browser has one. */
export function builtInApi(given: BuiltInApi | undefined): BuiltInApi | undefined {
  return given ?? (globalThis as { LanguageModel?: BuiltInApi }).LanguageModel;
}

/** What both `availability` and `create` are asked for. */
export function expectations({ languages = ["en"] }: SessionOptions): object {
  const expected = [{ type: "text", languages }];
  return { expectedInputs: expected, expectedOutputs: expected };
}

/** A new session. */
export async function openSession(
  options: SessionOptions & { onDownload?: (share: number) => void },
  messages: readonly BuiltInMessage[],
  signal?: AbortSignal,
): Promise<BuiltInSession> {
  const api = builtInApi(options.api);
  if (api === undefined) throw missing("unsupported");
  const { onDownload } = options;
  const monitor = (source: EventTarget): void =>
    source.addEventListener("downloadprogress", (event) => onDownload?.(shareOf(event as ProgressEvent)));
  const request = {
    ...expectations(options),
    ...(messages.length === 0 ? {} : { initialPrompts: messages }),
    ...(signal === undefined ? {} : { signal }),
    ...(onDownload === undefined ? {} : { monitor }),
  };
  try {
    return await api.create(request as never);
  } catch (error) {
    throw failureOf(error, signal);
  }
}

/** `loaded` was a number of bytes once, and is a share of 1 now. */
function shareOf({ loaded, total }: ProgressEvent): number {
  return Math.min(1, total > 0 ? loaded / total : loaded);
}

/** There is no model. */
export function missing(availability: ChromeAiAvailability): MemoryError {
  const why = availability === "unsupported" ? "This browser has no built-in model for pages." : "The built-in model does not run on this device, or not in these languages.";
  return new MemoryError("model_failed", why, { retryable: false, details: { reason: availability } });
}

/** Fails without the cause: a browser's message may quote the prompt. */
export function failureOf(error: unknown, signal: AbortSignal | undefined): MemoryError {
  if (error instanceof MemoryError) return error;
  if (signal?.aborted) return new MemoryError("aborted", "The call was aborted.", { cause: signal.reason });
  const reason = typeof error === "object" && error !== null && "name" in error ? String(error.name) : "unknown";
  const details = { reason };
  switch (reason) {
    case "QuotaExceededError":
      return new MemoryError("model_failed", "The request does not fit the model: build the context for a smaller window.", { retryable: false, details });
    case "NotAllowedError":
      return new MemoryError("model_failed", "The browser did not allow it. Where the model must be downloaded, call this when the user clicks; frames need allow=\"language-model\".", { retryable: false, details });
    case "NotSupportedError":
      return new MemoryError("model_failed", "The built-in model does not take this language or schema.", { retryable: false, details });
    default:
      return new MemoryError("model_failed", `The built-in model failed (${reason}). Try again.`, { details });
  }
}

/** Tokens that fit a session. */
export function windowOf(session: BuiltInSession): number | undefined {
  const { contextWindow, inputQuota } = session as { contextWindow?: unknown; inputQuota?: unknown };
  return [contextWindow, inputQuota].find((value): value is number => typeof value === "number" && Number.isFinite(value) && value > 0);
}
