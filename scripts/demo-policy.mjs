// What each file of the demo may load and call, as the headers that are sent with it. The page may call its own server and
// nobody else. The three workers that talk to others are files with a policy of their own, each as narrow as its task.

/** Of the page and everything that is no worker of these. Nothing from elsewhere runs, loads or receives anything. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types workers",
].join("; ");

/** Hosts that models are loaded from; Hugging Face hands large files out from hosts of its own below hf.co. */
const MODELS = "https://huggingface.co https://*.hf.co";

const WORKER_POLICIES = {
  // The address of a model that the person typed in: any of https, and any port of this machine.
  "/dist/outside-worker.js": "default-src 'none'; script-src 'self'; connect-src https: http://localhost:* http://127.0.0.1:*",
  "/dist/webllm-worker.js": `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src ${MODELS} https://raw.githubusercontent.com`,
  "/dist/transformers-worker.js": `default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src ${MODELS} https://cdn.jsdelivr.net/npm/onnxruntime-web@1.31.0-dev.20260914-8d85527a0/`,
};

/** The policy that goes with a file of the demo. `frame-ancestors` works in a header only. */
export function policyOf(path) {
  return WORKER_POLICIES[path] ?? `${PAGE_POLICY}; frame-ancestors 'none'`;
}
