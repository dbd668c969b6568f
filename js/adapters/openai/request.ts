import type { SendableContext } from "../provider/chat-answer.js";
import { systemPieces } from "../provider/system-pieces.js";

/** A request of its own. */
export interface OpenAiRequestOptions<Tool extends object = object> {
  /** The model. */
  model: string;
  /** Tool definitions: `{ type: "function", function: { name, parameters } }`. */
  tools?: readonly Tool[];
  /** Longest answer, in tokens. Default: the model's own. */
  maxTokens?: number;
  /** Who says the system text: older and other models know `"system"`, OpenAI's reasoning models `"developer"`. Default `"system"`. */
  systemRole?: "system" | "developer";
  /**
   * True marks the context's cache breakpoints with `prompt_cache_breakpoint`, and has nothing else cached, for OpenAI's models
   * from GPT-5.6 on, which charge for what is written to the cache. Others cache by themselves. Default false.
   */
  cacheBreakpoints?: boolean;
}

/** A mark: what is in front of it is cached. */
export interface PromptCacheMark {
  prompt_cache_breakpoint?: { mode: "explicit" };
}

/** The system text as the first message: in parts where there are marks in it. */
export interface OpenAiSystemMessage {
  role: "system" | "developer";
  content: string | ({ type: "text"; text: string } & PromptCacheMark)[];
}

/** The body of a request. */
export interface OpenAiRequest<Message extends object, Tool extends object> {
  model: string;
  messages: (Message | OpenAiSystemMessage)[];
  tools?: Tool[];
  max_completion_tokens?: number;
  prompt_cache_options?: { mode: "explicit" };
}

const MARK: Required<PromptCacheMark> = { prompt_cache_breakpoint: { mode: "explicit" } };

/**
 * The body of a chat completions request for a context, for apps that send it themselves.
 *
 * @param context Built with `format: "openai"`.
 */
export function openAiRequest<Message extends object, Tool extends object = object>(
  context: SendableContext<Message>,
  options: OpenAiRequestOptions<Tool>,
): OpenAiRequest<Message, Tool> {
  const { model, tools, maxTokens, systemRole = "system" } = options;
  const cacheBreakpoints = options.cacheBreakpoints === true ? (context.cacheBreakpoints ?? []) : [];
  const pieces = systemPieces(context.system, cacheBreakpoints);
  const parts = pieces.map(({ text, isEnd }) => ({ type: "text" as const, text, ...(isEnd ? MARK : {}) }));
  const content = pieces.some(({ isEnd }) => isEnd) ? parts : context.system;
  const system: OpenAiSystemMessage[] = context.system === "" ? [] : [{ role: systemRole, content }];
  return {
    model,
    messages: [...system, ...withMarks(context.messages, new Set(cacheBreakpoints.map(({ messageIndex }) => messageIndex)))],
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [...tools] }),
    ...(maxTokens === undefined ? {} : { max_completion_tokens: maxTokens }),
    ...(cacheBreakpoints.length > 0 ? { prompt_cache_options: { mode: "explicit" } } : {}),
  };
}

/** Marks the last part of the messages in front of a breakpoint. The messages themselves are left as they are. */
function withMarks<Message extends object>(messages: readonly Message[], marked: ReadonlySet<number | undefined>): readonly Message[] {
  return messages.map((message, index) => {
    if (!marked.has(index)) return message;
    const { content } = message as { content?: unknown };
    const parts: unknown = typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : content;
    if (!Array.isArray(parts) || parts.length === 0) return message;
    const last: unknown = parts.at(-1);
    return { ...message, content: [...(parts as unknown[]).slice(0, -1), { ...(last as object), ...MARK }] };
  });
}
