/**
 * Runs an embedding model of transformers.js beside the page. Its own policy, sent with this file, lets it load the model
 * and the runtime from where they are, and nothing from elsewhere. The runtime is checked before it runs: it must be the
 * file that this page was made with.
 */

import { env, pipeline, type FeatureExtractionPipeline } from "@huggingface/transformers";
import { RUNTIME } from "./transformers-runtime.ts";
import type { FromTransformers, ToTransformers } from "./transformers-messages.ts";
import { tellRequests } from "./worker-requests.ts";

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToTransformers>) => void) | null;
  postMessage(message: FromTransformers, transfer?: Transferable[]): void;
};
const sizes = new Map<string, { loaded: number; total: number }>();
let extractor: FeatureExtractionPipeline | null = null;

const tellRest = tellRequests((called) => scope.postMessage({ called }));

scope.onmessage = ({ data }) => {
  if ("load" in data) void load(data.load);
  else void embed(data);
};

async function load(model: string): Promise<void> {
  try {
    const { wasm } = env.backends.onnx as { wasm: Record<string, unknown> };
    const runtime = await fetchRuntime();
    Object.assign(wasm, { wasmBinary: runtime, wasmPaths: { wasm: RUNTIME.url }, numThreads: 1, proxy: false });
    env.allowLocalModels = false;
    extractor = await pipeline("feature-extraction", model, {
      dtype: "q8",
      device: "wasm",
      progress_callback: (info) => {
        if (info.status === "progress") progressed(info.file, info.loaded, info.total);
      },
    });
    scope.postMessage({ isLoaded: true });
  } catch (error) {
    await tellRest();
    scope.postMessage({ notLoaded: error instanceof Error ? error.message : String(error) });
  }
}

/** The runtime; it is kept in the browser's cache, and its address never gets another content. */
async function fetchRuntime(): Promise<ArrayBuffer> {
  const response = await fetch(RUNTIME.url, { integrity: RUNTIME.integrity, credentials: "omit", referrerPolicy: "no-referrer", cache: "force-cache" });
  if (!response.ok || !response.body) throw new Error(`The runtime could not be loaded (${response.status}).`);
  let loaded = 0;
  const counted = response.body.pipeThrough(new TransformStream<Uint8Array, Uint8Array>({
    transform: (piece, controller) => {
      loaded += piece.length;
      progressed("runtime", loaded, RUNTIME.bytes);
      controller.enqueue(piece);
    },
  }));
  return new Response(counted).arrayBuffer();
}

function progressed(file: string, loaded: number, total: number): void {
  sizes.set(file, { loaded, total });
  const sum = (field: "loaded" | "total"): number => [...sizes.values()].reduce((all, size) => all + size[field], 0);
  scope.postMessage({ progress: { bytes: sum("loaded"), totalBytes: sum("total") } });
}

async function embed({ id, normalize, pooling, texts }: Exclude<ToTransformers, { load: string }>): Promise<void> {
  try {
    if (!extractor) throw new Error("No model is loaded.");
    const tensor = await extractor(texts, { normalize, pooling });
    const data = Float32Array.from(tensor.data as Float32Array);
    const { dims } = tensor;
    tensor.dispose();
    scope.postMessage({ id, data, dims }, [data.buffer]);
  } catch {
    // Without the reason: a tokenizer's own may quote the text.
    scope.postMessage({ id, failed: true });
  }
}
