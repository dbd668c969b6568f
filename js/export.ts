/** Exporting, with the code that is loaded for it. */

import { toMemoryError } from "./errors.js";
import type { Session } from "./session.js";
import type { Backup, ExportOptions, ExportReport, ExportToOptions } from "./types.js";

export type { Backup, ExportOptions, ExportReport, ExportToOptions };

/** See `Memory.export`. */
export async function exportFrom(session: Session, options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport> {
  const { exportBackup } = await import("./backup/exporter.js").catch((cause: unknown) => {
    throw toMemoryError(cause, "engine_unavailable", "The exporter could not be loaded. Serve the package's dist folder whole, and try again.");
  });
  return exportBackup(session, options);
}
