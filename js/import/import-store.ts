/**
 * Stores imported conversations through the engine. All that the importers ask of the engine is in this file.
 *
 * A conversation is whole once its hash is on its record, which is the last thing written: one that was cut short is
 * taken up again by the next import, since messages that are there already are recognised by id and content.
 */

import { isMemoryError } from "../errors.js";
import type { Method, Session } from "../session.js";
import type { ImportOptions, ImportReport, ImportSkipReason } from "../types.js";
import type { ImportedMessage } from "./conversation.js";
import { saidHash } from "./conversation.js";
import type { ConversationHead, ImportSink } from "./import-reader.js";

/** What the engine tells of a conversation. */
interface View {
  id: string;
  remember: boolean;
  messageCount: number;
  importHash?: string | null;
}

/** The conversation that is being stored. */
interface Current {
  head: ConversationHead;
  isNew: boolean;
  /** Messages that were there before. */
  before: number;
  added: number;
  /** Messages that the user removed, and that stay away. */
  erased: number;
  /**
   * Whether the active branch is the export's. Not where the chat was continued here: what comes in then is beside that.
   */
  activates: boolean;
  /** What messages are called here whose own id was taken by other content. */
  renamed: Map<string, string>;
  /** What stored messages say, by id; read when an id is found to be taken. */
  stored: Map<string, string> | undefined;
}

/** Takes conversations in and counts them. */
export class ImportStore implements ImportSink {
  /** What was done so far. */
  readonly report: ImportReport = { source: null, imported: 0, updated: 0, unchanged: 0, conversations: [], messages: 0, facts: 0, skipped: [] };
  readonly #session: Session;
  readonly #projectId: string | undefined;
  readonly #bringBack: boolean;
  readonly #onProgress: ImportSink["progress"];
  #current: Current | undefined;
  /** How often everything had been erased when the import began: once it is more, nothing new is made. */
  #erasures: unknown;

  constructor(session: Session, { projectId, bringBack = false }: ImportOptions, onProgress: ImportSink["progress"]) {
    this.#session = session;
    this.#projectId = projectId;
    this.#bringBack = bringBack;
    this.#onProgress = onProgress;
  }

  /** To be called first. */
  async open(): Promise<void> {
    this.#erasures = await this.#call("erasures", {});
  }

  progress(phase: "scan" | "import", bytes: number, totalBytes: number): void {
    this.#onProgress(phase, bytes, totalBytes);
  }

  skip(where: string, reason: ImportSkipReason, message: string): void {
    this.report.skipped.push({ where, reason, message });
  }

