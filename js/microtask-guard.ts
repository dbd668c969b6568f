/**
 * The engine's futures run in microtasks. A trap there reaches no caller: the promise that a call waits for would never
 * settle, and Node would end the process. The build points the generated glue's `queueMicrotask` here (esbuild's
 * `inject`), so that a trap is seen and told.
 */

let listener: (cause: unknown) => void = () => {};

/** Sets who is told of a trap. */
export function onMicrotaskTrap(onTrap: (cause: unknown) => void): void {
  listener = onTrap;
}

/** Like the global `queueMicrotask`, for callbacks that enter the engine. */
export function guardedQueueMicrotask(callback: () => void): void {
  queueMicrotask(() => {
    try {
      callback();
    } catch (error) {
      // A task of an instance that has been replaced already: nobody waits for it.
      if (error instanceof Error && error.message.includes("previous WASM instance")) return;
      listener(error);
    }
  });
}
