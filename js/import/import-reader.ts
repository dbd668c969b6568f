/** Reads an export in two passes: the first checks structure and limits of every file, the second hands conversations on. */

import type { ImportSkipReason, ImportSource } from "../types.js";
import { MemoryError } from "../errors.js";
import { breather } from "./breather.js";
import { isCompanion, isOpen, recognise, type EntryReader, type Recognised } from "./app.js";
import { Skip, type ImportedConversation, type ImportedMessage } from "./conversation.js";
import { byteBudget, bytesOf, exportFiles, HEAD_BYTES, headOf, isMarkup, type ByteBudget, type ExportFile, type GivenFile } from "./export-file.js";
import { ActivityHtml } from "./gemini-activity.js";
import { JsonStream, type JsonElement } from "./json-stream.js";
import { LONGEST_HEAD_BYTES, MAX_RECORDS, unusable } from "./limits.js";

/** A conversation without its messages. */
export type ConversationHead = Omit<ImportedConversation, "messages"> & { where: string; messageIds: string[] };

/** What takes conversations in. Every call may take its time: no more is read meanwhile. */
export interface ImportSink {
  /** How far the reader is in the files. */
  progress(phase: "scan" | "import", bytes: number, totalBytes: number): void;
  /** Something was left out. */
  skip(where: string, reason: ImportSkipReason, message: string): void;
  /** A conversation begins. False: its messages are not wanted. */
  begin(head: ConversationHead): Promise<boolean>;
  /**
   * Its next messages, at most {@link BATCH_MESSAGES} and about {@link BATCH_CHARACTERS}, all of the active branch or none.
   * False: no more are wanted.
   */
  take(messages: ImportedMessage[]): Promise<boolean>;
  /** The conversation has ended. */
  end(): Promise<void>;
}

/** Settings of {@link readExport}. */
export interface ReadOptions {
  source: ImportSource | undefined;
  maxBytes: number | undefined;
}

/** Most messages handed on at once. */
export const BATCH_MESSAGES = 32;
/** Characters of JSON beyond which a batch is handed on. */
export const BATCH_CHARACTERS = 64 * 1024;

interface Plan {
  file: ExportFile;
  recognised: Recognised;
}

/** A cell of HTML or an element of JSON. */
type Element = JsonElement;

/**
 * Reads the files and hands every conversation to `sink`, in order.
 *
 * @returns The app that the files are of.
 * @throws `invalid_argument` with file and position for what is damaged, beyond a limit, or of no known app. Nothing has
 * been handed on then.
 */
export async function readExport(given: readonly GivenFile[], options: ReadOptions, sink: ImportSink): Promise<ImportSource | "mixed" | null> {
  const breathe = breather();
  const files = await exportFiles(given);
  const plans = await planOf(files, options, sink, breathe);
  await scan(plans, byteBudget(options.maxBytes), sink, breathe);
  const total = totalBytes(plans);
  let bytes = 0;
  const budget = byteBudget(options.maxBytes);
  for (const plan of plans) {
    await importFile(plan, budget, sink, breathe, (read) => {
      bytes += read;
      sink.progress("import", Math.min(Math.round(bytes), total), total);
    });
  }
  sink.progress("import", total, total);
  const sources = new Set(plans.map(({ recognised }) => recognised.source));
  const [source] = sources;
  return sources.size > 1 ? "mixed" : (source ?? null);
}

/** What each file is; those that hold no conversations are reported. */
async function planOf(files: readonly ExportFile[], options: ReadOptions, sink: ImportSink, breathe: () => Promise<void>): Promise<Plan[]> {
  const plans: Plan[] = [];
  let isKnown = false;
  for (const file of files) {
    await breathe();
    if (file.isEncrypted) {
      sink.skip(file.name, "unknown_format", "This file is locked by a password.");
      continue;
    }
    const { recognised, isMarkup } = await lookInto(file, breathe);
    isKnown ||= recognised !== undefined;
    if (recognised === "other" || (recognised === undefined && isCompanion(file.name))) {
      sink.skip(file.name, "not_conversations", "This part of the export holds no conversations.");
    } else if (recognised === undefined) {
      if (isMarkup || files.length === 1) sink.skip(file.name, "unknown_format", "This file is of no app that is known here.");
    } else if (options.source !== undefined && recognised.source !== options.source) {
      sink.skip(file.name, "other_source", `This file is of ${recognised.source}, not of ${options.source}.`);
    } else {
      plans.push({ file, recognised });
    }
  }
  if (!isKnown) throw nothingKnown(files);
  return plans;
}

/** What a file is. Where its beginning does not tell (a first message can be large), more of it is read. */
async function lookInto(file: ExportFile, breathe: () => Promise<void>): Promise<{ recognised: ReturnType<typeof recognise>; isMarkup: boolean }> {
  for (let most = HEAD_BYTES; ; most *= 4) {
    const { text, isCut } = await headOf(file, most);
    const recognised = recognise(text, file.name);
    if (recognised !== undefined || !isCut || most >= LONGEST_HEAD_BYTES || !isOpen(text)) return { recognised, isMarkup: isMarkup(text) };
    await breathe();
  }
}

