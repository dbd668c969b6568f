/** Importing, with the code that is loaded for it. */

import { notLoaded } from "./errors.js";
import type { EngineSession } from "./session.js";
import type { ImportInput, ImportOptions, ImportReport } from "./types.js";

/** See `Memory.import`. */
export async function importInto(session: EngineSession, input: ImportInput, options: ImportOptions): Promise<ImportReport> {
  const { importFiles } = await import("./import/importer.js").catch(notLoaded("The importer"));
  return importFiles(session, input, options);
}
