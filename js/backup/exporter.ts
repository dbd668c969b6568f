/** Exports a memory into one file: reads it out of the engine page by page, and packs it as it comes. */

import { MemoryError, aborted, isMemoryError } from "../errors.js";
import type { Session } from "../session.js";
import type { Backup, ExportOptions, ExportProgress, ExportReport, ExportSkipped, ExportToOptions } from "../types.js";
import { BackupWriter } from "./backup-writer.js";

/** A page as the engine gives it. */
interface Page {
  lines: string[];
  skipped: ExportSkipped[];
  conversationIds: string[];
  lastSeq: number;
  removals: number;
  factVersion: number;
}

const PROGRESS_MS = 100;
/** Bytes that are gathered before they are given to a Blob, which need not lie in memory. */
const GATHERED_BYTES = 8 * 1024 * 1024;
/** Exports that are begun anew because something was erased meanwhile. */
const TRIES = 5;

/** See `Memory.export`. */
export async function exportBackup(session: Session, options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport> {
  checked(options);
  if ("to" in options) return new Export(session, options).into(options.to);
  for (let tries = 1; ; tries += 1) {
    try {
      return await intoBlob(session, options);
    } catch (error) {
      if (!isMemoryError(error, "storage_conflict") || tries === TRIES) throw error;
    }
  }
}

async function intoBlob(session: Session, options: ExportOptions): Promise<Backup> {
  const gathering = new Gathering();
  const report = await new Export(session, options).into(gathering.stream);
  const type = options.encrypt === undefined ? "application/gzip" : "application/octet-stream";
  return Object.assign(gathering.blob(type), { report });
}

function checked(options: ExportOptions): void {
  const { encrypt, onProgress } = options;
  const { to } = options as Partial<ExportToOptions>;
  const refuse = (what: string): MemoryError => new MemoryError("invalid_argument", `export: ${what}`);
  if (encrypt !== undefined && (typeof encrypt?.passphrase !== "string" || encrypt.passphrase === "")) throw refuse("options.encrypt.passphrase must be a text that is not empty.");
  if (onProgress !== undefined && typeof onProgress !== "function") throw refuse("options.onProgress must be a function.");
  if (to !== undefined && !(to instanceof WritableStream)) throw refuse("options.to must be a WritableStream.");
}

/** Takes bytes in and gives them to a Blob. */
class Gathering {
  readonly stream = new WritableStream<Uint8Array>({ write: (chunk) => this.#take(chunk) });
  #blobs: Blob[] = [];
  #parts: Uint8Array[] = [];
  #bytes = 0;

  blob(type: string): Blob {
    return new Blob([...this.#blobs, ...(this.#parts as BlobPart[])], { type });
  }

  #take(chunk: Uint8Array): void {
    this.#parts.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes < GATHERED_BYTES) return;
    this.#blobs.push(new Blob(this.#parts as BlobPart[]));
    this.#parts = [];
    this.#bytes = 0;
  }
}

/** One export. */
class Export {
  readonly #session: Session;
  readonly #options: ExportOptions;
  readonly #report: ExportReport = { conversations: 0, messages: 0, facts: 0, skipped: [] };
  #removals: number | undefined;
  #totalMessages = 0;
  #toldAt = -Infinity;

  constructor(session: Session, options: ExportOptions) {
    this.#session = session;
    this.#options = options;
  }

  async into(to: WritableStream<Uint8Array>): Promise<ExportReport> {
    const { encrypt } = this.#options;
    const packing = new CompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>;
    const packed = encrypt === undefined ? packing.readable : packing.readable.pipeThrough(await (await import("./encrypted-file.js")).encrypting(encrypt.passphrase));
    const written = packed.pipeTo(to);
    written.catch(() => undefined);
    const writer = new BackupWriter(packing.writable);
    try {
      await this.#write(writer);
      await writer.end();
      await written;
    } catch (error) {
      await writer.abort(error);
      // What the app's stream failed with says more than that it can be written no more.
      await written.catch((reason: unknown) => {
        if (!isMemoryError(error)) throw reason;
      });
      throw error;
    }
    await this.#page({ part: "done" });
    this.#tell(true);
    return this.#report;
  }

  async #write(writer: BackupWriter): Promise<void> {
    if (this.#options.onProgress !== undefined) {
      const stats = (await this.#session.call("stats", {}, { idempotent: true, signal: this.#options.signal })) as { messages: number };
      this.#totalMessages = stats.messages;
    }
    const { conversationIds, skipped } = await this.#page({ part: "ids" });
    this.#report.skipped.push(...skipped);
    for (const conversationId of conversationIds) {
      const page = await this.#page({ part: "conversation", conversationId });
      await this.#take(page, writer);
      await this.#messages(conversationId, 1, page.lastSeq, writer);
      await this.#take(await this.#page({ part: "summaries", conversationId }), writer);
      this.#report.conversations += 1;
      this.#tell(false);
    }
    const facts = await this.#page({ part: "facts" });
    await this.#take(facts, writer);
    await writer.write(this.#report.skipped.map((skipped) => JSON.stringify({ skipped })));
    this.#report.facts = writer.counts.fact;
    // A fact that was erased since is in what was written.
    const { factVersion } = await this.#page({ part: "check" });
    if (factVersion !== facts.factVersion) throw erasedMeanwhile();
  }

  /** Where a range cannot be read, its halves may be. */
  async #messages(conversationId: string, from: number, to: number, writer: BackupWriter): Promise<void> {
    let next = from;
    while (next <= to) {
      let page: Page;
      try {
        page = await this.#page({ part: "messages", conversationId, from: next, to });
      } catch (error) {
        if (!isMemoryError(error, "storage_corrupt")) throw error;
        if (next === to) return this.#lost(conversationId, to, writer);
        const middle = Math.floor((next + to) / 2);
        await this.#messages(conversationId, next, middle, writer);
        next = middle + 1;
        continue;
      }
      await this.#take(page, writer);
      this.#report.messages += page.lines.length;
      this.#tell(false);
      next = page.lastSeq + 1;
    }
  }

  async #lost(conversationId: string, seq: number, writer: BackupWriter): Promise<void> {
    this.#report.skipped.push({ where: `messages ${conversationId} ${seq}`, reason: "unreadable" });
    this.#report.messages += 1;
    await writer.write([JSON.stringify({ message: { seq, removed: true } })]);
  }

  async #take({ lines, skipped }: Page, writer: BackupWriter): Promise<void> {
    this.#report.skipped.push(...skipped);
    await writer.write(lines);
  }

  async #page(request: object): Promise<Page> {
    const { signal } = this.#options;
    if (signal?.aborted) throw aborted(signal);
    const page = (await this.#session.call("backup", request, { idempotent: true, signal })) as Page;
    this.#removals ??= page.removals;
    if (page.removals !== this.#removals) throw erasedMeanwhile();
    return page;
  }

  #tell(isEnd: boolean): void {
    const { onProgress } = this.#options;
    const now = performance.now();
    if (onProgress === undefined || (!isEnd && now - this.#toldAt < PROGRESS_MS)) return;
    this.#toldAt = now;
    const { conversations, messages } = this.#report;
    const progress: ExportProgress = { conversations, messages, totalMessages: Math.max(messages, this.#totalMessages) };
    try {
      onProgress(progress);
    } catch (error) {
      // The app's own failure is reported as the platform reports uncaught ones; the export goes on.
      queueMicrotask(() => {
        throw error;
      });
    }
  }
}

function erasedMeanwhile(): MemoryError {
  return new MemoryError("storage_conflict", "export: something was erased while the export ran, so what was written may still hold it; delete that, and export again.");
}
