/**
 * Reads a file that lies beside the package's code, in a page, a worker and Node. Node's file system is reached through
 * `process.getBuiltinModule`, never by an import, so that no bundler meets a Node module and no export condition is
 * needed.
 */

interface NodeLikeProcess {
  getBuiltinModule?(name: "node:fs/promises"): { readFile(path: URL | string): Promise<Uint8Array> };
  getBuiltinModule?(name: "node:url"): { fileURLToPath(url: string): string };
}

/** The bytes of a `file:` address, or `undefined` where there is no file system. */
export async function readLocalFile(url: URL): Promise<Uint8Array | undefined> {
  if (url.protocol !== "file:") return undefined;
  const runtime = (globalThis as { process?: NodeLikeProcess }).process;
  if (typeof runtime?.getBuiltinModule !== "function") return undefined;
  // The path as text: a URL object of another realm (as under some servers' bundlers) is refused by readFile.
  const path = runtime.getBuiltinModule("node:url").fileURLToPath(url.href);
  return runtime.getBuiltinModule("node:fs/promises").readFile(path);
}

/** Decompresses gzip data. */
export async function gunzip(bytes: Uint8Array): Promise<Uint8Array> {
  const plain = new Blob([bytes as BlobPart]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Whether the bytes begin as a gzip stream does. */
export function isGzip(bytes: Uint8Array): boolean {
  return bytes[0] === 0x1f && bytes[1] === 0x8b;
}
