/** Options and files on their way to the worker. */

import { MemoryError } from "../errors.js";
import type { CheckedOptions } from "../options.js";
import { PassphraseKey, RawKey } from "../storage-key.js";
import type { ImportInput, MemoryStorage, Storage, WasmSource } from "../types.js";
import { compileEngine } from "../wasm-loader.js";
import type { WireInput, WireOptions, WireStorage } from "./protocol.js";

/** Names of storages in memory: the same object given again opens the same data, in the same worker. */
const names = new WeakMap<MemoryStorage, string>();

let compiling: Promise<WebAssembly.Module> | undefined;

/** Options as they cross, with the engine, which the page compiles once for all its workers. */
export async function wireOptions(options: CheckedOptions): Promise<WireOptions> {
  const { storage, embedder, languageModel, clock, vocabulary: _asked, onDataLoss, storageHint, wasm, ...plain } = options;
  return {
    ...plain,
    storage: wireStorage(storage),
    embedder: embedder === undefined ? undefined : without(embedder, "embed"),
    languageModel: languageModel === undefined ? undefined : without(languageModel, "generate"),
    now: clock === Date.now ? undefined : clock(),
    onDataLoss: typeof onDataLoss === "function" ? "ask" : onDataLoss,
    hasStorageHint: storageHint !== undefined,
    wasm: await compiled(wasm),
  };
}

/** A failure is forgotten, so that the next call tries again. */
async function compiled(source: WasmSource | undefined): Promise<WebAssembly.Module> {
  compiling ??= compileEngine(source).catch((error: unknown) => {
    compiling = undefined;
    throw error;
  });
  return compiling;
}

function without<Given extends object, Name extends keyof Given>(given: Given, name: Name): Omit<Given, Name> {
  const { [name]: _callback, ...rest } = given;
  return rest;
}

function wireStorage(storage: Storage): WireStorage {
  if (storage.kind === "memory") {
    const id = names.get(storage) ?? crypto.randomUUID();
    names.set(storage, id);
    return { kind: "memory", id };
  }
  if (storage.kind === "external") {
    throw new MemoryError("invalid_config", "Option storage: a storage of the app's own cannot be given to a worker. Use indexedDbStorage(), or createMemory of throughline.");
  }
  const { kind, name, key } = storage;
  if (key === undefined) return { kind, name };
  if (key instanceof RawKey) return { kind, name, key: key.bytes() };
  if (!(key instanceof PassphraseKey)) return { kind, name, key };
  return { kind, name, key: { passphrase: new TextDecoder().decode(key.bytes()), iterations: key.iterations } };
}

/** What is imported, as it crosses; files are not copied. A stream is handed over where the browser can, else it is gathered. */
export async function wireInput(input: ImportInput): Promise<{ given: WireInput; transfer: Transferable[] }> {
  if (input instanceof ReadableStream) return wireStream(input);
  const isList = Array.isArray(input) || (typeof FileList === "function" && input instanceof FileList);
  if (!isList) return { given: onlyItsBytes(input as Blob), transfer: [] };
  return { given: Array.from(input as ArrayLike<Blob>, onlyItsBytes), transfer: [] };
}

async function wireStream(stream: ReadableStream<Uint8Array>): Promise<{ given: WireInput; transfer: Transferable[] }> {
  if (canHandOver(stream)) return { given: stream, transfer: [stream] };
  try {
    return { given: await new Response(stream).blob(), transfer: [] };
  } catch (error) {
    throw new MemoryError("invalid_argument", "import: the stream must give bytes (Uint8Array), and be read by nobody else.", { cause: error });
  }
}

let canHandOverStreams: boolean | undefined;

/** Whether streams of this platform can be handed over; found out with one of no use. */
function canHandOver(stream: ReadableStream): boolean {
  try {
    const trial = new ReadableStream();
    if (canHandOverStreams === undefined) structuredClone(trial, { transfer: [trial] });
    canHandOverStreams ??= true;
  } catch {
    canHandOverStreams = false;
  }
  return canHandOverStreams && !stream.locked;
}

/** A view takes all of its memory along: only what it shows is given. */
function onlyItsBytes<Given>(given: Given): Given {
  return given instanceof Uint8Array && given.byteLength < given.buffer.byteLength ? (given.slice() as Given) : given;
}