function nothingKnown(files: readonly ExportFile[]): MemoryError {
  const problem = files.some(({ isEncrypted }) => isEncrypted)
    ? "the zip is encrypted; unpack it with its password and import the files that were in it"
    : "none of the files is an export that is known here (ChatGPT, Claude, Gemini, AI Studio, Grok, Open WebUI, LibreChat, SillyTavern, ShareGPT, or messages)";
  return new MemoryError("invalid_argument", `import: ${problem}. Nothing was imported.`, { details: { files: files.length } });
}

async function scan(plans: readonly Plan[], budget: ByteBudget, sink: ImportSink, breathe: () => Promise<void>): Promise<void> {
  const declared = plans.reduce((sum, { file }) => sum + (file.declaredBytes ?? 0), 0);
  if (declared > budget.limit) {
    throw new MemoryError("invalid_argument", `import: the files have ${declared} bytes unpacked, more than ${budget.limit} (option maxBytes). Nothing was imported.`, { details: { declaredBytes: declared } });
  }
  const total = totalBytes(plans);
  let bytes = 0;
  let records = 0;
  for (const { file, recognised } of plans) {
    const { layout } = recognised;
    const stream = layout.kind === "html" ? undefined : new JsonStream(file.name, layout, { maxDepth: recognised.maxDepth, keepsText: false });
    const chunks = bytesOf(file, budget, (read) => {
      bytes += read;
      sink.progress("scan", Math.min(Math.round(bytes), total), total);
    });
    for await (const chunk of chunks) {
      stream?.push(chunk);
      await breathe();
    }
    stream?.end();
    records += stream?.records ?? 0;
    if (records > MAX_RECORDS) throw unusable(file.name, `with it the import has more than ${MAX_RECORDS} conversations and messages`);
  }
  sink.progress("scan", total, total);
}

async function importFile(plan: Plan, budget: ByteBudget, sink: ImportSink, breathe: () => Promise<void>, onRead: (bytes: number) => void): Promise<void> {
  const { file, recognised } = plan;
  const reader = recognised.reader();
  const hand = async (elements: Element[]): Promise<void> => {
    for (const element of elements) {
      await breathe();
      const where = `${file.name}[${element.index}] at byte ${element.position}`;
      await handOn(() => reader.take(valueOf(element, recognised)), where, sink, breathe);
    }
  };
  const stream = splitter(plan);
  for await (const chunk of bytesOf(file, budget, onRead)) await hand(stream.push(chunk));
  await hand(stream.end());
  await handOn(() => reader.end(), file.name, sink, breathe);
}

interface Splitter {
  push(chunk: Uint8Array): Element[];
  end(): Element[];
}

function splitter({ file, recognised }: Plan): Splitter {
  const { layout } = recognised;
  if (layout.kind !== "html") return new JsonStream(file.name, layout, { maxDepth: recognised.maxDepth, keepsText: true });
  const html = new ActivityHtml(file.name);
  const decoder = new TextDecoder();
  return {
    push: (chunk) => html.push(decoder.decode(chunk, { stream: true })),
    end: () => html.push(decoder.decode()).concat(html.end()),
  };
}

function valueOf(element: Element, { layout }: Recognised): unknown {
  const { text } = element;
  // It may be large, and is not needed again.
  element.text = "";
  if (layout.kind === "html") return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Skip("invalid_json", "It is not valid JSON.");
  }
}

/** Reads conversations and hands them on; what cannot be read is reported and costs only itself. */
async function handOn(read: () => ReturnType<EntryReader["end"]>, where: string, sink: ImportSink, breathe: () => Promise<void>): Promise<void> {
  let conversations: ImportedConversation[];
  try {
    conversations = read();
  } catch (error) {
    if (error instanceof Skip) sink.skip(where, error.reason, error.message);
    else sink.skip(where, "not_a_conversation", "It could not be read.");
    return;
  }
  for (const { messages, ...head } of conversations) {
    if (!(await sink.begin({ ...head, where, messageIds: messages.map(({ id }) => id) }))) continue;
    let isWanted = true;
    for (const batch of batches(messages)) {
      await breathe();
      isWanted = await sink.take(batch);
      if (!isWanted) break;
    }
    if (isWanted) await sink.end();
  }
}

function* batches(messages: readonly ImportedMessage[]): Generator<ImportedMessage[]> {
  let batch: ImportedMessage[] = [];
  let characters = 0;
  for (const message of messages) {
    const isOther = batch[0] !== undefined && batch[0].isActive !== message.isActive;
    if (isOther || batch.length === BATCH_MESSAGES || (batch.length > 0 && characters + message.raw.length > BATCH_CHARACTERS)) {
      yield batch;
      batch = [];
      characters = 0;
    }
    batch.push(message);
    characters += message.raw.length;
  }
  if (batch.length > 0) yield batch;
}

function totalBytes(plans: readonly Plan[]): number {
  return plans.reduce((sum, { file }) => sum + file.packedBytes, 0);
}
