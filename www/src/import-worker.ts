/** The importer's worker as a file of this page: its security policy allows no worker made from a text. */

const WORKER_URL = "/throughline/import/import-worker.js";

/** A worker that reads exports. */
export function importWorker(): Worker {
  return new Worker(trustedUrl() as string, { name: "import" });
}

/** Where the browser enforces Trusted Types, the one address that may become a worker. */
function trustedUrl(): unknown {
  const { trustedTypes } = globalThis as { trustedTypes?: TrustedTypeFactory };
  return trustedTypes?.createPolicy(`import-${crypto.randomUUID()}`, { createScriptURL: () => WORKER_URL }).createScriptURL("") ?? WORKER_URL;
}

interface TrustedTypeFactory {
  createPolicy(name: string, rules: { createScriptURL(): string }): { createScriptURL(input: string): unknown };
}
