/**
 * Errors on their way between page and worker. A failure of the package arrives with code, words and details; what an app's
 * callback threw stays where it is, and is that very object again when it comes back as a cause.
 */

import { MemoryError, isMemoryError, type MemoryErrorCode } from "../errors.js";

/** An error as it crosses. */
export type WireError =
  | { kind: "memory"; code: MemoryErrorCode; message: string; retryable: boolean; details: MemoryError["details"]; cause: WireError | undefined }
  | { kind: "other"; name: string; message: string; isFinal: boolean }
  /** One that stays with the side that made it, under a number: that of the sender, or of the receiver. `as`: what the other sees. */
  | { kind: "mine" | "yours"; number: number; as: WireError };

/** So many errors of callbacks are remembered. */
const MOST_KEPT = 64;
/** Causes of causes beyond this are left out: an error can be its own cause. */
const MOST_CAUSES = 4;

/** One side of the channel, as far as errors are concerned. */
export class ErrorWire {
  /** Errors of this side, by number. */
  readonly #kept = new Map<number, unknown>();
  /** Numbers of errors that the other side keeps. */
  readonly #numbers = new WeakMap<object, number>();

  /** An error as it crosses. With a number it is kept for its way back. */
  encode(error: unknown, number?: number): WireError {
    if (number === undefined) return this.#encode(error, MOST_CAUSES);
    this.#kept.set(number, error);
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > MOST_KEPT && oldest !== undefined) this.#kept.delete(oldest);
    return { kind: "mine", number, as: this.#describe(error, MOST_CAUSES) };
  }

  /** An error that crossed. */
  decode(wire: WireError): unknown {
    switch (wire.kind) {
      case "memory": {
        const { code, message, retryable, details, cause } = wire;
        return new MemoryError(code, message, { retryable, details, cause: cause === undefined ? undefined : this.decode(cause) });
      }
      case "other":
        return platformError(wire);
      case "yours":
        return this.#kept.has(wire.number) ? this.#kept.get(wire.number) : this.decode(wire.as);
      case "mine": {
        const error = this.decode(wire.as) as object;
        this.#numbers.set(error, wire.number);
        return error;
      }
    }
  }

  #encode(error: unknown, depth: number): WireError {
    const number = typeof error === "object" && error !== null ? this.#numbers.get(error) : undefined;
    if (number !== undefined) return { kind: "yours", number, as: this.#describe(error, depth) };
    return this.#describe(error, depth);
  }

  #describe(error: unknown, depth: number): WireError {
    if (isMemoryError(error)) {
      const { code, message, retryable, details, cause } = error;
      const isLast = cause === undefined || depth === 0;
      return { kind: "memory", code, message, retryable, details: plain(details), cause: isLast ? undefined : this.#encode(cause, depth - 1) };
    }
    const { name, message, retryable } = (typeof error === "object" && error !== null ? error : {}) as Partial<Record<"name" | "message" | "retryable", unknown>>;
    return {
      kind: "other",
      name: typeof name === "string" ? name : "Error",
      message: typeof message === "string" ? message : String(error),
      isFinal: retryable === false,
    };
  }
}

/** Details are plain data by their type; a callback's own error may hold anything. */
function plain(details: MemoryError["details"]): MemoryError["details"] {
  try {
    return details === undefined ? undefined : structuredClone(details);
  } catch {
    return undefined;
  }
}

function platformError({ name, message, isFinal }: { name: string; message: string; isFinal: boolean }): Error {
  if (typeof DOMException === "function" && (name === "AbortError" || name === "TimeoutError")) return new DOMException(message, name);
  return Object.assign(new Error(message), { name }, isFinal ? { retryable: false } : {});
}
