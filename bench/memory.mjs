// Every WebAssembly memory of the worker, whoever made it: imported before anything that makes one.

const memories = new Set();

function keep(exportsOrImports) {
  for (const value of Object.values(exportsOrImports ?? {})) {
    if (value instanceof WebAssembly.Memory) memories.add(value);
  }
}

for (const name of ["instantiate", "instantiateStreaming"]) {
  const original = WebAssembly[name];
  WebAssembly[name] = async (source, imports) => {
    const result = await original(source, imports);
    keep((result.instance ?? result).exports);
    for (const module of Object.values(imports ?? {})) keep(module);
    return result;
  };
}

/** Bytes of all of them together. */
export function wasmBytes() {
  return [...memories].reduce((sum, memory) => sum + memory.buffer.byteLength, 0);
}
