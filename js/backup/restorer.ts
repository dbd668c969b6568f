/** Imports a backup: checks the whole file first, then hands it to the engine, which shows everything at once or nothing. */

import { aborted } from "../errors.js";
import { MAX_EXPANDED_BYTES } from "../import/limits.js";
import type { Session } from "../session.js";
import type { ImportOptions, ImportProgress, ImportReport, ImportSkipped } from "../types.js";
import { backupLines, isEncrypted, type BackupFile } from "./backup-reader.js";

/** Records handed over at once, and bytes of them. */
const BATCH_RECORDS = 256;
const BATCH_BYTES = 256 * 1024;

/** What the engine answers at the end. */
interface Restored {
  imported: number;
  updated: number;
  unchanged: number;
  messages: number;
  facts: number;
  erasedConversations: number;
  erasedMessages: number;
  conversations: string[];
}

/** How far it is. */
type Tell = (progress: ImportProgress) => void;

/** Imports one backup file. The caller holds the lock of imports. */
export async function restoreBackup(session: Session, { name, blob }: { name: string; blob: Blob }, options: ImportOptions, tell: Tell): Promise<ImportReport> {
  const { passphrase, maxBytes = MAX_EXPANDED_BYTES, bringBack = false, signal } = options;
  const file: BackupFile = { name, blob, passphrase, maxBytes };
  // Only who knows the passphrase can have made or changed an encrypted file.
  const trusted = options.trusted ?? (await isEncrypted(blob));
  const unlessAborted = (): void => {
    if (signal?.aborted) throw aborted(signal);
  };
  const conversations = await scanned(file, unlessAborted, tell);
  try {
    await call(session, { step: "begin", conversations, trusted, bringBack });
    const skipped = await handedOver(session, file, unlessAborted, tell);
    unlessAborted();
    const restored = await call(session, { step: "commit" });
    const { imported, updated, unchanged, messages, facts, erasedConversations, erasedMessages } = restored;
    if (erasedConversations > 0) skipped.push(erased(name, `${erasedConversations} conversations`));
    if (erasedMessages > 0) skipped.push(erased(name, `${erasedMessages} messages of other conversations`));
    return { source: "throughline", imported, updated, unchanged, conversations: restored.conversations, messages, facts, skipped };
  } catch (error) {
    // What this cannot remove, the next opening of the store does.
    await call(session, { step: "abort" }).catch(() => undefined);
    throw error;
  }
}

/** Checks the whole file; answers how many conversations it has. */
async function scanned(file: BackupFile, unlessAborted: () => void, tell: Tell): Promise<number> {
  const progress = { phase: "scan" as const, bytes: 0, totalBytes: file.blob.size, conversations: 0, messages: 0 };
  for await (const { kind } of backupLines(file, (bytes) => (progress.bytes = Math.min(progress.bytes + bytes, file.blob.size)))) {
    unlessAborted();
    if (kind === "conversation") progress.conversations += 1;
    else if (kind === "message") progress.messages += 1;
    tell(progress);
  }
  tell({ ...progress, bytes: file.blob.size });
  return progress.conversations;
}

async function handedOver(session: Session, file: BackupFile, unlessAborted: () => void, tell: Tell): Promise<ImportSkipped[]> {
  const progress = { phase: "import" as const, bytes: 0, totalBytes: file.blob.size, conversations: 0, messages: 0 };
  const skipped: ImportSkipped[] = [];
  let records: object[] = [];
  let waiting = 0;
  const hand = async (): Promise<void> => {
    unlessAborted();
    await call(session, { step: "records", records });
    tell(progress);
    records = [];
    waiting = 0;
  };
  for await (const { kind, value, bytes } of backupLines(file, (read) => (progress.bytes = Math.min(progress.bytes + read, file.blob.size)))) {
    if (kind === "skipped") {
      skipped.push(lost(value["skipped"]));
      continue;
    }
    if (records.length >= BATCH_RECORDS || (records.length > 0 && waiting + bytes > BATCH_BYTES)) await hand();
    records.push(value);
    waiting += bytes;
    if (kind === "conversation") progress.conversations += 1;
    else if (kind === "message") progress.messages += 1;
  }
  await hand();
  tell({ ...progress, bytes: file.blob.size });
  return skipped;
}

/** What the backup itself says that it does not have. */
function lost(value: unknown): ImportSkipped {
  const { where } = (value ?? {}) as { where?: unknown };
  return { where: typeof where === "string" ? where : "", reason: "lost", message: "The backup was made of a damaged store: this could not be read then." };
}

/** What the user does not want back. */
function erased(where: string, what: string): ImportSkipped {
  return { where, reason: "erased", message: `The user erased ${what} of this backup: import it with bringBack to have them again.` };
}

async function call(session: Session, request: object): Promise<Restored> {
  return (await session.call("restore", request, { idempotent: false, counts: true })) as Restored;
}
