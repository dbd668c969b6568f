/** A stored message as the page shows it. The raw object stays beside it. */

import type { RawMessage } from "throughline";

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
  createdAt: Date | null;
  raw: RawMessage;
}

/** Reads a message of OpenAI's shape; parts that are not text are named in brackets. */
export function readMessage(raw: RawMessage, seq: number): ShownMessage {
  return {
    seq,
    id: typeof raw["id"] === "string" ? raw["id"] : `seq:${seq}`,
    role: typeof raw["role"] === "string" ? raw["role"] : "user",
    text: textOf(raw["content"]),
    toolCalls: toolCallsOf(raw["tool_calls"]),
    createdAt: dateOf(raw["createdAt"]),
    raw,
  };
}

/** The text of a message's content, whichever of OpenAI's two shapes it has. */
export function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content
    .map((part: unknown) => {
      if (typeof part === "string") return part;
      if (typeof part !== "object" || part === null) return "";
      const { text, type } = part as Record<string, unknown>;
      return typeof text === "string" ? text : `[${typeof type === "string" ? type : "part"}]`;
    })
    .join("\n");
}

/** What one could call the message in a list: its text, else the tools that it calls. */
export function messageLine(message: ShownMessage): string {
  return message.text || message.toolCalls.map((call) => `${call.name}(${call.argumentsText})`).join(", ") || "(empty message)";
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
