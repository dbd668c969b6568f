import type { HistoryEntry, Memory } from "../index.js";

/** Messages of a range of positions, both inclusive. */
export interface EntryRange {
  conversationId: string;
  from: number;
  to: number;
}

/** Stored messages with their places; for a model elsewhere without those that stay on this device. */
export async function visibleEntries(
  memory: Pick<Memory, "history">,
  { conversationId, from, to }: EntryRange,
  destination: "remote" | "local",
  signal: AbortSignal | undefined,
): Promise<HistoryEntry[]> {
  const entries = await memory.history(conversationId, { from, to, withStatus: true, ...(signal && { signal }) });
  return entries.filter(({ localOnly }) => destination === "local" || localOnly !== true);
}
