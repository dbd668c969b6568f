/** A stored message as the page shows it. The raw object stays beside it. */

import type { MessageStatus, RawMessage } from "throughline";
import { attachmentsOf, contentWith, type Attachment } from "./attachments.ts";

/** A call of a tool, as shown. */
export interface ShownToolCall {
  name: string;
  argumentsText: string;
}

/** A message as shown. */
export interface ShownMessage {
  /** Position in the conversation, from 1. */
  seq: number;
  /** Its id, or `seq:<position>`. */
  id: string;
  role: string;
  /** The visible text; empty for a message that only calls tools. */
  text: string;
  toolCalls: ShownToolCall[];
  /** Files that it came with. */
  attachments: Attachment[];
  createdAt: Date | null;
  /** Whether it is whole. */
  status: MessageStatus;
  raw: RawMessage;
}

/** Reads a message of OpenAI's, Anthropic's or the AI SDK's shape; parts that are neither text nor tools are named in brackets. */
export function readMessage(raw: RawMessage, seq: number, status: MessageStatus = "complete"): ShownMessage {
  const { attachments, content } = attachmentsOf(raw);
  const parts = raw["parts"] ?? content;
  return {
    seq,
    id: typeof raw["id"] === "string" ? raw["id"] : `seq:${seq}`,
    role: typeof raw["role"] === "string" ? raw["role"] : "user",
    text: textOf(parts),
    toolCalls: [...toolCallsOf(raw["tool_calls"]), ...calledInParts(parts)],
    attachments,
    createdAt: dateOf(raw["createdAt"] ?? raw["created_at"]),
    status,
    raw,
  };
}

/** The message with another text and no id of its own; what is no text stays, and so do its files. */
export function withText(raw: RawMessage, text: string): RawMessage {
  const { id: _id, createdAt: _createdAt, created_at: _created, ...rest } = raw;
  const { attachments } = attachmentsOf(raw);
  if (attachments.length > 0) return { ...rest, ...contentWith(text, attachments) };
  const field = "parts" in raw ? "parts" : "content";
  const parts: unknown = raw[field];
  if (!Array.isArray(parts)) return { ...rest, content: text };
  const others = (parts as unknown[]).filter((part) => !(isRecord(part) && part["type"] === "text"));
  return { ...rest, [field]: [...others, { type: "text", text }] };
}

/** The text of a message's content: a string, or the texts of its parts. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content.replace(CITATION_MARKS, "");
  if (!Array.isArray(content)) return "";
  return content.map(partText).filter((text) => text !== "").join("\n");
}

/** Parts that say nothing to a person. */
const UNSAID: ReadonlySet<unknown> = new Set(["step-start", "reasoning", "thinking", "redacted_thinking"]);

/** Marks of ChatGPT for its own display, which no font has. */
const CITATION_MARKS = /\ue200[^\ue201]{0,2000}\ue201/gu;

function partText(part: unknown): string {
  if (typeof part === "string") return part;
  if (!isRecord(part) || UNSAID.has(part["type"])) return "";
  const { text, type } = part;
  if (typeof text === "string") return text;
  const results = [type === "tool_result" ? part["content"] : undefined, part["output"], part["result"]];
  const result = results.find((value) => value !== undefined && value !== null);
  if (result !== undefined) return resultText(result);
  return toolName(part) === null ? `[${typeof type === "string" ? type : "part"}]` : "";
}

/** What a tool answered; the AI SDK wraps it as `{ type, value }`. */
function resultText(result: unknown): string {
  const value = isRecord(result) && "value" in result ? result["value"] : result;
  return typeof value === "string" || (Array.isArray(value) && value.every(isRecord)) ? textOf(value) : JSON.stringify(value);
}

/** The tool that a part calls: `tool_use` of Anthropic, `tool-call`, `dynamic-tool` or `tool-<name>` of the AI SDK. */
function toolName(part: Record<string, unknown>): string | null {
  const { name, toolName: named, type } = part;
  if (type === "tool_use" && typeof name === "string") return name;
  if ((type === "tool-call" || type === "dynamic-tool") && typeof named === "string") return named;
  const isNamedByType = typeof type === "string" && type.startsWith("tool-") && "toolCallId" in part && typeof named !== "string";
  return isNamedByType ? type.slice("tool-".length) : null;
}

function calledInParts(parts: unknown): ShownToolCall[] {
  if (!Array.isArray(parts)) return [];
  return parts.flatMap((part: unknown) => {
    const name = isRecord(part) ? toolName(part) : null;
    if (!isRecord(part) || name === null) return [];
    return [{ name, argumentsText: JSON.stringify(part["input"] ?? part["args"] ?? {}) }];
  });
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What one could call the message in a list: its text, else the tools that it calls. */
export function messageLine(message: ShownMessage): string {
  return message.text || message.attachments.map(({ name }) => name).join(", ") || message.toolCalls.map((call) => `${call.name}(${call.argumentsText})`).join(", ") || "(empty message)";
}

/** Who speaks, in words. */
export function speakerOf(role: string): string {
  return { user: "You", assistant: "Assistant", tool: "Tool result", system: "System" }[role] ?? role;
}

function toolCallsOf(calls: unknown): ShownToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown) => {
    const called = (call as { function?: { name?: unknown; arguments?: unknown } } | null)?.function;
    if (!called) return [];
    const argumentsText = typeof called.arguments === "string" ? called.arguments : JSON.stringify(called.arguments ?? {});
    return [{ name: typeof called.name === "string" ? called.name : "tool", argumentsText }];
  });
}

function dateOf(value: unknown): Date | null {
  if (typeof value !== "string" && typeof value !== "number") return null;
  const date = new Date(value);
  return Number.isNaN(date.getTime()) ? null : date;
}
