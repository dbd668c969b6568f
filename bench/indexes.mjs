// The engine's indexes in WebAssembly, one instance per worker.

let loaded;

/** The classes of `bench/indexes/src/lib.rs`. */
export function indexes() {
  loaded ??= (async () => {
    const glue = await import("/bench/indexes/indexes.js");
    await glue.default({ module_or_path: "/bench/indexes/indexes_bg.wasm" });
    return glue;
  })();
  return loaded;
}
