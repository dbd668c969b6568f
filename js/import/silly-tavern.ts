/** SillyTavern: one chat per file, a header line and one line per message. Swipes are other answers in the same place. */

import { conversationOf, metadata, type ImportedConversation } from "./conversation.js";
import { timeMs } from "./import-time.js";
import { asList, asObject, asText, field, has, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";
import { plainMessage } from "./raw-message.js";

/** Whether a parsed line is a header or a message of SillyTavern. */
export function isSillyTavern(entry: JsonObject): boolean {
  return has(entry, "mes") || (has(entry, "character_name") && (has(entry, "user_name") || has(entry, "chat_metadata")));
}

/** Collects the lines of one file. */
export class SillyTavernChat {
  readonly #fileName: string;
  #header: JsonObject | undefined;
  readonly #nodes: TreeNode[] = [];
  #before: string | undefined;
  #first: readonly string[] = [];

  /** `fileName` tells chats apart that have no header. */
  constructor(fileName: string) {
    this.#fileName = fileName;
  }

  /** Takes the next line in. */
  take(line: JsonObject): void {
    if (!has(line, "mes")) {
      this.#header ??= line;
      return;
    }
    const place = `#${this.#nodes.length}`;
    const parentKey = this.#before;
    // What is hidden is not part of the chat any more; what follows it follows what was before it.
    const isHidden = line["is_system"] === true;
    const shown = asText(line["mes"]);
    const node = (key: string, text: string, swipe: number | undefined): TreeNode => ({
      key, parentKey, ownId: "", time: timeMs(line["send_date"]), raw: isHidden ? undefined : rawMessage(line, text, swipe),
    });
    const swipes = asList(line["swipes"]).map(asText);
    const others = swipes.map((text, swipe) => ({ text, swipe })).filter(({ text, swipe }) => text !== shown && text !== "" && swipe !== line["swipe_id"]);
    if (!isHidden) for (const { text, swipe } of others) this.#nodes.push(node(`${place}.${swipe}`, text, swipe));
    this.#nodes.push(node(place, shown, undefined));
    this.#before = place;
    if (this.#first.length === 0) this.#first = [shown];
  }

  /** The chat. */
  end(): ImportedConversation {
    const character = asText(field(this.#header, "character_name"));
    const created = field(this.#header, "create_date");
    const integrity = asText(field(asObject(field(this.#header, "chat_metadata")), "integrity"));
    // The header names chat and time of its beginning, which stay while it grows.
    const identity = integrity !== "" ? [integrity] : created !== undefined ? [character, JSON.stringify(created)] : [this.#fileName, ...this.#first];
    return conversationOf({ source: "sillytavern", ownId: "", identity, title: character, currentId: this.#before }, this.#nodes);
  }
}

function rawMessage(line: JsonObject, text: string, swipe: number | undefined): Record<string, unknown> | undefined {
  if (text.trim() === "") return undefined;
  const info = asObject(swipe === undefined ? undefined : asList(line["swipe_info"])[swipe]);
  const extra = asObject(field(info, "extra")) ?? (swipe === undefined ? asObject(line["extra"]) : undefined);
  const time = timeMs(field(info, "send_date") ?? line["send_date"]);
  return {
    ...plainMessage(line["is_user"] === true ? "user" : "assistant", text, asText(field(extra, "reasoning"))),
    ...(time === undefined ? {} : { created_at: time }),
    metadata: metadata("sillytavern", { name: line["name"], model: field(extra, "model"), memory: field(extra, "memory"), swipe }),
  };
}
