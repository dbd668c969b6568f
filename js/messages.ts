/** Messages cross to the engine as JSON text, so that what comes back is what was given, byte for byte. */

import { requireId } from "./arguments.js";
import { MemoryError } from "./errors.js";
import type { RecallGroup } from "./types.js";

/** The JSON text of each message, or `invalid_argument` before anything is written. */
export function toJsonTexts(messages: object | readonly object[]): string[] {
  const list: readonly unknown[] = Array.isArray(messages) ? messages : [messages];
  return list.map((message, index) => {
    const text = toJsonText(message, `messages[${index}]`);
    const { id } = message as { id?: unknown };
    if (typeof id === "string" && id !== "") requireId(id, `messages[${index}].id`);
    return text;
  });
}

/** The JSON text of one object; `name` is what it is called in an error. */
export function toJsonText(value: unknown, name: string): string {
  if (typeof value !== "object" || value === null) throw refuse(`${name} must be an object.`);
  let text: string | undefined;
  try {
    text = JSON.stringify(value, refuseLossy);
  } catch (error) {
    const reason = error instanceof Lossy ? error.message : "it cannot be turned into JSON (it refers to itself, or its toJSON failed)";
    throw refuse(`${name} cannot be kept as it is: ${reason}.`);
  }
  if (text?.startsWith("{") || text?.startsWith("[")) return text;
  throw refuse(`${name} must be an object.`);
}

/** Objects from JSON texts. */
export function fromJsonTexts<Message extends object>(texts: unknown): Message[] {
  return (texts as string[]).map((text) => JSON.parse(text) as Message);
}

/** Values that JSON would drop or change without a word are refused. Dates and the like go by their `toJSON`. */
function refuseLossy(key: string, value: unknown): unknown {
  switch (typeof value) {
    case "function":
    case "symbol":
    case "bigint":
      throw new Lossy(`it holds a ${typeof value} under ${JSON.stringify(key.slice(0, 40))}`);
    case "number":
      if (Number.isFinite(value)) return value;
      throw new Lossy(`it holds ${value} under ${JSON.stringify(key.slice(0, 40))}, which JSON does not have`);
    case "object": {
      if (value === null || Array.isArray(value)) return value;
      const kind = Object.prototype.toString.call(value).slice(8, -1);
      if (kind === "Object") return value;
      throw new Lossy(`it holds a ${kind} under ${JSON.stringify(key.slice(0, 40))}; give plain JSON, and bytes as base64 text`);
    }
    default:
      return value;
  }
}

class Lossy extends Error {}

function refuse(message: string): MemoryError {
  return new MemoryError("invalid_argument", message);
}

/** A group of found messages without what explains it. */
export function withoutScores<Message extends object>({ scores, hits, ...group }: RecallGroup<Message>): RecallGroup<Message> {
  return { ...group, hits: hits.map(({ id, seq, status, score }) => ({ id, seq, status, score })) };
}

/** A request as the engine reads it. What JSON would turn into `null` or refuse stays wrong, so that the engine tells. */
export function requestText(request: object): string {
  try {
    return JSON.stringify(request, (_key, value: unknown) =>
      typeof value === "bigint" || (typeof value === "number" && !Number.isFinite(value)) ? String(value) : value,
    );
  } catch (cause) {
    throw new MemoryError("invalid_argument", "An option is not plain data.", { cause });
  }
}
