/**
 * Counts what leaves this page for another origin: by the browser's own record of the page's requests, by the service
 * worker, which sees every request of the page and its workers, and what the page's policy stopped.
 */

import { onOutsideRequest, outsideRequests } from "./outside.ts";

/** What was seen since the page was opened. */
export interface Seen {
  /** Requests of the page itself to other origins. */
  page: ReadonlyMap<string, number>;
  /** Requests of the workers that the person turned on. */
  workers: ReadonlyMap<string, number>;
  /** Requests of any of them to other origins that went through the service worker; `null` where there is none yet. */
  serviceWorker: ReadonlyMap<string, number> | null;
  /** Loads that the policy stopped. */
  blocked: number;
}

const page = new Map<string, number>();
const passing = new Map<string, number>();
const listeners = new Set<() => void>();
let blocked = 0;

/** Starts to look; what came before is counted too, as far as the browser has kept it. */
export function startWitness(): void {
  new PerformanceObserver((list) => {
    for (const { name } of list.getEntries()) countForeign(name);
    tell();
  }).observe({ type: "resource", buffered: true });
  document.addEventListener("securitypolicyviolation", () => {
    blocked += 1;
    tell();
  });
  navigator.serviceWorker?.addEventListener("message", ({ data }: MessageEvent<{ foreign?: string }>) => {
    if (data.foreign === undefined) return;
    passing.set(data.foreign, (passing.get(data.foreign) ?? 0) + 1);
    tell();
  });
  onOutsideRequest(tell);
}

/** What was seen so far. */
export function seen(): Seen {
  return { page, workers: outsideRequests(), serviceWorker: navigator.serviceWorker?.controller ? passing : null, blocked };
}

/** Calls the listener with every change. */
export function onSeen(listener: () => void): void {
  listeners.add(listener);
}

function countForeign(address: string): void {
  const { origin, protocol } = new URL(address);
  if (origin === location.origin || protocol === "data:" || protocol === "blob:") return;
  page.set(origin, (page.get(origin) ?? 0) + 1);
}

function tell(): void {
  for (const listener of listeners) listener();
}
