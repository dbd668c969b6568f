/** Text that is added to a message of any format. */

import type { RawMessage } from "./types.js";

/** Where a format keeps what is said, and the type of its text parts. */
const SHAPES: Readonly<Record<string, { field: string; type: string }>> = {
  openai: { field: "content", type: "text" },
  anthropic: { field: "content", type: "text" },
  "ai-sdk-model": { field: "content", type: "text" },
  "ai-sdk-ui": { field: "parts", type: "text" },
};

/**
 * The message with `delta` behind what it says: in its text, in its last part where that is text, else in a new text part
 * at the end, so that what was said after a tool call stays after it. The given object is not changed.
 *
 * @param format The message's format as the engine names it.
 */
export function withText(message: RawMessage, format: string, delta: string): RawMessage {
  const { field, type } = SHAPES[format] ?? { field: "content", type: "text" };
  const said = message[field];
  if (Array.isArray(said)) return { ...message, [field]: withLastPart(said as unknown[], type, delta) };
  if (field === "parts") return { ...message, parts: [{ type, text: delta }] };
  return { ...message, [field]: typeof said === "string" ? said + delta : delta };
}

function withLastPart(parts: readonly unknown[], type: string, delta: string): unknown[] {
  const last = parts.at(-1) as { type?: unknown; text?: unknown } | null | undefined;
  if (last?.type !== type || typeof last.text !== "string") return [...parts, { type, text: delta }];
  return [...parts.slice(0, -1), { ...last, text: last.text + delta }];
}
