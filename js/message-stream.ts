import { MemoryError, isMemoryError } from "./errors.js";
import { toJsonText } from "./messages.js";
import type { Session } from "./session.js";
import { withText } from "./streamed-text.js";
import type { AppendedMessage, RawMessage, StreamedMessage } from "./types.js";

/** Shortest time between two writes of a message that grows. */
const SNAPSHOT_MS = 250;
/** A long message is written less often: so many characters a millisecond are written at most, 64 kB a second. */
const CHARACTERS_PER_MS = 64;
/** What grew by so much, and by a quarter, is written at once: text that comes in a rush is not lost in a crash. */
const RUSH_CHARACTERS = 4_096;
/** A sign of life at least so often; the engine takes a writer for gone after three times as long. */
const HEARTBEAT_MS = 10_000;

/** What a stream needs of the memory that made it. */
export interface StreamContext {
  session: Session;
  conversationId: string;
  /** The message as it begins. */
  message: RawMessage;
  /** Told what no call can report. */
  onError: (error: unknown) => void;
  /** Told when it has ended. */
  onEnd: (stream: MessageStream) => void;
}

/**
 * A message that is being streamed into a conversation. It is stored from the start, so a crash loses the text of the last
 * second or so; what is left then has the status `"aborted"`. {@link write} and {@link update} are cheap and need not be
 * waited for: what fails behind them is told by the event `error`, and made up for by {@link complete} or {@link abort}.
 */
export class MessageStream {
  /** The message's own id, else `seq:<position>`. */
  readonly id: string;
  /** Its position in the conversation. */
  readonly seq: number;
  readonly #context: StreamContext;
  readonly #role: unknown;
  readonly #ownId: unknown;
  readonly #listening = new AbortController();
  /** The message as it is now. Never changed in place. */
  #message: RawMessage;
  #status: "streaming" | "complete" | "aborted" = "streaming";
  #ending: Promise<StreamedMessage> | undefined;
  /** There is something that is not stored yet, */
  #isDirty = false;
  /** of which so many characters are known to have been added. */
  #grown = 0;
  /** Characters of the message when it was last written. */
  #length = 0;
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  /** The latest write failed: the next one waits longer. */
  #hasFailed = false;
  /** The message cannot be written any more: it was erased, or has ended elsewhere. */
  #isGone = false;
  #writtenAt = performance.now();
  #timer: ReturnType<typeof setTimeout> | undefined;
  #dueAt = Infinity;
  #stopReading: (() => void) | undefined;

