/**
 * The files that may run beside the page, and the one Trusted Types policy of the page: it gives out these addresses and
 * no other, so nothing else can become a script.
 */

/** Addresses by name, from the page's own folder. */
const FILES = {
  /** Runs an engine beside the page's own: the race and the benchmark. */
  engine: "throughline/worker/index.js",
  /** Reads exports of other apps. */
  import: "throughline/import/import-worker.js",
  /** Calls the model server whose address the person gave. */
  outside: "dist/outside-worker.js",
  /** Runs WebLLM. */
  webllm: "dist/webllm-worker.js",
  /** Runs transformers.js. */
  transformers: "dist/transformers-worker.js",
  /** Keeps the page's files for when there is no server. */
  offline: "service-worker.js",
} as const;

/** A file that may run beside the page. */
export type WorkerName = keyof typeof FILES;

interface TrustedTypeFactory {
  createPolicy(name: string, rules: { createScriptURL(name: string): string }): { createScriptURL(name: string): unknown };
}

const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypeFactory };
const addressOf = (name: string): string => new URL(FILES[name as WorkerName], document.baseURI).href;
const policy = trustedTypes?.createPolicy("workers", { createScriptURL: addressOf });

/** The address of one of the files, in the only form that the browser lets become a script here. */
export function workerAddress(name: WorkerName): string {
  return (policy === undefined ? addressOf(name) : policy.createScriptURL(name)) as string;
}

/** Starts one of them. */
export function startWorker(name: Exclude<WorkerName, "offline">): Worker {
  return name === "import" ? new Worker(workerAddress(name), { name }) : new Worker(workerAddress(name), { name, type: "module" });
}
