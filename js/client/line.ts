/** One end of the channel between page and worker: asks and answers, and tells what needs no answer. */

import { MemoryError } from "../errors.js";
import { ErrorWire } from "./error-wire.js";
import type { Frame, Questions } from "./protocol.js";

/** What answers the other side's questions. `signal` is aborted when the answer is no longer wanted. */
export type Answers<Asked extends Questions<Asked>> = {
  [Name in keyof Asked]: (given: Asked[Name][0], signal: AbortSignal) => Promise<Asked[Name][1]> | Asked[Name][1];
};

/** What hears what the other side tells. */
export type Ears<Told> = { [Name in keyof Told]: (told: Told[Name]) => void };

/** How a question is asked. */
export interface Asking {
  signal?: AbortSignal | undefined;
  /** What is handed over instead of copied. */
  transfer?: Transferable[] | undefined;
}

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
}

/** Answers that are handed over instead of copied, with what they consist of. */
const handedOver = new WeakMap<object, Transferable[]>();

/** Marks an answer: these parts of it are handed over. */
export function handingOver<Answer extends object>(answer: Answer, parts: Transferable[]): Answer {
  handedOver.set(answer, parts);
  return answer;
}

/** One end. */
export class Line<Asks extends Questions<Asks>, Tells, Asked extends Questions<Asked>, Told> {
  readonly #port: MessagePort;
  readonly #errors = new ErrorWire();
  readonly #keepsErrors: boolean;
  readonly #waiting = new Map<number, Waiting>();
  readonly #answering = new Map<number, AbortController>();
  #last = 0;
  #ended: { error: unknown } | undefined;

  /** With `keepsErrors`, what the answers throw is kept, so that it comes back as the same object. */
  constructor(port: MessagePort, answers: Answers<Asked>, ears: Ears<Told>, keepsErrors: boolean) {
    this.#port = port;
    this.#keepsErrors = keepsErrors;
    port.onmessage = ({ data }: MessageEvent<Frame>) => this.#receive(data, answers, ears);
    // Node: only what is waited for keeps the process alive.
    this.#hold(false);
  }

  /** Asks the other side. Rejects with its failure, or with what this end was ended with. */
  ask<Name extends keyof Asks & string>(name: Name, given: Asks[Name][0], { signal, transfer = [] }: Asking = {}): Promise<Asks[Name][1]> {
    this.#last += 1;
    const id = this.#last;
    return new Promise((resolve, reject) => {
      if (this.#ended !== undefined) {
        reject(this.#ended.error);
        return;
      }
      this.#post({ kind: "ask", id, name, value: given }, transfer);
      const abort = (): void => this.#post({ kind: "abort", id, reason: this.#errors.encode(signal?.reason, this.#keepsErrors ? -id : undefined) });
      const over = (): void => {
        signal?.removeEventListener("abort", abort);
        this.#waiting.delete(id);
        if (this.#waiting.size === 0) this.#hold(false);
      };
      const settling = (how: (value: never) => void) => (value: unknown): void => {
        over();
        how(value as never);
      };
      this.#waiting.set(id, { resolve: settling(resolve), reject: settling(reject) });
      this.#hold(true);
      signal?.addEventListener("abort", abort, { once: true });
      if (signal?.aborted) abort();
    });
  }

  /** Tells the other side. */
  tell<Name extends keyof Tells & string>(name: Name, value: Tells[Name]): void {
    if (this.#ended === undefined) this.#post({ kind: "tell", name, value });
  }

  /** An error of the other side's, as it crosses with something else. */
  encode(error: unknown): ReturnType<ErrorWire["encode"]> {
    return this.#errors.encode(error);
  }

  /** An error that crossed with something else. */
  decode(error: ReturnType<ErrorWire["encode"]>): unknown {
    return this.#errors.decode(error);
  }

  /** Nobody hears the other side any more: what is waited for rejects with `error`, what is being answered is aborted. */
  end(error: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = { error };
    this.#port.onmessage = null;
    this.#port.close();
    for (const { reject } of [...this.#waiting.values()]) reject(error);
    for (const controller of this.#answering.values()) controller.abort(error);
    this.#answering.clear();
  }

  #post(frame: Frame, transfer: Transferable[] = []): void {
    if (this.#ended === undefined) this.#port.postMessage(frame, transfer);
  }

  #receive(frame: Frame, answers: Answers<Asked>, ears: Ears<Told>): void {
    switch (frame.kind) {
      case "ask":
        void this.#answer(frame.id, answers[frame.name as keyof Asked], frame.value);
        break;
      case "abort":
        this.#answering.get(frame.id)?.abort(this.#errors.decode(frame.reason));
        break;
      case "answer":
        this.#waiting.get(frame.id)?.resolve(frame.value);
        break;
      case "failure":
        this.#waiting.get(frame.id)?.reject(this.#errors.decode(frame.error));
        break;
      case "tell":
        (ears[frame.name as keyof Told] as (told: unknown) => void)(frame.value);
        break;
    }
  }

  async #answer(id: number, how: Answers<Asked>[keyof Asked], given: unknown): Promise<void> {
    const controller = new AbortController();
    this.#answering.set(id, controller);
    try {
      const value: unknown = await how(given, controller.signal);
      const parts = typeof value === "object" && value !== null ? handedOver.get(value) : undefined;
      this.#post({ kind: "answer", id, value }, parts);
    } catch (error) {
      this.#post({ kind: "failure", id, error: this.#errors.encode(error, this.#keepsErrors ? id : undefined) });
    } finally {
      this.#answering.delete(id);
    }
  }

  /** Only in Node does a port have these. */
  #hold(isWanted: boolean): void {
    const port = this.#port as MessagePort & { ref?: () => void; unref?: () => void };
    if (isWanted) port.ref?.();
    else port.unref?.();
  }
}

/** What cannot cross, said as a failure of this code. Everything else is thrown as it is. */
export function notCloneable(error: unknown, code: "invalid_argument" | "invalid_config", message: string): unknown {
  return isRefusedClone(error) ? new MemoryError(code, message, { cause: error }) : error;
}

/** Whether something was not sent because it cannot cross. */
export function isRefusedClone(error: unknown): boolean {
  return error instanceof DOMException && error.name === "DataCloneError";
}
