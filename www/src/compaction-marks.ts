/** Where the current conversation was folded into its summary: lines for the transcript. */

import type { Memory } from "throughline";

/** One fold: it stands behind a message, and says what was folded. */
export interface CompactionMark {
  afterSeq: number;
  fromSeq: number;
  words: string;
}

/** The folds of a conversation, in order; none where nothing was summarised. */
export async function compactionMarks(memory: Memory, conversationId: string): Promise<CompactionMark[]> {
  const { tree } = await memory.summary(conversationId);
  return tree
    .filter(({ level, range }) => level === "chunk" && range !== undefined)
    .map(({ range }) => range as [number, number])
    .sort(([a], [b]) => a - b)
    .map(([fromSeq, afterSeq]) => ({ fromSeq, afterSeq, words: `Messages ${fromSeq} to ${afterSeq} are in the summary` }));
}
