/** The runtime of transformers.js (ONNX Runtime for the web), of the version that its library names. */

/** Its file: too large to be part of the page, and needed by nobody who does not turn it on. */
export const RUNTIME = {
  url: "https://cdn.jsdelivr.net/npm/onnxruntime-web@1.31.0-dev.20260914-8d85527a0/dist/ort-wasm-simd-threaded.asyncify.wasm",
  integrity: "sha384-JuzrCV6BUmTUbsgNhgU94qo0vZ4l3w0VqgQAKPm0La2hXL9kmv8P9pGenfsWJY9c",
  bytes: 26_861_777,
} as const;
