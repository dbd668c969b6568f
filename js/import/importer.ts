/** Imports files into a memory: reads them in a worker where one can be made, and stores what comes from there. */

import { MemoryError } from "../errors.js";
import type { EngineSession, Session } from "../session.js";
import type { ImportInput, ImportOptions, ImportProgress, ImportReport, ImportSource } from "../types.js";
import { isBackup } from "./backup-mark.js";
import type { GivenFile } from "./export-file.js";
import type { FromWorker, ToWorker } from "./import-protocol.js";
import type { ImportSink, ReadOptions } from "./import-reader.js";
import { ImportStore } from "./import-store.js";

const SOURCES: ReadonlySet<string> = new Set<ImportSource>([
  "throughline", "chatgpt", "claude", "gemini", "ai-studio", "grok", "open-webui", "librechat", "sillytavern", "sharegpt", "messages",
]);
const PROGRESS_MS = 100;
/** A worker that says nothing for so long cannot be made here: some policies refuse one without a word. */
const WORKER_START_MS = 3_000;
/** Bytes of a stream that are gathered before they are given to a Blob, which need not lie in memory. */
const GATHERED_BYTES = 8 * 1024 * 1024;

/** See `Memory.import`. */
export async function importFiles(session: EngineSession, input: ImportInput, options: ImportOptions): Promise<ImportReport> {
  const { source, maxBytes, signal } = checked(options);
  const read: ReadOptions = { source, maxBytes };
  throwIfAborted(signal);
  const files = await givenFiles(input, signal, maxBytes);
  // One at a time, in all tabs: two imports of one file would each find the other's half.
  const backup = await ownBackup(files, source);
  return session.exclusive("import", signal, () => (backup === undefined ? importGiven(session, files, read, options) : importBackup(session, backup, options)));
}

/** The file, where it is a backup of this package. */
async function ownBackup(files: readonly GivenFile[], source: ImportSource | undefined): Promise<GivenFile | undefined> {
  const refuse = (problem: string): MemoryError => new MemoryError("invalid_argument", `import: ${problem}. Nothing was imported.`);
  for (const file of files) {
    if (!(await isBackup(file.blob))) continue;
    if (files.length > 1) throw refuse(`${file.name} is a backup of this package; import it alone`);
    if (source !== undefined && source !== "throughline") throw refuse(`${file.name} is a backup of this package, not of ${source}`);
    return file;
  }
  if (source === "throughline") throw refuse("the file is no backup of this package");
  return undefined;
}

async function importBackup(session: Session, file: GivenFile, options: ImportOptions): Promise<ImportReport> {
  const { restoreBackup } = await import("../backup/restorer.js");
  return restoreBackup(session, file, options, teller(options.onProgress));
}

async function importGiven(session: Session, files: GivenFile[], read: ReadOptions, options: ImportOptions): Promise<ImportReport> {
  const { onProgress, signal } = options;
  const progress = progressOf(onProgress, () => store.report);
  const store = new ImportStore(session, options, progress);
  const guarded = abortable(store, signal);
  try {
    await store.open();
    const worker = options.worker === false ? undefined : await startWorker(options.worker);
    const isAlone = worker === undefined;
    if (worker !== undefined) store.report.source = await readIn(worker, files, read, guarded, signal);
    if (isAlone) {
      const { readExport } = await import("./import-reader.js");
      store.report.source = await readExport(files, read, guarded);
    }
    return store.report;
  } catch (error) {
    await store.abandon().catch(() => undefined);
    throwIfAborted(signal);
    throw error;
  }
}

