#!/usr/bin/env node
/// <reference types="node" />
/** `throughline-mcp`: an MCP server over stdio, over the memory in a backup file. */

import { parseArgs } from "node:util";
import { isMemoryError } from "../../errors.js";
import { openBackupStore } from "./backup-store.js";

const USAGE = `throughline-mcp --file <backup> [--read-only] [--user <id>] [--project <id>] [--local] [--max-result-tokens <n>]

Serves the memory in a Throughline backup (the file that an app's export makes, or a new one) to an MCP client over stdio:
search_memory, recall_range, add_memory. The file is read at the start and written after changes; one server at a time.

  --file               The backup. Made with the first change where it is not there.
  --read-only          No add_memory, and nothing is written.
  --user               Whose memory it is. Default "default".
  --project            Only conversations of this project.
  --local              The client's model runs on this device: what stays on it is shown, too.
  --max-result-tokens  Most tokens of one result. Default 2000.

An encrypted backup is opened with the passphrase in the environment variable THROUGHLINE_PASSPHRASE.`;

async function serve(): Promise<void> {
  const options = {
    file: { type: "string" }, "read-only": { type: "boolean" }, user: { type: "string" }, project: { type: "string" },
    local: { type: "boolean" }, "max-result-tokens": { type: "string" }, help: { type: "boolean" },
  } as const;
  const { values } = parseArgs({ options });
  if (values.help === true) {
    console.error(USAGE);
    return;
  }
  if (values.file === undefined) throw new Error(`--file is missing.\n\n${USAGE}`);
  const [{ createMemoryServer }, { StdioServerTransport }] = await loadSdk();
  const passphrase = process.env["THROUGHLINE_PASSPHRASE"];
  const readOnly = values["read-only"] === true;
  const store = await openBackupStore({
    file: values.file, writable: !readOnly, ...(values.user !== undefined && { userId: values.user }), ...(passphrase !== undefined && passphrase !== "" && { passphrase }),
  });
  store.onError = (error) => console.error(`throughline-mcp: the file could not be written: ${told(error)}`);
  const maxResultTokens = values["max-result-tokens"];
  const server = createMemoryServer(store.memory, {
    readOnly, flush: () => store.save(), destination: values.local === true ? "local" : "remote",
    ...(values.project !== undefined && { projectId: values.project }), ...(maxResultTokens !== undefined && { maxResultTokens: Number(maxResultTokens) }),
  });
  const end = endOnce(async () => {
    await server.close();
    await store.close();
  });
  server.onclose = end;
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, end);
  // A client that goes away closes its end of the pipe.
  process.stdin.on("end", end);
  await server.connect(new StdioServerTransport());
}

/** The SDK is an optional peer: most who install the package serve nothing. */
function loadSdk(): Promise<[typeof import("./memory-server.js"), typeof import("@modelcontextprotocol/sdk/server/stdio.js")]> {
  return Promise.all([import("./memory-server.js"), import("@modelcontextprotocol/sdk/server/stdio.js")]).catch((cause: unknown) => {
    throw new Error("the MCP SDK is missing: npm install @modelcontextprotocol/sdk", { cause });
  });
}

/** Ends the process once, however many say so. */
function endOnce(end: () => Promise<void>): () => void {
  let isEnding = false;
  return () => {
    if (isEnding) return;
    isEnding = true;
    end().then(() => process.exit(0), fail);
  };
}

function fail(error: unknown): void {
  console.error(`throughline-mcp: ${told(error)}`);
  process.exit(1);
}

/** Node's own errors name the file, which is the user's to see; nothing here holds what a user wrote. */
function told(error: unknown): string {
  if (isMemoryError(error)) return `${error.message} (${error.code})`;
  return error instanceof Error ? error.message : String(error);
}

serve().catch(fail);
