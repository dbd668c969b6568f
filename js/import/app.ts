/** The apps whose exports are read: how each is recognised, and what reads its entries. */

import type { ImportSource } from "../types.js";
import { isAiStudio, readAiStudio } from "./ai-studio.js";
import { isChatGpt, readChatGpt } from "./chatgpt.js";
import { isClaude, isClaudeOther, readClaude } from "./claude.js";
import { Skip, type ImportedConversation } from "./conversation.js";
import { ActivityHtml, GeminiActivityGroups, isActivityHtml, isGeminiActivity, readActivityCell, readGeminiActivity, titlePrefix, type Activity } from "./gemini-activity.js";
import { isGrok, readGrok } from "./grok.js";
import { parsePrefix } from "./json-prefix.js";
import { JsonStream, type Layout } from "./json-stream.js";
import { asObject, asObjects, field, has, type JsonObject } from "./json-value.js";
import { isLibreChat, readLibreChat } from "./libre-chat.js";
import { MAX_REPLY_DEPTH } from "./limits.js";
import { conversationOfMessages, isMessage, isMessageList, readMessageList } from "./message-list.js";
import { isOpenWebUi, readOpenWebUi } from "./open-webui.js";
import { isShareGpt, isShareGptTurn, readShareGpt } from "./share-gpt.js";
import { isSillyTavern, SillyTavernChat } from "./silly-tavern.js";

/** Reads the entries of one file, in order. */
export interface EntryReader {
  /** Takes an entry in; answers with the conversations that it completes. @throws {@link Skip}. */
  take(entry: unknown): ImportedConversation[];
  /** The file has ended. @throws {@link Skip}. */
  end(): ImportedConversation[];
}

/** What a file is. */
export interface Recognised {
  source: ImportSource;
  layout: Layout | { kind: "html" };
  maxDepth?: number;
  reader(): EntryReader;
}

type Read = (entry: JsonObject, fileName: string) => ImportedConversation;

/** In the order in which they are tried: what has the surest marks comes first. */
const APPS: readonly { source: ImportSource; is: (entry: JsonObject) => boolean; read: Read }[] = [
  { source: "chatgpt", is: isChatGpt, read: readChatGpt },
  { source: "claude", is: isClaude, read: readClaude },
  { source: "grok", is: isGrok, read: readGrok },
  { source: "open-webui", is: isOpenWebUi, read: readOpenWebUi },
  { source: "librechat", is: isLibreChat, read: readLibreChat },
  { source: "ai-studio", is: isAiStudio, read: readAiStudio },
  { source: "sharegpt", is: isShareGpt, read: readShareGpt },
  { source: "messages", is: isMessageList, read: readMessageList },
];

/** Keys of an object under which apps and tools wrap their conversations. */
const WRAPPERS = ["conversations", "chats", "data", "items"];

/**
 * What a file is, by how it begins: `undefined` for nothing that is known, `"other"` for a part of an export without
 * conversations.
 */
export function recognise(head: string, fileName: string): Recognised | "other" | undefined {
  const start = head.trimStart();
  if (start.startsWith("<")) return isActivityHtml(start) ? activityHtml(start, fileName) : undefined;
  if (!start.startsWith("{") && !start.startsWith("[")) return undefined;
  const lines = linesOf(start);
  if (lines !== undefined) return ofEntries(lines, { kind: "lines" }, fileName);
  const value = parsePrefix(start) ?? brokenPrefix(start);
  if (Array.isArray(value)) return ofList(value, { kind: "items" }, fileName);
  const object = asObject(value);
  if (object === undefined) return undefined;
  const whole = ofEntries([object], { kind: "whole" }, fileName);
  if (whole !== undefined) return whole;
  const keys = WRAPPERS.filter((key) => Array.isArray(field(object, key)));
  const wrapped = keys.map((key) => ofList(asObjects(object[key]), { kind: "under", keys }, fileName)).find((found) => found !== undefined);
  return wrapped ?? (isOther(object) ? "other" : undefined);
}

