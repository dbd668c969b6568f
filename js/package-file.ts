/**
 * Files that lie beside the package's code, in a page, a worker and Node; and the chunks that hold the same files as text,
 * for bundlers and servers that lose them. Node's file system is reached through `process.getBuiltinModule`, never by an
 * import, so that no bundler meets a Node module and no export condition is needed.
 */

interface NodeLikeProcess {
  getBuiltinModule?(name: "node:fs/promises"): { readFile(path: URL | string): Promise<Uint8Array> };
  getBuiltinModule?(name: "node:url"): { fileURLToPath(url: string): string };
}

/** A file of the package: where it is, and where else. */
export interface PackageFile {
  /**
   * Its address, as the literal `new URL("./name", import.meta.url)`, since bundlers find and copy files by that. Throws
   * where code has no address: classic scripts of esbuild, Cloudflare's Workers.
   */
  address: () => URL;
  /** The chunk that holds it as text (gzip in base64), as a literal `import()`, for the same reason. */
  chunk: () => Promise<{ base64: string }>;
  /** Knows the file by its beginning: servers answer with a page for what they have not. */
  isRight: (bytes: Uint8Array) => boolean;
}

/** The unpacked bytes of a file of the package, from wherever it can be had. */
export async function readPackageFile(file: PackageFile, signal?: AbortSignal): Promise<Uint8Array> {
  try {
    const bytes = await unpack(await readFile(file.address(), signal));
    if (file.isRight(bytes)) return bytes;
  } catch (error) {
    if (signal?.aborted === true) throw error;
  }
  return fromChunk((await file.chunk()).base64);
}

/** The bytes at an address, as they come; rejects where a server answers with a failure. */
export async function readFile(url: URL, signal?: AbortSignal): Promise<Uint8Array> {
  const local = await readLocalFile(url);
  if (local !== undefined) return local;
  const response = await fetch(url, signal === undefined ? {} : { signal });
  if (!response.ok) throw new Error(`The server answered with status ${response.status}.`);
  return new Uint8Array(await response.arrayBuffer());
}

/** The unpacked bytes that a chunk holds. */
export function fromChunk(base64: string): Promise<Uint8Array> {
  const characters = atob(base64);
  const bytes = new Uint8Array(characters.length);
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = characters.charCodeAt(at);
  return unpack(bytes);
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

/** Servers may have decompressed a `.gz` file on the way: what arrives is unpacked only where it is still packed. */
export async function unpack(bytes: Uint8Array): Promise<Uint8Array> {
  if (bytes[0] !== 0x1f || bytes[1] !== 0x8b) return bytes;
  // Through a Response: the Blob of jsdom, in which many test their pages, has no stream.
  const { body } = new Response(bytes as BufferSource);
  const plain = (body as ReadableStream<Uint8Array<ArrayBuffer>>).pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(plain).arrayBuffer());
}

/** Whether the bytes begin with these characters. */
export function beginsWith(bytes: Uint8Array, magic: string): boolean {
  return bytes.length >= magic.length && String.fromCharCode(...bytes.subarray(0, magic.length)) === magic;
}
