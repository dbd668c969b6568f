/** The worker of an import: reads the files it is given. Built into one text (`import-worker-inline.js`), so that the page needs no address for it. */

import { toMemoryError } from "../errors.js";
import type { FromWorker, ToWorker } from "./import-protocol.js";
import { readExport, type ImportSink } from "./import-reader.js";

const scope = globalThis as unknown as { postMessage(message: FromWorker): void; onmessage: ((event: { data: ToWorker }) => void) | null };
/** Progress is told no more often than this. */
const PROGRESS_MS = 100;

let answer: ((value: boolean) => void) | undefined;
let toldAt = -Infinity;

function ask(question: FromWorker): Promise<boolean> {
  return new Promise((resolve) => {
    answer = resolve;
    scope.postMessage(question);
  });
}

const sink: ImportSink = {
  progress(phase, bytes, totalBytes) {
    const now = performance.now();
    if (bytes < totalBytes && now - toldAt < PROGRESS_MS) return;
    toldAt = now;
    scope.postMessage({ kind: "progress", phase, bytes, totalBytes });
  },
  skip: (where, reason, message) => scope.postMessage({ kind: "skip", where, reason, message }),
  begin: (head) => ask({ kind: "begin", head }),
  take: (messages) => ask({ kind: "take", messages }),
  end: async () => {
    await ask({ kind: "end" });
  },
};

scope.onmessage = ({ data }) => {
  if (data.kind === "answer") {
    answer?.(data.value);
    return;
  }
  readExport(data.files, data.options, sink).then(
    (source) => scope.postMessage({ kind: "done", source }),
    (error: unknown) => {
      const { code, message, details } = toMemoryError(error, "invalid_argument", "import: the files could not be read.");
      scope.postMessage({ kind: "failed", code, message, details });
    },
  );
};
scope.postMessage({ kind: "ready" });
