/** Text that is added to a message of any format. */

import type { RawMessage } from "./types.js";

/**
 * The message with `delta` behind what it says: in its text, in its last part where that is text, else in a new text part
 * at the end, so that what was said after a tool call stays after it. The given object is not changed.
 */
export function withText(message: RawMessage, delta: string): RawMessage {
  // UI messages of the AI SDK have `parts`; all others have `content`.
  const field = "parts" in message ? "parts" : "content";
  const said = message[field];
  if (Array.isArray(said)) return { ...message, [field]: withLastPart(said as unknown[], delta) };
  return { ...message, [field]: typeof said === "string" ? said + delta : delta };
}

function withLastPart(parts: readonly unknown[], delta: string): unknown[] {
  const last = parts.at(-1) as { type?: unknown; text?: unknown } | null | undefined;
  if (last?.type !== "text" || typeof last.text !== "string") return [...parts, { type: "text", text: delta }];
  return [...parts.slice(0, -1), { ...last, text: last.text + delta }];
}
