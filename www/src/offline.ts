/** The page without a server: its service worker, a newer version that waits, and putting the page among the apps. */

import { workerAddress } from "./workers.ts";

/** How it stands. */
export interface OfflineState {
  /** `absent`: not in this browser, or not on this address; `storing`: files are on their way; `ready`: it opens without the server. */
  files: "absent" | "storing" | "ready";
  /** A newer version is stored and waits for its turn. */
  isUpdateWaiting: boolean;
  /** The browser offers to put the page among the apps. */
  canInstall: boolean;
}

interface InstallPrompt extends Event {
  prompt(): Promise<unknown>;
}

const listeners = new Set<() => void>();
let state: OfflineState = { files: "absent", isUpdateWaiting: false, canInstall: false };
let registration: ServiceWorkerRegistration | null = null;
let offered: InstallPrompt | null = null;

/** How it stands now. */
export function offlineState(): OfflineState {
  return state;
}

/** Calls the listener with every change. */
export function onOffline(listener: () => void): void {
  listeners.add(listener);
}

/** Starts to keep the page's files, once the page is ready and has nothing more urgent to load. */
export function keepOffline(ready: Promise<unknown>): void {
  addEventListener("beforeinstallprompt", (event) => {
    offered = event as InstallPrompt;
    change({ canInstall: true });
  });
  addEventListener("appinstalled", () => {
    offered = null;
    change({ canInstall: false });
  });
  if (!("serviceWorker" in navigator)) return;
  void ready.then(register).catch(() => change({ files: "absent" }));
}

/** Puts the page among the apps, where the browser offers it. */
export async function install(): Promise<void> {
  await offered?.prompt();
  offered = null;
  change({ canInstall: false });
}

/** Lets the version that waits take over: every tab of this page is loaded again with it. */
export function useUpdate(): void {
  registration?.waiting?.postMessage("take over");
}

async function register(): Promise<void> {
  const { serviceWorker } = navigator;
  // Tabs of one version must not be given files of another, so all of them change together.
  const isFirst = serviceWorker.controller === null;
  serviceWorker.addEventListener("controllerchange", () => {
    if (!isFirst) location.reload();
  });
  registration = await serviceWorker.register(workerAddress("offline"), { updateViaCache: "none" });
  follow(registration);
  registration.addEventListener("updatefound", () => registration && follow(registration));
}

function follow({ active, installing, waiting }: ServiceWorkerRegistration): void {
  change({ files: active || waiting ? "ready" : "storing", isUpdateWaiting: active !== null && waiting !== null });
  installing?.addEventListener("statechange", () => {
    if (registration) follow(registration);
  });
  // A first version has nobody to wait for, and is at work a moment after it is stored.
  if (waiting && !active) waiting.addEventListener("statechange", () => registration && follow(registration), { once: true });
}

function change(changes: Partial<OfflineState>): void {
  state = { ...state, ...changes };
  for (const listener of listeners) listener();
}
