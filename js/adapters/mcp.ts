/**
 * An MCP server over a memory, and a store for Node: a backup file. The command `throughline-mcp` serves one over stdio.
 *
 * ```ts
 * import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
 * import { createMemoryServer, openBackupStore } from "throughline/mcp";
 *
 * const store = await openBackupStore({ file: "alex.throughline" });
 * await createMemoryServer(store.memory).connect(new StdioServerTransport());
 * ```
 */
export { openBackupStore } from "./mcp/backup-store.js";
export type { BackupStore, BackupStoreOptions } from "./mcp/backup-store.js";
export { createMemoryServer } from "./mcp/memory-server.js";
export type { MemoryServerOptions } from "./mcp/memory-server.js";
