/**
 * Keeps the page's own files, all of one version, so that it opens without its server. A version is stored whole, each
 * file checked against the hash that it was built with, or not at all; it takes over when no tab shows the one before, or
 * when the person asks for it. What is on other origins, or is no file of the page, goes its way untouched.
 */

/** Hashes (SHA-256, hexadecimal) of the page's files by address, and of those that are stored when they are first used. */
declare const FILES: Readonly<Record<string, string>>;
declare const LATER: Readonly<Record<string, string>>;
declare const VERSION: string;

interface Scope {
  readonly registration: { readonly scope: string };
  readonly clients: { matchAll(options: object): Promise<readonly { postMessage(message: unknown): void }[]> };
  skipWaiting(): Promise<void>;
  addEventListener(type: "install" | "activate", listener: (event: { waitUntil(work: Promise<unknown>): void }) => void): void;
  addEventListener(type: "message", listener: (event: { data: unknown }) => void): void;
  addEventListener(type: "fetch", listener: (event: { request: Request; respondWith(answer: Promise<Response>): void }) => void): void;
}

const scope = globalThis as unknown as Scope;
const PREFIX = "page-";
const CACHE = PREFIX + VERSION;
const PAGE = "index.html";

scope.addEventListener("install", (event) => event.waitUntil(storeAll()));
scope.addEventListener("activate", (event) => event.waitUntil(removeOthers()));
scope.addEventListener("message", ({ data }) => {
  if (data === "take over") void scope.skipWaiting();
});
scope.addEventListener("fetch", (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== location.origin) return void tell(origin);
  if (request.method !== "GET") return;
  const path = pathname.slice(new URL(scope.registration.scope).pathname.length);
  const name = request.mode === "navigate" && path === "" ? PAGE : path;
  if (name in FILES || name in LATER) event.respondWith(fileOf(name, request));
});

async function storeAll(): Promise<void> {
  try {
    const cache = await caches.open(CACHE);
    await Promise.all(Object.entries(FILES).map(([name, hash]) => store(cache, name, hash)));
  } catch (error) {
    await caches.delete(CACHE);
    throw error;
  }
}

/** From the version before where it is the same there, else from the server; checked in either case. */
async function store(cache: Cache, name: string, hash: string): Promise<Response> {
  const address = new URL(name, scope.registration.scope).href;
  const known = await caches.match(address);
  if (known && (await isWhole(known, hash))) {
    await cache.put(address, known.clone());
    return known;
  }
  const response = await fetch(address, { cache: "no-cache", credentials: "omit" });
  if (!response.ok || !(await isWhole(response, hash))) throw new Error(`${name} is not of this version.`);
  await cache.put(address, response.clone());
  return response;
}

async function isWhole(response: Response, hash: string): Promise<boolean> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await response.clone().arrayBuffer()));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("") === hash;
}

async function fileOf(name: string, request: Request): Promise<Response> {
  const cache = await caches.open(CACHE);
  const stored = await cache.match(new URL(name, scope.registration.scope).href);
  if (stored) return stored;
  const hash = LATER[name];
  return hash === undefined ? fetch(request) : store(cache, name, hash);
}

async function removeOthers(): Promise<void> {
  const names = (await caches.keys()).filter((name) => name.startsWith(PREFIX) && name !== CACHE);
  await Promise.all(names.map((name) => caches.delete(name)));
}

/** Tells the open tabs that something calls another origin. */
async function tell(foreign: string): Promise<void> {
  for (const client of await scope.clients.matchAll({ type: "window", includeUncontrolled: true })) client.postMessage({ foreign });
}
