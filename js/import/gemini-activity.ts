/**
 * Gemini in Google Takeout: "My Activity", as JSON or HTML. It has no conversations, only prompts with their answers,
 * newest first: what lies no more than half an hour apart is taken for one, and marked as inferred.
 */

import { conversationOf, metadata, Skip, type ImportedConversation } from "./conversation.js";
import { contentHash } from "../content-hash.js";
import { htmlText } from "./html-text.js";
import { timeMs } from "./import-time.js";
import { MAX_ELEMENT_BYTES, unusable } from "./limits.js";
import { asList, asObjects, asText, has, withoutBlanks, type JsonObject } from "./json-value.js";
import type { TreeNode } from "./message-tree.js";

const GAP_MS = 30 * 60_000;
/** Products whose activity this is, as `header` and `products` name them. */
const PRODUCT = /\b(gemini|bard)\b/i;
/** What stands before a prompt, where the file has too few entries to learn it from. */
const KNOWN_PREFIXES = ["Prompted", "Said", "Asked", "Searched for", "Eingegeben:", "Prompt:", "Requête :", "Has preguntado", "Hai chiesto"];

/** A prompt with its answer. */
export interface Activity {
  title: string;
  /** The answer as HTML; empty: this is no prompt but feedback, a canvas or the like. */
  answer: string;
  time: number | undefined;
  attachments: number;
}

/** Whether a parsed entry is an activity of Gemini. */
export function isGeminiActivity(entry: JsonObject): boolean {
  if (!has(entry, "title", "time")) return false;
  return PRODUCT.test(asText(entry["header"])) || asList(entry["products"]).some((name) => PRODUCT.test(asText(name)));
}

/** The activity of an entry. */
export function readGeminiActivity(entry: JsonObject): Activity {
  const answers = asObjects(entry["safeHtmlItem"]).map((item) => asText(item["html"]));
  const attachments = asList(entry["attachedFiles"]).length + (has(entry, "imageFile") ? 1 : 0);
  return { title: asText(entry["title"]), answer: answers.filter((html) => html !== "").join("\n"), time: timeMs(entry["time"]), attachments };
}

/** What stands before the prompt in the titles of a file: what those with an answer have in common, up to a blank. */
export function titlePrefix(activities: readonly Activity[]): string {
  const titles = activities.filter(({ answer }) => answer !== "").map(({ title }) => title.replaceAll("\u00a0", " "));
  const known = KNOWN_PREFIXES.find((prefix) => titles.some((title) => title.startsWith(`${prefix} `)));
  if (known !== undefined) return `${known} `;
  if (new Set(titles).size < 3) return "";
  const common = titles.reduce((prefix, title) => {
    let length = 0;
    while (length < prefix.length && prefix[length] === title[length]) length += 1;
    return prefix.slice(0, length);
  });
  return common.slice(0, common.lastIndexOf(" ") + 1);
}

/** Groups the activities of one file. */
export class GeminiActivityGroups {
  readonly #prefix: string;
  #group: Activity[] = [];

