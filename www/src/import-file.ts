/** Reading a JSON file of messages (OpenAI, Anthropic or AI SDK): an array, or an object with `messages`. */

import type { RawMessage } from "throughline";
import type { Workspace } from "./workspace.ts";

/** Largest file that is read into the page. */
const MOST_BYTES = 64_000_000;

const ROLES = new Set(["system", "developer", "user", "assistant", "tool", "function"]);

/** What a file holds. */
export interface FileContent {
  title: string;
  messages: RawMessage[];
  /** Why entries were left out, with how many. */
  skipped: Map<string, number>;
}

/** Brings a file in as a new conversation. Returns a sentence about what came in. */
export async function importFile(workspace: Workspace, file: File): Promise<string> {
  if (file.size > MOST_BYTES) throw new Error("This file is larger than 64 MB. Split it, then import the parts.");
  const content = readConversation(await file.text(), file.name);
  if (content.messages.length === 0) throw new Error("This file holds no messages (objects with a role, and content or parts).");
  await workspace.bringIn({ title: content.title }, content.messages);
  const skipped = [...content.skipped].map(([reason, count]) => `${count} without ${reason}`);
  const rest = skipped.length > 0 ? `; left out: ${skipped.join(", ")}` : "";
  return `Imported ${content.messages.length} messages${rest}`;
}

/** Reads the text of a file. Entries that are no messages are counted, not guessed at. */
export function readConversation(text: string, fileName: string): FileContent {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    throw new Error("This file is not JSON.");
  }
  const holder = isRecord(parsed) ? parsed : {};
  const entries = Array.isArray(parsed) ? parsed : holder["messages"];
  if (!Array.isArray(entries)) throw new Error("This file holds neither an array of messages nor an object with messages.");
  const skipped = new Map<string, number>();
  const messages = entries.filter((entry: unknown): entry is RawMessage => {
    const reason = unusable(entry);
    if (reason) skipped.set(reason, (skipped.get(reason) ?? 0) + 1);
    return reason === null;
  });
  const title = typeof holder["title"] === "string" && holder["title"] ? holder["title"] : fileName.replace(/\.json$/i, "");
  return { title: title.slice(0, 120) || "Untitled", messages, skipped };
}

function unusable(entry: unknown): string | null {
  if (!isRecord(entry) || typeof entry["role"] !== "string" || !ROLES.has(entry["role"])) return "a known role";
  const { content } = entry;
  const hasContent = typeof content === "string" || Array.isArray(content) || Array.isArray(entry["tool_calls"]) || Array.isArray(entry["parts"]);
  return hasContent ? null : "content";
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
