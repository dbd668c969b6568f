/** ShareGPT: `{ id?, conversations: [{ from, value }] }`, as an array, one object or lines. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { asObject, asObjects, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { argumentsText, callAndResult, plainMessage, toolResult } from "./raw-message.js";

const USER: ReadonlySet<string> = new Set(["human", "user"]);
const ASSISTANT: ReadonlySet<string> = new Set(["gpt", "assistant", "model", "bot", "chatgpt", "bing", "bard", "claude"]);
const RESULT: ReadonlySet<string> = new Set(["tool", "observation", "function_response", "function"]);

/** Whether a value is one turn of ShareGPT. */
export function isShareGptTurn(value: unknown): value is JsonObject {
  return has(asObject(value), "from", "value");
}

/** Whether a parsed entry is a conversation of ShareGPT. */
export function isShareGpt(entry: JsonObject): boolean {
  return asObjects(entry["conversations"]).some(isShareGptTurn);
}

/** The conversation of an entry, or of a list of turns. */
export function readShareGpt(entry: JsonObject): ImportedConversation {
  if (!Array.isArray(entry["conversations"])) throw new Skip("not_a_conversation", "It has no list of turns.");
  let call: string | undefined;
  const nodes: TreeNode[] = [];
  const system = asText(entry["system"]);
  const turns = [...(system === "" ? [] : [{ from: "system", value: system }]), ...asObjects(entry["conversations"])];
  for (const [index, turn] of turns.entries()) {
    const { raw, opened } = rawMessage(turn, index, call);
    call = opened;
    nodes.push({ key: `#${index}`, parentKey: index === 0 ? undefined : `#${index - 1}`, ownId: "", time: undefined, raw });
  }
  const { id } = entry;
  const ownId = typeof id === "number" ? String(id) : asText(id);
  return conversationOf({ source: "sharegpt", ownId, title: entry["title"], currentId: nodes.at(-1)?.key }, nodes);
}

/** A turn as a message, and the call that waits for its result after it. */
function rawMessage(turn: JsonObject, index: number, call: string | undefined): { raw: TreeNode["raw"]; opened?: string } {
  const from = asText(turn["from"]).toLowerCase();
  const text = asText(turn["value"]);
  const facts = { metadata: metadata("sharegpt", { role: USER.has(from) || ASSISTANT.has(from) ? undefined : from }) };
  if (from === "function_call") {
    const id = `call_${index}`;
    return { raw: { ...functionCall(id, text), ...facts }, opened: id };
  }
  if (RESULT.has(from)) {
    const body = call === undefined ? callAndResult("tool", `call_${index}`, text) : toolResult(call, "tool", text);
    return { raw: { ...body, ...facts } };
  }
  if (text.trim() === "") return { raw: undefined };
  return { raw: { ...plainMessage(USER.has(from) ? "user" : "assistant", text), ...facts } };
}

/** `{ name, arguments }` as text. */
function functionCall(id: string, text: string): Record<string, unknown> {
  let call: JsonObject | undefined;
  try {
    call = asObject(JSON.parse(text));
  } catch {
    // Then all of it is the input.
  }
  const input = field(call, "arguments");
  const written = typeof input === "string" ? input : input === undefined ? text : JSON.stringify(input);
  const name = asText(field(call, "name")) || "tool";
  return { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: { name, arguments: argumentsText(written) } }] };
}
