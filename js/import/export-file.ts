/** The files of an import, unpacked as they are read: plain, gzip, or an entry of a zip; UTF-8, or UTF-16 with its mark. */

import { ZipReader } from "@zip.js/zip.js/lib/zip-core-reader.js";
import { BlobReader } from "@zip.js/zip.js/lib/zip-core-custom.js";
import type { FileEntry } from "@zip.js/zip.js";
import { Crc32 } from "./crc-32.js";
import { MAX_EXPANDED_BYTES, MAX_RATIO, MAX_ZIP_ENTRIES, RATIO_GRACE_BYTES, unusable } from "./limits.js";

/** A file as it was given. */
export interface GivenFile {
  /** Its name, with its folder where it has one. */
  name: string;
  /** Its bytes. */
  blob: Blob;
}

/** A file to read, perhaps one of several in a zip. */
export interface ExportFile {
  /** Its name; in a zip after the zip's. */
  name: string;
  /** Bytes that it takes as it is stored. */
  packedBytes: number;
  /** Bytes that it says it has when unpacked; `undefined` where it says nothing. */
  declaredBytes: number | undefined;
  /** It is locked by a password: it cannot be read. */
  isEncrypted: boolean;
  /** Its bytes, unpacked. `onPacked` is told the stored bytes that were read, as they are. */
  stream(onPacked: (bytes: number) => void): ReadableStream<Uint8Array>;
}

/** How many unpacked bytes an import may still read. */
export interface ByteBudget {
  left: number;
  readonly limit: number;
}

/** A budget of unpacked bytes. */
export function byteBudget(limit = MAX_EXPANDED_BYTES): ByteBudget {
  return { left: limit, limit };
}

/** Bytes that mostly tell what a file is. */
export const HEAD_BYTES = 256 * 1024;

/** The files behind the given ones: zips are opened. In the natural order of their names. */
export async function exportFiles(given: readonly GivenFile[]): Promise<ExportFile[]> {
  const files: ExportFile[] = [];
  for (const { name, blob } of given) {
    const start = new Uint8Array(await blob.slice(0, 4).arrayBuffer());
    if (start[0] === 0x50 && start[1] === 0x4b && (start[2] === 3 || start[2] === 5)) files.push(...(await zipEntries(name, blob)));
    else files.push(start[0] === 0x1f && start[1] === 0x8b ? gzipFile(name, blob) : plainFile(name, blob));
  }
  const order = new Intl.Collator("en", { numeric: true });
  return files.sort((a, b) => order.compare(a.name, b.name));
}

