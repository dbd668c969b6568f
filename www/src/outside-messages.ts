/** What the page and the worker that calls model servers say to each other. */

/** From the page: a request, or its end before it was answered. */
export type ToOutside =
  | { id: number; url: string; method: string; headers: Record<string, string>; body: string | null; isOpaque: boolean }
  | { id: number; abort: true };

/** From the worker: the head of an answer, a piece of it, its end, or that there is none. */
export type FromOutside =
  | { id: number; status: number; statusText: string; headers: [string, string][] }
  | { id: number; piece: Uint8Array<ArrayBuffer> }
  | { id: number; end: true }
  | { id: number; failed: string };
