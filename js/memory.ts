import { requireId, requireOptions, requireText } from "./arguments.js";
import { Conversations } from "./conversations.js";
import { MemoryError, toMemoryError } from "./errors.js";
import { wasmMemoryBytes } from "./engine-instance.js";
import { EventEmitter } from "./events.js";
import { Facts } from "./facts.js";
import { fromJsonTexts, toJsonText, toJsonTexts } from "./messages.js";
import { checkOptions } from "./options.js";
import { Session } from "./session.js";
import type {
  AppendedMessage,
  AppendOptions,
  BuildContextRequest,
  CallOptions,
  CompactOptions,
  Context,
  EraseTarget,
  Erasure,
  HistoryOptions,
  ImportInput,
  ImportOptions,
  ImportReport,
  MemoryEventName,
  MemoryEvents,
  MemoryOptions,
  RawMessage,
  RecallGroup,
  RecallOptions,
  Stats,
  Summary,
} from "./types.js";

/**
 * Opens the memory of one user.
 *
 * ```ts
 * const memory = await createMemory({ userId: "alex" });
 * const chat = await memory.conversations.create();
 * await memory.append(chat.id, [{ role: "user", content: "We use port 8471." }]);
 * const context = await memory.buildContext({ conversationId: chat.id, question: "Which port?" });
 * ```
 *
 * @throws `invalid_config` naming the option, `wasm_load_failed`, `wasm_blocked_by_csp`, `wasm_unsupported`, or what the
 * storage reports (`storage_unavailable`, `storage_blocked`, `schema_too_new`, `storage_corrupt`).
 */
export async function createMemory(options: MemoryOptions = {}): Promise<Memory> {
  const events = new EventEmitter();
  const session = new Session(checkOptions(options), (event, payload) => events.emit(event, payload));
  await session.open();
  return new Memory(session, events);
}

/**
 * The memory of one user. Every call rejects with a `MemoryError`; after {@link Memory.close} with `closed`. All calls
 * can run at the same time.
 */
export class Memory {
  /** The user's conversations. */
  readonly conversations: Conversations;
  /** What is remembered about the user. */
  readonly facts: Facts;
  readonly #session: Session;
  readonly #events: EventEmitter;
  /** The latest append of each conversation: appends are stored in the order in which they were called. */
  readonly #appends = new Map<string, Promise<unknown>>();

  /** @internal Made by {@link createMemory}. */
  constructor(session: Session, events: EventEmitter) {
    this.#session = session;
    this.#events = events;
    this.conversations = new Conversations(session);
    this.facts = new Facts(session);
  }

  /**
   * Stores messages, whole or not at all, in one transaction. The object comes back from {@link Memory.history} as
   * `JSON.stringify` sees it: a Date becomes text, a field that is `undefined` is gone, everything else is as it was given. The same id with the same content is a no-op.
   *
   * @throws `not_found` (the conversation), `conflict` (the same id with other content), `invalid_argument` (not plain
   * JSON, or too long), `storage_quota_exceeded`. Nothing was stored then.
   */
  async append(
    conversationId: string,
    messages: object | readonly object[],
    options: AppendOptions = {},
  ): Promise<AppendedMessage[]> {
    const texts = toJsonTexts(messages);
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      messages: texts,
      ...requireOptions(options, "options"),
    };
    if (texts.length === 0) return [];
    // With ids of their own, messages that are there already are recognised; without, a second try could double them.
    const idempotent = (Array.isArray(messages) ? messages : [messages]).every(hasId);
    const after = this.#appends.get(conversationId);
    const call = this.#session.call("append", request, { idempotent, counts: true, signal: options.signal, after });
    const tail = call.catch(() => undefined);
    this.#appends.set(conversationId, tail);
    void tail.then(() => {
      if (this.#appends.get(conversationId) === tail) this.#appends.delete(conversationId);
    });
    return (await call) as AppendedMessage[];
  }

