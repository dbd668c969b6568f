/** In a worker: tells the page which other origins were called, as the browser itself counted it. */

/** Tells each request of another origin, also those that libraries make. Answers with a function that tells what is left to tell. */
export function tellRequests(tell: (origin: string) => void): () => Promise<void> {
  const own = location.origin;
  const read = (entries: PerformanceEntryList): void => {
    for (const { name } of entries) {
      const { origin } = new URL(name);
      if (origin !== own && origin !== "null") tell(origin);
    }
  };
  const observer = new PerformanceObserver((list) => read(list.getEntries()));
  observer.observe({ type: "resource", buffered: true });
  return async () => {
    // A request that failed is recorded a moment after it did.
    await new Promise((resolve) => setTimeout(resolve, 20));
    read(observer.takeRecords());
  };
}
