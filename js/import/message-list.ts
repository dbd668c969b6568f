/** Messages in a format that the engine reads itself: `{ messages: [...] }`, a plain array, or one message per line. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asList, asObject, asObjects, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage } from "./raw-message.js";

/** The roles that the engine takes, with and without `parts`. A message of another one would cost its conversation. */
const ROLES: ReadonlySet<string> = new Set(["user", "assistant", "system", "developer", "tool", "function"]);
const ROLES_OF_PARTS: ReadonlySet<string> = new Set(["user", "assistant", "system", "developer", "model", "function"]);
const LANGCHAIN_TYPES: ReadonlySet<unknown> = new Set(["human", "ai", "system", "tool", "function", "chat", "generic"]);
const RESPONSES_TYPES = /^(message|reasoning|item_reference|compaction|(.*_)?(call|call_output))$/;

/** Whether a value looks like a message of a format that the engine reads. */
export function isMessage(value: unknown): value is JsonObject {
  const object = asObject(value);
  if (object === undefined) return false;
  const { role, type } = object;
  if (LANGCHAIN_TYPES.has(type)) return has(asObject(object["data"]), "content") || has(object, "content");
  if (typeof role === "string") {
    if (Array.isArray(object["parts"])) return ROLES_OF_PARTS.has(role);
    return ROLES.has(role) && (has(object, "content") || has(object, "tool_calls") || has(object, "function_call"));
  }
  return typeof type === "string" && RESPONSES_TYPES.test(type) && (has(object, "call_id") || has(object, "id") || has(object, "content"));
}

/** Whether a parsed entry is a list of messages with, perhaps, facts about it. */
export function isMessageList(entry: JsonObject): boolean {
  return asList(entry["messages"]).some(isMessage) || asList(entry["contents"]).some(isMessage);
}

/** The conversation of an entry. */
export function readMessageList(entry: JsonObject): ImportedConversation {
  const list = asList(entry["messages"] ?? entry["contents"]);
  if (list.length === 0) throw new Skip("not_a_conversation", "It has no list of messages.");
  const ownId = ["id", "uuid", "conversation_id", "session_id"].map((name) => asText(entry[name])).find((id) => id !== "") ?? "";
  return conversationOfMessages(asObjects(list), { ownId, title: entry["title"] ?? entry["name"] });
}

/** The conversation of messages in order. */
export function conversationOfMessages(
  messages: readonly JsonObject[],
  facts: { ownId: string; title?: unknown; identity?: readonly string[] },
): ImportedConversation {
  const nodes = messages.map((message, index): TreeNode => ({
    key: `#${index}`,
    parentKey: index === 0 ? undefined : `#${index - 1}`,
    ownId: asText(message["id"]),
    time: timeMs(message["created_at"] ?? message["createdAt"] ?? message["timestamp"]),
    raw: rawMessage(message),
  }));
  return conversationOf({ source: "messages", ...facts, currentId: nodes.at(-1)?.key }, nodes);
}

/** The message as it is; instructions become text that was said (see {@link plainMessage}). */
function rawMessage(message: JsonObject): JsonObject | undefined {
  if (!isMessage(message)) return undefined;
  const role = message["role"] ?? message["type"];
  if (role !== "system" && role !== "developer") return message;
  const body = asObject(message["data"]) ?? message;
  const content = field(body, "content") ?? field(body, "parts");
  const text = typeof content === "string" ? content : asObjects(content).map((part) => asText(part["text"])).join("\n");
  return text.trim() === "" ? undefined : { ...plainMessage("system", text), metadata: metadata("messages", { role }) };
}
