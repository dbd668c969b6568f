// A real PostgreSQL server for tests: in a folder, on a port and under a user of its own, gone when it is stopped.
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { findPrograms } from "./programs.mjs";

/** PostgreSQL does not run as root: then it runs as the user that its package made, else as nobody. */
function owner() {
  if (process.getuid?.() !== 0) return {};
  const rows = readFileSync("/etc/passwd", "utf8").split("\n").map((line) => line.split(":"));
  const [, , uid, gid] = rows.find(([name]) => name === "postgres") ?? rows.find(([name]) => name === "nobody");
  return { uid: Number(uid), gid: Number(gid) };
}

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Starts a server with a database `chat` that the role `app`, no superuser, owns; `settings` as in `["fsync=off"]`. */
export async function startServer(settings = []) {
  const programs = findPrograms();
  const user = owner();
  const folder = mkdtempSync(join(tmpdir(), "throughline-postgres-"));
  if (user.uid !== undefined) spawnSync("chown", [`${user.uid}:${user.gid}`, folder]);
  chmodSync(folder, 0o700);
  const files = join(folder, "data");
  const made = spawnSync(join(programs, "initdb"), ["-D", files, "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"], { ...user, cwd: folder, encoding: "utf8" });
  if (made.status !== 0) throw new Error(`initdb failed: ${made.stderr}`);
  const port = await freePort();
  const server = new Server(programs, user, folder, files, port);
  await server.start(settings);
  await server.asOwner("CREATE ROLE app LOGIN NOSUPERUSER NOBYPASSRLS; ", "postgres");
  await server.asOwner("CREATE DATABASE chat OWNER app", "postgres");
  await server.asOwner("DO $$ BEGIN IF EXISTS (SELECT FROM pg_available_extensions WHERE name = 'vector') THEN CREATE EXTENSION vector; END IF; END $$");
  return server;
}

class Server {
  #process;

  constructor(programs, user, folder, files, port) {
    Object.assign(this, { programs, user, folder, files, port });
  }

  /** Where the role `app`, or another, finds the database. */
  address(role = "app", database = "chat") {
    return `postgres://${role}@127.0.0.1:${this.port}/${database}`;
  }

  /** Runs the server and waits until it takes connections. */
  async start(more = []) {
    const settings = ["listen_addresses=127.0.0.1", `unix_socket_directories=${this.folder}`, "max_connections=150", "shared_buffers=64MB", ...more];
    const args = ["-D", this.files, "-p", String(this.port), ...settings.flatMap((setting) => ["-c", setting])];
    for (let tries = 0; ; tries += 1) {
      const log = this.#run(args);
      const failure = await this.#answers();
      if (failure === undefined) return;
      // Of those that were killed one may not be gone yet.
      const isEarly = log.text.includes("still in use") && tries < 50;
      if (!isEarly) throw new Error(`PostgreSQL did not start: ${log.text}`, { cause: failure });
      await new Promise((resolve) => setTimeout(resolve, 200));
    }
  }

  /** Runs the program; what it says is added to the answer. */
  #run(args) {
    const log = { text: "" };
    this.#process = spawn(join(this.programs, "postgres"), args, { ...this.user, cwd: this.folder, detached: true, stdio: ["ignore", "ignore", "pipe"] });
    this.#process.stderr.on("data", (chunk) => (log.text = (log.text + chunk).slice(-4_000)));
    return log;
  }

  /** Why it takes no connections, after a while or where it has ended. */
  async #answers() {
    for (let tries = 0; ; tries += 1) {
      try {
        await this.asOwner("SELECT 1", "postgres");
        return undefined;
      } catch (error) {
        if (tries === 600 || this.#process.exitCode !== null) return error;
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  /** Ends every process of the server at once, so that nothing is written any more: they are in groups of their own. */
  async kill() {
    const gone = new Promise((resolve) => this.#process.once("exit", resolve));
    // It starts no other while it is listed whom it has started.
    this.#process.kill("SIGSTOP");
    const children = spawnSync("pgrep", ["-P", String(this.#process.pid)], { encoding: "utf8" }).stdout.split("\n").filter(Boolean);
    for (const id of [this.#process.pid, ...children.map(Number)]) {
      try {
        process.kill(id, "SIGKILL");
      } catch {
        // It has just ended by itself.
      }
    }
    await gone;
  }

  /** Ends the server as an administrator would; its files stay. */
  async end() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.kill("SIGINT");
    await gone;
  }

  /** Ends the server and removes its files. */
  async stop() {
    await this.end();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** Statements as the superuser. */
  async asOwner(text, database = "chat") {
    const client = new pg.Client({ connectionString: this.address("owner", database) });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  }
}
