/**
 * The entry `throughline/worker`: a worker that imports it holds the engines of the clients that connect to it
 * (`throughline/client`). Other messages of the app's are left alone.
 */

import type { Connect } from "../client/protocol.js";
import { ServedMemory } from "./served-memory.js";

interface NodeWorkerThreads {
  parentPort: { on(event: "message", listener: (message: unknown) => void): void } | null;
}

function serve(message: unknown): void {
  if (typeof message === "object" && message !== null && (message as Partial<Connect>).throughline === "connect") {
    const { port, lock } = message as Connect;
    new ServedMemory(port, lock);
  }
}

const { process } = globalThis as { process?: { getBuiltinModule?(name: string): NodeWorkerThreads } };
const inNode = process?.getBuiltinModule?.("node:worker_threads").parentPort;
if (inNode) inNode.on("message", serve);
// A page that imports this by mistake must not let other windows in.
else if (!("document" in globalThis)) globalThis.addEventListener?.("message", ({ data }: MessageEvent) => serve(data));
