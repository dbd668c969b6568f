/**
 * Finds and compiles the engine's WebAssembly wherever the package ends up. In this order: what the app gave, the file
 * beside this one (streamed where the server's answer allows it, else from its bytes), and last the copy that is kept as
 * text in a chunk of its own, for bundlers and servers that lose `.wasm` files.
 */

import { MemoryError } from "./errors.js";
import { fromChunk, readLocalFile } from "./package-file.js";
import type { WasmSource } from "./types.js";

/** Compiles the engine. Nothing is kept: the caller remembers the module. */
export async function compileEngine(source?: WasmSource): Promise<WebAssembly.Module> {
  if (typeof WebAssembly !== "object") {
    throw new MemoryError("wasm_unsupported", "This platform has no WebAssembly, which the engine runs on.");
  }
  if (source !== undefined) return compileGiven(source);
  // In a function: code without an address (a classic script of esbuild's, a Worker of Cloudflare's) has no such URL.
  const module = await compileFile(() => new URL("./engine.wasm", import.meta.url));
  return module ?? compileInline();
}

async function compileGiven(source: WasmSource): Promise<WebAssembly.Module> {
  if (source instanceof WebAssembly.Module) return source;
  // A module of another realm, e.g. posted from another window, fails `instanceof` but carries the same tag.
  if (Object.prototype.toString.call(source) === "[object WebAssembly.Module]") return source;
  if (typeof source === "string" || source instanceof URL) {
    const module = await compileFile(() => new URL(source, globalThis.location?.href));
    if (module !== undefined) return module;
    throw new MemoryError(
      "wasm_load_failed",
      "Option wasm: nothing that is WebAssembly was found at that address. Check that it answers with engine.wasm of this version.",
    );
  }
  const bytes = asBytes(source);
  if (bytes !== undefined && hasMagic(bytes)) return compileBytes(bytes);
  throw new MemoryError(
    "invalid_config",
    "Option wasm must be a WebAssembly.Module, the bytes of engine.wasm, or its address.",
  );
}

/** The module at this address, or `undefined` where there is none to be had. */
async function compileFile(address: () => URL): Promise<WebAssembly.Module | undefined> {
  try {
    const url = address();
    const local = await readLocalFile(url);
    if (local !== undefined) return hasMagic(local) ? await compileBytes(local) : undefined;
    const response = await fetch(url);
    if (!response.ok) return undefined;
    const mime = response.headers.get("content-type") ?? "";
    if (/^application\/wasm\b/i.test(mime)) {
      try {
        // The response itself, not a clone: only then do browsers keep the optimised code beside the file in their cache,
        // and a page that opens again starts in less than half the time.
        return await WebAssembly.compileStreaming(response);
      } catch (error) {
        throwIfFinal(error);
        const again = await fetch(url);
        return await compileIfWasm(new Uint8Array(await again.arrayBuffer()));
      }
    }
    return await compileIfWasm(new Uint8Array(await response.arrayBuffer()));
  } catch (error) {
    // Not there, not readable or cut short: the inline copy is still to be tried. But what says that compiling itself is
    // impossible would say so again.
    if (error instanceof MemoryError) throw error;
    return undefined;
  }
}

async function compileIfWasm(bytes: Uint8Array): Promise<WebAssembly.Module | undefined> {
  return hasMagic(bytes) ? compileBytes(bytes) : undefined;
}

async function compileBytes(bytes: Uint8Array): Promise<WebAssembly.Module> {
  try {
    return await WebAssembly.compile(bytes as BufferSource);
  } catch (error) {
    throwIfFinal(error);
    throw error;
  }
}

async function compileInline(): Promise<WebAssembly.Module> {
  try {
    const { base64 } = await import("./wasm-inline.js");
    return await compileBytes(await fromChunk(base64));
  } catch (error) {
    if (error instanceof MemoryError) throw error;
    throw new MemoryError(
      "wasm_load_failed",
      "The engine could not be loaded: neither engine.wasm beside the package's code nor its fallback chunk was found. " +
        "Serve the package's dist folder whole, or give the compiled engine in option wasm.",
      { cause: error },
    );
  }
}

/** Turns the errors that no other way of loading can avoid into typed ones, and throws them. */
function throwIfFinal(error: unknown): void {
  if (!(error instanceof WebAssembly.CompileError)) return;
  if (/content security policy|unsafe-eval|blocked by csp|disallowed by embedder/i.test(error.message)) {
    throw new MemoryError(
      "wasm_blocked_by_csp",
      "The page's Content-Security-Policy forbids WebAssembly. Add 'wasm-unsafe-eval' to its script-src directive " +
        "(it allows WebAssembly only, not eval of JavaScript).",
      { cause: error },
    );
  }
  if (/simd|reference types|invalid opcode|unexpected (section|opcode)|invalid value type|bulk memory/i.test(error.message)) {
    throw new MemoryError(
      "wasm_unsupported",
      "This platform's WebAssembly lacks a feature that the engine needs (SIMD, reference types). " +
        "Chrome 91, Firefox 89 (113 for exact token counts), Safari 16.4, Node 20 and later have them.",
      { cause: error },
    );
  }
}

function asBytes(source: unknown): Uint8Array | undefined {
  if (ArrayBuffer.isView(source)) return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  return source instanceof ArrayBuffer ? new Uint8Array(source) : undefined;
}

function hasMagic(bytes: Uint8Array): boolean {
  return bytes[0] === 0x00 && bytes[1] === 0x61 && bytes[2] === 0x73 && bytes[3] === 0x6d;
}
