/** Cloudflare's Workers import WebAssembly compiled; they compile none themselves. */
declare module "*.wasm" {
  const module: WebAssembly.Module;
  export default module;
}
