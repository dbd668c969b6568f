/**
 * Who takes a context: a provider or runtime, and what it refuses. `"strict"` is what all of them take.
 *
 * - `"openai"`, `"openai-responses"`: system text anywhere.
 * - `"anthropic"`: system text in a field of its own.
 * - `"gemini"`: system text in a field of its own, or first.
 * - `"mistral"`: user and assistant take turns, call ids are nine letters and digits, images only.
 * - `"webllm"`: text only, taking turns; calls and results are written as text.
 * - `"prompt-api"`: text only; calls and results are written as text.
 * - `"strict"`: text and tools only, taking turns, call ids of nine letters and digits, and no system role: the system text
 *   is folded into the first user message, and `context.system` is empty.
 * - `"ai-sdk"`: whichever provider the AI SDK calls.
 *
 * With the format `"openai"` go openai, gemini, mistral, webllm, prompt-api and strict; with `"anthropic"` anthropic; with
 * the AI SDK's formats ai-sdk, openai, openai-responses, anthropic and gemini, and mistral with `"ai-sdk-model"`; with
 * `"langchain"` openai, openai-responses, anthropic and gemini; with `"openai-responses"` and `"gemini"` their own.
 */
export type Profile =
  | "openai"
  | "openai-responses"
  | "anthropic"
  | "gemini"
  | "mistral"
  | "webllm"
  | "prompt-api"
  | "strict"
  | "ai-sdk";

/** Something in a context that a provider would refuse. */
export interface ContextViolation {
  /** The rule's name in `src/formats`, e.g. `R1`: a call without its result. */
  rule: string;
  /** The message, by its index; as many as there are messages where something is missing at the end. */
  index: number;
  /** What is wrong, in words without content. */
  message: string;
}