  /** `prefix`: see {@link titlePrefix}. */
  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Takes the next activity in; answers with the group that it ends, if it does. */
  take(activity: Activity): ImportedConversation[] {
    if (activity.answer === "" && !this.#isPrompt(activity)) throw new Skip("not_a_conversation", "It is no prompt: feedback, a canvas or another event.");
    const before = this.#group.at(-1)?.time;
    const isApart = before !== undefined && activity.time !== undefined && Math.abs(before - activity.time) > GAP_MS;
    const ended = isApart ? this.end() : [];
    this.#group.push(activity);
    return ended;
  }

  /** The group that is open. */
  end(): ImportedConversation[] {
    const oldestFirst = this.#group.reverse();
    this.#group = [];
    const [first] = oldestFirst;
    if (first === undefined) return [];
    const nodes = oldestFirst.flatMap((activity) => this.#nodes(activity));
    for (const [index, node] of nodes.entries()) node.parentKey = nodes[index - 1]?.key;
    const identity = [String(first.time ?? ""), first.title];
    try {
      return [conversationOf({ source: "gemini", ownId: "", identity, currentId: nodes.at(-1)?.key }, nodes)];
    } catch (error) {
      if (error instanceof Skip) return [];
      throw error;
    }
  }

  #isPrompt({ title }: Activity): boolean {
    return this.#prefix !== "" && title.replaceAll("\u00a0", " ").startsWith(this.#prefix);
  }

  #nodes(activity: Activity): TreeNode[] {
    const { time, answer, attachments } = activity;
    const key = contentHash(String(time), activity.title, answer);
    const title = activity.title.replaceAll("\u00a0", " ");
    const prompt = title.startsWith(this.#prefix) ? title.slice(this.#prefix.length) : title;
    const labels = Array.from({ length: attachments }, () => "[file]");
    const question = [prompt, ...labels].filter((piece) => piece.trim() !== "").join("\n");
    const node = (role: string, content: string, html: string): TreeNode => ({
      key: `${key}.${role}`,
      parentKey: undefined,
      ownId: "",
      time,
      raw: content.trim() === "" ? undefined : {
        role, content, ...(time === undefined ? {} : { created_at: time }),
        metadata: metadata("gemini", { inferredConversation: true, ...withoutBlanks({ html }) }),
      },
    });
    return [node("user", question, ""), node("assistant", htmlText(answer), answer)];
  }
}

const CELL_START = '<div class="outer-cell';
const CONTENT = /<div class="content-cell[^"]*mdl-typography--body-1"[^>]*>([\s\S]*?)<\/div>\s*<div class="content-cell/;

/** Whether a file begins as "My Activity" does. */
export function isActivityHtml(head: string): boolean {
  return head.includes(CELL_START) && head.includes("mdl-typography");
}

/** Cuts the HTML of "My Activity" into its cells as it arrives. */
export class ActivityHtml {
  readonly #fileName: string;
  #text = "";
  /** How far the text was looked through. */
  #searched = 0;
  #position = 0;
  #index = 0;

  constructor(fileName: string) {
    this.#fileName = fileName;
  }

  /** Takes text in; answers with the cells that end in it. */
  push(text: string): { text: string; index: number; position: number }[] {
    this.#text += text;
    if (this.#text.length > MAX_ELEMENT_BYTES) throw unusable(this.#fileName, `one entry is larger than ${MAX_ELEMENT_BYTES} bytes`, this.#position);
    const cells: { text: string; index: number; position: number }[] = [];
    let begin = 0;
    for (;;) {
      const next = this.#text.indexOf(CELL_START, Math.max(begin + 1, this.#searched));
      if (next < 0) break;
      if (this.#text.startsWith(CELL_START, begin)) cells.push(this.#cell(begin, next));
      begin = next;
    }
    this.#position += begin;
    this.#text = this.#text.slice(begin);
    // A start may be cut in two by the next piece.
    this.#searched = Math.max(0, this.#text.length - CELL_START.length);
    return cells;
  }

  /** The last cell. */
  end(): { text: string; index: number; position: number }[] {
    return this.#text.startsWith(CELL_START) ? [this.#cell(0, this.#text.length)] : [];
  }

  #cell(from: number, to: number): { text: string; index: number; position: number } {
    this.#index += 1;
    return { text: this.#text.slice(from, to), index: this.#index - 1, position: this.#position + from };
  }
}

/** The activity of a cell: the prompt, a line break, the time, a line break, the answer. `undefined`: of another product. */
export function readActivityCell(html: string): Activity | undefined {
  const header = htmlText(/mdl-typography--title"[^>]*>([\s\S]*?)<\/p>/.exec(html)?.[1] ?? "");
  if (header !== "" && !PRODUCT.test(header)) return undefined;
  const body = CONTENT.exec(html)?.[1] ?? "";
  const lines = body.split(/<br\s*\/?>/i);
  const timeAt = lines.findIndex((line, index) => index > 0 && line.length < 200 && timeMs(htmlText(line)) !== undefined);
  const title = htmlText((timeAt < 0 ? lines.slice(0, 1) : lines.slice(0, timeAt)).join("<br>"));
  const answer = timeAt < 0 ? lines.slice(1).join("<br>") : lines.slice(timeAt + 1).join("<br>");
  const time = timeAt < 0 ? undefined : timeMs(htmlText(lines[timeAt] ?? ""));
  return { title, answer: htmlText(answer) === "" ? "" : answer, time, attachments: 0 };
}

