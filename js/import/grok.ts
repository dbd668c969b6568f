/** Grok: `prod-grok-backend.json`. Conversation and responses lie one level deeper than their names say. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asList, asObject, asObjects, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage } from "./raw-message.js";

/** Whether a parsed entry is a conversation of Grok. */
export function isGrok(entry: JsonObject): boolean {
  return has(entry, "responses") && (has(entry, "conversation") || asObjects(entry["responses"]).some((each) => has(each, "response")));
}

/** The conversation of an entry. */
export function readGrok(entry: JsonObject): ImportedConversation {
  if (!Array.isArray(entry["responses"])) throw new Skip("not_a_conversation", "It has no list of responses.");
  const conversation = asObject(entry["conversation"]);
  const responses = asObjects(entry["responses"]).map((each) => asObject(each["response"]) ?? each);
  const hasParents = responses.some((response) => asText(response["parent_response_id"]) !== "");
  let before: string | undefined;
  const nodes = responses.map((response, index): TreeNode => {
    const key = asText(response["_id"]) || asText(response["id"]) || `#${index}`;
    const parentKey = hasParents ? asText(response["parent_response_id"]) || undefined : before;
    before = key;
    return { key, parentKey, ownId: key.startsWith("#") ? "" : key, time: timeMs(response["create_time"]), raw: rawMessage(response) };
  });
  return conversationOf(
    {
      source: "grok",
      ownId: asText(field(conversation, "id")) || asText(field(conversation, "_id")),
      createdAt: field(conversation, "create_time"),
      title: field(conversation, "title"),
      remember: field(conversation, "temporary") !== true,
      currentId: asText(field(conversation, "leaf_response_id")) || undefined,
    },
    nodes,
  );
}

function rawMessage(response: JsonObject): Record<string, unknown> | undefined {
  const role = asText(response["sender"]).toLowerCase() === "human" ? "user" : "assistant";
  const text = asText(response["message"]);
  const thoughts = asText(response["thinking_trace"]);
  const files = asList(response["file_attachments"]).length;
  const labels = Array.from({ length: files }, () => "[file]").join("\n");
  const content = [text, labels].filter((piece) => piece.trim() !== "").join("\n");
  if (content === "" && thoughts === "") return undefined;
  const time = timeMs(response["create_time"]);
  return {
    ...plainMessage(role, content, thoughts),
    ...(time === undefined ? {} : { created_at: time }),
    metadata: metadata("grok", {
      model: response["model"],
      status: response["partial"] === true ? "partial" : undefined,
      citations: asObjects(response["web_search_results"]).map((result) => ({ title: result["title"] ?? "", url: result["url"] ?? "" })),
    }),
  };
}
