/** What the page and the worker that runs transformers.js say to each other. */

/** How a text becomes a vector, as the library takes it. */
export interface Pooling {
  pooling: "mean" | "cls" | "last_token";
  normalize: boolean;
}

/** From the page. */
export type ToTransformers = { load: string } | ({ id: number; texts: string[] } & Pooling);

/** From the worker. */
export type FromTransformers =
  | { progress: { bytes: number; totalBytes: number } }
  | { isLoaded: true }
  | { notLoaded: string }
  | { id: number; data: Float32Array; dims: number[] }
  | { id: number; failed: true }
  | { called: string };