  /** The raw messages of a conversation, in order, as they were given. */
  async history<Message extends object = RawMessage>(
    conversationId: string,
    options: HistoryOptions = {},
  ): Promise<Message[]> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      ...requireOptions(options, "options"),
    };
    return fromJsonTexts(await this.#session.call("history", request, { idempotent: true, signal: options.signal }));
  }

  /**
   * Decides what the model should see for a question, within `window - reserve` tokens, and says why in the receipt.
   * Nothing is stored.
   *
   * @throws `budget_infeasible` where the question and what must go with it do not fit; the question is never cut.
   */
  async buildContext<Message extends object = RawMessage>(request: BuildContextRequest): Promise<Context<Message>> {
    const { question, tools, documents, ...rest } = requireOptions(request, "request");
    requireId(rest.conversationId, "request.conversationId");
    const given: unknown = documents;
    if (given !== undefined && !Array.isArray(given)) {
      throw new MemoryError("invalid_argument", "buildContext: documents must be an array of { id, text, source? }.");
    }
    const answer = (await this.#session.call(
      "buildContext",
      {
        ...rest,
        ...(question === undefined ? {} : { question: requireText(question, "request.question") }),
        ...(tools === undefined ? {} : { tools: toJsonText(tools, "request.tools") }),
        ...(documents === undefined ? {} : { documents: documents.map(({ id, text, source }) => ({ id, text, source })) }),
      },
      { idempotent: true, counts: true, signal: request.signal },
    )) as Context<Message> & { messages: string[] };
    return { ...answer, messages: fromJsonTexts<Message>(answer.messages) };
  }

  /** Finds old messages by words and by meaning, without any model call but the query's embedding. Best first. */
  async recall<Message extends object = RawMessage>(
    query: string,
    options: RecallOptions = {},
  ): Promise<RecallGroup<Message>[]> {
    const { explain = true, ...rest } = requireOptions(options, "options");
    const request = { query: requireText(query, "query"), ...rest };
    const groups = (await this.#session.call("recall", request, {
      idempotent: true,
      signal: options.signal,
    })) as (RecallGroup<Message> & { messages: string[] })[];
    return groups.map((group) => {
      const read = { ...group, messages: fromJsonTexts<Message>(group.messages) };
      return explain ? read : withoutScores(read);
    });
  }

  /** The rolling summary of a conversation; version 0 and empty where nothing has been summarised. */
  async summary(conversationId: string, options: CallOptions = {}): Promise<Summary> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      ...requireOptions(options, "options"),
    };
    return (await this.#session.call("summary", request, { idempotent: true, signal: options.signal })) as Summary;
  }

  /**
   * Folds old messages into the rolling summary now, and answers with it.
   *
   * @throws `invalid_config` without a language model; `model_failed`, `model_output_invalid`, `timeout`: the summary is
   * as it was.
   */
  async compact(conversationId: string, options: CompactOptions = {}): Promise<Summary> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      ...requireOptions(options, "options"),
    };
    return (await this.#session.call("compact", request, {
      idempotent: true,
      counts: true,
      signal: options.signal,
    })) as Summary;
  }

  /** Resolves when no background job is due: done, given up, or waiting for its next try (`stats().nextRetryAt`). */
  async settled(options: CallOptions = {}): Promise<void> {
    await this.#session.call("settled", requireOptions(options, "options"), { idempotent: true, signal: options.signal });
  }

  /** Resolves when everything acknowledged so far would survive a power cut. */
  async flush(options: CallOptions = {}): Promise<void> {
    await this.#session.call("flush", requireOptions(options, "options"), { idempotent: true, signal: options.signal });
  }

  /** Removes what is named, and everything made from it, from every store, index and job. */
  async erase(target: EraseTarget, options: CallOptions = {}): Promise<Erasure> {
    const request = requireOptions(target, "target");
    if (Object.keys(request).length === 0) {
      throw new MemoryError("invalid_argument", "erase: name what to erase: user: true, conversationId or factId.");
    }
    return (await this.#session.call("erase", request, { idempotent: true, signal: options.signal })) as Erasure;
  }

  /**
   * Imports the export of another app: ChatGPT, Claude, Gemini (Takeout), AI Studio, Grok, Open WebUI, LibreChat,
   * SillyTavern, ShareGPT, or messages in a format that `append` takes. Importing the same again changes nothing; a later
   * export adds what is new. A conversation that cannot be read is left out and reported, the others are imported.
   *
   * @throws `invalid_argument` for files of no known app, damaged ones, and those beyond a limit, with the place in
   * `details`: nothing was imported then. `aborted`: what was wholly imported stays, the conversation that was being
   * imported goes where it is new. `storage_*` likewise.
   */
  async import(input: ImportInput, options: ImportOptions = {}): Promise<ImportReport> {
    requireOptions(options, "options");
    const { importFiles } = await import("./import/importer.js").catch((cause: unknown) => {
      throw toMemoryError(cause, "engine_unavailable", "The importer could not be loaded. Serve the package's dist folder whole, and try again.");
    });
    return importFiles(this.#session, input, options);
  }

  /** Figures: what is stored, what it takes, what it has cost. */
  async stats(options: CallOptions = {}): Promise<Stats> {
    const stats = (await this.#session.call("stats", requireOptions(options, "options"), { idempotent: true, signal: options.signal })) as EngineStats;
    return { ...stats, wasmBytes: await wasmMemoryBytes() };
  }

  /**
   * Listens to an event. A listener that throws disturbs nothing: its error is reported as the platform reports uncaught
   * ones.
   *
   * @returns A function that removes the listener.
   */
  on<Name extends MemoryEventName>(event: Name, listener: (payload: MemoryEvents[Name]) => void): () => void {
    if (typeof listener !== "function") throw new MemoryError("invalid_argument", "on: the listener must be a function.");
    return this.#events.on(event, listener);
  }

  /** Gives up background work, finishes writes and releases everything. Later calls reject with `closed`. */
  async close(): Promise<void> {
    await this.#session.close(Promise.all(this.#appends.values()));
  }
}

/** The figures as the engine groups them. */
type EngineStats = Omit<Stats, "wasmBytes">;

function withoutScores<Message extends object>({ scores, hits, ...group }: RecallGroup<Message>): RecallGroup<Message> {
  return { ...group, hits: hits.map(({ id, seq, score }) => ({ id, seq, score })) };
}

function hasId(message: object): boolean {
  return "id" in message && typeof message.id === "string" && message.id !== "";
}
