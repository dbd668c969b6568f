// Where PostgreSQL's programs are.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

const FOLDERS = "/usr/lib/postgresql";

/** The folder of PostgreSQL's programs, or undefined: that of POSTGRES_BIN, of the newest Debian package, or of the PATH. */
export function findPrograms() {
  const versions = existsSync(FOLDERS) ? readdirSync(FOLDERS).sort((a, b) => Number(b) - Number(a)) : [];
  const told = spawnSync("pg_config", ["--bindir"], { encoding: "utf8" });
  const folders = [process.env.POSTGRES_BIN, ...versions.map((version) => join(FOLDERS, version, "bin")), told.stdout?.trim()];
  return folders.find((folder) => folder && existsSync(join(folder, "initdb")));
}
