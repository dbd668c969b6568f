import { MemoryError, isMemoryError } from "../../errors.js";
import type { MessageStream } from "../../message-stream.js";
import type { Context } from "../../types/context.js";
import type { HistoryEntry } from "../../types/streams.js";
import { contextFields, ensureConversation, type AdapterMemory, type ContextOptions } from "./turn-store.js";

/** A UIMessage, as far as it is read. */
export interface UiMessageLike {
  id: string;
  role: "system" | "user" | "assistant";
  parts: readonly { type: string }[];
}

/** A part of an answer, as far as it is read. */
export interface UiChunkLike {
  type: string;
}

/** What an answer is made from. */
export interface AnswerRequest<Message extends UiMessageLike> {
  /** The system text: give it as `instructions` (AI SDK 5 and 6: `system`). */
  system: string;
  /** The messages; `convertToModelMessages` makes them what a model takes. */
  messages: Message[];
  /** Aborted when the user stops the answer. */
  abortSignal: AbortSignal | undefined;
  /** The chat. */
  chatId: string;
  /** The whole context, with its receipt. */
  context: Context<Message>;
  /** What `sendMessage(message, { body, metadata })` was given. */
  body: object | undefined;
  metadata: unknown;
}

/** Options of {@link memoryChatTransport}. */
export interface MemoryChatTransportOptions<Message extends UiMessageLike, Chunk extends UiChunkLike> extends ContextOptions {
  /** The memory. The chat's id is the conversation's. */
  memory: AdapterMemory;
  /** Tool definitions, counted. */
  tools?: Readonly<Record<string, object>>;
  /** Answers: `async ({ system, messages, abortSignal }) => streamText({ ... }).toUIMessageStream()`. */
  answer: (request: AnswerRequest<Message>) => PromiseLike<ReadableStream<Chunk>> | ReadableStream<Chunk>;
  /** The function of this name of `ai`. */
  readUIMessageStream: (options: { message?: Message; stream: ReadableStream<Chunk> }) => AsyncIterable<Message>;
  /** Told where an answer could not be stored while it was shown. Default: the next call rejects with it. */
  onError?: (error: unknown) => void;
}

/** What the client gives. */
interface SendOptions<Message> {
  chatId: string;
  messages: Message[];
  abortSignal: AbortSignal | undefined;
  body?: object | undefined;
  metadata?: unknown;
}

/** What `useChat({ transport })` takes. */
export interface MemoryChatTransport<Message extends UiMessageLike, Chunk extends UiChunkLike> {
  sendMessages(options: SendOptions<Message>): Promise<ReadableStream<Chunk>>;
  /** Answers `null`: an answer ends with its page. */
  reconnectToStream(options: { chatId: string }): Promise<ReadableStream<Chunk> | null>;
}

type Entry = HistoryEntry<Record<string, unknown>>;

/** Enough to find what a chat goes on from; where it is not among them, all are looked through. */
const RECENT = 64;

/**
 * A transport for apps without a server: what the user says is stored, the model gets the context that the memory builds, and the
 * answer is stored as it arrives, so that a crash or a stop keeps what was shown. Editing and answering anew make branches.
 * An answer that waits for a tool of the page, or for the user's approval, stays open until the chat goes on with it.
 */
export function memoryChatTransport<Message extends UiMessageLike, Chunk extends UiChunkLike>(
  options: MemoryChatTransportOptions<Message, Chunk>,
): MemoryChatTransport<Message, Chunk> {
  const chats = new Map<string, Chat<Message, Chunk>>();
  return {
    sendMessages(request) {
      const { chatId } = request;
      let chat = chats.get(chatId);
      if (chat === undefined) chats.set(chatId, (chat = new Chat(options, chatId)));
      return chat.send(request);
    },
    reconnectToStream: () => Promise.resolve(null),
  };
}

/** One chat. */
class Chat<Message extends UiMessageLike, Chunk extends UiChunkLike> {
  readonly #options: MemoryChatTransportOptions<Message, Chunk>;
  readonly #chatId: string;
  /** Ends when what was answered before is stored. */
  #storing: Promise<unknown> = Promise.resolve();
  /** The answer that waits to be gone on with, by its id. */
  #waiting: { id: string; stream: MessageStream } | undefined;

  constructor(options: MemoryChatTransportOptions<Message, Chunk>, chatId: string) {
    this.#options = options;
    this.#chatId = chatId;
  }

