/** Open WebUI: an array of chats, each with a history by id. Reasoning and tools stand inside the text, or in `output`. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asObject, asObjects, asText, field, has, withoutBlanks, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage, toolPart } from "./raw-message.js";
import { textPieces, type TextPiece } from "./reasoning-text.js";

/** Whether a parsed entry is a chat of Open WebUI. */
export function isOpenWebUi(entry: JsonObject): boolean {
  const chat = asObject(entry["chat"]);
  return has(chat, "history") || has(chat, "messages") || has(asObject(entry["history"]), "messages", "currentId");
}

/** The conversation of an entry. */
export function readOpenWebUi(entry: JsonObject): ImportedConversation {
  const chat = asObject(entry["chat"]) ?? entry;
  const history = asObject(chat["history"]);
  const byId = asObject(field(history, "messages"));
  const messages = byId === undefined ? inOrder(asObjects(chat["messages"])) : Object.entries(byId).flatMap(([key, value]) => withKey(key, value));
  if (messages.length === 0 && byId === undefined && !Array.isArray(chat["messages"])) {
    throw new Skip("not_a_conversation", "It has no messages.");
  }
  const parents = parentsByChildren(messages);
  const nodes = messages.map(({ key, message, before }): TreeNode => {
    const parent = asText(message["parentId"]) || parents.get(key) || before;
    return { key, parentKey: parent, ownId: asText(message["id"]) || (byId === undefined ? "" : key), time: timeMs(message["timestamp"]), raw: rawMessage(message, key) };
  });
  return conversationOf(
    {
      source: "open-webui",
      ownId: asText(entry["id"]) || asText(chat["id"]),
      createdAt: entry["created_at"],
      title: asText(entry["title"]) || chat["title"],
      currentId: asText(field(history, "currentId")) || (byId === undefined ? nodes.at(-1)?.key : undefined),
    },
    nodes,
  );
}

interface Keyed {
  key: string;
  message: JsonObject;
  /** What stands before it in a list without links. */
  before: string | undefined;
}

function withKey(key: string, value: unknown): Keyed[] {
  const message = asObject(value);
  return message === undefined ? [] : [{ key, message, before: undefined }];
}

function inOrder(messages: readonly JsonObject[]): Keyed[] {
  const keys = messages.map((message, index) => asText(message["id"]) || `#${index}`);
  return messages.map((message, index) => ({ key: keys[index] ?? "", message, before: keys[index - 1] }));
}

function parentsByChildren(messages: readonly Keyed[]): Map<string, string> {
  const parents = new Map<string, string>();
  for (const { key, message } of messages) {
    const children: unknown = message["childrenIds"];
    if (Array.isArray(children)) for (const child of children) if (typeof child === "string" && !parents.has(child)) parents.set(child, key);
  }
  return parents;
}

function rawMessage(message: JsonObject, key: string): Record<string, unknown> | undefined {
  const role = asText(message["role"]);
  const content = asText(message["content"]);
  const output = role === "user" ? [] : outputPieces(asObjects(message["output"]));
  const pieces = output.length > 0 ? output : role === "user" ? [{ kind: "text" as const, text: content }] : textPieces(content);
  const labels = asObjects(message["files"]).map((file) => fileLabel(file)).join("\n");
  const time = timeMs(message["timestamp"]);
  const error = asText(field(asObject(message["error"]), "content"));
  const facts = metadata("open-webui", {
    role: role === "user" || role === "assistant" ? undefined : role,
    model: message["model"],
    status: message["done"] === false ? "in_progress" : undefined,
    error: error === "" ? undefined : "failed",
  });
  if (pieces.some(({ kind }) => kind === "tool")) {
    const parts = pieces.map((piece, index) => part(piece, `${key}.${index}`));
    if (labels !== "") parts.push({ type: "text", text: labels });
    return { role: "assistant", parts, ...(time === undefined ? {} : { createdAt: time }), metadata: facts };
  }
  const text = [joined(pieces, "text"), labels].filter((piece) => piece.trim() !== "").join("\n");
  const reasoning = joined(pieces, "reasoning");
  if (text === "" && reasoning === "") return undefined;
  return { ...plainMessage(role, text, reasoning), ...(time === undefined ? {} : { created_at: time }), metadata: facts };
}

function joined(pieces: readonly TextPiece[], wanted: "text" | "reasoning"): string {
  return pieces.flatMap((piece) => (piece.kind === wanted ? [piece.text] : [])).join("\n\n");
}

function part(piece: TextPiece, id: string): Record<string, unknown> {
  if (piece.kind !== "tool") return { type: piece.kind, text: piece.text };
  return toolPart({ id: piece.id || id, name: piece.name, input: inputOf(piece.input), output: piece.output, isError: false });
}

function inputOf(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return asObject(value) ?? { input: value };
  } catch {
    return text === "" ? {} : { input: text };
  }
}

/** Structured output of newer versions: messages, reasoning, calls and their results in order. */
function outputPieces(items: readonly JsonObject[]): TextPiece[] {
  const texts = (value: unknown): string => asObjects(value).map((each) => asText(each["text"])).join("");
  const results = new Map(items.filter((item) => item["type"] === "function_call_output").map((item) => [item["call_id"], item]));
  const resultOf = (id: unknown): string | undefined => {
    const result = results.get(id);
    if (result === undefined) return undefined;
    return typeof result["output"] === "string" ? result["output"] : texts(result["output"]);
  };
  return items.flatMap((item): TextPiece[] => {
    switch (item["type"]) {
      case "message":
        return texts(item["content"]).trim() === "" ? [] : [{ kind: "text", text: texts(item["content"]) }];
      case "reasoning":
        return [{ kind: "reasoning", text: texts(item["summary"]) || texts(item["content"]) }].filter(({ text }) => text !== "") as TextPiece[];
      case "function_call":
        return [{ kind: "tool", id: asText(item["call_id"]), name: asText(item["name"]), input: asText(item["arguments"]), output: resultOf(item["call_id"]) }];
      default:
        return [];
    }
  });
}

function fileLabel(file: JsonObject): string {
  const name = asText(file["name"]) || asText(field(asObject(file["file"]), "filename"));
  const kind = asText(withoutBlanks(file)["type"]) === "image" ? "image" : "file";
  return name === "" ? `[${kind}]` : `[${kind}: ${name.slice(0, 120)}]`;
}
