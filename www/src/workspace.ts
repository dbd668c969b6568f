/**
 * What the page shows at this moment, and what can be done to it. Panels read the fields, subscribe to topics and call
 * the methods. What they share is held here; what one of them alone needs, an open editor say, it holds itself, and so do the
 * modules that watch requests, keep files offline and hold the key. Chats and all that is made of them are in the memory.
 */

import {
  createMemory,
  isMemoryError,
  type Conversation, type Erasure,
  type HistoryEntry,
  type ImportOptions,
  type ImportReport,
  type Memory,
  type RawMessage,
  type Stats,
} from "throughline";
import { readAddress, writeAddress } from "./address.ts";
import type { LoadedEmbedder } from "./embedders.ts";
import { readMessage, type ShownMessage } from "./message.ts";
import { versionsOf } from "./message-versions.ts";
import type { ChatModel, ContextSettings, Inquiry, Suggestion, Versions } from "./page-state.ts";
import { shippedEmbedder } from "./shipped-embedder.ts";
import { StatusBoard } from "./status-board.ts";
import { SYSTEM } from "./system-prompt.ts";
import { openVault } from "./vault.ts";
import { holdTemporary, isTemporary, sweepTemporary } from "./temporary-chats.ts";
import { REPEATED_ID, tellFailure } from "./wording.ts";

export type * from "./page-state.ts";

const CHUNK_MESSAGES = 100;

/** Conversations that are read at the start, and most that are read in one go. */
const FIRST_LISTED = 100;
const MOST_LISTED = 1_000;

/** The state of the page. */
export class Workspace extends StatusBoard {
  memory: Memory | null = null;
  conversations: Conversation[] = [];
  olderConversations: string | undefined;
  current: Conversation | null = null;
  messages: ShownMessage[] = [];
  /** Of the messages that were said in several ways, by id. */
  versions: ReadonlyMap<string, Versions> = new Map();
  /** Words that stand behind a message of the current conversation, by its position. Set by `mark`. */
  marks: ReadonlyMap<number, string> = new Map();
  /** The project whose conversations alone are listed. */
  project: string | null = null;
  suggestions: readonly Suggestion[] = [];
  inquiry: Inquiry | null = null;
  isAsking = false;
  model: ChatModel | null = null;
  /** An embedder in place of the one that ships. */
  embedder: LoadedEmbedder | null = null;
  stats: Stats | null = null;
  settings: ContextSettings = {
    window: 8_000,
    reserve: 1_000,
    retrieval: "auto",
    system: SYSTEM,
  };
  /** Looks up the questions that go with a conversation; set by the page. */
  suggestFor: (conversationId: string) => Promise<readonly Suggestion[]> = () => Promise.resolve([]);

  #loads = 0;
  #arrivals = 0;
  /** The message that was last written to here, as far as it was written. */
  #written: { conversationId: string; shown: ShownMessage } | null = null;
  #watching = false;
  #isBringingIn = false;
  #unsubscribe: (() => void)[] = [];

  /** The open memory; a typed error before it is open. */
  opened(): Memory {
    if (!this.memory) throw new Error("The memory is not open yet.");
    return this.memory;
  }

