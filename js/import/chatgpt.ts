/**
 * ChatGPT: `conversations.json`, its shards, or one conversation. A conversation is a tree of nodes, some of which show
 * nothing; tool calls, their results and the model's thoughts are nodes of their own.
 */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asList, asObject, asObjects, asText, field, has, withoutBlanks, type JsonObject } from "./json-value.js";
import { callAndResult, plainMessage, toolCall, toolResult } from "./raw-message.js";
import type { TreeNode } from "./message-tree.js";

/** A node as the export has it. */
interface Node {
  key: string;
  message: JsonObject | undefined;
  parentKey: string | undefined;
  time: number | undefined;
}

const HIDDEN_TYPES: ReadonlySet<string> = new Set(["user_editable_context", "model_set_context"]);
const THOUGHT_TYPES: ReadonlySet<string> = new Set(["thoughts", "reasoning_recap"]);

/** Whether a parsed entry is a conversation of ChatGPT. */
export function isChatGpt(entry: JsonObject): boolean {
  return has(entry, "mapping") || (has(entry, "current_node") && has(entry, "create_time"));
}

/** The conversation of an entry. */
export function readChatGpt(entry: JsonObject): ImportedConversation {
  const mapping = asObject(entry["mapping"]);
  if (mapping === undefined) throw new Skip("not_a_conversation", "It has no mapping of messages.");
  const nodes = linked(mapping);
  const model = asText(entry["default_model_slug"]);
  const extra = conversationFacts(entry);
  const byKey = new Map(nodes.map((node) => [node.key, node]));
  const calls = new Map<string, string>();
  for (const node of nodes) if (isCall(node)) calls.set(node.key, `call_${node.key}`);
  const context: Context = { callAbove: callFinder(byKey, calls), calls, model, thoughts: thoughtsOf(nodes, byKey) };
  const tree = nodes.map((node) => treeNode(node, context));
  const first = tree.find(({ raw }) => raw !== undefined);
  if (first?.raw !== undefined && Object.keys(extra).length > 0) {
    first.raw = { ...first.raw, metadata: { ...asObject(first.raw["metadata"]), conversation: extra } };
  }
  const ownId = asText(entry["conversation_id"]) || asText(entry["id"]);
  return conversationOf(
    {
      source: "chatgpt",
      ownId,
      createdAt: entry["create_time"],
      title: entry["title"],
      remember: entry["is_do_not_remember"] !== true && entry["is_temporary_chat"] !== true,
      currentId: asText(entry["current_node"]) || undefined,
    },
    tree,
  );
}

/** What is known of the whole conversation. It is kept with the first message: a conversation has no place for it. */
function conversationFacts(entry: JsonObject): Record<string, unknown> {
  const { is_archived, is_starred, gizmo_id, memory_scope, is_do_not_remember } = entry;
  return withoutBlanks({
    archived: is_archived === true ? true : undefined,
    starred: is_starred === true ? true : undefined,
    gizmoId: gizmo_id,
    memoryScope: memory_scope,
    doNotRemember: is_do_not_remember === true ? true : undefined,
  });
}

/** The nodes with their parents; where `parent` is missing or leads nowhere, `children` of others tell. */
function linked(mapping: JsonObject): Node[] {
  const parents = new Map<string, string>();
  const entries = Object.entries(mapping).flatMap(([key, value]) => {
    const node = asObject(value);
    return node === undefined ? [] : [{ key, node }];
  });
  for (const { key, node } of entries) {
    for (const child of asList(node["children"])) if (typeof child === "string" && !parents.has(child)) parents.set(child, key);
  }
  return entries.map(({ key, node }) => {
    const own = asText(node["parent"]);
    const isThere = own !== "" && own !== key && Object.hasOwn(mapping, own);
    const message = asObject(node["message"]);
    return { key, message, parentKey: isThere ? own : (parents.get(key) ?? (own === "" ? undefined : own)), time: timeMs(field(message, "create_time")) };
  });
}

interface Context {
  /** The call that a result answers: the nearest shown message above it, where it is one. */
  callAbove: (node: Node) => string | undefined;
  /** Ids of the calls, by the key of the node that makes them. */
  calls: ReadonlyMap<string, string>;
  /** Model of the conversation, for messages that name none. */
  model: string;
  /** The model's thoughts that stand right above an answer, by the answer's key. */
  thoughts: ReadonlyMap<string, string>;
}

