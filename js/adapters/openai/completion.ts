/** An answer of a chat completions endpoint, put together from its chunks. WebLLM answers in the same form. */

import type { AnswerUsage, FinishedAnswer, FinishReason } from "../provider/chat-answer.js";
import { fieldsOf, textOf, type Fields } from "../provider/fields.js";
import { known, tokenCount } from "../provider/token-count.js";

interface ToolCall {
  id: string;
  type: string;
  function: { name: string; arguments: string };
}

const REASONS: Readonly<Record<string, FinishReason>> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  function_call: "tool_calls",
  content_filter: "content_filter",
};

/** Puts an answer together. Fields that are not of the protocol's shape are passed over. */
export class Completion {
  /** Something said why it ended: without that, the answer was cut. */
  isFinished = false;
  readonly #provider: string;
  #model: string;
  #text = "";
  #refusal = "";
  /** By the name that the server has for it, which is the name that it wants to read. */
  readonly #reasoning: { reasoning_content: string; reasoning: string } = { reasoning_content: "", reasoning: "" };
  readonly #calls: ToolCall[] = [];
  #finishReason: FinishReason = "stop";
  #usage: Omit<AnswerUsage, "provider" | "model"> = {};

  constructor(provider: string, model: string) {
    this.#provider = provider;
    this.#model = model;
  }

  /** Takes a chunk, or the whole completion of a server that does not stream, and answers with the text in it. */
  add(chunk: unknown): string {
    const { choices, usage, model } = fieldsOf(chunk);
    if (typeof model === "string" && model !== "") this.#model = model;
    if (typeof usage === "object" && usage !== null) this.#usage = usageOf(usage as Fields);
    const choice = fieldsOf(Array.isArray(choices) ? choices[0] : undefined);
    const reason = choice["finish_reason"];
    if (typeof reason === "string") {
      this.isFinished = true;
      this.#finishReason = REASONS[reason] ?? "other";
    }
    return this.#addDelta(fieldsOf(choice["delta"] ?? choice["message"]));
  }

  #addDelta(delta: Fields): string {
    const text = textOf(delta["content"]);
    this.#text += text;
    this.#refusal += textOf(delta["refusal"]);
    this.#reasoning.reasoning_content += textOf(delta["reasoning_content"]);
    this.#reasoning.reasoning += textOf(delta["reasoning"]);
    const calls = delta["tool_calls"];
    if (Array.isArray(calls)) calls.forEach((call: unknown) => this.#addCall(fieldsOf(call)));
    return text;
  }

  /** Pieces of one call share an index; servers that send calls whole number them badly, and give each an id of its own. */
  #addCall(piece: Fields): void {
    const id = textOf(piece["id"]);
    const given = typeof piece["index"] === "number" ? this.#calls[piece["index"]] : id === "" ? this.#calls.at(-1) : undefined;
    const isOther = given !== undefined && id !== "" && given.id !== "" && id !== given.id;
    let call = given;
    if (call === undefined || isOther) {
      call = { id: "", type: textOf(piece["type"]) || "function", function: { name: "", arguments: "" } };
      this.#calls.push(call);
    }
    const { name, arguments: text } = fieldsOf(piece["function"]);
    call.id ||= id;
    call.function.name ||= textOf(name);
    call.function.arguments += typeof text === "object" && text !== null ? JSON.stringify(text) : textOf(text);
  }

  /** The whole. */
  finish(): FinishedAnswer {
    const message: Fields = { role: "assistant", content: this.#text === "" && this.#calls.length > 0 ? null : this.#text };
    for (const [name, text] of Object.entries(this.#reasoning)) if (text !== "") message[name] = text;
    if (this.#refusal !== "") message["refusal"] = this.#refusal;
    if (this.#calls.length > 0) message["tool_calls"] = this.#calls;
    // Some servers say "stop" all the same.
    const finishReason = this.#calls.length > 0 && this.#finishReason === "stop" ? "tool_calls" : this.#finishReason;
    return { text: this.#text, message, finishReason, usage: { provider: this.#provider, model: this.#model, ...this.#usage } };
  }
}

function usageOf(usage: Fields): Omit<AnswerUsage, "provider" | "model"> {
  const details = fieldsOf(usage["prompt_tokens_details"]);
  return known({
    inputTokens: tokenCount(usage["prompt_tokens"]),
    outputTokens: tokenCount(usage["completion_tokens"]),
    // DeepSeek has a field of its own.
    cachedTokens: tokenCount(details["cached_tokens"]) ?? tokenCount(usage["prompt_cache_hit_tokens"]),
    cacheWriteTokens: tokenCount(details["cache_write_tokens"]),
  });
}
