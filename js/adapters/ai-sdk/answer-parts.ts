/** A model's answer as the assistant message that it is, from its content or from its stream. */

import type { PromptMessage } from "./plain-message.js";

type Fields = Record<string, unknown>;

/** The message, or `undefined` where the model said nothing that is kept. */
export function answerMessage(content: readonly unknown[]): PromptMessage | undefined {
  const parts = content.map((each) => partOf(each as Fields)).filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : { role: "assistant", content: parts };
}

function partOf(part: Fields): Fields | undefined {
  const { providerMetadata, ...rest } = part;
  const options = providerMetadata === undefined ? {} : { providerOptions: providerMetadata };
  switch (part["type"]) {
    case "text":
      return part["text"] === "" ? undefined : { type: "text", text: part["text"], ...options };
    case "reasoning":
      return { type: "reasoning", text: part["text"], ...options };
    case "tool-call":
      return { ...rest, input: parsed(part["input"]), ...options };
    case "tool-result": {
      const { toolCallId, toolName, result, isError } = part;
      return { type: "tool-result", toolCallId, toolName, output: { type: isError === true ? "error-json" : "json", value: result }, ...options };
    }
    case "file":
    case "reasoning-file":
    case "custom":
      return { ...rest, ...options };
    default:
      // Sources and approvals are for the app.
      return undefined;
  }
}

/** A call's arguments; what is no JSON stays the text that it is. */
function parsed(input: unknown): unknown {
  if (typeof input !== "string") return input;
  try {
    return input === "" ? {} : JSON.parse(input);
  } catch {
    return input;
  }
}

/** Gathers the parts of a stream. */
export class AnswerParts {
  /** The model said that it was done. */
  isFinished = false;
  readonly #content: Fields[] = [];
  readonly #open = new Map<unknown, Fields>();

  /** Takes a part of the stream. */
  add(part: Fields): void {
    const { type, id, delta, providerMetadata } = part;
    switch (type) {
      case "text-start":
      case "reasoning-start": {
        const begun: Fields = { type: type === "text-start" ? "text" : "reasoning", text: "" };
        this.#open.set(id, begun);
        this.#content.push(begun);
        this.#note(begun, providerMetadata);
        return;
      }
      case "text-delta":
      case "reasoning-delta":
      case "text-end":
      case "reasoning-end": {
        const growing = this.#open.get(id);
        if (growing === undefined) return;
        if (typeof delta === "string") growing["text"] = (growing["text"] as string) + delta;
        this.#note(growing, providerMetadata);
        return;
      }
      case "finish":
        this.isFinished = true;
        return;
      case "tool-result":
        if (part["preliminary"] !== true) this.#content.push(part);
        return;
      default:
        this.#content.push(part);
    }
  }

  #note(part: Fields, providerMetadata: unknown): void {
    if (providerMetadata !== undefined) part["providerMetadata"] = providerMetadata;
  }

  /** The message so far. */
  message(): PromptMessage | undefined {
    return answerMessage(this.#content);
  }
}
