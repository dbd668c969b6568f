/** Reading something again for a view. */

import { isMemoryError } from "throughline";
import type { Workspace } from "./workspace.ts";

/** A listener that reads and tells a failure. What a memory did not answer any more because it is opened anew is read again then. */
export function refreshing(workspace: Workspace, read: () => Promise<void>): () => void {
  const quietly = (): Promise<void> => read().catch((error: unknown) => {
    if (!isMemoryError(error, "closed")) throw error;
  });
  return () => void workspace.inBackground(quietly);
}