/** Whether more of a file that begins like this, and is not recognised yet, can tell what it is. */
export function isOpen(head: string): boolean {
  const start = head.trimStart();
  return /^[[{]/.test(start) || isActivityHtml(start);
}

/** What ChatGPT puts beside its conversations. */
const COMPANION = /(?:^|\/)(?:chat\.html|(?:user|message_feedback|shared_conversations|export_manifest)\.json|[^/]*\.index)$/i;

/** Whether a file whose content says nothing is a part of an export without conversations, by its name. */
export function isCompanion(fileName: string): boolean {
  return COMPANION.test(fileName);
}

/** The first lines where each is a value of its own; `undefined` for a file that is one value. */
function linesOf(start: string): JsonObject[] | undefined {
  if (!/^\{.*\}\s*$/.test(start.split("\n", 1)[0] ?? "")) return undefined;
  const values = start.split("\n", 21).map((line) => {
    try {
      return asObject(JSON.parse(line));
    } catch {
      return undefined;
    }
  });
  const objects = values.filter((value) => value !== undefined);
  const [first] = objects;
  const isAlone = first !== undefined && (isSillyTavern(first) || isMessage(first));
  return objects.length > 1 || isAlone ? objects : undefined;
}

/** As {@link parsePrefix}, for a text with entries that are no JSON: those are left out. */
function brokenPrefix(start: string): unknown {
  const isList = start.startsWith("[");
  const entries = new JsonStream("head", isList ? { kind: "items" } : { kind: "under", keys: WRAPPERS }, { keepsText: true });
  try {
    const values = entries.push(new TextEncoder().encode(start)).flatMap(({ text }) => {
      try {
        return [JSON.parse(text) as unknown];
      } catch {
        return [];
      }
    });
    // Under which key they lie is found out by the scan, which knows all of them.
    return isList ? values : Object.fromEntries(WRAPPERS.map((key) => [key, values]));
  } catch {
    return undefined;
  }
}

function ofList(list: readonly unknown[], layout: Layout, fileName: string): Recognised | "other" | undefined {
  if (list.length === 0) return "other";
  if (list.some(isShareGptTurn)) return one("sharegpt", (entry) => readShareGpt({ conversations: entry }));
  if (list.some(isMessage) && layout.kind === "items") {
    return one("messages", (entry) => conversationOfMessages(asObjects(entry), { ownId: "" }));
  }
  return ofEntries(asObjects(list), layout, fileName);
}

/** A file that is one list of messages. */
function one(source: ImportSource, read: (list: unknown) => ImportedConversation): Recognised {
  return { source, layout: { kind: "whole" }, reader: () => ({ take: (list) => [read(list)], end: () => [] }) };
}

function ofEntries(entries: readonly JsonObject[], layout: Layout, fileName: string): Recognised | "other" | undefined {
  const app = APPS.find(({ is }) => entries.some(is));
  if (app !== undefined) {
    const { source, is, read } = app;
    const isNested = source === "librechat" && entries.some((entry) => entry["recursive"] === true || has(entry, "messagesTree") || asObjects(entry["messages"]).some((message) => has(message, "children")));
    return { source, layout, ...(isNested ? { maxDepth: MAX_REPLY_DEPTH } : {}), reader: () => perEntry(is, read, fileName) };
  }
  if (entries.some(isGeminiActivity)) {
    const prefix = titlePrefix(entries.filter(isGeminiActivity).map(readGeminiActivity));
    return { source: "gemini", layout, reader: () => activities(prefix, readGeminiEntry) };
  }
  if (layout.kind === "lines" && entries.some(isSillyTavern)) return { source: "sillytavern", layout, reader: () => sillyTavern(fileName) };
  if (layout.kind === "lines" && entries.some(isMessage)) return { source: "messages", layout, reader: messageLines };
  return entries.some(isOther) ? "other" : undefined;
}

/** Parts of exports that hold no conversations. */
function isOther(entry: JsonObject): boolean {
  return isClaudeOther(entry) || has(entry, "conversation_id", "rating") || has(entry, "chatgpt_plus_user") || has(entry, "email", "id") || has(entry, "export_files") || has(entry, "is_anonymous", "conversation_id");
}

function perEntry(is: (entry: JsonObject) => boolean, read: Read, fileName: string): EntryReader {
  return {
    take(entry) {
      const object = asObject(entry);
      if (object === undefined || !is(object)) throw new Skip("not_a_conversation", "It has not the shape of a conversation.");
      return [read(object, fileName)];
    },
    end: () => [],
  };
}

function activities(prefix: string, read: (entry: unknown) => Activity): EntryReader {
  const groups = new GeminiActivityGroups(prefix);
  return { take: (entry) => groups.take(read(entry)), end: () => groups.end() };
}

function readGeminiEntry(entry: unknown): Activity {
  const object = asObject(entry);
  if (object === undefined || !isGeminiActivity(object)) throw new Skip("not_a_conversation", "It is no activity of Gemini.");
  return readGeminiActivity(object);
}

function activityHtml(head: string, fileName: string): Recognised | undefined {
  const cells = new ActivityHtml(fileName);
  const known = cells.push(head).concat(cells.end()).flatMap(({ text }) => readActivityCell(text) ?? []);
  if (known.length === 0) return undefined;
  const prefix = titlePrefix(known);
  return { source: "gemini", layout: { kind: "html" }, reader: () => activities(prefix, (cell) => cellActivity(String(cell))) };
}

function cellActivity(html: string): Activity {
  const activity = readActivityCell(html);
  if (activity === undefined) throw new Skip("not_a_conversation", "It is an activity of another product.");
  return activity;
}

function sillyTavern(fileName: string): EntryReader {
  const chat = new SillyTavernChat(fileName);
  return {
    take(line) {
      const object = asObject(line);
      if (object === undefined || !isSillyTavern(object)) throw new Skip("not_a_conversation", "This line is no message.");
      chat.take(object);
      return [];
    },
    end: () => [chat.end()],
  };
}

/** One message per line: the file is one conversation. */
function messageLines(): EntryReader {
  const messages: JsonObject[] = [];
  return {
    take(line) {
      if (!isMessage(line)) throw new Skip("not_a_conversation", "This line is no message.");
      messages.push(line);
      return [];
    },
    end: () => [conversationOfMessages(messages, { ownId: "" })],
  };
}
