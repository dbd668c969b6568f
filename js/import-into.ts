/** Importing, with the code that is loaded for it. */

import { toMemoryError } from "./errors.js";
import type { EngineSession } from "./session.js";
import type { ImportInput, ImportOptions, ImportReport } from "./types.js";

/** See `Memory.import`. */
export async function importInto(session: EngineSession, input: ImportInput, options: ImportOptions): Promise<ImportReport> {
  const { importFiles } = await import("./import/importer.js").catch((cause: unknown) => {
    throw toMemoryError(cause, "engine_unavailable", "The importer could not be loaded. Serve the package's dist folder whole, and try again.");
  });
  return importFiles(session, input, options);
}
