/** LibreChat: one conversation per file, its messages as a list or, "recursive", each inside the one that it answers. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asObject, asObjects, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage, toolPart } from "./raw-message.js";

const ROOT_ID = "00000000-0000-0000-0000-000000000000";

/** Whether a parsed entry is a conversation of LibreChat. */
export function isLibreChat(entry: JsonObject): boolean {
  if (!has(entry, "conversationId")) return false;
  return has(entry, "messages") || has(entry, "messagesTree") || has(entry, "recursive");
}

/** The conversation of an entry. */
export function readLibreChat(entry: JsonObject): ImportedConversation {
  const list = entry["messages"] ?? entry["messagesTree"];
  if (!Array.isArray(list)) throw new Skip("not_a_conversation", "It has no list of messages.");
  const messages = flattened(asObjects(list));
  const hasParents = messages.some(({ message, above }) => above !== undefined || asText(message["parentMessageId"]) !== "");
  let before: string | undefined;
  const nodes = messages.map(({ message, above }, index): TreeNode => {
    const ownId = asText(message["messageId"]);
    const key = ownId || `#${index}`;
    const named = asText(message["parentMessageId"]);
    const parentKey = hasParents ? (above ?? (named === "" || named === ROOT_ID ? undefined : named)) : before;
    before = key;
    return { key, parentKey, ownId, time: timeMs(message["createdAt"]), raw: rawMessage(message, key) };
  });
  return conversationOf(
    {
      source: "librechat",
      ownId: asText(entry["conversationId"]),
      title: entry["title"],
      remember: entry["isTemporary"] !== true,
      currentId: asText(entry["currentMessageId"]) || undefined,
    },
    nodes,
  );
}

/** All messages, parents first, with the message around them where they were nested. */
function flattened(roots: readonly JsonObject[]): { message: JsonObject; above: string | undefined }[] {
  const messages: { message: JsonObject; above: string | undefined }[] = roots.map((message) => ({ message, above: undefined }));
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index]?.message;
    const above = asText(message?.["messageId"]) || `#${index}`;
    for (const child of asObjects(message?.["children"])) messages.push({ message: child, above });
  }
  return messages;
}

function rawMessage(message: JsonObject, key: string): Record<string, unknown> | undefined {
  const isUser = message["isCreatedByUser"] === true || asText(message["sender"]).toLowerCase() === "user";
  const parts = asObjects(message["content"]).flatMap((part, index) => readPart(part, `${key}.${index}`));
  const plain = asText(message["text"]);
  if (!parts.some((part) => part["type"] !== "reasoning") && plain.trim() !== "") parts.push({ type: "text", text: plain });
  for (const file of asObjects(message["files"])) parts.push({ type: "text", text: label(file) });
  if (parts.length === 0) return undefined;
  const time = timeMs(message["createdAt"]);
  const facts = metadata("librechat", {
    model: message["model"],
    sender: isUser ? undefined : message["sender"],
    status: message["unfinished"] === true ? "unfinished" : message["error"] === true ? "failed" : undefined,
  });
  if (parts.some((part) => part["type"] === "dynamic-tool")) {
    return { role: "assistant", parts, ...(time === undefined ? {} : { createdAt: time }), metadata: facts };
  }
  const joined = (kind: string): string => parts.filter((part) => part["type"] === kind).map((part) => asText(part["text"])).join("\n\n");
  return { ...plainMessage(isUser ? "user" : "assistant", joined("text"), joined("reasoning")), ...(time === undefined ? {} : { created_at: time }), metadata: facts };
}

function readPart(part: JsonObject, id: string): Record<string, unknown>[] {
  const value = (name: string): string => asText(part[name]) || asText(field(asObject(part[name]), "value"));
  switch (part["type"]) {
    case "text":
      return value("text") === "" ? [] : [{ type: "text", text: value("text") }];
    case "think":
      return value("think") === "" ? [] : [{ type: "reasoning", text: value("think") }];
    case "tool_call": {
      const call = asObject(part["tool_call"]);
      const output = field(call, "output");
      return [toolPart({ id: asText(field(call, "id")) || id, name: asText(field(call, "name")), input: inputOf(field(call, "args")), output: output ?? undefined, isError: false })];
    }
    case "error":
      return [];
    default:
      return [{ type: "text", text: `[${asText(part["type"]).replace(/_(file|url)$/, "") || "attachment"}]` }];
  }
}

function inputOf(input: unknown): unknown {
  if (typeof input !== "string") return asObject(input) ?? {};
  try {
    return asObject(JSON.parse(input)) ?? { input };
  } catch {
    return { input };
  }
}

function label(file: JsonObject): string {
  const name = asText(file["filename"]);
  const kind = asText(file["type"]).startsWith("image") ? "image" : "file";
  return name === "" ? `[${kind}]` : `[${kind}: ${name.slice(0, 120)}]`;
}
