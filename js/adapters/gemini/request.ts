import type { SendableContext } from "../provider/chat-answer.js";

/** A cache that was made of the start of a context, see {@link geminiCachedContent}. */
export interface GeminiCache {
  /** What the service calls it: `cachedContents/...`. */
  name: string;
  /** So many messages are in it. */
  messageCount: number;
}

/** Options of {@link geminiRequest}. */
export interface GeminiRequestOptions<Tool extends object = object> {
  /** Longest answer, in tokens. Default: the model's own. */
  maxTokens?: number;
  /** Tool definitions: `{ functionDeclarations: [...] }`. */
  tools?: readonly Tool[];
  /** Further fields of `generationConfig`, e.g. `{ temperature: 0 }`. */
  generationConfig?: Readonly<Record<string, unknown>>;
  /** A cache of the context's start. System text and tools are in it, so the request goes without them. */
  cache?: GeminiCache;
}

/** The start of a request, which is what a cache holds. */
export interface GeminiStart<Tool extends object> {
  systemInstruction?: { parts: { text: string }[] };
  tools?: Tool[];
}

/** The body of a request. */
export interface GeminiRequest<Message extends object, Tool extends object> extends GeminiStart<Tool> {
  cachedContent?: string;
  contents: Message[];
  generationConfig?: Record<string, unknown>;
}

/**
 * The body of a `generateContent` request for a context, for apps that send it themselves. Gemini caches the start of requests
 * by itself (from 2,048 tokens on, 4,096 with Gemini 3), which a built context keeps the same between compactions.
 *
 * @param context Built with `format: "gemini"`.
 */
export function geminiRequest<Message extends object, Tool extends object = object>(
  context: SendableContext<Message>,
  options: GeminiRequestOptions<Tool> = {},
): GeminiRequest<Message, Tool> {
  const { maxTokens, tools, cache } = options;
  const generationConfig = { ...(maxTokens === undefined ? {} : { maxOutputTokens: maxTokens }), ...options.generationConfig };
  return {
    ...(cache === undefined ? start(context, tools) : { cachedContent: cache.name }),
    contents: context.messages.slice(cache?.messageCount ?? 0),
    ...(Object.keys(generationConfig).length === 0 ? {} : { generationConfig }),
  };
}

/**
 * The body of a `cachedContents` request for what is in front of the context's last cache breakpoint: an explicit cache, which
 * is billed by the hour. `messageCount` goes into {@link GeminiCache} beside the name that the service answers with. Use the
 * cache while `context.receipt.prefixHash` is the same.
 *
 * @param options.ttlSeconds How long it is kept. Default 300.
 */
export function geminiCachedContent(
  context: SendableContext,
  options: { model: string; tools?: readonly object[]; ttlSeconds?: number },
): { body: Record<string, unknown>; messageCount: number } {
  const indexes = (context.cacheBreakpoints ?? []).map(({ messageIndex }) => messageIndex ?? -1);
  const messageCount = Math.max(-1, ...indexes) + 1;
  const body = {
    model: `models/${options.model}`,
    ...start(context, options.tools),
    ...(messageCount === 0 ? {} : { contents: context.messages.slice(0, messageCount) }),
    ttl: `${options.ttlSeconds ?? 300}s`,
  };
  return { body, messageCount };
}

function start<Tool extends object>({ system }: SendableContext, tools: readonly Tool[] | undefined): GeminiStart<Tool> {
  return {
    ...(system === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [...tools] }),
  };
}
