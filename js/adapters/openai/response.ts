/** An answer of a Responses endpoint, put together from its events. */

import type { AnswerUsage, FinishedAnswer, FinishReason } from "../provider/chat-answer.js";
import { fieldsOf, textOf, type Fields } from "../provider/fields.js";
import { known, tokenCount } from "../provider/token-count.js";

/** A whole answer, as the items that it consists of. */
export interface FinishedResponse extends Omit<FinishedAnswer, "message"> {
  /** Its items in their order, as they came: texts, calls, sealed reasoning. `append` takes them as they are. */
  items: Fields[];
}

/** Puts an answer together. Items and fields that it does not know are kept as they came. */
export class ResponseItems {
  /** The end was said: without that, the answer was cut. */
  isFinished = false;
  /** What the provider said in place of an answer. */
  failure: unknown;
  #model: string;
  #text = "";
  #finishReason: FinishReason = "stop";
  readonly #items = new Map<number, Fields>();
  #usage: Omit<AnswerUsage, "provider" | "model"> = {};

  constructor(model: string) {
    this.#model = model;
  }

  /** Takes an event, or the whole response of a server that does not stream, and answers with the text in it. */
  add(value: unknown): string {
    const event = fieldsOf(value);
    switch (event["type"]) {
      case "response.output_text.delta":
        return this.#say(textOf(event["delta"]));
      case "response.output_item.done":
        this.#items.set(typeof event["output_index"] === "number" ? event["output_index"] : this.#items.size, fieldsOf(event["item"]));
        return "";
      case "response.completed":
      case "response.incomplete":
        return this.#end(fieldsOf(event["response"]));
      case "response.failed":
        this.failure = { error: fieldsOf(event["response"])["error"] };
        return "";
      case "error":
        this.failure = { error: event["error"] ?? event };
        return "";
      default:
        return event["object"] === "response" ? this.#end(event) : "";
    }
  }

  #say(text: string): string {
    this.#text += text;
    return text;
  }

  #end(response: Fields): string {
    const { output, usage, model, status, error } = response;
    if (status === "failed") this.failure = { error };
    this.isFinished = true;
    if (typeof model === "string" && model !== "") this.#model = model;
    this.#usage = usageOf(fieldsOf(usage));
    if (Array.isArray(output) && output.length > 0) {
      this.#items.clear();
      output.forEach((item: unknown, index) => this.#items.set(index, fieldsOf(item)));
    }
    const { reason } = fieldsOf(response["incomplete_details"]);
    if (status === "incomplete") this.#finishReason = reason === "max_output_tokens" ? "length" : reason === "content_filter" ? "content_filter" : "other";
    // Of a server that does not stream.
    return this.#text === "" ? this.#say(saidBy(this.#ordered())) : "";
  }

  #ordered(): Fields[] {
    return [...this.#items].sort(([a], [b]) => a - b).map(([, item]) => item);
  }

  /** The whole. */
  finish(): FinishedResponse {
    const items = this.#ordered().filter(({ type, encrypted_content: sealed }) => type !== "reasoning" || typeof sealed === "string");
    const isCalling = items.some(({ type }) => type === "function_call" || type === "custom_tool_call");
    const finishReason = isCalling && this.#finishReason === "stop" ? "tool_calls" : this.#finishReason;
    return { text: this.#text, items, finishReason, usage: { provider: "openai", model: this.#model, ...this.#usage } };
  }
}

function saidBy(items: readonly Fields[]): string {
  const contents = items.flatMap(({ content }) => (Array.isArray(content) ? (content as unknown[]) : []));
  return contents.map(fieldsOf).map(({ type, text }) => (type === "output_text" ? textOf(text) : "")).join("");
}

function usageOf(usage: Fields): Omit<AnswerUsage, "provider" | "model"> {
  const details = fieldsOf(usage["input_tokens_details"]);
  return known({
    inputTokens: tokenCount(usage["input_tokens"]),
    outputTokens: tokenCount(usage["output_tokens"]),
    cachedTokens: tokenCount(details["cached_tokens"]),
    cacheWriteTokens: tokenCount(details["cache_write_tokens"]),
  });
}
