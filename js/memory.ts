import { requireDocuments, requireGiven, requireId, requireOptions, requireText } from "./arguments.js";
import { Changes } from "./changes.js";
import { Conversations } from "./conversations.js";
import { MemoryError, aborted, toMemoryError } from "./errors.js";
import { Erasures } from "./erasures.js";
import { Episodes } from "./episodes.js";
import { EventEmitter } from "./events.js";
import { Facts } from "./facts.js";
import { fromJsonTexts, toJsonText, toJsonTexts, withoutScores } from "./messages.js";
import { Notes } from "./notes.js";
import { MessageStream } from "./message-stream.js";
import { RunningImports } from "./running-imports.js";
import type { Session } from "./session.js";
import { StorageState } from "./storage-state.js";
import type {
  ActiveLeafOptions, AppendedMessage, AppendOptions, Backup, BuildContextRequest, CallOptions, CompactOptions, Context,
  EditedMessage, EditOptions, EraseTarget, Erasure, ExportOptions, ExportReport, ExportToOptions, HistoryEntry, HistoryOptions, ImportInput, ImportOptions,
  ImportReport, Invalidated, MemoryEventName, MemoryEvents, MessageOfFormat, RawMessage, RecallGroup, RecallOptions,
  RemoveOptions, ReportedUsage, Stats, StreamOptions, Summary, UsageTaken,
} from "./types.js";
import { WriteOrder } from "./write-order.js";

/**
 * The memory of one user. Every call rejects with a `MemoryError`; after {@link Memory.close} with `closed`. All can overlap.
 */
export class Memory {
  /** The user's conversations. */
  readonly conversations: Conversations;
  /** What is remembered about the user. */
  readonly facts: Facts;
  /** What happened in each session. */
  readonly episodes: Episodes;
  /** What the app keeps about a conversation. */
  readonly notes: Notes;
  /** What `throughline/sync` is made of. */
  readonly changes: Changes;
  /** Where the data is kept, and whether it is whole. */
  readonly storage: StorageState;
  readonly #session: Session;
  readonly #events: EventEmitter;
  readonly #writes = new WriteOrder();
  readonly #imports: RunningImports;
  readonly #erasures: Erasures;
  /** Streams that have not ended. */
  readonly #streams = new Set<MessageStream>();

  /** @internal Made by `createMemory`. */
  constructor(session: Session, events: EventEmitter) {
    this.#session = session;
    this.#imports = new RunningImports(session);
    this.#erasures = new Erasures(session, this.#imports, events);
    this.#events = events;
    this.conversations = new Conversations(session);
    this.facts = new Facts(session);
    this.episodes = new Episodes(session);
    this.notes = new Notes(session);
    this.changes = new Changes(session);
    this.storage = new StorageState(session);
  }

  /**
   * Stores messages, whole or not at all, in one transaction. The object comes back from {@link Memory.history} as
   * `JSON.stringify` sees it: a Date becomes text, a field that is `undefined` is gone, everything else is as it was given. The same id with the same content is a no-op.
   *
   * What is appended follows the newest message of the active path, or `parentId`; it ends the active path from then on.
   *
   * @throws `not_found` (the conversation or the parent), `conflict` (the same id with other content), `invalid_argument`
   * (not plain JSON, or too long), `storage_quota_exceeded`. Nothing was stored then.
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
      streaming: false,
    };
    if (texts.length === 0) return [];
    return (await this.#write("append", request, options.signal)) as AppendedMessage[];
  }

  /**
   * Begins a message that arrives in parts, and answers once its beginning is stored. From then on it has its place in the
   * conversation; other messages can be appended behind it. It is in history, recall and contexts with what arrived so far;
   * nothing is embedded, summarised or learned from it, or from what is behind it, until it ends.
   *
   * ```ts
   * const stream = await memory.stream(chat.id, { role: "assistant", content: "" }, { signal });
   * for await (const piece of answer) stream.write(piece);
   * await stream.complete();
   * ```
   *
   * @param message The message as it begins.
   * @throws As {@link Memory.append} does; an id that is stored already is always `conflict`, also where that message was
   * aborted. `aborted` where the signal was aborted before.
   */
  async stream(conversationId: string, message: object, options: StreamOptions = {}): Promise<MessageStream> {
    const [text] = toJsonTexts([message]) as [string];
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      messages: [text],
      ...requireOptions(options, "options"),
      streaming: true,
    };
    const { signal } = options;
    if (signal?.aborted) throw aborted(signal);
    const [begun] = (await this.#write("append", request, undefined)) as [AppendedMessage];
    const [copy] = fromJsonTexts<RawMessage>([text]) as [RawMessage];
    const onError = (error: unknown): void => {
      const { code, message: words, retryable } = toMemoryError(error, "engine_unavailable", "A streamed message could not be stored.");
      this.#events.emit("error", { code, message: words, retryable, conversationId });
    };
    const onEnd = (ended: MessageStream): void => void this.#streams.delete(ended);
    const stream = new MessageStream({ session: this.#session, conversationId, message: copy, onError, onEnd }, begun, signal);
    this.#streams.add(stream);
    return stream;
  }

  /**
   * Says a message in another way: the new one is stored beside it, under the same parent, and the active path ends with
   * it. The old one and what followed it stay as a branch. Facts that the old one alone shows are withdrawn, unless the
   * user confirmed them.
   *
   * The new message needs an id of its own, or none: then it is given one. Given again with the same id and content, the
   * edit is a no-op.
   *
   * @throws `not_found` (the conversation or the message), `conflict` (the id is taken by other content, that of the old
   * message too), `invalid_argument`. Nothing was stored then.
   */
  async edit(
    conversationId: string,
    messageId: string,
    message: object,
    options: EditOptions = {},
  ): Promise<EditedMessage> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      messageId: requireId(messageId, "messageId"),
      message: toJsonTexts([message])[0],
      ...requireOptions(options, "options"),
    };
    return (await this.#write("edit", request, options.signal)) as EditedMessage;
  }

  /**
   * Removes a message for good: its text, its vector and what was made from it alone. Only its position stays taken. One
   * that is not there, or no longer, is no error. Where the active path ended with it, it ends with the message before.
   *
   * @throws `not_found` (the conversation).
   */
  async remove(
    conversationId: string,
    messageId: string,
    options: RemoveOptions = {},
  ): Promise<{ invalidated: Invalidated }> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      messageId: requireId(messageId, "messageId"),
      ...requireOptions(options, "options"),
    };
    return (await this.#write("remove", request, options.signal)) as { invalidated: Invalidated };
  }

