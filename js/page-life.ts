/** What the browser does with the page: shows and hides it, leaves it, brings it back. A worker is told by its client. */

/** Something that happened to the page. */
export interface PageChange {
  readonly kind: "visibilitychange" | "pagehide" | "pageshow";
  /** Nobody sees the page: it may be frozen or discarded without a further word. */
  readonly isHidden: boolean;
  /** The page goes into the browser's cache, or comes from there. */
  readonly isKept: boolean;
  /** When it happened, by the page's own time: tells changes apart. */
  readonly at: number;
}

const listeners = new Set<(change: PageChange) => void>();
/** In a worker: what was told last. */
let latest: PageChange | undefined;

/** Calls `listener` with each change until the signal is aborted. */
export function onPageChange(listener: (change: PageChange) => void, signal: AbortSignal): void {
  const page = globalThis as Partial<Pick<Window, "addEventListener" | "document">>;
  const tell = ({ type, timeStamp, persisted = false }: Event & { persisted?: boolean }): void =>
    listener({ kind: type as PageChange["kind"], isHidden: type === "pagehide" || isPageHidden(), isKept: persisted, at: timeStamp });
  page.addEventListener?.("pagehide", tell, { signal });
  page.addEventListener?.("pageshow", tell, { signal });
  page.document?.addEventListener("visibilitychange", tell, { signal });
  listeners.add(listener);
  signal.addEventListener("abort", () => listeners.delete(listener), { once: true });
}

/** Whether nobody sees the page. */
export function isPageHidden(): boolean {
  const { document } = globalThis as { document?: Document };
  return document === undefined ? latest?.isHidden === true : document.visibilityState === "hidden";
}

/** To be called in a worker: something happened to its page. Each of the page's clients tells it. */
export function tellPageChange(change: PageChange): void {
  if (change.at === latest?.at) return;
  latest = change;
  for (const listener of [...listeners]) listener(change);
}
