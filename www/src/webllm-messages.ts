/** What the page and the worker that runs WebLLM say to each other. */

/** From the page. */
export type ToWebLlm = { load: string } | { id: number; request: object } | { interrupt: true };

/** From the worker. */
export type FromWebLlm =
  | { progress: { share: number; words: string } }
  | { isLoaded: true }
  | { notLoaded: string }
  | { id: number; chunk: unknown }
  | { id: number; end: true }
  | { id: number; failed: { name: string; message: string } }
  | { called: string };