  /** @internal Made by `memory.stream`. */
  constructor(context: StreamContext, begun: AppendedMessage, signal: AbortSignal | undefined) {
    this.#context = context;
    this.id = begun.id;
    this.seq = begun.seq;
    this.#message = context.message;
    this.#role = context.message["role"];
    this.#ownId = idOf(context.message);
    const abort = (): void => void this.abort().catch((error: unknown) => context.onError(error));
    if (signal?.aborted) abort();
    else signal?.addEventListener("abort", abort, { once: true, signal: this.#listening.signal });
    this.#schedule();
  }

  /**
   * Adds text to what the message says: to its text, to its last part where that is text, else as a new text part. Text
   * that comes after {@link abort} is ignored.
   *
   * @throws `invalid_argument` for what is no text, or after {@link complete}.
   */
  write(delta: string): void {
    if (typeof delta !== "string") throw refuse("write: the text must be a string.");
    if (!this.#isOpen() || delta === "") return;
    this.#message = withText(this.#message, delta);
    this.#grown += delta.length;
    this.#changed();
  }

  /**
   * Gives the message as it is now, whole: with tool calls, metadata, or as a library hands it over with each part. Do not
   * change the object afterwards. After {@link abort} it is ignored.
   *
   * @throws `invalid_argument` where the message is no object, its id or its role are not those that it began with, or after
   * {@link complete}.
   */
  update(message: object): void {
    this.#check(message, "update");
    if (!this.#isOpen()) return;
    this.#message = message as RawMessage;
    this.#changed();
  }

  /**
   * Stores the message as it is now, or as it is given here, exact and durable: it is complete. Where the message was
   * aborted before, the answer says so. Where it rejects, the stream goes on, and the call can be made again.
   *
   * @throws `invalid_argument` (not plain JSON, too long, another id or role), `not_found` (it was erased), `conflict` (it was
   * taken as aborted, because this page was not heard of for half a minute), `storage_quota_exceeded`.
   */
  async complete(message?: object): Promise<StreamedMessage> {
    if (message !== undefined) {
      this.#check(message, "complete");
      if (this.#status === "streaming") this.#message = message as RawMessage;
    }
    return this.#end("complete");
  }

  /** Ends the message with the status `"aborted"`; what arrived is kept. Rejects as {@link complete} does. */
  async abort(): Promise<StreamedMessage> {
    const ending = this.#end("aborted");
    this.#stopReading?.();
    return ending;
  }

  /**
   * Writes everything that comes out of `source` and completes the message. Where `source` throws, the message is aborted
   * and its error thrown; where the message is aborted meanwhile, `source` is cancelled.
   *
   * @throws what `source` throws; `aborted` where the message is aborted meanwhile; what {@link complete} rejects with.
   */
  async from(source: AsyncIterable<string> | Iterable<string> | ReadableStream<string>): Promise<StreamedMessage> {
    const reader = readerOf(source);
    try {
      for (;;) {
        if (this.#status === "aborted") throw aborted();
        const { done, value } = await this.#untilAborted(reader.next());
        if (done) break;
        this.write(value as string);
      }
    } catch (error) {
      // A source that never answers again must not be waited for.
      void Promise.resolve(reader.cancel(error)).catch(() => undefined);
      await this.abort().catch((failure: unknown) => this.#context.onError(failure));
      throw error;
    } finally {
      this.#stopReading = undefined;
    }
    return this.complete();
  }

  /**
   * Resolves once what was given so far is stored, so that contexts and searches have it. What cannot be stored is told by the
   * event `error`, as with {@link write}.
   */
  async written(): Promise<void> {
    while (this.#isWriting) await this.#writing;
    if (this.#isDirty && !this.#isGone && this.#status === "streaming") {
      this.#writing = this.#write();
      await this.#writing;
    }
  }

  /** False once it was aborted. */
  #isOpen(): boolean {
    if (this.#status === "complete") throw refuse("This message is complete; append what follows as a message of its own.");
    return this.#status === "streaming";
  }

  #check(message: unknown, call: string): void {
    if (typeof message !== "object" || message === null || Array.isArray(message)) throw refuse(`${call}: the message must be an object.`);
    const given = message as RawMessage;
    if (given["role"] === this.#role && idOf(given) === this.#ownId) return;
    throw refuse(`${call}: a streamed message keeps the id and the role that it began with.`);
  }

  #changed(): void {
    this.#isDirty = true;
    this.#schedule();
  }

  /** Sets the timer of the next write. Many calls between two writes cost next to nothing. */
  #schedule(): void {
    if (this.#isWriting || this.#isGone || this.#status !== "streaming") return;
    const isRush = this.#grown >= Math.max(RUSH_CHARACTERS, this.#length / 4);
    const pause = isRush ? 0 : Math.max(SNAPSHOT_MS, this.#length / CHARACTERS_PER_MS);
    const dueAt = this.#writtenAt + (this.#isDirty && !this.#hasFailed ? Math.min(pause, HEARTBEAT_MS) : HEARTBEAT_MS);
    if (this.#timer !== undefined && this.#dueAt <= dueAt) return;
    clearTimeout(this.#timer);
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.#writing = this.#write();
    }, Math.max(0, dueAt - performance.now()));
    // Node must not be kept alive by the timer.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  #cancelTimer(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  /** Stores the message as it is now; where nothing is new, gives a sign of life. One write at a time. */
  async #write(): Promise<void> {
    this.#cancelTimer();
    const isDirty = this.#isDirty;
    this.#isWriting = true;
    this.#isDirty = false;
    this.#grown = 0;
    try {
      const message = isDirty ? toJsonText(this.#message, "message") : undefined;
      this.#length = message?.length ?? this.#length;
      await this.#call("streaming", message);
      this.#hasFailed = false;
    } catch (error) {
      this.#isDirty ||= isDirty;
      this.#hasFailed = true;
      // Its end tells what becomes of it.
      if (this.#status === "streaming") {
        this.#noteLoss(error);
        if (!isMemoryError(error, "closed")) this.#context.onError(error);
      }
    } finally {
      this.#isWriting = false;
      this.#writtenAt = performance.now();
      this.#schedule();
    }
  }

  /** After these there is nothing left to write to. */
  #noteLoss(error: unknown): void {
    this.#isGone = isMemoryError(error, "not_found") || isMemoryError(error, "conflict") || isMemoryError(error, "closed");
    if (this.#isGone) this.#release();
  }

  #release(): void {
    this.#listening.abort();
    this.#context.onEnd(this);
  }

  #end(status: "complete" | "aborted"): Promise<StreamedMessage> {
    this.#ending ??= this.#store(status);
    return this.#ending;
  }

  async #store(status: "complete" | "aborted"): Promise<StreamedMessage> {
    this.#status = status;
    this.#cancelTimer();
    try {
      const stored = status === "complete" ? await this.#storeNow(status) : await this.#storeWhatCan(status);
      this.#release();
      return stored;
    } catch (error) {
      this.#status = "streaming";
      this.#ending = undefined;
      this.#noteLoss(error);
      this.#schedule();
      throw error;
    }
  }

  async #storeNow(status: "complete" | "aborted"): Promise<StreamedMessage> {
    return this.#call(status, toJsonText(this.#message, "message"));
  }

  /** What cannot be stored as it is now ends as it was last stored. */
  async #storeWhatCan(status: "aborted"): Promise<StreamedMessage> {
    try {
      return await this.#storeNow(status);
    } catch (error) {
      if (!isMemoryError(error, "invalid_argument")) throw error;
      return this.#call(status);
    }
  }

  async #call<Status extends string>(status: Status, message?: string): Promise<AppendedMessage & { status: Status }> {
    const { conversationId, session } = this.#context;
    const request = { conversationId, id: this.id, seq: this.seq, status, ...(message === undefined ? {} : { message }) };
    // A second try finds the message as the first one left it.
    const stored = (await session.call("updateStream", request, { idempotent: true, counts: true })) as AppendedMessage;
    return { ...stored, status };
  }

  #untilAborted<T>(answer: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#stopReading = () => reject(aborted());
      answer.then(resolve, reject);
    });
  }
}

