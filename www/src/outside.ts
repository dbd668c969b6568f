/** `fetch` through the worker that may call other origins, with a count of what it was asked for. */

import type { FromOutside, ToOutside } from "./outside-messages.ts";
import { startWorker } from "./workers.ts";

interface Waiting {
  begin: (response: Response) => void;
  fail: (reason: unknown) => void;
  body: ReadableStreamDefaultController<Uint8Array> | null;
}

const waiting = new Map<number, Waiting>();
const listeners = new Set<() => void>();
const counts = new Map<string, number>();
let worker: Worker | null = null;
let last = 0;

/** Requests so far, by origin. */
export function outsideRequests(): ReadonlyMap<string, number> {
  return counts;
}

/** Calls the listener with every request. */
export function onOutsideRequest(listener: () => void): void {
  listeners.add(listener);
}

/** Counts a request to an origin that was made beside the page. */
export function countOutside(origin: string): void {
  counts.set(origin, (counts.get(origin) ?? 0) + 1);
  for (const listener of listeners) listener();
}

/** `fetch`, as far as the adapters of the package use it. */
export const outsideFetch: typeof fetch = (input, init = {}) => {
  const url = input instanceof Request ? input.url : String(input);
  const headers = Object.fromEntries(new Headers(init.headers));
  return call({ url, method: init.method ?? "GET", headers, body: typeof init.body === "string" ? init.body : null, isOpaque: false }, init.signal ?? null);
};

/** Whether anything answers at an address, also where it does not let this page read the answer. */
export async function isAnswering(url: string, signal: AbortSignal): Promise<boolean> {
  try {
    await call({ url, method: "GET", headers: {}, body: null, isOpaque: true }, signal);
    return true;
  } catch (error) {
    if (signal.aborted) throw error;
    return false;
  }
}

function call(request: Omit<Extract<ToOutside, { url: string }>, "id">, signal: AbortSignal | null): Promise<Response> {
  if (signal?.aborted) return Promise.reject(reasonOf(signal));
  worker ??= started();
  const id = ++last;
  const to = worker;
  countOutside(new URL(request.url).origin);
  return new Promise((begin, fail) => {
    waiting.set(id, { begin, fail, body: null });
    signal?.addEventListener("abort", () => {
      to.postMessage({ id, abort: true } satisfies ToOutside);
      end(id, reasonOf(signal));
    }, { once: true });
    to.postMessage({ id, ...request } satisfies ToOutside);
  });
}

function started(): Worker {
  const begun = startWorker("outside");
  begun.addEventListener("message", ({ data }: MessageEvent<FromOutside>) => received(data));
  begun.addEventListener("error", () => {
    worker = null;
    for (const id of [...waiting.keys()]) end(id, new TypeError("The worker that calls model servers could not be started."));
  });
  return begun;
}

function received(message: FromOutside): void {
  const entry = waiting.get(message.id);
  if (!entry) return;
  if ("status" in message) entry.begin(responseOf(message, entry));
  else if ("piece" in message) entry.body?.enqueue(message.piece);
  else if ("failed" in message) end(message.id, new TypeError(message.failed));
  else {
    waiting.delete(message.id);
    entry.body?.close();
  }
}

/** An opaque answer has status 0, which no `Response` may have that is made by hand. */
function responseOf({ headers, id, status, statusText }: Extract<FromOutside, { status: number }>, entry: Waiting): Response {
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (entry.body = controller),
    cancel: () => {
      waiting.delete(id);
      worker?.postMessage({ id, abort: true } satisfies ToOutside);
    },
  });
  const isBodiless = status === 0 || status === 204 || status === 304;
  return new Response(isBodiless ? null : body, { status: status === 0 ? 200 : status, statusText, headers });
}

function end(id: number, reason: unknown): void {
  const entry = waiting.get(id);
  if (!entry) return;
  waiting.delete(id);
  if (entry.body) entry.body.error(reason);
  else entry.fail(reason);
}

function reasonOf(signal: AbortSignal): unknown {
  return signal.reason ?? new DOMException("Stopped.", "AbortError");
}
