/**
 * The only script of this site that may call another origin: the address of a model that the person typed in. It sees the
 * requests that the page makes of a context, and nothing of what is stored. Its own policy, sent with this file, allows
 * connections; the page's allows none.
 */

import type { FromOutside, ToOutside } from "./outside-messages.ts";

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<ToOutside>) => void) | null;
  postMessage(message: FromOutside, transfer?: Transferable[]): void;
};
const running = new Map<number, AbortController>();

scope.onmessage = ({ data }) => {
  if ("abort" in data) running.get(data.id)?.abort();
  else void answer(data);
};

async function answer({ id, url, method, headers, body, isOpaque }: Exclude<ToOutside, { abort: true }>): Promise<void> {
  const controller = new AbortController();
  running.set(id, controller);
  try {
    const response = await fetch(url, {
      method,
      headers,
      body,
      mode: isOpaque ? "no-cors" : "cors",
      signal: controller.signal,
      credentials: "omit",
      referrerPolicy: "no-referrer",
      cache: "no-store",
      // A key goes to the address that was typed in, and is not passed on.
      redirect: isOpaque ? "follow" : "error",
    });
    scope.postMessage({ id, status: response.status, statusText: response.statusText, headers: [...response.headers] });
    const reader = response.body?.getReader();
    for (let read = await reader?.read(); read?.value !== undefined; read = await reader?.read()) {
      const piece = read.value;
      scope.postMessage({ id, piece }, [piece.buffer]);
    }
    scope.postMessage({ id, end: true });
  } catch (error) {
    scope.postMessage({ id, failed: error instanceof Error ? error.message : "no answer" });
  } finally {
    running.delete(id);
  }
}