function readerOf(source: AsyncIterable<string> | Iterable<string> | ReadableStream<string>): {
  next: () => Promise<{ done?: boolean | undefined; value?: unknown }>;
  cancel: (reason: unknown) => unknown;
} {
  // Not every platform lets a ReadableStream be iterated.
  if (typeof source === "object" && source !== null && "getReader" in source) {
    const reader = source.getReader();
    return { next: () => reader.read(), cancel: (reason) => reader.cancel(reason) };
  }
  const { [Symbol.asyncIterator]: openAsync, [Symbol.iterator]: open } = Object(source) as Partial<AsyncIterable<string> & Iterable<string>>;
  const iterator = openAsync?.call(source as never) ?? open?.call(source as never);
  if (typeof source !== "object" || iterator === undefined) throw refuse("from: the source must be a stream or an async iterable of texts.");
  return { next: async () => iterator.next(), cancel: () => iterator.return?.() };
}

/** The id that a message has of its own. */
function idOf(message: RawMessage): unknown {
  const { id } = message;
  return id === null || id === "" ? undefined : id;
}

function aborted(): MemoryError {
  return new MemoryError("aborted", "The message was aborted while it was being streamed; what arrived is kept.");
}

function refuse(message: string): MemoryError {
  return new MemoryError("invalid_argument", message);
}