function checked(options: ImportOptions): ImportOptions {
  const { source, maxBytes, onProgress, projectId, worker, passphrase, trusted, bringBack } = options;
  const refuse = (what: string): MemoryError => new MemoryError("invalid_argument", `import: ${what}`);
  if (source !== undefined && !SOURCES.has(source)) throw refuse(`options.source must be one of ${[...SOURCES].join(", ")}.`);
  if (maxBytes !== undefined && !(Number.isSafeInteger(maxBytes) && maxBytes > 0)) throw refuse("options.maxBytes must be a whole number from 1.");
  if (onProgress !== undefined && typeof onProgress !== "function") throw refuse("options.onProgress must be a function.");
  if (passphrase !== undefined && (typeof passphrase !== "string" || passphrase === "")) throw refuse("options.passphrase must be a text that is not empty.");
  if (trusted !== undefined && typeof trusted !== "boolean") throw refuse("options.trusted must be true or false.");
  if (bringBack !== undefined && typeof bringBack !== "boolean") throw refuse("options.bringBack must be true or false.");
  if (projectId !== undefined && (typeof projectId !== "string" || projectId === "")) throw refuse("options.projectId must be a text that is not empty.");
  if (worker !== undefined && typeof worker !== "boolean" && typeof worker !== "function") throw refuse("options.worker must be true, false or a function that makes a worker.");
  return options;
}

/** The sink, stopping at the signal. */
function abortable(sink: ImportSink, signal: AbortSignal | undefined): ImportSink {
  const unless = <Args extends unknown[], Result>(call: (...args: Args) => Promise<Result>) => async (...args: Args): Promise<Result> => {
    throwIfAborted(signal);
    return call(...args);
  };
  return {
    progress(phase, bytes, totalBytes) {
      throwIfAborted(signal);
      sink.progress(phase, bytes, totalBytes);
    },
    skip: (where, reason, message) => sink.skip(where, reason, message),
    begin: unless((head) => sink.begin(head)),
    take: unless((messages) => sink.take(messages)),
    end: unless(() => sink.end()),
  };
}

function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new MemoryError("aborted", "The import was aborted by its signal. What was wholly imported stays.", { cause: signal.reason });
}

function progressOf(onProgress: ImportOptions["onProgress"], report: () => ImportReport): ImportSink["progress"] {
  const tell = teller(onProgress);
  return (phase, bytes, totalBytes) => {
    const { imported, updated, unchanged, messages } = report();
    tell({ phase, bytes, totalBytes, conversations: imported + updated + unchanged, messages });
  };
}

/** Tells the app how far it is, not too often. */
function teller(onProgress: ImportOptions["onProgress"]): (progress: ImportProgress) => void {
  let toldAt = -Infinity;
  let told = "";
  return (progress) => {
    const { phase, bytes, totalBytes, conversations, messages } = progress;
    const now = performance.now();
    if (onProgress === undefined || (bytes < totalBytes && now - toldAt < PROGRESS_MS)) return;
    const state = `${phase} ${bytes} ${messages} ${conversations}`;
    if (state === told) return;
    toldAt = now;
    told = state;
    try {
      onProgress({ ...progress });
    } catch (error) {
      // The app's own failure is reported as the platform reports uncaught ones; the import goes on.
      queueMicrotask(() => {
        throw error;
      });
    }
  };
}

async function readIn(worker: Worker, files: GivenFile[], options: ReadOptions, sink: ImportSink, signal: AbortSignal | undefined): Promise<ImportReport["source"]> {
  try {
    return await serve(worker, files, options, sink, signal);
  } finally {
    worker.terminate();
  }
}

/** A worker that is ready: the app's, else one made from a text; none where none can be made here. */
async function startWorker(given: ImportOptions["worker"]): Promise<Worker | undefined> {
  if (typeof given === "function") return ready(given());
  if (typeof Worker !== "function" || typeof URL.createObjectURL !== "function") return undefined;
  const { code } = await import("./import-worker-inline.js");
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  try {
    return await ready(new Worker(address, { name: "throughline-import" }));
  } catch {
    // Refused by the page's Content-Security-Policy.
    return undefined;
  } finally {
    URL.revokeObjectURL(address);
  }
}

/** The worker once it runs; undefined where it does not come to that. */
async function ready(worker: Worker): Promise<Worker | undefined> {
  const isRunning = await new Promise<boolean>((resolve) => {
    worker.onmessage = () => resolve(true);
    worker.onerror = (event) => {
      event.preventDefault();
      resolve(false);
    };
    setTimeout(() => resolve(false), WORKER_START_MS);
  });
  if (isRunning) return worker;
  worker.terminate();
  return undefined;
}

