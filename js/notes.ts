import { requireId, requireOptions } from "./arguments.js";
import { MemoryError } from "./errors.js";
import { toJsonText } from "./messages.js";
import type { Session } from "./session.js";
import type { CallOptions, Note } from "./types.js";

/** A note as the engine answers it. */
type EngineNote = Omit<Note, "content"> & { content: string; isJson: boolean };

/** What the app, or its agent, writes down about a conversation while it works. */
export class Notes {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Writes a note, in place of one of the same id. It is in every context of the conversation from then on, as long as
   * `policy.budget.notesTokens` has room; writing one changes the start of the prompt.
   *
   * @param content Text, or plain data, which comes back equal and stands in the prompt as JSON.
   * @throws `not_found` (the conversation), `invalid_argument` (an id beyond 512 bytes, content that is empty or no plain data).
   */
  async set(conversationId: string, id: string, content: unknown, options: CallOptions = {}): Promise<Note> {
    const isJson = typeof content !== "string";
    const text = isJson ? toJsonText(content, "content") : content;
    return toNote((await this.#write(conversationId, id, { content: text, isJson }, options)) as EngineNote);
  }

  /** The notes of a conversation, oldest first. Rejects with `not_found` where there is no such conversation. */
  async list(conversationId: string, options: CallOptions = {}): Promise<Note[]> {
    const request = { conversationId: requireId(conversationId, "conversationId"), ...requireOptions(options, "options", []) };
    const notes = (await this.#session.call("listNotes", request, { idempotent: true, signal: options.signal })) as EngineNote[];
    return notes.map(toNote);
  }

  /** One note. Rejects with `not_found` where there is none of this id. */
  async get(conversationId: string, id: string, options: CallOptions = {}): Promise<Note> {
    requireId(id, "id");
    const note = (await this.list(conversationId, options)).find((known) => known.id === id);
    if (note === undefined) throw new MemoryError("not_found", "notes.get: the conversation has no note of this id; list them with notes.list().");
    return note;
  }

  /** Takes a note away. One that is not there is no error. */
  async delete(conversationId: string, id: string, options: CallOptions = {}): Promise<void> {
    await this.#write(conversationId, id, {}, options);
  }

  #write(conversationId: string, id: string, what: object, options: CallOptions): Promise<unknown> {
    const request = {
      conversationId: requireId(conversationId, "conversationId"),
      id: requireId(id, "id"),
      ...requireOptions(options, "options", []),
      ...what,
    };
    return this.#session.call("setNote", request, { idempotent: true, signal: options.signal });
  }
}

function toNote({ isJson, content, ...rest }: EngineNote): Note {
  return { ...rest, content: isJson ? (JSON.parse(content) as unknown) : content };
}
