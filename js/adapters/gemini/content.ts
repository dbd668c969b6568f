/** An answer of Gemini, put together from its chunks. */

import type { AnswerUsage, FinishedAnswer, FinishReason } from "../provider/chat-answer.js";
import { fieldsOf, type Fields } from "../provider/fields.js";
import { known, tokenCount } from "../provider/token-count.js";

const REASONS: Readonly<Record<string, FinishReason>> = {
  STOP: "stop",
  MAX_TOKENS: "length",
  SAFETY: "content_filter",
  RECITATION: "content_filter",
  BLOCKLIST: "content_filter",
  PROHIBITED_CONTENT: "content_filter",
  SPII: "content_filter",
};
const TEXT_FIELDS: ReadonlySet<string> = new Set(["text", "thought"]);

/** Puts an answer together. Parts are kept as they came; texts that follow each other are joined. */
export class GeminiContent {
  /** Something said why it ended, or that nothing is answered: without that, the answer was cut. */
  isFinished = false;
  #model: string;
  #text = "";
  #finishReason: FinishReason = "other";
  readonly #parts: Fields[] = [];
  #usage: Omit<AnswerUsage, "provider" | "model"> = {};

  constructor(model: string) {
    this.#model = model;
  }

  /** Takes a chunk and answers with the text in it. */
  add(value: unknown): string {
    // A server that does not stream sends its chunks as one list.
    if (Array.isArray(value)) return value.map((chunk: unknown) => this.add(chunk)).join("");
    const { candidates, usageMetadata, modelVersion, promptFeedback } = fieldsOf(value);
    if (typeof modelVersion === "string") this.#model = modelVersion;
    if (usageMetadata !== undefined) this.#usage = usageOf(fieldsOf(usageMetadata));
    if (typeof fieldsOf(promptFeedback)["blockReason"] === "string") {
      this.isFinished = true;
      this.#finishReason = "content_filter";
    }
    const candidate = fieldsOf(Array.isArray(candidates) ? candidates[0] : undefined);
    const reason = candidate["finishReason"];
    if (typeof reason === "string" && reason !== "FINISH_REASON_UNSPECIFIED") {
      this.isFinished = true;
      this.#finishReason = REASONS[reason] ?? "other";
    }
    const { parts } = fieldsOf(candidate["content"]);
    return Array.isArray(parts) ? parts.map((part: unknown) => this.#addPart(fieldsOf(part))).join("") : "";
  }

  #addPart(part: Fields): string {
    const { text, thought } = part;
    const last = this.#parts.at(-1);
    // A signature belongs to the very part that it came with.
    const isPlain = (each: Fields): boolean => typeof each["text"] === "string" && Object.keys(each).every((name) => TEXT_FIELDS.has(name));
    if (last !== undefined && isPlain(last) && isPlain(part) && last["thought"] === thought) last["text"] = (last["text"] as string) + (text as string);
    else this.#parts.push({ ...part });
    if (typeof text !== "string" || thought === true) return "";
    this.#text += text;
    return text;
  }

  /** The whole. */
  finish(): FinishedAnswer {
    const parts = this.#parts.filter((part) => !(part["text"] === "" && Object.keys(part).length === 1));
    const isCall = parts.some((part) => "functionCall" in part);
    const finishReason = isCall && this.#finishReason === "stop" ? "tool_calls" : this.#finishReason;
    const usage: AnswerUsage = { provider: "gemini", model: this.#model, ...this.#usage };
    return { text: this.#text, message: { role: "model", parts }, finishReason, usage };
  }
}

function usageOf(usage: Fields): Omit<AnswerUsage, "provider" | "model"> {
  const answer = tokenCount(usage["candidatesTokenCount"]);
  const thoughts = tokenCount(usage["thoughtsTokenCount"]);
  return known({
    inputTokens: tokenCount(usage["promptTokenCount"]),
    outputTokens: answer === undefined && thoughts === undefined ? undefined : (answer ?? 0) + (thoughts ?? 0),
    cachedTokens: tokenCount(usage["cachedContentTokenCount"]),
  });
}