/** Answers a worker's questions until it is done. */
function serve(worker: Worker, files: GivenFile[], options: ReadOptions, sink: ImportSink, signal: AbortSignal | undefined): Promise<ImportReport["source"]> {
  return new Promise((resolve, reject) => {
    const say = (message: ToWorker): void => worker.postMessage(message);
    let storing: Promise<unknown> = Promise.resolve();
    const answer = (stored: Promise<boolean | undefined>): void => {
      storing = stored.then((value) => say({ kind: "answer", value: value ?? true }), reject);
    };
    // What is being stored is let finish: only then is it known what has to go.
    signal?.addEventListener("abort", () => void storing.then(() => reject(signal.reason as unknown)), { once: true });
    worker.onerror = () => reject(new MemoryError("engine_unavailable", "The worker of the import failed; try again, or with option worker: false."));
    worker.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      try {
        if (data.kind === "progress") sink.progress(data.phase, data.bytes, data.totalBytes);
        else if (data.kind === "skip") sink.skip(data.where, data.reason, data.message);
        else if (data.kind === "begin") answer(sink.begin(data.head));
        else if (data.kind === "take") answer(sink.take(data.messages));
        else if (data.kind === "end") answer(sink.end().then(() => true));
        else if (data.kind === "done") resolve(data.source);
        else if (data.kind === "failed") reject(new MemoryError(data.code, data.message, { details: data.details }));
      } catch (error) {
        reject(error);
      }
    };
    say({ kind: "read", files, options });
  });
}

/** The files of an input, with names. */
async function givenFiles(input: ImportInput, signal: AbortSignal | undefined, maxBytes: number | undefined): Promise<GivenFile[]> {
  if (input instanceof ReadableStream) return [{ name: "stream", blob: await gathered(input, signal, maxBytes) }];
  const isList = Array.isArray(input) || (typeof FileList === "function" && input instanceof FileList);
  const list = isList ? Array.from(input as ArrayLike<unknown>) : [input];
  if (list.length === 0) throw new MemoryError("invalid_argument", "import: there is no file to import.");
  return list.map((item, index) => givenFile(item, list.length > 1 ? `file ${index + 1}` : "file"));
}

function givenFile(item: unknown, otherwise: string): GivenFile {
  if (item instanceof Blob) {
    const { name, webkitRelativePath } = item as Blob & { name?: unknown; webkitRelativePath?: unknown };
    const named = [webkitRelativePath, name].find((each) => typeof each === "string" && each !== "");
    return { name: typeof named === "string" ? named : otherwise, blob: item };
  }
  if (item instanceof ArrayBuffer || ArrayBuffer.isView(item)) return { name: otherwise, blob: new Blob([item as BlobPart]) };
  throw new MemoryError("invalid_argument", "import: give a File, a Blob, bytes, a stream of bytes, or an array of files.");
}

/** A stream is read twice, so it is gathered first. What is packed is never larger than what may come out of it. */
async function gathered(stream: ReadableStream<Uint8Array>, signal: AbortSignal | undefined, maxBytes = 2 ** 31): Promise<Blob> {
  const reader = stream.getReader();
  const blobs: Blob[] = [];
  let parts: Uint8Array[] = [];
  let waiting = 0;
  let total = 0;
  try {
    for (;;) {
      throwIfAborted(signal);
      const { done, value } = await reader.read();
      if (done) return new Blob([...blobs, ...(parts as BlobPart[])]);
      if (!(value instanceof Uint8Array)) throw new MemoryError("invalid_argument", "import: the stream must give bytes (Uint8Array).");
      parts.push(value);
      waiting += value.length;
      total += value.length;
      if (total > maxBytes) throw new MemoryError("invalid_argument", `import: the stream is longer than ${maxBytes} bytes. Nothing was imported.`);
      if (waiting < GATHERED_BYTES) continue;
      blobs.push(new Blob(parts as BlobPart[]));
      parts = [];
      waiting = 0;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
