/** An answer of the Messages API, put together from its events. */

import type { AnswerUsage, FinishedAnswer, FinishReason } from "../provider/chat-answer.js";
import { fieldsOf, textOf, type Fields } from "../provider/fields.js";
import { known, tokenCount } from "../provider/token-count.js";

const REASONS: Readonly<Record<string, FinishReason>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  model_context_window_exceeded: "length",
  tool_use: "tool_calls",
  refusal: "content_filter",
};

/** Puts an answer together. Blocks and fields that it does not know are kept as they came. */
export class AnthropicMessage {
  /** The end was said: without that, the answer was cut. */
  isFinished = false;
  #model: string;
  #text = "";
  #finishReason: FinishReason = "other";
  readonly #blocks: Fields[] = [];
  /** The JSON of calls, by their block, as far as it came. */
  readonly #inputs = new Map<number, string>();
  readonly #usage: Fields = {};

  constructor(model: string) {
    this.#model = model;
  }

  /** Takes an event, or the whole message of a server that does not stream, and answers with the text in it. */
  add(value: unknown): string {
    const event = fieldsOf(value);
    const index = this.#placeOf(event["index"]);
    switch (event["type"]) {
      case "message_start":
        this.#begin(fieldsOf(event["message"]));
        return "";
      case "message":
        this.#begin(event);
        this.isFinished = true;
        return this.#end(event);
      case "content_block_start":
        return this.#start(index, fieldsOf(event["content_block"]));
      case "content_block_delta":
        return this.#grow(index, fieldsOf(event["delta"]));
      case "content_block_stop":
        this.#close(index);
        return "";
      case "message_delta":
        Object.assign(this.#usage, fieldsOf(event["usage"]));
        return this.#end(fieldsOf(event["delta"]));
      case "message_stop":
        this.isFinished = true;
        return "";
      default:
        return "";
    }
  }

  /** Blocks come one after the other: another number is no place. */
  #placeOf(index: unknown): number {
    const next = this.#blocks.length;
    return Number.isInteger(index) && (index as number) >= 0 && (index as number) < next ? (index as number) : next;
  }

  #begin(message: Fields): void {
    if (typeof message["model"] === "string") this.#model = message["model"];
    Object.assign(this.#usage, fieldsOf(message["usage"]));
  }

  #end({ stop_reason: reason, content }: Fields): string {
    if (typeof reason === "string") this.#finishReason = REASONS[reason] ?? "other";
    if (!Array.isArray(content)) return "";
    return (content as unknown[]).map((block) => this.#start(this.#blocks.length, fieldsOf(block))).join("");
  }

  #start(index: number, block: Fields): string {
    this.#blocks[index] = { ...block };
    return block["type"] === "text" ? this.#say(textOf(block["text"])) : "";
  }

  #grow(index: number, delta: Fields): string {
    const block = this.#blocks[index];
    if (block === undefined) return "";
    switch (delta["type"]) {
      case "text_delta":
        block["text"] = textOf(block["text"]) + textOf(delta["text"]);
        return this.#say(textOf(delta["text"]));
      case "input_json_delta":
        this.#inputs.set(index, (this.#inputs.get(index) ?? "") + textOf(delta["partial_json"]));
        return "";
      case "thinking_delta":
        block["thinking"] = textOf(block["thinking"]) + textOf(delta["thinking"]);
        return "";
      case "signature_delta":
        block["signature"] = textOf(block["signature"]) + textOf(delta["signature"]);
        return "";
      case "citations_delta":
        if (typeof delta["citation"] === "object") block["citations"] = [...(Array.isArray(block["citations"]) ? (block["citations"] as unknown[]) : []), delta["citation"]];
        return "";
      default:
        return "";
    }
  }

  /** A call's arguments are whole now. Those that are no JSON were cut at the token limit; the call is then without. */
  #close(index: number): void {
    const input = this.#inputs.get(index);
    const block = this.#blocks[index];
    if (input === undefined || input === "" || block === undefined) return;
    try {
      block["input"] = JSON.parse(input);
    } catch {
      block["input"] = {};
    }
  }

  #say(text: string): string {
    this.#text += text;
    return text;
  }

  /** The input of a call, where one was made. */
  inputOf(tool: string): unknown {
    return this.#blocks.find((block) => block["type"] === "tool_use" && block["name"] === tool)?.["input"];
  }

  /** The whole. An empty text block is left out: it is refused when it is sent back. */
  finish(): FinishedAnswer {
    const content = this.#blocks.filter((block) => !(block["type"] === "text" && block["text"] === ""));
    const usage: AnswerUsage = { provider: "anthropic", model: this.#model, ...usageOf(this.#usage) };
    return { text: this.#text, message: { role: "assistant", content }, finishReason: this.#finishReason, usage };
  }
}

function usageOf(usage: Fields): Omit<AnswerUsage, "provider" | "model"> {
  const input = tokenCount(usage["input_tokens"]);
  const cachedTokens = tokenCount(usage["cache_read_input_tokens"]);
  const cacheWriteTokens = tokenCount(usage["cache_creation_input_tokens"]);
  // Anthropic counts what the cache read and wrote apart.
  const inputTokens = input === undefined ? undefined : input + (cachedTokens ?? 0) + (cacheWriteTokens ?? 0);
  return known({ inputTokens, outputTokens: tokenCount(usage["output_tokens"]), cachedTokens, cacheWriteTokens });
}
