/** The engine as text: the fallback where `engine.wasm` is lost. Written by scripts/build.mjs. */
export const base64: string;
