// The page that tests/adapters/transformers-model.test.mjs drives: transformers.js with a model and a runtime of its own site.

import { env, pipeline } from "@huggingface/transformers";
import { transformersEmbedder } from "throughline/transformers";


Object.assign(env, { allowRemoteModels: false, allowLocalModels: true, localModelPath: "/models/", useBrowserCache: false });
Object.assign(env.backends.onnx.wasm, { wasmPaths: { wasm: "/runtime/ort-wasm-simd-threaded.asyncify.wasm" }, numThreads: 1, proxy: false });

const signal = new AbortController().signal;
const embedderOf = (model, dimensions = 5) =>
  transformersEmbedder({ load: () => pipeline("feature-extraction", model, { dtype: "fp32", device: "wasm" }), model, dimensions, modelBatchSize: 2 });

globalThis.embed = async (texts) => (await embedderOf("tiny").embed(texts, { signal })).map((vector) => [...vector]);

/** The codes of what goes wrong: no such model, another size, given up. */
globalThis.failures = () => {
  const codeOf = (answer) => answer.then(() => "none", ({ code }) => code);
  return Promise.all([
    codeOf(embedderOf("absent").embed(["tea"], { signal })),
    codeOf(embedderOf("tiny", 384).embed(["tea"], { signal })),
    codeOf(embedderOf("tiny").embed(["tea"], { signal: AbortSignal.abort() })),
  ]);
};
document.title = "ready";
