import type { SendableContext } from "../provider/chat-answer.js";
import { systemPieces } from "../provider/system-pieces.js";

/** Options of {@link anthropicRequest}. */
export interface AnthropicRequestOptions<Tool extends object = object> {
  /** The model. */
  model: string;
  /** Longest answer, in tokens. Default 4,096. */
  maxTokens?: number;
  /** Tool definitions: `{ name, description, input_schema }`. */
  tools?: readonly Tool[];
  /**
   * How long what is in front of the context's cache breakpoints is kept: five minutes (written at 1.25 times the price), an
   * hour (at 2 times), or not at all (`false`). Default `"5m"`.
   */
  cache?: "5m" | "1h" | false;
}

/** A mark: what is in front of it is cached. */
export interface CacheControl {
  type: "ephemeral";
  ttl?: "5m" | "1h";
}

/** A piece of the system text. */
export interface AnthropicSystemBlock {
  type: "text";
  text: string;
  cache_control?: CacheControl;
}

/** The body of a request. */
export interface AnthropicRequest<Message extends object, Tool extends object> {
  model: string;
  max_tokens: number;
  system?: AnthropicSystemBlock[];
  messages: Message[];
  tools?: Tool[];
}

type Block = Record<string, unknown>;

/** Most marks in one request; a fifth is refused. */
const MAX_MARKS = 4;
/** Blocks that take no mark. */
const UNMARKED: ReadonlySet<unknown> = new Set(["thinking", "redacted_thinking"]);

/**
 * The body of a Messages request for a context, for apps that send it themselves, with `cache_control` at the context's cache
 * breakpoints. Marks that are in the messages already are kept and counted; of the context's, the last ones are left out
 * where that makes more than four.
 *
 * @param context Built with `format: "anthropic"`.
 */
export function anthropicRequest<Message extends object, Tool extends object = object>(
  context: SendableContext<Message>,
  options: AnthropicRequestOptions<Tool>,
): AnthropicRequest<Message, Tool> {
  const { model, maxTokens = 4_096, tools, cache = "5m" } = options;
  const { cacheBreakpoints = [] } = context;
  const mark: CacheControl = cache === "1h" ? { type: "ephemeral", ttl: "1h" } : { type: "ephemeral" };
  const room = MAX_MARKS - marksOf(tools) - context.messages.reduce((sum, message) => sum + marksOf((message as Block)["content"]), 0);
  const marked = cache === false ? [] : cacheBreakpoints.slice(0, Math.max(0, room));
  const indexes = new Set(marked.map(({ messageIndex }) => messageIndex));
  const system = systemPieces(context.system, marked).map(({ text, isEnd }): AnthropicSystemBlock => ({ type: "text", text, ...(isEnd ? { cache_control: mark } : {}) }));
  return {
    model,
    max_tokens: maxTokens,
    ...(system.length === 0 ? {} : { system }),
    messages: context.messages.map((message, index) => (indexes.has(index) ? (withMark(message as Block, mark) as Message) : message)),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [...tools] }),
  };
}

/** The message with a mark on the last block that takes one. */
function withMark(message: Block, mark: object): Block {
  const { content } = message;
  if (typeof content === "string") {
    return content.trim() === "" ? message : { ...message, content: [{ type: "text", text: content, cache_control: mark }] };
  }
  if (!Array.isArray(content)) return message;
  const blocks = content as Block[];
  const last = blocks.map((block) => !UNMARKED.has(block["type"]) && block["text"] !== "").lastIndexOf(true);
  if (last < 0 || "cache_control" in (blocks[last] as Block)) return message;
  return { ...message, content: blocks.map((block, index) => (index === last ? { ...block, cache_control: mark } : block)) };
}

function marksOf(blocks: unknown): number {
  return Array.isArray(blocks) ? blocks.filter((block) => typeof block === "object" && block !== null && "cache_control" in block).length : 0;
}