  /** Opens the memory, or opens it again with the model that is set now. */
  async open(): Promise<void> {
    this.say({ kind: "busy", words: "Opening the memory" });
    for (const remove of this.#unsubscribe.splice(0)) remove();
    await this.memory?.close();
    this.memory = null;
    const memory = await openVault((place) => createMemory({
      ...place,
      embedder: this.embedder?.embedder ?? shippedEmbedder(),
      ...(this.model ? { languageModel: this.model.languageModel } : {}),
    }));
    this.memory = memory;
    this.#unsubscribe = [
      ...(["append", "stream"] as const).map((name) => memory.on(name, ({ conversationId }) => void this.#arrived(conversationId))),
      ...(["conversation", "storage"] as const).map((name) => memory.on(name, ({ remote }) => void (remote && this.refreshConversations()))),
      memory.on("job", () => this.watchJobs()),
      memory.on("fact", () => this.#remembered()),
      memory.on("compaction", () => this.changed("inquiry", "stats", "folds")),
      memory.on("error", (failure) => this.tell(tellFailure(failure))),
    ];
    await this.refreshConversations();
    this.say({ kind: "ready", words: "Ready" });
    this.changed("model", "facts");
    this.watchJobs();
  }

  /** Reads the list of conversations again. */
  async refreshConversations(): Promise<void> {
    // As many as were there before, so that none of those that are known goes out of sight.
    const limit = Math.min(MOST_LISTED, Math.max(FIRST_LISTED, this.conversations.length));
    const page = await this.opened().conversations.list({ limit });
    this.conversations = page.items;
    this.olderConversations = page.next;
    if (this.current) this.current = page.items.find((item) => item.id === this.current?.id) ?? this.current;
    this.changed("conversations");
  }

  /** Adds the next page of older conversations to the list. */
  async listOlder(): Promise<void> {
    if (!this.olderConversations) return;
    const page = await this.opened().conversations.list({ limit: MOST_LISTED - FIRST_LISTED, before: this.olderConversations });
    this.conversations = [...this.conversations, ...page.items];
    this.olderConversations = page.next;
    this.changed("conversations");
  }

  /** Lists the conversations of one project alone, or all. */
  async showProject(project: string | null): Promise<void> {
    this.project = project;
    // A page of the list knows no projects.
    while (project !== null && this.olderConversations) await this.listOlder();
    this.changed("conversations");
  }

  /** Puts words behind messages of the current conversation, by position: how far it was summarised, say. */
  mark(marks: ReadonlyMap<number, string>): void {
    this.marks = marks;
    this.changed("marks");
  }

  /** Makes a conversation the current one. */
  async select(conversationId: string): Promise<void> {
    const load = ++this.#loads;
    const [current, entries, suggestions] = await Promise.all([
      this.opened().conversations.get(conversationId),
      this.opened().history(conversationId, { withStatus: true }),
      this.suggestFor(conversationId),
    ]);
    const versions = await this.#versions(conversationId, current.hasBranches);
    if (load !== this.#loads) return;
    if (isTemporary(current)) holdTemporary(conversationId);
    if (this.current?.id !== conversationId) this.marks = new Map();
    this.versions = versions;
    this.current = current;
    this.messages = entries.map((entry) => this.#newest(conversationId, entry));
    this.suggestions = suggestions;
    this.inquiry = null;
    writeAddress({ ...readAddress(), chat: conversationId });
    this.changed("conversations", "messages", "suggestions", "inquiry");
    void this.inBackground(() => sweepTemporary(this, conversationId));
  }

  /** Stores messages in a conversation and shows them where it is the current one. */
  async append(conversationId: string, messages: RawMessage[]): Promise<void> {
    await this.opened().append(conversationId, messages, { format: "openai" });
    await this.#arrived(conversationId);
  }

  /** Shows what has been written of a message that is streaming. */
  wrote(conversationId: string, seq: number, message: RawMessage): void {
    const shown = readMessage(message, seq, "streaming");
    this.#written = { conversationId, shown };
    const index = this.messages.findIndex((message) => message.seq === seq);
    if (this.current?.id !== conversationId || this.messages[index]?.status !== "streaming") return;
    this.messages[index] = shown;
    this.changed("growth");
  }

  /** The current conversation; a new one where there is none. */
  async currentOrNew(): Promise<Conversation> {
    this.current ??= await this.opened().conversations.create();
    return this.current;
  }

  /**
   * Brings a whole conversation in, a hundred messages at a time, and opens it. What is already there stays; of a new
   * conversation that cannot be stored as a whole, nothing stays.
   */
  async bringIn(conversation: { id?: string; title: string }, messages: readonly RawMessage[]): Promise<void> {
    const memory = this.opened();
    let id = conversation.id;
    let isNew = true;
    try {
      id = (await memory.conversations.create(conversation)).id;
    } catch (error) {
      if (id === undefined || !isMemoryError(error, "conflict")) throw error;
      isNew = false;
    }
    this.#isBringingIn = true;
    try {
      for (let from = 0; from < messages.length; from += CHUNK_MESSAGES) {
        const words = `Storing ${conversation.title}`;
        this.say({ kind: "busy", words, progress: { done: from, total: messages.length } });
        await memory.append(id, messages.slice(from, from + CHUNK_MESSAGES));
      }
    } catch (error) {
      if (!isNew) throw error;
      await memory.conversations.delete(id);
      if (isMemoryError(error, "conflict")) throw new Error(REPEATED_ID, { cause: error });
      throw error;
    } finally {
      this.#isBringingIn = false;
    }
    await this.refreshConversations();
    await this.select(id);
    this.say({ kind: "ready", words: "Ready" });
    this.watchJobs();
  }

  /** Brings the export of another app in. What is there already stays; what came in before it was stopped stays too. */
  async bringInExport(files: readonly File[], options: ImportOptions): Promise<ImportReport> {
    this.#isBringingIn = true;
    this.say({ kind: "busy", words: "Importing" });
    try {
      return await this.opened().import(files, options);
    } finally {
      this.#isBringingIn = false;
      await this.refreshConversations();
      this.watchJobs();
    }
  }

  /** Reads what another tab may have changed. */
  async catchUp(): Promise<void> {
    if (this.current) await this.#arrived(this.current.id);
    else if (this.memory) await this.refreshConversations();
  }

  /** Reads the figures again. */
  async refreshStats(): Promise<void> {
    this.stats = await this.opened().stats();
    this.changed("stats");
  }

  /** Follows background work until nothing is due, telling how far indexing is. */
  watchJobs(): void {
    if (this.#watching || !this.memory) return;
    this.#watching = true;
    void this.#follow(this.memory).finally(() => {
      this.#watching = false;
    });
  }

  /** Erases everything of this page's user and opens an empty memory. */
  async wipe(): Promise<Erasure> {
    const erasure = await this.opened().erase({ user: true });
    this.clear();
    this.conversations = [];
    this.changed("wiped");
    await this.open();
    await this.refreshStats();
    return erasure;
  }

  protected override isUsable(): boolean {
    return this.memory !== null;
  }

  /** Shows no conversation. */
  clear(): void {
    this.#loads++;
    this.current = null;
    this.messages = [];
    this.suggestions = [];
    this.inquiry = null;
    writeAddress({ ...readAddress(), chat: null });
    this.changed("conversations", "messages", "suggestions", "inquiry");
  }

  #remembered(): void {
    this.changed("facts");
    void this.inBackground(() => this.refreshStats());
  }

  async #arrived(conversationId: string): Promise<void> {
    if (!this.memory || this.#isBringingIn) return;
    const arrival = ++this.#arrivals;
    await this.refreshConversations();
    if (this.current?.id !== conversationId || !this.memory) return;
    const load = this.#loads;
    const growing = this.messages.findIndex(({ status }) => status === "streaming");
    const known = growing < 0 ? this.messages : this.messages.slice(0, growing);
    const from = (known.at(-1)?.seq ?? 0) + 1;
    // Where there are branches, what is shown may have turned to another one.
    const { hasBranches } = this.current;
    const shown = hasBranches ? await this.#read(conversationId, 1) : [...known, ...(await this.#read(conversationId, from))];
    const versions = await this.#versions(conversationId, hasBranches);
    // What came after this has read, or will read, as much and more.
    if (load !== this.#loads || arrival !== this.#arrivals) return;
    this.versions = versions;
    this.messages = shown;
    this.changed("messages");
    this.watchJobs();
  }

  async #versions(conversationId: string, hasBranches: boolean): Promise<ReadonlyMap<string, Versions>> {
    return hasBranches ? versionsOf(await this.opened().conversations.tree(conversationId)) : new Map();
  }

  async #read(conversationId: string, from: number): Promise<ShownMessage[]> {
    const entries = await this.opened().history(conversationId, { from, withStatus: true });
    return entries.map((entry) => this.#newest(conversationId, entry));
  }

  /** Storage lags a little behind what is being written here. */
  #newest(conversationId: string, { message, seq, status }: HistoryEntry): ShownMessage {
    const written = this.#written;
    const isWritten = status === "streaming" && written?.conversationId === conversationId && written.shown.seq === seq;
    return isWritten ? written.shown : readMessage(message, seq, status);
  }

  async #follow(memory: Memory): Promise<void> {
    try {
      for (;;) {
        const stats = await memory.stats();
        if (this.memory !== memory) return;
        this.stats = stats;
        this.changed("stats");
        if (stats.jobs === 0) break;
        const progress = { done: stats.messages - stats.waitingForVectors, total: stats.messages };
        if (this.status.kind !== "error" && !this.isAsking) this.say({ kind: "busy", words: "Indexing by meaning", progress });
        await Promise.race([memory.settled(), new Promise((resolve) => setTimeout(resolve, 250))]);
      }
      if (this.status.kind === "busy" && !this.isAsking) this.say({ kind: "ready", words: "Ready" });
    } catch (error) {
      if (this.memory === memory && !isMemoryError(error, "closed")) this.fail(error);
    }
  }
}
