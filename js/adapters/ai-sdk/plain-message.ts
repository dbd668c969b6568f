/** Messages of the AI SDK as plain JSON, and back as a model of each major version takes them. */

import { toBase64 } from "../../byte-text.js";

/** A message of a prompt, or one that can be put into it. */
export interface PromptMessage {
  role: string;
  content: unknown;
}

type Fields = Record<string, unknown>;

/** Parts that are between the app and its user: no model is shown them. */
const APP_ONLY: ReadonlySet<unknown> = new Set(["tool-approval-request"]);

/** Bytes as base64, addresses as text: what can be stored, and is the same when it comes back. */
export function plain(value: unknown): unknown {
  if (value instanceof Uint8Array) return toBase64(value);
  if (value instanceof ArrayBuffer) return toBase64(new Uint8Array(value));
  if (value instanceof URL) return value.href;
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  // As JSON has it, so that what was stored and what comes again can be compared.
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== undefined).map(([name, field]) => [name, plain(field)]));
}

/**
 * A stored ModelMessage as a message of a prompt. `version` is the specification of the model: `"v4"` (AI SDK 7) has files
 * as `{ type, ... }`, earlier ones as text or an address.
 */
export function promptMessage({ role, content, ...rest }: PromptMessage, version: string): PromptMessage {
  if (role === "system") return { role, content, ...rest };
  const parts: readonly Fields[] = typeof content === "string" ? [{ type: "text", text: content }] : ((content ?? []) as Fields[]);
  return { role, content: parts.filter(({ type }) => !APP_ONLY.has(type)).map((part) => promptPart(part, version)), ...rest };
}

function promptPart(part: Fields, version: string): Fields {
  switch (part["type"]) {
    case "image": {
      const { image, mediaType, ...rest } = part;
      return { ...rest, type: "file", mediaType: mediaType ?? "image/*", data: fileData(image, version) };
    }
    case "file":
    case "reasoning-file":
      return { ...part, data: fileData(part["data"], version) };
    case "tool-result": {
      const { type, value } = (part["output"] ?? {}) as Fields;
      if (type !== "content" || !Array.isArray(value)) return part;
      const values = (value as Fields[]).map((each) => (each["type"] === "file" ? { ...each, data: fileData(each["data"], version) } : each));
      return { ...part, output: { ...(part["output"] as Fields), value: values } };
    }
    default:
      return part;
  }
}

function fileData(data: unknown, version: string): unknown {
  if (typeof data === "object" && data !== null) {
    const { type, url } = data as Fields;
    return type === "url" && typeof url === "string" ? { ...data, url: new URL(url) } : data;
  }
  if (typeof data !== "string") return data;
  const address = /^https?:/i.test(data) ? new URL(data) : undefined;
  const bytes = data.replace(/^data:[^,]*;base64,/i, "");
  if (version !== "v4") return address ?? bytes;
  return address === undefined ? { type: "data", data: bytes } : { type: "url", url: address };
}
