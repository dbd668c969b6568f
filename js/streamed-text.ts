/** Text that is added to a message of any format. */

import type { RawMessage } from "./types.js";

/** Where LangChain messages hold their fields: in the stored form, and in the JSON of the classes. */
const WRAPPERS = ["data", "kwargs"] as const;

/**
 * The message with `delta` behind what it says: in its text, in its last part where that is text, else in a new text part
 * at the end, so that what was said after a tool call stays after it. The given object is not changed.
 */
export function withText(message: RawMessage, delta: string): RawMessage {
  for (const wrapper of WRAPPERS) {
    const inner = message[wrapper];
    if (isRecord(inner)) return { ...message, [wrapper]: withText(inner, delta) };
  }
  // UI messages of the AI SDK and Gemini's contents have `parts`; all others have `content`.
  const field = "parts" in message ? "parts" : "content";
  const said = message[field];
  if (Array.isArray(said)) return { ...message, [field]: withLastPart(said, textPart(message), delta) };
  return { ...message, [field]: typeof said === "string" ? said + delta : delta };
}

/** A text part as this message has them, without its text. */
function textPart(message: RawMessage): Record<string, unknown> {
  // UI messages always have an id, Gemini's contents never.
  if ("parts" in message && !("id" in message)) return {};
  const isAnswerItem = message["type"] === "message" && message["role"] === "assistant";
  return isAnswerItem ? { type: "output_text", annotations: [] } : { type: "text" };
}

function withLastPart(parts: readonly unknown[], fresh: Record<string, unknown>, delta: string): unknown[] {
  const last = parts.at(-1);
  // A thought of Gemini is a text too, but not what is said.
  const goesOn = isRecord(last) && last["type"] === fresh["type"] && typeof last["text"] === "string" && last["thought"] !== true;
  if (!goesOn) return [...parts, { ...fresh, text: delta }];
  return [...parts.slice(0, -1), { ...last, text: String(last["text"]) + delta }];
}

function isRecord(value: unknown): value is RawMessage {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
