// The main job with the engine in a worker of the app's own.
import { createMemoryClient } from "throughline/client";
import { outcome as outcomeOf } from "./job.js";

const makeWorker = () => new Worker(new URL("./memory-worker.js", import.meta.url), { type: "module" });

export function outcome() {
  return outcomeOf((options) => createMemoryClient(makeWorker, options));
}
