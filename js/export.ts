/** Exporting, with the code that is loaded for it. */

import { notLoaded } from "./errors.js";
import type { Session } from "./session.js";
import type { Backup, ExportOptions, ExportReport, ExportToOptions } from "./types.js";

export type { Backup, ExportOptions, ExportReport, ExportToOptions };

/** See `Memory.export`. */
export async function exportFrom(session: Session, options: ExportOptions | ExportToOptions): Promise<Backup | ExportReport> {
  const { exportBackup } = await import("./backup/exporter.js").catch(notLoaded("The exporter"));
  return exportBackup(session, options);
}