  async send(request: SendOptions<Message>): Promise<ReadableStream<Chunk>> {
    const { memory } = this.#options;
    const before = this.#storing;
    this.#storing = Promise.resolve();
    await before;
    await ensureConversation(memory, this.#chatId);
    const last = request.messages.at(-1);
    if (last === undefined) throw new MemoryError("invalid_argument", "sendMessages: there is no message to answer.");
    const waiting = await this.#store(request.messages, last);
    const chunks = await this.#ask(request).catch((error: unknown) => {
      // It can be gone on with once more.
      if (waiting !== undefined) this.#waiting = { id: last.id, stream: waiting };
      throw error;
    });
    const id = waiting === undefined ? crypto.randomUUID() : last.id;
    const [shown, kept] = chunks.pipeThrough(withMessageId<Chunk>(id)).tee();
    const ends = new AnswerEnd();
    const read = this.#options.readUIMessageStream({
      message: waiting === undefined ? ({ id, role: "assistant", parts: [] } as unknown as Message) : structuredClone(last),
      stream: kept.pipeThrough(ends.watch<Chunk>()),
    });
    const storing = this.#keep(read, ends, id, waiting, request.abortSignal);
    storing.catch(() => undefined);
    this.#storing = storing;
    // The answer ends for the client once it is stored. That it could not be is told with the next call.
    return shown.pipeThrough(new TransformStream<Chunk, Chunk>({ flush: () => storing.catch(() => undefined) }));
  }

  async #ask({ abortSignal, body, metadata }: SendOptions<Message>): Promise<ReadableStream<Chunk>> {
    const { memory, tools, answer } = this.#options;
    const context = await memory.buildContext<Message & Record<string, unknown>>({
      ...contextFields(this.#options),
      conversationId: this.#chatId,
      format: "ai-sdk-ui",
      ...(tools === undefined ? {} : { tools }),
      ...(abortSignal === undefined ? {} : { signal: abortSignal }),
    });
    const { system, messages } = context;
    return answer({ system, messages, abortSignal, chatId: this.#chatId, context, body, metadata });
  }

  /** Brings the stored conversation to where the client's list ends. Answers with the stream of an answer that goes on. */
  async #store(messages: readonly Message[], last: Message): Promise<MessageStream | undefined> {
    const waiting = this.#waiting;
    this.#waiting = undefined;
    if (waiting?.id === last.id) {
      waiting.stream.update(last);
      await waiting.stream.written();
      return waiting.stream;
    }
    // The chat went another way.
    await waiting?.stream.complete();
    if (last.role === "assistant") return this.#reopen(messages, last);
    await this.#storeList(messages);
    return undefined;
  }

  /** An answer that is gone on with after the page was loaded anew: a version beside the one that ended with the page. */
  async #reopen(messages: readonly Message[], last: Message): Promise<MessageStream> {
    const version = renamed(last, await this.#entries(1));
    await this.#storeList(messages.slice(0, -1));
    return this.#options.memory.stream(this.#chatId, version, { format: "ai-sdk-ui" });
  }

  async #storeList(messages: readonly Message[]): Promise<void> {
    const { memory } = this.#options;
    const { messageCount } = await memory.conversations.get(this.#chatId);
    let entries = await this.#entries(messageCount - RECENT);
    let known = lastKnown(entries, messages);
    if (known === undefined && messageCount > RECENT) {
      entries = await this.#entries(1);
      known = lastKnown(entries, messages);
    }
    // The client keeps the place of an answer that failed before it began.
    const unknown = messages.slice(known === undefined ? 0 : known.index + 1).filter((message) => message.role !== "assistant" || !saysNothing(message));
    const added = unknown.map((message) => renamed(message, entries));
    if (added.length > 0) await memory.append(this.#chatId, added, { format: "ai-sdk-ui", parentId: known?.entry.id ?? null });
    else if (known !== undefined && entries.at(-1)?.id !== known.entry.id) await memory.setActiveLeaf(this.#chatId, known.entry.id);
  }

  #entries(from: number): Promise<Entry[]> {
    return this.#options.memory.history<Record<string, unknown>>(this.#chatId, { from: Math.max(1, from), withStatus: true });
  }

  async #keep(
    messages: AsyncIterable<Message>,
    ends: AnswerEnd,
    id: string,
    waiting: MessageStream | undefined,
    abortSignal: AbortSignal | undefined,
  ): Promise<void> {
    let stream = waiting;
    let message: Message | undefined;
    try {
      try {
        for await (message of untilAborted(messages, abortSignal)) {
          if (stream === undefined && saysNothing(message)) continue;
          stream ??= await this.#options.memory.stream(this.#chatId, { id, role: "assistant", parts: [] }, { format: "ai-sdk-ui" });
          stream.update({ ...message, id: stream.id });
        }
      } catch (error) {
        // The client is told of what went wrong with the answer; what arrived is kept.
        if (stream === undefined && isMemoryError(error)) throw error;
        ends.isWhole = false;
      }
      if (!ends.isWhole || abortSignal?.aborted) await stream?.abort();
      else if (stream !== undefined && message !== undefined && waitsForPage(message)) this.#waiting = { id, stream };
      else await stream?.complete();
    } catch (error) {
      if (this.#options.onError === undefined) throw error;
      this.#options.onError(error);
    }
  }
}

/** An answer that has not begun: one that fails now leaves nothing behind. */
function saysNothing({ parts }: UiMessageLike): boolean {
  return parts.every(({ type }) => type === "step-start");
}

/** Not every stream ends when it is aborted. */
async function* untilAborted<T>(source: AsyncIterable<T>, signal: AbortSignal | undefined): AsyncGenerator<T> {
  const iterator = source[Symbol.asyncIterator]();
  let stop = (): void => undefined;
  const aborted = new Promise<undefined>((resolve) => (stop = () => resolve(undefined)));
  if (signal?.aborted) stop();
  else signal?.addEventListener("abort", stop, { once: true });
  try {
    for (;;) {
      const next = await Promise.race([iterator.next(), aborted]);
      if (next === undefined || next.done === true) return;
      yield next.value;
    }
  } finally {
    signal?.removeEventListener("abort", stop);
    if (signal?.aborted) void iterator.return?.().catch(() => undefined);
  }
}

/** The newest of the client's messages that is stored as it is, with its place in both lists. */
function lastKnown(entries: readonly Entry[], messages: readonly UiMessageLike[]): { index: number; entry: Entry } | undefined {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index] as UiMessageLike;
    const entry = entries.filter(({ id }) => isVersionOf(id, message.id)).at(-1);
    // An answer is what it was when it was shown; what the user said may have been edited under its id.
    if (entry !== undefined && (message.role !== "user" || sameParts(entry.message, message))) return { index, entry };
  }
  return undefined;
}

