/** Reads a backup file line by line, and checks everything that can be checked without knowing what is here. */

import { MemoryError } from "../errors.js";
import { breather } from "../import/breather.js";
import { MAX_DEPTH, MAX_ELEMENT_BYTES, MAX_EXPANDED_BYTES, MAX_RECORDS, unusable } from "../import/limits.js";
import { ENCRYPTED_FORMAT, FORMAT, VERSION, noCounts, type Counts, type Kind } from "./backup-format.js";
import { Sha256 } from "./sha-256.js";

const NEWLINE = 0x0a;
const GZIP = 0x1f;

/** A record of the file. */
export interface BackupLine {
  kind: Kind;
  /** `{"<kind>":{...}}`. */
  value: Record<string, unknown>;
  /** Bytes of its text. */
  bytes: number;
}

/** A file to be read, perhaps more than once. */
export interface BackupFile {
  name: string;
  blob: Blob;
  passphrase: string | undefined;
  maxBytes: number | undefined;
}

/** Whether a file begins as an encrypted backup does. */
export async function isEncrypted(blob: Blob): Promise<boolean> {
  return (await blob.slice(0, 64).text()).startsWith(`{"format":"${ENCRYPTED_FORMAT}"`);
}

/**
 * The records of a backup, in order. Checked on the way: the format's version, every hash, the counts at the end, and the
 * limits of an import but for the ratio, since a backup may well be of much the same.
 *
 * @param onRead Told how many bytes of the file, as it is stored, were read.
 * @throws `invalid_argument` with the position in `details`, `schema_too_new`.
 */
export async function* backupLines(file: BackupFile, onRead: (bytes: number) => void): AsyncGenerator<BackupLine> {
  const hash = new Sha256();
  const counts = noCounts();
  const state = { isBegun: false, isEnded: false, records: 0 };
  const fail = (problem: string): MemoryError => unusable(file.name, problem, hash.bytes);
  for await (const bytes of linesOf(file, onRead)) {
    if (state.isEnded) throw fail("something follows its end");
    const value = parsed(bytes, fail);
    if (!state.isBegun) {
      checkHeader(value, fail);
      state.isBegun = true;
    } else if ("check" in value) checkHash(value["check"], hash, fail);
    else if ("end" in value) {
      checkHash(value["end"], hash, fail);
      checkCounts(value["end"] as object, counts, fail);
      state.isEnded = true;
    } else {
      const kinds = Object.keys(value);
      const kind = kinds[0] as Kind;
      if (kinds.length !== 1 || !Object.hasOwn(counts, kind)) throw fail("a line is no record of a kind that is known here");
      counts[kind] += 1;
      state.records += 1;
      if (state.records > MAX_RECORDS) throw fail(`it has more than ${MAX_RECORDS} records`);
      yield { kind, value, bytes: bytes.length };
    }
    hash.add(bytes);
  }
  if (!state.isEnded) throw fail("it is cut off");
}

function parsed(bytes: Uint8Array, fail: (problem: string) => MemoryError): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    throw fail("a line is not JSON in UTF-8");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw fail("a line is no object");
  checkValue(value, 1, fail);
  return value as Record<string, unknown>;
}

/** Too deep nesting, and numbers that are none (`1e999`). */
function checkValue(value: unknown, depth: number, fail: (problem: string) => MemoryError): void {
  if (typeof value === "number" && !Number.isFinite(value)) throw fail("a number is not finite");
  if (typeof value !== "object" || value === null) return;
  if (depth > MAX_DEPTH) throw fail(`a line is nested deeper than ${MAX_DEPTH}`);
  for (const inner of Object.values(value)) checkValue(inner, depth + 1, fail);
}

function checkHeader(value: Record<string, unknown>, fail: (problem: string) => MemoryError): void {
  const { format, version } = value;
  if (format !== FORMAT || !Number.isInteger(version) || (version as number) < 1) throw fail("its first line is not that of a backup");
  if ((version as number) > VERSION) {
    throw new MemoryError("schema_too_new", "import: the backup was made by a newer version of the package; update it. Nothing was imported.", { details: { version } });
  }
}

function checkHash(value: unknown, hash: Sha256, fail: (problem: string) => MemoryError): void {
  if ((value as { sha256?: unknown } | null)?.sha256 !== hash.hex()) throw fail("what is before this line is not what was written");
}

function checkCounts(end: object, counts: Counts, fail: (problem: string) => MemoryError): void {
  const told = end as Partial<Record<string, unknown>>;
  if (Object.keys(told).some((kind) => kind !== "sha256" && !Object.hasOwn(counts, kind))) throw fail("its last line is not that of a backup");
  if (Object.entries(counts).some(([kind, count]) => (told[kind] ?? 0) !== count)) throw fail("it does not have as many records as its end says");
}

/** The lines of a file, each with its line feed. */
async function* linesOf(file: BackupFile, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let parts: Uint8Array[] = [];
  let held = 0;
  let position = 0;
  const breathe = breather();
  for await (const chunk of bytesOf(file, onRead)) {
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      const rest = chunk.subarray(start, end + 1);
      yield parts.length === 0 ? rest : joined([...parts, rest], held + rest.length);
      position += held + rest.length;
      parts = [];
      held = 0;
      start = end + 1;
      await breathe();
    }
    if (start < chunk.length) {
      // The stream may use the chunk's memory again.
      parts.push(chunk.slice(start));
      held += chunk.length - start;
    }
    if (held > MAX_ELEMENT_BYTES) throw unusable(file.name, `a line is longer than ${MAX_ELEMENT_BYTES} bytes`, position);
  }
  if (held > 0) throw unusable(file.name, "it is cut off", position);
}

function joined(parts: readonly Uint8Array[], length: number): Uint8Array {
  const whole = new Uint8Array(length);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The bytes of the lines: decrypted and unpacked, within the limit. */
async function* bytesOf(file: BackupFile, onRead: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  const { name, blob, passphrase, maxBytes = MAX_EXPANDED_BYTES } = file;
  const counted = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      onRead(chunk.length);
      controller.enqueue(chunk);
    },
  });
  let source: ReadableStream<Uint8Array> = blob.stream();
  let isPacked = new Uint8Array(await blob.slice(0, 1).arrayBuffer())[0] === GZIP;
  if (await isEncrypted(blob)) {
    source = await (await import("./encrypted-file.js")).decrypted(blob, passphrase);
    isPacked = true;
  }
  source = source.pipeThrough(counted);
  if (isPacked) source = source.pipeThrough(new DecompressionStream("gzip") as unknown as TransformStream<Uint8Array, Uint8Array>);
  const reader = source.getReader();
  let bytes = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => {
        throw unusable(name, "it is damaged, cut off or changed; get the file again", bytes);
      });
      if (done) return;
      bytes += value.length;
      if (bytes > maxBytes) throw unusable(name, `it is larger than ${maxBytes} bytes (option maxBytes)`, bytes);
      yield value;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
