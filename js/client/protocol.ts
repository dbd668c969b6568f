/** What a page and the worker that holds its engine say to each other. Both sides are of one version of the package. */

import type { ExportOptions, ExportReport } from "../export.js";
import type { CheckedEmbedder, CheckedLanguageModel, CheckedOptions } from "../options.js";
import type { PageChange } from "../page-life.js";
import type { CallPolicy, Method } from "../session.js";
import type {
  DataLossDecision, EmbedPurpose, Encoding, ExportProgress, GenerateRequest, ImportOptions, ImportProgress, ImportReport, MemoryEventName, StorageDamage,
} from "../types.js";
import type { WireError } from "./error-wire.js";

/** Number of this protocol: a worker's file that the browser kept from an older version must not be taken for a new one. */
export const PROTOCOL = 1;

/** What is said where the two are not of one version, which the engine's own imports show as well. */
export const OTHER_VERSION = "The worker is of another version of the package: build and serve page and worker from one.";

/** Posted to the worker itself, with one end of a channel: all that follows goes through that. */
export interface Connect {
  throughline: "connect";
  port: MessagePort;
  /** Name of a lock that the worker holds as long as it serves: whoever gets it knows that the worker has ended. */
  lock: string;
}

/** By the name of a question: what is given with it, and what is answered. */
export type Questions<Asked> = Record<keyof Asked, [given: unknown, answered: unknown]>;

/** What the page asks the worker. */
export interface AskedOfWorker {
  open: [WireOptions, undefined];
  call: [{ method: Method; request: object; policy: Pick<CallPolicy, "idempotent" | "counts"> }, unknown];
  import: [{ input: WireInput; options: WireImportOptions; progress: number | undefined }, ImportReport];
  export: [{ options: Omit<ExportOptions, "signal" | "onProgress">; progress: number | undefined; stream: number | undefined }, { report: ExportReport; file?: Blob }];
  wasmBytes: [undefined, number];
  close: [undefined, undefined];
}

/** What the page tells the worker. */
export interface ToldToWorker {
  /** What the app's own clock says. */
  now: number;
  page: PageChange;
  /** The memory is about to be closed: no callback is answered any more. */
  giveUp: undefined;
  /** The page has let go of this memory. */
  end: undefined;
}

/** What the worker asks the page: the app's callbacks. */
export interface AskedOfPage {
  embed: [{ texts: string[]; purpose: EmbedPurpose }, unknown];
  generate: [Omit<GenerateRequest, "signal">, unknown];
  vocabulary: [Encoding, Uint8Array];
  onDataLoss: [StorageDamage, DataLossDecision];
  loadHint: [undefined, string | null | undefined];
  saveHint: [string | null, undefined];
  /** The next bytes of an export that goes into a stream of the app's; without bytes, its end. */
  chunk: [{ stream: number; bytes?: Uint8Array; failed?: WireError }, undefined];
}

/** What the worker tells the page. */
export interface ToldToPage {
  /** {@link PROTOCOL} */
  ready: number;
  event: { name: MemoryEventName; payload: unknown };
  /** How far an import or an export is. */
  progress: { id: number; progress: ImportProgress | ExportProgress };
}

/** One message through the channel. */
export type Frame =
  | { kind: "ask"; id: number; name: string; value: unknown }
  | { kind: "abort"; id: number; reason: WireError }
  | { kind: "answer"; id: number; value: unknown }
  | { kind: "failure"; id: number; error: WireError }
  | { kind: "tell"; name: string; value: unknown };

/** Options that are no plain data, and those that stay with the page. */
type Kept = "storage" | "embedder" | "languageModel" | "clock" | "vocabulary" | "onDataLoss" | "storageHint" | "wasm";

/** Checked options as they cross. */
export interface WireOptions extends Omit<CheckedOptions, Kept> {
  storage: WireStorage;
  embedder: Omit<CheckedEmbedder, "embed"> | undefined;
  languageModel: Omit<CheckedLanguageModel, "generate"> | undefined;
  /** What the app's clock says; `undefined`: it gave none. */
  now: number | undefined;
  onDataLoss: DataLossDecision | "ask";
  hasStorageHint: boolean;
  wasm: WebAssembly.Module;
}

/** A storage as it crosses. A storage in memory is named, so that it is found again; keys are not held in private fields here. */
export type WireStorage =
  | { kind: "memory"; id: string }
  | { kind: "indexeddb"; name: string; key?: CryptoKey | Uint8Array | { passphrase: string; iterations: number } };

/** What is imported, as it crosses. */
export type WireInput = Blob | Uint8Array | ArrayBuffer | ReadableStream<Uint8Array> | (Blob | Uint8Array | ArrayBuffer)[];

/** Options of an import as they cross. The worker reads the files itself. */
export type WireImportOptions = Omit<ImportOptions, "signal" | "onProgress" | "worker">;

/** Many vectors in one piece of memory, which is handed over instead of copied. */
export interface PackedVectors {
  length: number;
  numbers: Float32Array;
}
