import { MemoryError } from "../../errors.js";
import type { FinishedAnswer, SendableContext } from "../provider/chat-answer.js";
import { failureOf, openSession, type BuiltInMessage, type BuiltInSession, type SessionOptions } from "./built-in.js";

/** A message that a session has seen. */
interface Seen extends BuiltInMessage {
  /** It was a question: in later contexts it stands without what was found for it, which comes first. */
  wasAsked: boolean;
}

/**
 * One conversation with the built-in model. A session keeps what it has read, so it is gone on with as long as contexts only grow,
 * and begun anew when they do not: after a compaction, an edit, on another branch.
 */
export class BuiltInConversation {
  readonly #options: SessionOptions;
  #session: BuiltInSession | undefined;
  #system = "";
  #seen: Seen[] = [];
  #queue: Promise<unknown> = Promise.resolve();

  constructor(options: SessionOptions) {
    this.#options = options;
  }

  /** Asks the last message of the context. One call after the other. */
  ask(context: SendableContext, signal: AbortSignal, give: (piece: string) => void): Promise<FinishedAnswer> {
    const answer = this.#queue.then(() => this.#ask(context, signal, give));
    this.#queue = answer.catch(() => undefined);
    return answer;
  }

  /** Lets go of the session. */
  close(): void {
    this.#session?.destroy();
    this.#session = undefined;
    this.#seen = [];
  }

  async #ask(context: SendableContext, signal: AbortSignal, give: (piece: string) => void): Promise<FinishedAnswer> {
    const messages = context.messages.map(plainMessage);
    const question = messages.pop();
    if (question?.role !== "user") throw new MemoryError("invalid_argument", "send: the context must end on what the user says.");
    const goesOn = this.#continues(context.system, messages);
    if (!goesOn) await this.#begin(context.system, messages, signal);
    let text = await this.#read(question.content, signal, give, goesOn);
    if (text === undefined) {
      await this.#begin(context.system, messages, signal);
      text = (await this.#read(question.content, signal, give, false)) ?? "";
    }
    this.#seen.push({ ...question, wasAsked: true }, { role: "assistant", content: text, wasAsked: false });
    return { text, message: { role: "assistant", content: text }, finishReason: "stop", usage: { provider: "chrome-ai", model: "built-in" } };
  }

  /**
   * The answer of the session. `undefined` where the session is full and `mayBeFull`: it keeps what was found for each question, so it
   * can be full where the context itself is not.
   */
  async #read(question: string, signal: AbortSignal, give: (piece: string) => void, mayBeFull: boolean): Promise<string | undefined> {
    let text = "";
    try {
      for await (const piece of piecesOf((this.#session as BuiltInSession).promptStreaming(question, { signal } as never))) {
        text += piece;
        give(piece);
      }
      if (signal.aborted) throw failureOf(undefined, signal);
      return text;
    } catch (error) {
      // Nobody knows what the session has read of it.
      this.close();
      const failure = failureOf(error, signal);
      if (mayBeFull && text === "" && failure.details?.["reason"] === "QuotaExceededError") return undefined;
      throw failure;
    }
  }

  #continues(system: string, messages: readonly BuiltInMessage[]): boolean {
    if (this.#session === undefined || system !== this.#system || messages.length !== this.#seen.length) return false;
    return this.#seen.every(({ role, content, wasAsked }, index) => {
      const message = messages[index] as BuiltInMessage;
      return message.role === role && (message.content === content || (wasAsked && content.endsWith(message.content)));
    });
  }

  async #begin(system: string, messages: readonly BuiltInMessage[], signal: AbortSignal): Promise<void> {
    this.close();
    const initial: readonly BuiltInMessage[] = system === "" ? messages : [{ role: "system", content: system }, ...messages];
    const session = await openSession(this.#options, initial, signal);
    // What does not fit is forgotten, oldest first: then the session is no longer what the context says.
    const forget = (): void => {
      if (this.#session === session) this.#system = "\0";
    };
    for (const type of ["contextoverflow", "quotaoverflow"]) session.addEventListener?.(type as never, forget as never);
    this.#session = session;
    this.#system = system;
    this.#seen = messages.map((message) => ({ ...message, wasAsked: false }));
  }
}

/** The message as text: parts of text are joined. Built for the profile `prompt-api` there is nothing else in it. */
function plainMessage(message: object): BuiltInMessage {
  const { role, content } = message as { role?: unknown; content?: unknown };
  const parts: unknown[] = Array.isArray(content) ? content : [{ text: content }];
  const texts = parts.map((part) => (part as { text?: unknown } | null)?.text).filter((part) => typeof part === "string");
  const text = texts.join("\n");
  if (role === "user" || role === "assistant") return { role, content: text };
  throw new MemoryError("invalid_argument", 'send: build the context with format "openai" and profile "prompt-api".');
}

/** Not every browser lets a stream be iterated. */
async function* piecesOf(stream: ReadableStream<string>): AsyncGenerator<string> {
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
