import { requireGiven, requireId, requireOptions } from "./arguments.js";
import { MemoryError } from "./errors.js";
import type { Session } from "./session.js";
import type {
  CallOptions,
  Conversation,
  ConversationPage,
  CreateConversation,
  ListConversations,
  TreeMessage,
  UpdateConversation,
} from "./types.js";

/** The conversations of a memory. */
export class Conversations {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * A new conversation.
   *
   * @throws `conflict` where the id is taken, `invalid_argument` where it is empty or longer than 512 bytes.
   */
  async create(conversation: CreateConversation & CallOptions = {}): Promise<Conversation> {
    const { id = crypto.randomUUID(), ...rest } = requireOptions(conversation, "conversation");
    const request = { id: requireId(id, "conversation.id"), ...rest };
    return (await this.#session.call("createConversation", request, {
      idempotent: false,
      signal: conversation.signal,
    })) as Conversation;
  }

  /** One conversation. Rejects with `not_found` where there is none of this id. */
  async get(id: string, options: CallOptions = {}): Promise<Conversation> {
    const request = { id: requireId(id, "id"), ...requireOptions(options, "options", []) };
    return (await this.#session.call("getConversation", request, { idempotent: true, signal: options.signal })) as Conversation;
  }

  /** Conversations, the one with the latest message first, page by page. */
  async list(options: ListConversations = {}): Promise<ConversationPage> {
    const request = requireOptions(options, "options", ["limit", "before", "parentId"]);
    const { limit = 1 } = request;
    if (!(limit >= 1 && limit <= 1_000)) throw new MemoryError("invalid_argument", "conversations.list: limit must be a whole number from 1 to 1,000.");
    const page = (await this.#session.call("listConversations", request, {
      idempotent: true,
      signal: options.signal,
    })) as { items: Conversation[]; next: string | null };
    return page.next === null ? { items: page.items } : { ...page, next: page.next };
  }

  /** Changes title, project or `remember`. Rejects with `not_found` where there is none of this id. */
  async update(id: string, changes: UpdateConversation & CallOptions): Promise<Conversation> {
    const request = { id: requireId(id, "id"), ...requireGiven(changes, "changes") };
    return (await this.#session.call("updateConversation", request, {
      idempotent: true,
      signal: changes.signal,
    })) as Conversation;
  }

  /**
   * Every message of a conversation, of every branch, by position and without text: what a UI needs to show "2 / 3" and
   * to switch with `memory.setActiveLeaf`. Rejects with `not_found` where there is none of this id.
   */
  async tree(id: string, options: CallOptions = {}): Promise<TreeMessage[]> {
    const request = { id: requireId(id, "id"), ...requireOptions(options, "options", []) };
    return (await this.#session.call("tree", request, { idempotent: true, signal: options.signal })) as TreeMessage[];
  }

  /** Deletes a conversation and everything that was made from it. One that is not there is no error. */
  async delete(id: string, options: CallOptions = {}): Promise<void> {
    const request = { id: requireId(id, "id"), ...requireOptions(options, "options", []) };
    await this.#session.call("deleteConversation", request, { idempotent: true, signal: options.signal });
  }
}