  /**
   * Makes the active path end at a message, of whichever branch. Contexts, summaries, searches and the next `append` go
   * by that path; nothing is removed, and facts stay.
   *
   * @throws `not_found` (the conversation or the message).
   */
  async setActiveLeaf(
    conversationId: string,
    messageId: string,
    options: ActiveLeafOptions = {},
  ): Promise<{ invalidated: Invalidated }> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      messageId: requireId(messageId, "messageId"),
      ...requireOptions(options, "options"),
    };
    return (await this.#write("setActiveLeaf", request, options.signal)) as { invalidated: Invalidated };
  }

  /** A write to a conversation, after those that were called before it. */
  #write(
    method: "append" | "edit" | "remove" | "setActiveLeaf",
    request: { conversationId: string },
    signal: AbortSignal | undefined,
  ): Promise<unknown> {
    const { conversationId } = request;
    const isAppend = method === "append";
    const counts = isAppend || method === "edit";
    // By its name a call is known that was carried out before its answer was lost: messages without ids are not doubled.
    const named = counts ? { ...request, call: crypto.randomUUID() } : request;
    return this.#writes.add(conversationId, isAppend, (after) => this.#session.call(method, named, { idempotent: true, counts, signal, after }));
  }

  /**
   * The raw messages of a conversation's active path, in order, as they were given; with `all` those of every branch, with
   * `withStatus` each beside its id, position and status.
   */
  async history<Message extends object = RawMessage>(
    conversationId: string,
    options: HistoryOptions & { withStatus: true },
  ): Promise<HistoryEntry<Message>[]>;
  async history<Message extends object = RawMessage>(conversationId: string, options?: HistoryOptions & { withStatus?: false }): Promise<Message[]>;
  async history<Message extends object = RawMessage>(
    conversationId: string,
    options: HistoryOptions = {},
  ): Promise<Message[] | HistoryEntry<Message>[]> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      ...requireOptions(options, "options", ["from", "to", "limit", "all", "withStatus"]),
    };
    const answer = await this.#session.call("history", request, { idempotent: true, signal: options.signal });
    if (!options.withStatus) return fromJsonTexts<Message>(answer);
    const entries = answer as (HistoryEntry & { message: string })[];
    return entries.map((entry) => ({ ...entry, message: JSON.parse(entry.message) as Message }));
  }

  /**
   * Decides what the model should see for a question, within `window - reserve` tokens, and says why in the receipt.
   * Nothing is stored. The messages have the type of the `format` that is named, or the one that you give.
   *
   * @throws `budget_infeasible` where the question and what must go with it do not fit; the question is never cut.
   */
  async buildContext<Format extends keyof MessageOfFormat>(request: BuildContextRequest & { format: Format }): Promise<Context<MessageOfFormat[Format]>>;
  async buildContext<Message extends object = RawMessage>(request: BuildContextRequest): Promise<Context<Message>>;
  async buildContext<Message extends object = RawMessage>(request: BuildContextRequest): Promise<Context<Message>> {
    const { question, tools, documents, ...rest } = requireGiven(request, "request");
    requireId(rest.conversationId, "request.conversationId");
    const answer = (await this.#session.call(
      "buildContext",
      {
        ...rest,
        ...(question === undefined ? {} : { question: requireText(question, "request.question") }),
        ...(tools === undefined ? {} : { tools: toJsonText(tools, "request.tools") }),
        ...(documents === undefined ? {} : { documents: requireDocuments(documents) }),
      },
      { idempotent: true, counts: true, signal: request.signal },
    )) as Context<Message> & { messages: string[] };
    return { ...answer, messages: fromJsonTexts<Message>(answer.messages) };
  }

  /**
   * Adds up what a provider billed for a conversation's last context (`stats().usage`), and learns from it how the model
   * counts: contexts for it are counted so from then on, and `receipt.tokens.correction` says so. Call it after the first
   * answer to a context, with the `usage` that the package's chat adapters answer with.
   *
   * @throws `not_found` (the conversation), `invalid_argument`: nothing was added then.
   */
  async reportUsage(conversationId: string, usage: ReportedUsage, options: CallOptions = {}): Promise<UsageTaken> {
    const { provider, model, inputTokens, outputTokens, cachedTokens } = requireGiven(usage, "usage");
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      provider: requireId(provider, "usage.provider"),
      model: requireId(model, "usage.model"),
      inputTokens, outputTokens, cachedTokens,
      ...requireOptions(options, "options", []),
    };
    return (await this.#session.call("reportUsage", request, { idempotent: false, signal: options.signal })) as UsageTaken;
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
      ...requireOptions(options, "options", []),
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
      ...requireOptions(options, "options", ["force"]),
    };
    return (await this.#session.call("compact", request, {
      idempotent: true,
      counts: true,
      signal: options.signal,
    })) as Summary;
  }

  /**
   * Resolves when no background job is due (done, given up, or waiting for its next try, `stats().nextRetryAt`), and no
   * import of a backup is running, here or in another tab, or has left anything behind. Messages that wait to be read
   * together with more of them (`policy.facts.batchMessages`) are read now.
   */
  async settled(options: CallOptions = {}): Promise<void> {
    await this.#session.call("settled", requireOptions(options, "options", []), { idempotent: true, signal: options.signal });
  }

  /** Tries every background job that failed (`stats().failedJobs`) again, now; those that were given up too. Answers how many. */
  async retryJobs(options: CallOptions = {}): Promise<number> {
    return (await this.#session.call("retryJobs", requireOptions(options, "options", []), { idempotent: true, signal: options.signal })) as number;
  }

  /**
   * Resolves when everything acknowledged so far would survive a power cut. Rejects with `storage_corrupt`, once, and
   * `details.lost`, where messages that were acknowledged with `durable: false` are gone.
   */
  async flush(options: CallOptions = {}): Promise<void> {
    await this.#session.call("flush", requireOptions(options, "options", []), { idempotent: true, signal: options.signal });
  }

  /**
   * Removes what is named, and everything made from it, from every store, index and job, and aborts callbacks about it.
   * The answer says what may remain elsewhere. `conflict`: several conversations have a `messageId` that is given alone.
   */
  async erase(target: EraseTarget, options: CallOptions = {}): Promise<Erasure> {
    return this.#erasures.erase(target, options);
  }

  /**
   * Writes everything of this user into one file that `import` reads, gzip or encrypted (docs/backup.md). What cannot be
   * read in a damaged store is left out and listed. Throws `storage_conflict` where something was erased meanwhile.
   */
  async export(options: ExportToOptions): Promise<ExportReport>;
  async export(options?: ExportOptions): Promise<Backup>;
  async export(options: ExportOptions | ExportToOptions = {}): Promise<Backup | ExportReport> {
    requireOptions(options as Partial<ExportToOptions>, "options", ["encrypt", "onProgress", "to"]);
    return this.#session.export(options);
  }

  /**
   * Imports a backup, all of it or nothing, or the export of another app: ChatGPT, Claude, Gemini (Takeout), AI Studio, Grok, Open WebUI, LibreChat,
   * SillyTavern, ShareGPT, or messages in a format that `append` takes. Importing the same again changes nothing; a later
   * export adds what is new. Of an app's export what cannot be read is left out and reported.
   *
   * @throws `invalid_argument` for files of no known app, damaged ones, and those beyond a limit, with the place in
   * `details`: nothing was imported then. `aborted`: what was wholly imported stays, the conversation that was being
   * imported goes where it is new. `storage_*` likewise.
   */
  async import(input: ImportInput, options: ImportOptions = {}): Promise<ImportReport> {
    requireOptions(options, "options", ["onProgress", "source", "projectId", "worker", "passphrase", "trusted", "bringBack", "maxBytes"]);
    return this.#imports.start(input, options);
  }

  /** Figures: what is stored, what it takes, what it has cost. */
  async stats(options: CallOptions = {}): Promise<Stats> {
    const stats = (await this.#session.call("stats", requireOptions(options, "options", []), { idempotent: true, signal: options.signal })) as Omit<Stats, "wasmBytes">;
    return { ...stats, wasmBytes: await this.#session.wasmBytes() };
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

  /**
   * Gives up background work, aborts what is streaming and what is imported, finishes writes and releases everything.
   * Later calls reject with `closed`.
   */
  async close(): Promise<void> {
    if (!this.#imports.isEmpty) await this.#imports.stop();
    const aborts = [...this.#streams].map((stream) => stream.abort().catch(() => undefined));
    await this.#session.close(Promise.all([this.#writes.settled(), ...aborts]));
  }
}
