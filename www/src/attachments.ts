/**
 * Files that go with a message: each as a reference, its name, type and size, with its text where it is text and not too
 * long. In the message they are its last parts, as text, so that every model can read them and the search finds them; the
 * field `attachments` says how many there are and what they were.
 */

import type { ContextDocument, RawMessage } from "throughline";
import { formatBytes } from "./wording.ts";

/** A file as a message has it. */
export interface Attachment {
  name: string;
  /** Its media type; empty where the browser knows none. */
  type: string;
  /** In bytes. */
  size: number;
  /** `null`: no text, or too long; then the message has the reference alone. */
  text: string | null;
}

/** Longest file whose text is taken along, in bytes. */
const LONGEST_TEXT_BYTES = 200_000;

/** Most files of one message. */
export const MOST_ATTACHMENTS = 10;

/** Reads a file. What is not UTF-8, or holds a NUL, is no text. */
export async function readAttachment(file: File): Promise<Attachment> {
  const { name, size, type } = file;
  return { name, type, size, text: size > LONGEST_TEXT_BYTES ? null : textOfBytes(await file.arrayBuffer()) };
}

function textOfBytes(bytes: ArrayBuffer): string | null {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return text.includes("\0") ? null : text;
  } catch {
    return null;
  }
}

/** What people read of a file: its type and size. */
export function aboutAttachment({ size, type }: Attachment): string {
  return [type, formatBytes(size)].filter((word) => word !== "").join(", ");
}

/** A message's content with its files. */
export function contentWith(text: string, attachments: readonly Attachment[]): { content: unknown; attachments?: unknown } {
  if (attachments.length === 0) return { content: text };
  const said = text === "" ? [] : [{ type: "text", text }];
  return {
    content: [...said, ...attachments.map((attachment) => ({ type: "text", text: partText(attachment) }))],
    attachments: attachments.map(({ name, size, type }) => ({ name, size, type })),
  };
}

/** The same files for a question that is not stored, as documents of its context. */
export function asDocuments(attachments: readonly Attachment[]): ContextDocument[] {
  return attachments.map((attachment, index) => ({ id: `file-${index + 1}`, source: attachment.name, text: partText(attachment) }));
}

function partText(attachment: Attachment): string {
  const head = `Attached file: ${attachment.name} (${aboutAttachment(attachment)})`;
  return attachment.text === null ? `${head}. Its content is not included.` : `${head}\n\n${attachment.text}`;
}

/** The files of a message, and what is left of its parts without them. */
export function attachmentsOf(raw: RawMessage): { attachments: Attachment[]; content: unknown } {
  const { attachments: references, content } = raw;
  if (!Array.isArray(references) || !Array.isArray(content) || references.length > content.length) return { attachments: [], content };
  const from = content.length - references.length;
  const parts = content.slice(from) as unknown[];
  const attachments = (references as unknown[]).map((reference, index) => attachmentOf(reference, parts[index]));
  if (!attachments.every((attachment) => attachment !== null)) return { attachments: [], content };
  return { attachments, content: content.slice(0, from) as unknown[] };
}

function attachmentOf(reference: unknown, part: unknown): Attachment | null {
  const { name, size, type } = (reference ?? {}) as Partial<Attachment>;
  const { text } = (part ?? {}) as { text?: unknown };
  if (typeof name !== "string" || typeof text !== "string") return null;
  const bare: Attachment = { name, size: typeof size === "number" ? size : 0, type: typeof type === "string" ? type : "", text: null };
  const headLength = `Attached file: ${name} (${aboutAttachment(bare)})\n\n`.length;
  return partText(bare) === text ? bare : { ...bare, text: text.slice(headLength) };
}
