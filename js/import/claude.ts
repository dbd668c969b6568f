/** Claude.ai: `conversations.json`. Its messages hold calls and results together, as an AI SDK message does. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asObject, asObjects, asText, field, has, withoutBlanks, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { toolPart } from "./raw-message.js";

/** What a message without a parent names as its parent. */
const ROOT_ID = /^0{8}-0{4}-[04]0{3}-[08]0{3}-0{12}$/;

/** Whether a parsed entry is a conversation of Claude.ai. */
export function isClaude(entry: JsonObject): boolean {
  return has(entry, "chat_messages");
}

/** Whether a parsed entry is another part of Claude.ai's export: a project, memories, a user. */
export function isClaudeOther(entry: JsonObject): boolean {
  return (
    has(entry, "uuid", "prompt_template") || has(entry, "docs", "uuid") || has(entry, "conversations_memory") ||
    has(entry, "project_memories") || has(entry, "uuid", "email_address")
  );
}

/** The conversation of an entry. */
export function readClaude(entry: JsonObject): ImportedConversation {
  if (!Array.isArray(entry["chat_messages"])) throw new Skip("not_a_conversation", "It has no list of messages.");
  const messages = asObjects(entry["chat_messages"]);
  const hasParents = messages.some((message) => asText(message["parent_message_uuid"]) !== "");
  let before: string | undefined;
  const nodes = messages.map((message, index): TreeNode => {
    const key = asText(message["uuid"]) || `#${index}`;
    const parent = asText(message["parent_message_uuid"]);
    const parentKey = !hasParents ? before : ROOT_ID.test(parent) || parent === "" ? undefined : parent;
    before = key;
    return { key, parentKey, ownId: asText(message["uuid"]), time: timeMs(message["created_at"]), raw: rawMessage(message, key) };
  });
  return conversationOf(
    {
      source: "claude",
      ownId: asText(entry["uuid"]),
      createdAt: entry["created_at"],
      title: entry["name"],
      remember: entry["is_temporary"] !== true,
      currentId: asText(entry["current_leaf_message_uuid"]) || (hasParents ? undefined : before),
    },
    nodes,
  );
}

function rawMessage(message: JsonObject, key: string): Record<string, unknown> | undefined {
  const role = message["sender"] === "human" ? "user" : "assistant";
  const blocks = asObjects(message["content"]);
  const parts = [...blockParts(blocks, key), ...attachmentParts(message)];
  const text = asText(message["text"]);
  // The text repeats the blocks, with "not supported" notes in place of tools: it counts only where they say nothing.
  if (!parts.some((part) => part["type"] !== "reasoning") && text.trim() !== "") parts.push({ type: "text", text });
  if (parts.length === 0) return undefined;
  const time = timeMs(message["created_at"]);
  const citations = blocks.flatMap((block) => asObjects(block["citations"])).map((citation) => {
    const details = asObject(citation["details"]);
    return withoutBlanks({ start: citation["start_index"], end: citation["end_index"], title: citation["title"], url: citation["url"] ?? field(details, "url") });
  });
  return {
    role,
    parts,
    ...(time === undefined ? {} : { createdAt: time }),
    metadata: metadata("claude", { model: message["model"], stopReason: message["stop_reason"], citations }),
  };
}

/** The blocks as parts; results join their calls, by id or, where an export leaves ids out, by order. */
function blockParts(blocks: readonly JsonObject[], key: string): Record<string, unknown>[] {
  const results = resultsById(blocks);
  const joined = new Set<JsonObject>();
  const resultOf = (id: string): JsonObject | undefined => {
    const result = (id === "" ? undefined : results.get(id)?.pop()) ?? results.get("")?.pop();
    if (result !== undefined) joined.add(result);
    return result;
  };
  const parts = blocks.map((block, index) => {
    if (block["type"] !== "tool_use") return [index, plainPart(block)] as const;
    const id = asText(block["id"]);
    return [index, callPart(block, id || `${key}.${index}`, resultOf(id))] as const;
  });
  return parts.flatMap(([index, part]) => {
    const block = blocks[index];
    if (block?.["type"] === "tool_result" && !joined.has(block)) return [callPart(block, `${key}.${index}`, block)];
    return part === undefined ? [] : [part];
  });
}

/** The results by the call that they name, the last one first. */
function resultsById(blocks: readonly JsonObject[]): Map<string, JsonObject[]> {
  const results = new Map<string, JsonObject[]>();
  for (const block of [...blocks].reverse()) {
    if (block["type"] !== "tool_result") continue;
    const id = asText(block["tool_use_id"]);
    const queue = results.get(id) ?? [];
    queue.push(block);
    results.set(id, queue);
  }
  return results;
}

function plainPart(block: JsonObject): Record<string, unknown> | undefined {
  const { type } = block;
  const text = asText(type === "thinking" ? block["thinking"] : type === "text" || type === "voice_note" ? block["text"] : "");
  return text === "" ? undefined : { type: type === "thinking" ? "reasoning" : "text", text };
}

function callPart(call: JsonObject, id: string, result: JsonObject | undefined): Record<string, unknown> {
  const output = result === undefined ? undefined : resultText(result);
  return toolPart({ id, name: asText(call["name"]), input: asObject(call["input"]) ?? {}, output, isError: field(result, "is_error") === true });
}

function resultText(result: JsonObject): string {
  const { content } = result;
  if (typeof content === "string") return content;
  const texts = asObjects(content).map((item) => asText(item["text"]) || [asText(item["title"]), asText(item["url"])].join(" ").trim() || `[${asText(item["type"])}]`);
  return texts.join("\n");
}

/** What was given along: the text that was taken out of it, else its name. */
function attachmentParts(message: JsonObject): Record<string, unknown>[] {
  const attachments = asObjects(message["attachments"]).map((attachment) => {
    const name = asText(attachment["file_name"]);
    const text = asText(attachment["extracted_content"]);
    return { type: "text", text: text === "" ? label(name) : `${label(name)}\n${text}` };
  });
  const named = new Set(asObjects(message["attachments"]).map((attachment) => attachment["file_name"]));
  const files = asObjects(message["files"]).filter((file) => !named.has(file["file_name"]));
  return [...attachments, ...files.map((file) => ({ type: "text", text: label(asText(file["file_name"])) }))];
}

function label(name: string): string {
  return name === "" ? "[file]" : `[file: ${name}]`;
}
