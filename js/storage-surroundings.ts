/** What the browser does not say of the storage that it gives: whether it is a private window's, or a frame's own. */

/**
 * Whether everything is gone when this window closes; `null` where it cannot be told. Firefox and Safari refuse the private
 * file system of the origin in private windows. Chromium keeps it in memory there, and names the same quota as elsewhere.
 */
export async function isEphemeral(): Promise<boolean | null> {
  const { storage } = (globalThis as { navigator?: { storage?: Partial<StorageManager> } }).navigator ?? {};
  if (storage?.getDirectory === undefined) return null;
  try {
    await storage.getDirectory();
  } catch (error) {
    return error instanceof DOMException && error.name === "SecurityError" ? true : null;
  }
  // Only Chromium tells of its heap.
  return "memory" in globalThis.performance ? null : false;
}

/** Whether this is a frame in a page of another site, which has a storage of its own; `null` where it cannot be told. */
export async function isPartitioned(): Promise<boolean | null> {
  const page = globalThis as Partial<Pick<Window, "top" | "self" | "location" | "document">>;
  if (page.document === undefined) return null;
  if (page.top === page.self) return false;
  const own = page.location?.hostname ?? "";
  const { ancestorOrigins } = page.location ?? {};
  if (ancestorOrigins !== undefined) {
    const hosts = [...ancestorOrigins].map((origin) => (URL.canParse(origin) ? new URL(origin).hostname : origin));
    if (hosts.every((host) => host === own)) return false;
    return hosts.some((host) => !areKin(host, own)) ? true : null;
  }
  try {
    if (page.top?.location.origin === page.location?.origin) return false;
  } catch {
    // Of another origin, which may still be the same site.
  }
  return (await page.document.hasStorageAccess()) ? null : true;
}

/** Hosts under a common name may be one site; which names are no sites of their own only a long list says. */
function areKin(one: string, other: string): boolean {
  const last = (host: string): string => host.split(".").slice(-2).join(".");
  return last(one) === last(other) && !/^[\d.]+$/.test(one) && one.includes(".");
}
