import { isMemoryError } from "../../errors.js";
import type { Memory } from "../../memory.js";
import type { Context } from "../../types/context.js";
import { plain, type PromptMessage } from "./plain-message.js";

/** What the adapters need of a memory. */
export type AdapterMemory = Pick<Memory, "append" | "buildContext" | "history" | "setActiveLeaf" | "stream"> & {
  readonly conversations: Pick<Memory["conversations"], "create" | "get">;
};

/** How contexts are built. */
export interface ContextOptions {
  /** The app's system prompt. */
  system?: string;
  /** Tokens that fit the model. Default `policy.budget.windowTokens`. */
  window?: number;
  /** Tokens kept for the answer. Default `policy.budget.reserveTokens`. */
  reserve?: number;
  /** See `buildContext`. Default `"auto"`. */
  retrieval?: "auto" | "always" | "never";
}

/** The fields of a `buildContext` request that an option names. */
export function contextFields({ system, window, reserve, retrieval }: ContextOptions): ContextOptions {
  return {
    ...(system === undefined ? {} : { system }),
    ...(window === undefined ? {} : { window }),
    ...(reserve === undefined ? {} : { reserve }),
    ...(retrieval === undefined ? {} : { retrieval }),
  };
}

/** The conversation, made where it is not there yet. */
export async function ensureConversation(memory: AdapterMemory, id: string): Promise<void> {
  try {
    await memory.conversations.get(id);
  } catch (error) {
    if (!isMemoryError(error, "not_found")) throw error;
    await memory.conversations.create({ id });
  }
}

/** Stores the messages of one turn of a conversation as they come to be, and builds contexts from what is stored. */
export class TurnStore {
  readonly #memory: AdapterMemory;
  readonly #conversationId: string;
  /** Texts of this turn's answers that are stored. */
  #answers: string[] = [];
  #queue: Promise<unknown> = Promise.resolve();
  #isThere = false;

  constructor(memory: AdapterMemory, conversationId: string) {
    this.#memory = memory;
    this.#conversationId = conversationId;
  }

  /** Stores the message that a call ends with. One that is the newest already is there from a try that failed. */
  begin(message: PromptMessage): Promise<void> {
    return this.#inOrder(async () => {
      if (!this.#isThere) await ensureConversation(this.#memory, this.#conversationId);
      this.#isThere = true;
      this.#answers = [];
      const stored = plain(message) as PromptMessage;
      const newest = await this.#newest();
      if (newest === undefined || canonical(newest) !== canonical(stored)) await this.#append([stored]);
    });
  }

  /**
   * Stores answers. Some versions give those of one step, others all of the turn so far: what is stored already is not
   * stored again.
   */
  add(messages: readonly PromptMessage[]): Promise<void> {
    return this.#inOrder(async () => {
      const given = messages.map((message) => plain(message) as PromptMessage);
      const texts = given.map(canonical);
      const isAll = this.#answers.every((text, index) => texts[index] === text);
      const isLatest = texts.length > 0 && texts.length <= this.#answers.length && texts.every((text, index) => this.#answers.at(index - texts.length) === text);
      const isNew = isAll ? given.slice(this.#answers.length) : isLatest ? [] : given;
      if (isNew.length > 0) await this.#append(isNew);
      this.#answers.push(...isNew.map(canonical));
    });
  }

  /** Stores an answer that ended before it was whole, as far as it came. */
  addPart(message: PromptMessage): Promise<void> {
    return this.#inOrder(async () => {
      const stream = await this.#memory.stream(this.#conversationId, plain(message) as object, { format: "ai-sdk-model" });
      await stream.abort();
    });
  }

  /** What the model is to see: the newest turn is what was stored last. */
  context(options: ContextOptions, tools: object | undefined, signal: AbortSignal | undefined): Promise<Context<PromptMessage>> {
    return this.#inOrder(() =>
      this.#memory.buildContext<PromptMessage>({
        ...contextFields(options),
        conversationId: this.#conversationId,
        format: "ai-sdk-model",
        ...(tools === undefined ? {} : { tools: tools as Record<string, object> }),
        ...(signal === undefined ? {} : { signal }),
      }),
    );
  }

  async #newest(): Promise<object | undefined> {
    const { messageCount } = await this.#memory.conversations.get(this.#conversationId);
    // Positions of other branches and of removed messages are passed over.
    const recent = await this.#memory.history(this.#conversationId, { from: Math.max(1, messageCount - 15) });
    return recent.at(-1) ?? (messageCount === 0 ? undefined : (await this.#memory.history(this.#conversationId)).at(-1));
  }

  async #append(messages: readonly object[]): Promise<void> {
    await this.#memory.append(this.#conversationId, messages, { format: "ai-sdk-model" });
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work);
    this.#queue = result.catch(() => undefined);
    return result;
  }
}

/** The same for two messages that say the same: fields in order, and a text as the one part that it is. */
function canonical(message: object): string {
  const { content, ...rest } = message as PromptMessage;
  const parts: unknown = typeof content === "string" && rest.role !== "system" ? [{ type: "text", text: content }] : content;
  return JSON.stringify(sorted({ ...rest, content: parts }));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, field]) => [name, sorted(field)]));
}