function treeNode(node: Node, context: Context): TreeNode {
  const raw = node.message === undefined ? undefined : rawMessage(node, node.message, context);
  return { key: node.key, parentKey: node.parentKey, ownId: asText(field(node.message, "id")) || node.key, time: node.time, raw };
}

function rawMessage(node: Node, message: JsonObject, context: Context): Record<string, unknown> | undefined {
  const info = asObject(message["metadata"]);
  const content = asObject(message["content"]);
  const type = asText(field(content, "content_type"));
  const role = roleOf(message);
  if (isHidden(info) || HIDDEN_TYPES.has(type)) return undefined;
  const facts = messageFacts(message, info, type, context.model);
  const time = node.time === undefined ? {} : { created_at: node.time };
  const reasoning = context.thoughts.get(node.key);
  if (THOUGHT_TYPES.has(type)) {
    // Thoughts go with the answer below them; those without one are kept where they are.
    return reasoning === undefined ? undefined : { ...plainMessage("assistant", "", reasoning), ...time, metadata: facts };
  }
  const text = textOf(content, type, info);
  if (role === "tool") {
    const call = context.callAbove(node);
    if (call === undefined && isBlank(text)) return undefined;
    const name = asText(field(asObject(message["author"]), "name")) || "tool";
    const body = call === undefined ? callAndResult(name, `call_${node.key}`, text) : toolResult(call, name, text);
    return { ...body, ...(call === undefined ? { createdAt: node.time } : time), metadata: facts };
  }
  const call = context.calls.get(node.key);
  if (call !== undefined) return { ...toolCall(call, asText(message["recipient"]), asString(text), reasoning), ...time, metadata: facts };
  if (isBlank(text) && reasoning === undefined) return undefined;
  return { ...plainMessage(role, text, reasoning), ...time, metadata: facts };
}

function roleOf(message: JsonObject): string {
  return asText(field(asObject(message["author"]), "role"));
}

function isCall(node: Node): boolean {
  const recipient = asText(field(node.message, "recipient"));
  return node.message !== undefined && roleOf(node.message) === "assistant" && recipient !== "" && recipient !== "all";
}

/** Finds the call above a node, past what shows nothing. Each way is gone once, however many results are below it. */
function callFinder(byKey: ReadonlyMap<string, Node>, calls: ReadonlyMap<string, string>): Context["callAbove"] {
  const found = new Map<Node, string | undefined>();
  const parentOf = (node: Node): Node | undefined => (node.parentKey === undefined ? undefined : byKey.get(node.parentKey));
  return (node) => {
    const path = new Set<Node>();
    let at = parentOf(node);
    while (at !== undefined && !calls.has(at.key) && isTransparent(at) && !found.has(at) && !path.has(at)) {
      path.add(at);
      at = parentOf(at);
    }
    const call = at === undefined ? undefined : (calls.get(at.key) ?? found.get(at));
    for (const each of path) found.set(each, call);
    return call;
  };
}

/** A node that shows nothing of its own. */
function isTransparent(node: Node): boolean {
  return node.message === undefined || isThought(node) || isHidden(asObject(field(node.message, "metadata")));
}

/** The app did not show it; or it is the person's standing instructions, as exports before 2026 have them. */
function isHidden(info: JsonObject | undefined): boolean {
  return field(info, "is_visually_hidden_from_conversation") === true || field(info, "is_user_system_message") === true;
}

function isThought(node: Node): boolean {
  return THOUGHT_TYPES.has(asText(field(asObject(field(node.message, "content")), "content_type")));
}

/**
 * Thoughts by the answer that they lead to; where there is none, by the last of them. Of several answers the first has
 * them: nothing is said twice.
 */
function thoughtsOf(nodes: readonly Node[], byKey: ReadonlyMap<string, Node>): Map<string, string> {
  const thoughts = new Map<string, string>();
  const used = new Set<Node>();
  const collect = (below: Node): void => {
    const texts: string[] = [];
    let at = isThought(below) ? below : byKey.get(below.parentKey ?? "");
    while (at !== undefined && !used.has(at) && (isThought(at) || at.message === undefined)) {
      used.add(at);
      const text = isThought(at) ? thoughtText(at) : "";
      if (text !== "") texts.push(text);
      at = byKey.get(at.parentKey ?? "");
    }
    if (texts.length > 0) thoughts.set(below.key, texts.reverse().join("\n\n"));
  };
  for (const node of nodes) if (node.message !== undefined && !isThought(node) && roleOf(node.message) === "assistant") collect(node);
  for (const node of [...nodes].reverse()) if (isThought(node) && !used.has(node)) collect(node);
  return thoughts;
}

