/** The engine's worker as a file of this page, for what must not hold the page up. */

const WORKER_URL = "/throughline/worker/index.js";

/** A worker that runs an engine. */
export function engineWorker(): Worker {
  return new Worker(trustedUrl() as string, { type: "module", name: "engine" });
}

/** Where the browser enforces Trusted Types, the one address that may become this worker. */
function trustedUrl(): unknown {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypeFactory };
  return trustedTypes?.createPolicy(`engine-${crypto.randomUUID()}`, { createScriptURL: () => WORKER_URL }).createScriptURL("") ?? WORKER_URL;
}

interface TrustedTypeFactory {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(input: string): unknown };
}
