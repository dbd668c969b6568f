/** A language model as the page uses it, wherever it runs: to answer in a chat, and as the memory's own. */

import type { LanguageModel, RawMessage } from "throughline";
import type { ChatAnswer, SendableContext } from "throughline/openai";

/** A model that is turned on. */
export interface ChatModel {
  /** Its name, as it is shown. */
  readonly name: string;
  /** Where it runs, in words: "localhost:11434", "this browser". */
  readonly place: string;
  /** Tokens that fit it, question and answer together. */
  readonly contextWindow: number;
  /** Which rules its messages keep. */
  readonly profile: "openai" | "webllm" | "prompt-api";
  /** Whether what it is sent leaves this device. */
  readonly destination: "remote" | "local";
  /** The memory's model: summaries, facts, audits. */
  readonly languageModel: LanguageModel;
  /** Answers a prompt, piece by piece. */
  stream(messages: readonly RawMessage[], maxTokens: number, signal: AbortSignal): ChatAnswer;
  /** Lets go of what it holds. */
  close(): void;
}

/** A prompt in the form that the package's adapters take: the system text apart. */
export function sendable(messages: readonly RawMessage[]): SendableContext {
  const [first, ...rest] = messages;
  const isSystem = first?.["role"] === "system" && typeof first["content"] === "string";
  return isSystem ? { system: first["content"] as string, messages: rest } : { system: "", messages };
}