/** Later versions of a message have its id with a number behind it. */
function isVersionOf(id: string, of: string): boolean {
  return id === of || (id.startsWith(`${of}~`) && /^\d+$/.test(id.slice(of.length + 1)));
}

/** The message, with an id of its own where another version has the id. */
function renamed<Message extends UiMessageLike>(message: Message, entries: readonly Entry[]): Message {
  const taken = entries.filter(({ id }) => isVersionOf(id, message.id));
  return taken.length === 0 ? message : { ...message, id: `${message.id}~${crypto.getRandomValues(new Uint32Array(1))[0] as number}` };
}

function sameParts(stored: Record<string, unknown>, message: UiMessageLike): boolean {
  return JSON.stringify(stored["parts"]) === JSON.stringify(message.parts);
}

/** A call that the page or the user has to answer. */
function waitsForPage({ parts }: UiMessageLike): boolean {
  return parts.some((part) => {
    const { state, providerExecuted } = part as { state?: unknown; providerExecuted?: unknown };
    return providerExecuted !== true && (state === "input-available" || state === "approval-requested");
  });
}

/** How a stream of chunks ended. */
class AnswerEnd {
  /** It ended by itself, without an error or an abort. */
  isWhole = false;

  /** Looks at what goes by. */
  watch<Chunk extends UiChunkLike>(): TransformStream<Chunk, Chunk> {
    let isBroken = false;
    return new TransformStream<Chunk, Chunk>({
      transform: (chunk, controller) => {
        if (chunk.type === "error" || chunk.type === "abort") isBroken = true;
        controller.enqueue(chunk);
      },
      flush: () => {
        this.isWhole = !isBroken;
      },
    });
  }
}

/** The client and the memory know the answer by one id. */
function withMessageId<Chunk extends UiChunkLike>(messageId: string): TransformStream<Chunk, Chunk> {
  let hasBegun = false;
  return new TransformStream<Chunk, Chunk>({
    transform(chunk, controller) {
      if (!hasBegun && chunk.type !== "start") controller.enqueue({ type: "start", messageId } as unknown as Chunk);
      hasBegun = true;
      controller.enqueue(chunk.type === "start" ? { ...chunk, messageId } : chunk);
    },
  });
}