  async begin(head: ConversationHead): Promise<boolean> {
    const known = await this.#find(head.id);
    if (known !== undefined && known.importHash === head.contentHash && !this.#bringBack) {
      this.report.unchanged += 1;
      return false;
    }
    const current: Current = { head, isNew: known === undefined, before: known?.messageCount ?? 0, added: 0, erased: 0, activates: true, renamed: new Map(), stored: undefined };
    this.#current = current;
    if (known === undefined) return this.#create(head);
    return this.#unlessGone(current, async () => {
      if (known.remember && !head.remember) await this.#call("updateConversation", { id: head.id, remember: false });
      current.activates = await this.#isShown(head);
    });
  }

  async take(messages: ImportedMessage[]): Promise<boolean> {
    const current = this.#current;
    if (current === undefined) return false;
    try {
      return await this.#unlessGone(current, () => this.#append(current, messages));
    } catch (error) {
      if (!isMemoryError(error, "invalid_argument")) throw error;
      // The engine refused what a message is, not that it is stored: the other conversations can be imported.
      await this.#giveUp(current);
      this.skip(current.head.where, "rejected", `The engine refused a message of this conversation: ${error.message}`);
      return false;
    }
  }

  async end(): Promise<void> {
    const current = this.#current;
    if (current === undefined) return;
    const { head, isNew, added, erased } = current;
    const isThere = await this.#unlessGone(current, async () => {
      if (added > 0 && !isNew && current.activates) await this.#activate(current);
      // Last of all: without the hash the conversation is not whole.
      await this.#call("updateConversation", { id: head.id, importHash: head.contentHash });
    });
    if (!isThere) return;
    this.#current = undefined;
    this.report.messages += added;
    if (isNew) this.report.imported += 1;
    else if (added > 0) this.report.updated += 1;
    else this.report.unchanged += 1;
    if (isNew || added > 0) this.report.conversations.push(head.id);
    if (erased > 0) this.skip(head.where, "erased", `The user removed ${erased} messages of this conversation: import it with bringBack to have them again.`);
  }

  /** The import ends early: a conversation that is not whole and was not there before goes. */
  async abandon(): Promise<void> {
    if (this.#current !== undefined) await this.#giveUp(this.#current);
  }

  /** False where the app's user deleted the conversation, or what new messages follow in it, meanwhile: it is left out. */
  async #unlessGone(current: Current, work: () => Promise<void>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      if (!isMemoryError(error, "not_found")) throw error;
      const { id, where } = current.head;
      if ((await this.#find(id)) === undefined) this.#current = undefined;
      else await this.#giveUp(current);
      this.skip(where, "rejected", "This conversation, or a message of it, was deleted while it was being imported; import it again to have it back.");
      return false;
    }
  }

  async #giveUp({ head, isNew, added }: Current): Promise<void> {
    this.#current = undefined;
    if (isNew) await this.#call("deleteConversation", { id: head.id });
    else if (added > 0) {
      this.report.messages += added;
      this.report.updated += 1;
      this.report.conversations.push(head.id);
    }
  }

  async #find(id: string): Promise<View | undefined> {
    try {
      return (await this.#call("getConversation", { id })) as View;
    } catch (error) {
      if (isMemoryError(error, "not_found")) return undefined;
      throw error;
    }
  }

  /** False where the user erased the conversation: it is left out. */
  async #create({ id, title, remember, source, createdAt, where }: ConversationHead): Promise<boolean> {
    const known = { title, projectId: this.#projectId, createdAt };
    const given = Object.entries(known).filter(([, value]) => value !== undefined);
    const imported = { erasures: this.#erasures, bringBack: this.#bringBack };
    try {
      await this.#call("createConversation", { id, remember, source, ...imported, ...Object.fromEntries(given) });
      return true;
    } catch (error) {
      if (!isMemoryError(error, "conflict") || (await this.#find(id)) !== undefined) throw error;
      this.#current = undefined;
      this.skip(where, "erased", "The user erased this conversation: import it with bringBack to have it again.");
      return false;
    }
  }

  async #append(current: Current, messages: readonly ImportedMessage[]): Promise<void> {
    const batch = messages.map((message) => withNames(message, current.renamed));
    try {
      await this.#send(current, batch);
    } catch (error) {
      if (!isMemoryError(error, "conflict")) throw error;
      for (const message of batch) await this.#appendOne(current, message);
    }
  }

  /** A message whose id is taken by one that says something else is stored beside it, as another branch. */
  async #appendOne(current: Current, given: ImportedMessage): Promise<void> {
    const message = withNames(given, current.renamed);
    try {
      await this.#send(current, [message]);
    } catch (error) {
      if (!isMemoryError(error, "conflict")) throw error;
      current.stored ??= await this.#storedHashes(current.head.id);
      // Only what is beside the text differs: times, models, states.
      if (current.stored.get(message.id) === message.hash) return;
      const id = `${message.id}~${message.hash.slice(0, 8)}`;
      current.renamed.set(message.id, id);
      if (current.stored.get(id) !== message.hash) await this.#send(current, [withNames(message, current.renamed)]);
    }
  }

  async #send(current: Current, messages: readonly ImportedMessage[]): Promise<void> {
    const { head, before, activates } = current;
    const appended = (await this.#call("append", {
      conversationId: head.id,
      messages: messages.map(({ raw }) => raw),
      parentIds: messages.map(({ parentId }) => parentId),
      activate: activates && messages.every(({ isActive }) => isActive),
      imported: true,
      bringBack: this.#bringBack,
    }, true)) as { seq: number; erased?: boolean }[];
    current.erased += appended.filter(({ erased }) => erased).length;
    current.added += appended.filter(({ seq }) => seq > before + current.added).length;
  }

  async #activate({ head, renamed }: Current): Promise<void> {
    const messageId = renamed.get(head.activeLeafId) ?? head.activeLeafId;
    await this.#call("setActiveLeaf", { conversationId: head.id, messageId });
  }

  /** Whether the active branch of a stored conversation ends in a message of the export. */
  async #isShown({ id, messageIds }: ConversationHead): Promise<boolean> {
    const nodes = (await this.#call("tree", { id })) as { id: string; active: boolean }[];
    const leaf = nodes.filter(({ active }) => active).at(-1);
    return leaf === undefined || messageIds.includes(leaf.id.replace(/~[0-9a-f]{8}$/, ""));
  }

  /** What every stored message says. */
  async #storedHashes(conversationId: string): Promise<Map<string, string>> {
    const texts = (await this.#call("history", { conversationId, all: true })) as string[];
    return new Map(texts.map((text) => JSON.parse(text) as { id?: string }).map((raw) => [raw.id ?? "", saidHash(raw)]));
  }

  #call(method: Method, request: object, counts = false): Promise<unknown> {
    return this.#session.call(method, request, { idempotent: true, counts });
  }
}

/** The message under the names that it and its parent have here. */
function withNames(message: ImportedMessage, renamed: ReadonlyMap<string, string>): ImportedMessage {
  const id = renamed.get(message.id) ?? message.id;
  const parentId = message.parentId === null ? null : (renamed.get(message.parentId) ?? message.parentId);
  const raw = id === message.id ? message.raw : JSON.stringify({ ...(JSON.parse(message.raw) as object), id });
  return { ...message, id, parentId, raw };
}
