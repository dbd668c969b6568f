/** Gives the thread its turn within long work. */

/** Longest stretch of work before the thread gets its turn. */
const SLICE_MS = 8;

/** A function that lets the thread do other things once it has worked for {@link SLICE_MS}. */
export function breather(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    if (performance.now() - since < SLICE_MS) return;
    await macrotask();
    since = performance.now();
  };
}

/** Not a timer: nested ones wait for 4 ms. */
function macrotask(): Promise<void> {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(undefined);
  });
}