function thoughtText(node: Node): string {
  const content = asObject(field(node.message, "content"));
  const parts = asObjects(field(content, "thoughts")).flatMap((thought) => [asText(thought["summary"]), asText(thought["content"])]);
  return parts.filter((part) => part !== "").join("\n");
}

function messageFacts(message: JsonObject, info: JsonObject | undefined, type: string, model: string): Record<string, unknown> {
  const { status, weight, end_turn, recipient, author } = message;
  const role = roleOf(message);
  return metadata("chatgpt", {
    role: role === "user" || role === "assistant" || role === "tool" ? undefined : role,
    contentType: type === "text" ? undefined : type,
    model: asText(field(info, "model_slug")) || (role === "assistant" ? model : ""),
    status: status === "finished_successfully" ? undefined : status,
    weight: weight === 1 ? undefined : weight,
    endTurn: end_turn === false ? false : undefined,
    recipient: recipient === "all" ? undefined : recipient,
    author: field(asObject(author), "name"),
    citations: citationsOf(info),
    attachments: asObjects(field(info, "attachments")).map(({ id, name, mime_type }) => withoutBlanks({ id, name, mimeType: mime_type })),
  });
}

/** What the offsets and marks in the text refer to. */
function citationsOf(info: JsonObject | undefined): Record<string, unknown>[] {
  const old = asObjects(field(info, "citations")).map((citation) => {
    const source = asObject(citation["metadata"]);
    return withoutBlanks({ start: citation["start_ix"], end: citation["end_ix"], title: field(source, "title"), url: field(source, "url") });
  });
  const references = asObjects(field(info, "content_references")).map((reference) => {
    const [item] = asObjects(reference["items"]);
    const source = item ?? reference;
    return withoutBlanks({ start: reference["start_idx"], end: reference["end_idx"], type: reference["type"], title: source["title"], url: source["url"] });
  });
  return [...old, ...references].filter((citation) => Object.keys(citation).length > 0);
}

type Text = string | { type: "text"; text: string }[];

/** What a message says, by its kind; what is not known here by the fields that hold text. */
function textOf(content: JsonObject | undefined, type: string, info: JsonObject | undefined): Text {
  const part = (name: string): string => asText(field(content, name));
  const joined = (...texts: string[]): string => texts.filter((text) => text !== "").join("\n");
  const names = new Map(asObjects(field(info, "attachments")).map(({ id, name }) => [asText(id), asText(name)]));
  switch (type) {
    case "multimodal_text":
      return asList(field(content, "parts")).map((item) => ({ type: "text" as const, text: partText(item, names) })).filter(({ text }) => text !== "");
    case "tether_quote":
    case "sonic_webpage":
      return joined(part("title"), part("url"), part("text") || part("snippet"));
    case "tether_browsing_display":
      return joined(part("summary"), part("result"));
    case "system_error":
      return joined(part("name"), part("text"));
    case "citable_code_output":
      return part("output_str");
    case "computer_output":
      return "[screenshot]";
    default: {
      const parts = asList(field(content, "parts")).map((item) => partText(item, names));
      if (parts.length > 0) return parts.filter((text) => text !== "").join("\n");
      return joined(part("text") || part("result") || part("content") || part("output_str"));
    }
  }
}

/** A part's text; for a picture, sound or file a label, never its address: that is bound to an account. */
function partText(item: unknown, names: ReadonlyMap<string, string>): string {
  if (typeof item === "string") return item;
  const part = asObject(item);
  const kind = asText(field(part, "content_type"));
  if (part === undefined) return "";
  if (kind === "audio_transcription" || has(part, "text")) return asText(part["text"]);
  const pointer = asText(part["asset_pointer"]);
  const id = pointer.replace(/^[a-z-]+:\/\//, "");
  const label = id === "" ? "" : (names.get(id) ?? "");
  const noun = kind.startsWith("image") ? "image" : kind.includes("video") ? "audio and video" : kind.startsWith("audio") ? "audio" : kind || "attachment";
  return label === "" ? `[${noun}]` : `[${noun}: ${label}]`;
}

function isBlank(text: Text): boolean {
  return typeof text === "string" ? text.trim() === "" : text.length === 0;
}

function asString(text: Text): string {
  return typeof text === "string" ? text : text.map((part) => part.text).join("\n");
}
