// Writes a small database of the present layout into releases/, which every later version opens. To be run once for a layout that
// is released: node scripts/postgres.mjs (it sets up), then node tests/postgres/dump.mjs
import { spawnSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createMemory } from "throughline";
import { postgresStorage } from "throughline/postgres";
import { hashingEmbedder } from "throughline/testing";
import { MIGRATIONS } from "../../dist/adapters/postgres/migrations.js";
import { startServer } from "./server.mjs";

const server = await startServer();
try {
  const storage = postgresStorage({ connectionString: server.address() });
  const memory = await createMemory({ userId: "alex", storage, tokenizer: "estimate", embedder: hashingEmbedder({ dimensions: 8 }), clock: () => Date.UTC(2026, 0, 1) });
  const { id } = await memory.conversations.create({ id: "c1", title: "A chat of this layout" });
  await memory.append(id, [
    { id: "m1", role: "user", content: "Which port did we pick?" },
    { id: "m2", role: "assistant", content: "Port 8471, as nothing else listens there. \u0000 😀" },
    { id: "m3", role: "user", content: "Thank you." },
  ]);
  await memory.facts.add({ subject: "user", category: "preference", fact: "Likes port 8471." });
  await memory.settled();
  await memory.close();
  await storage.end();
  const hasVectors = (await server.asOwner("SELECT FROM pg_extension WHERE extname = 'vector'")).length > 0;
  const args = ["-h", "127.0.0.1", "-p", String(server.port), "-U", "owner", "--schema=throughline", "--inserts", "--no-owner", "--no-comments", "chat"];
  const dumped = spawnSync(join(server.programs, "pg_dump"), args, { encoding: "utf8" });
  if (dumped.status !== 0) throw new Error(dumped.stderr);
  // What only psql reads, and what only says something to people. Functions come before the tables that they read: their bodies
  // are not to be checked.
  const lines = dumped.stdout.split("\n").filter((line) => line !== "" && !/^(--|\\|SET (?!check_function_bodies)|SELECT pg_catalog.set_config)/.test(line));
  mkdirSync(new URL("releases/", import.meta.url), { recursive: true });
  const name = `${MIGRATIONS.length}-${hasVectors ? "pgvector" : "bytes"}.sql`;
  writeFileSync(new URL(`releases/${name}`, import.meta.url), `${hasVectors ? "CREATE EXTENSION vector;\n" : ""}${lines.join("\n")}\n`);
  console.log(`releases/${name}`);
} finally {
  await server.stop();
}
