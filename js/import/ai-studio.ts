/** AI Studio: one prompt per file, its turns in `chunkedPrompt.chunks`. */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { contentHash } from "../content-hash.js";
import { timeMs } from "./import-time.js";
import { asObject, asObjects, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage } from "./raw-message.js";

/** Whether a parsed entry is a prompt of AI Studio. */
export function isAiStudio(entry: JsonObject): boolean {
  return has(asObject(entry["chunkedPrompt"]), "chunks");
}

/** The conversation of an entry; `fileName` is its title, since the file names none. */
export function readAiStudio(entry: JsonObject, fileName: string): ImportedConversation {
  const chunks = field(asObject(entry["chunkedPrompt"]), "chunks");
  if (!Array.isArray(chunks)) throw new Skip("not_a_conversation", "It has no chunks.");
  const model = asText(field(asObject(entry["runSettings"]), "model"));
  const nodes: TreeNode[] = [];
  let thoughts: string[] = [];
  const add = (raw: Record<string, unknown>, time: number | undefined): void => {
    const at = nodes.length;
    nodes.push({ key: `#${at}`, parentKey: at === 0 ? undefined : `#${at - 1}`, ownId: "", time, raw: time === undefined ? raw : { ...raw, created_at: time } });
  };
  const instructions = textOf(asObject(entry["systemInstruction"]));
  if (instructions !== "") add({ ...plainMessage("system", instructions), metadata: metadata("ai-studio", { role: "system" }) }, undefined);
  for (const chunk of asObjects(chunks)) {
    const text = textOf(chunk);
    if (chunk["isThought"] === true) {
      if (text !== "") thoughts.push(text);
      continue;
    }
    const role = chunk["role"] === "user" ? "user" : "assistant";
    if (text === "" && (role === "user" || thoughts.length === 0)) continue;
    const facts = { model: role === "user" ? undefined : model, finishReason: chunk["finishReason"], branchParent: chunk["branchParent"], branchChildren: chunk["branchChildren"], edited: chunk["isEdited"] };
    add({ ...plainMessage(role, text, role === "user" ? "" : thoughts.join("\n\n")), metadata: metadata("ai-studio", facts) }, timeMs(chunk["createTime"]));
    if (role === "assistant") thoughts = [];
  }
  if (thoughts.length > 0) add({ ...plainMessage("assistant", "", thoughts.join("\n\n")), metadata: metadata("ai-studio", { model }) }, undefined);
  const title = (fileName.split("/").at(-1) ?? "").replace(/\.json$/i, "");
  const first = contentHash(JSON.stringify(nodes[0]?.raw ?? {}));
  return conversationOf({ source: "ai-studio", ownId: "", identity: [title, first], title, currentId: nodes.at(-1)?.key }, nodes);
}

/** Text of a chunk or instruction: its own, else that of its parts; labels for what lies elsewhere or is bytes. */
function textOf(chunk: JsonObject | undefined): string {
  if (chunk === undefined) return "";
  const parts = asObjects(chunk["parts"]).filter((part) => part["thought"] !== true || chunk["isThought"] === true);
  const text = asText(chunk["text"]) || parts.map((part) => asText(part["text"])).join("");
  const labels = Object.keys(chunk).flatMap((name) => {
    const kind = /^(?:drive|inline|youtube)(Image|Audio|Video|Document|File|Data)$/.exec(name)?.[1];
    return kind === undefined ? [] : [`[${kind === "Image" || kind === "Audio" || kind === "Video" ? kind.toLowerCase() : "file"}]`];
  });
  return [text, ...labels].filter((piece) => piece.trim() !== "").join("\n");
}