/** Whether a text may be JSON or HTML. */
export function isMarkup(head: string): boolean {
  return /^\s*[[{<]/.test(head);
}

/** How a file begins. */
export interface Head {
  text: string;
  /** There is more of the file. */
  isCut: boolean;
}

/** About the first `most` bytes of a file, unpacked, as text. A damaged file is refused only where it may be JSON or HTML. */
export async function headOf(file: ExportFile, most: number): Promise<Head> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  try {
    for await (const chunk of bytesOf(file, byteBudget(), () => undefined)) {
      text += decoder.decode(chunk, { stream: true });
      bytes += chunk.length;
      if (bytes >= most || (text.trim() !== "" && !isMarkup(text))) return { text, isCut: true };
    }
  } catch (error) {
    if (text === "" || isMarkup(text)) throw error;
  }
  return { text, isCut: false };
}

/**
 * The bytes of a file, unpacked and in UTF-8 without a mark, within the budget and the ratio. A chunk is good until the
 * next one is asked for.
 *
 * @throws `invalid_argument` beyond a limit, or where packed data is damaged.
 */
export async function* bytesOf(file: ExportFile, budget: ByteBudget, onPacked: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let packed = 0;
  let unpacked = 0;
  const source = opened(file, (bytes) => {
    packed += bytes;
    onPacked(bytes);
  });
  const reader = (await inUtf8(source, file.name)).getReader();
  try {
    for (;;) {
      const { done, value } = await readOn(reader, file.name, unpacked);
      if (done) return;
      unpacked += value.length;
      budget.left -= value.length;
      if (budget.left < 0) throw unusable(file.name, `with it the import is larger than ${budget.limit} bytes (option maxBytes)`, unpacked);
      if (unpacked > RATIO_GRACE_BYTES && unpacked > MAX_RATIO * Math.max(packed, 1)) {
        throw unusable(file.name, `it unpacks to more than ${MAX_RATIO} times its size`, unpacked);
      }
      yield value;
      release(value);
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function opened(file: ExportFile, onPacked: (bytes: number) => void): ReadableStream<Uint8Array> {
  try {
    return file.stream(onPacked);
  } catch {
    throw unusable(file.name, "it is packed in a way that is not read here; unpack it first");
  }
}

/** Gives a chunk's memory back at once: it lies outside the heap, where garbage is noticed late. */
function release(chunk: Uint8Array): void {
  const buffer = chunk.buffer as ArrayBuffer & { transfer?: (length: number) => ArrayBuffer };
  if (chunk.byteLength === buffer.byteLength) buffer.transfer?.(0);
}

async function readOn(reader: ReadableStreamDefaultReader<Uint8Array>, name: string, position: number) {
  try {
    return await reader.read();
  } catch {
    throw unusable(name, "its packed data is damaged, or it could not be read; get the file again", position);
  }
}

/** Without a byte order mark, and what has that of UTF-16 in UTF-8. */
async function inUtf8(source: ReadableStream<Uint8Array>, name: string): Promise<ReadableStream<Uint8Array>> {
  const reader = source.getReader();
  let head = new Uint8Array();
  while (head.length < 3) {
    const { done, value } = await readOn(reader, name, head.length);
    if (done) break;
    head = joined(head, value);
  }
  const isUtf8 = head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf;
  const rest = new ReadableStream<Uint8Array>({
    start: (controller) => controller.enqueue(isUtf8 ? head.subarray(3) : head),
    pull: async (controller) => {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
  const utf16 = head[0] === 0xff && head[1] === 0xfe ? "utf-16le" : head[0] === 0xfe && head[1] === 0xff ? "utf-16be" : undefined;
  if (utf16 === undefined) return rest;
  const text = rest.pipeThrough(new TextDecoderStream(utf16) as unknown as ReadableWritablePair<string, Uint8Array>);
  return text.pipeThrough(new TextEncoderStream());
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

function plainFile(name: string, blob: Blob): ExportFile {
  return {
    name,
    packedBytes: blob.size,
    declaredBytes: blob.size,
    isEncrypted: false,
    stream: (onPacked) => blob.stream().pipeThrough(passing((chunk) => onPacked(chunk.length))),
  };
}

function gzipFile(name: string, blob: Blob): ExportFile {
  return {
    name,
    packedBytes: blob.size,
    declaredBytes: undefined,
    isEncrypted: false,
    stream(onPacked) {
      const { writable, readable } = inflating("gzip", onPacked);
      // A failure reaches the reader through the stream; one who cancelled knows.
      blob.stream().pipeTo(writable).catch(() => undefined);
      return readable;
    },
  };
}

/** Unpacks what is written to it. Packed chunks are released once they are used up. */
function inflating(format: CompressionFormat, onPacked: (bytes: number) => void): { writable: WritableStream<Uint8Array>; readable: ReadableStream<Uint8Array> } {
  const { readable, writable } = new DecompressionStream(format) as ReadableWritablePair<Uint8Array, Uint8Array>;
  const writer = writable.getWriter();
  const packed = new WritableStream<Uint8Array>({
    async write(chunk) {
      onPacked(chunk.length);
      await writer.write(chunk);
      release(chunk);
    },
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
  });
  return { writable: packed, readable };
}

/** Shows each chunk to `look` and passes it on; `end` is called behind the last one. */
function passing(look: (chunk: Uint8Array) => void, end: () => void = () => undefined): TransformStream<Uint8Array, Uint8Array> {
  return new TransformStream({
    transform(chunk: Uint8Array, controller) {
      look(chunk);
      controller.enqueue(chunk);
    },
    flush: end,
  });
}

/** Pictures, sounds and the like, of which an export may have thousands: unpacking each only to see that takes long. */
const MEDIA = /\.(?:png|jpe?g|gif|webp|heic|svg|wav|mp3|m4a|ogg|mp4|webm|mov|pdf)$/i;

async function zipEntries(name: string, blob: Blob): Promise<ExportFile[]> {
  const files: ExportFile[] = [];
  let entries = 0;
  try {
    // Nothing is written under the entries' names, so any name is good.
    for await (const entry of new ZipReader(new BlobReader(blob), { filenameValidation: "tolerant" }).getEntriesGenerator()) {
      entries += 1;
      if (entries > MAX_ZIP_ENTRIES) break;
      if (!entry.directory && entry.uncompressedSize > 0 && !MEDIA.test(entry.filename)) files.push(zipEntry(name, entry));
    }
  } catch {
    throw unusable(name, "it is a damaged zip; get the file again");
  }
  if (entries > MAX_ZIP_ENTRIES) throw unusable(name, `it has more than ${MAX_ZIP_ENTRIES} entries`);
  return files;
}

/** How a zip packs its entries: not at all, or as nearly all do. */
const STORED = 0;
const DEFLATED = 8;

function zipEntry(zip: string, entry: FileEntry): ExportFile {
  const { compressedSize, uncompressedSize, compressionMethod, crc32 } = entry;
  return {
    name: `${zip}/${entry.filename}`,
    packedBytes: compressedSize,
    declaredBytes: uncompressedSize,
    isEncrypted: entry.encrypted,
    stream(onPacked) {
      if (compressionMethod !== STORED && compressionMethod !== DEFLATED) throw new Error("an entry is packed in a way that is not read here");
      const count = (chunk: Uint8Array): void => onPacked(chunk.length);
      const { writable, readable } = compressionMethod === STORED ? passing(count) : inflating("deflate-raw", onPacked);
      // The library gives the entry's bytes as they are; a failure reaches the reader through the stream.
      entry.getData(writable, { passThrough: true, useWebWorkers: false }).catch((error: unknown) => writable.abort(error).catch(() => undefined));
      const sum = new Crc32();
      let unpacked = 0;
      const check = (chunk: Uint8Array): void => {
        unpacked += chunk.length;
        sum.add(chunk);
        if (unpacked > uncompressedSize) throw new Error("an entry is larger than its zip says");
      };
      const end = (): void => {
        if (unpacked !== uncompressedSize || sum.digest() !== crc32) throw new Error("an entry is not what its zip says");
      };
      return readable.pipeThrough(passing(check, end));
    },
  };
}
