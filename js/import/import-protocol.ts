/** What page and worker of an import say to each other. The worker waits for an answer to each question. */

import type { MemoryErrorCode } from "../errors.js";
import type { ImportSkipReason, ImportSource } from "../types.js";
import type { ImportedMessage } from "./conversation.js";
import type { GivenFile } from "./export-file.js";
import type { ConversationHead, ReadOptions } from "./import-reader.js";

/** From the page. */
export type ToWorker = { kind: "read"; files: GivenFile[]; options: ReadOptions } | { kind: "answer"; value: boolean };

/** From the worker. `begin`, `take` and `end` are questions. */
export type FromWorker =
  | { kind: "ready" }
  | { kind: "progress"; phase: "scan" | "import"; bytes: number; totalBytes: number }
  | { kind: "skip"; where: string; reason: ImportSkipReason; message: string }
  | { kind: "begin"; head: ConversationHead }
  | { kind: "take"; messages: ImportedMessage[] }
  | { kind: "end" }
  | { kind: "done"; source: ImportSource | "mixed" | null }
  | { kind: "failed"; code: MemoryErrorCode; message: string; details: Readonly<Record<string, unknown>> | undefined };
