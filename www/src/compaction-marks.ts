/** Where the current conversation was folded into its summary: lines for the transcript. */

import type { Memory } from "throughline";
import { refreshing } from "./refresh.ts";
import type { Workspace } from "./workspace.ts";

/** One fold: it stands behind a message, and says what was folded. */
interface CompactionMark {
  afterSeq: number;
  words: string;
}

/** The folds of a conversation, in order; none where nothing was summarised. */
async function compactionMarks(memory: Memory, conversationId: string): Promise<CompactionMark[]> {
  const { tree } = await memory.summary(conversationId);
  return tree
    .filter(({ level, range }) => level === "chunk" && range !== undefined)
    .map(({ range }) => range as [number, number])
    .sort(([a], [b]) => a - b)
    .map(([fromSeq, afterSeq]) => ({ afterSeq, words: `Messages ${fromSeq} to ${afterSeq} are in the summary` }));
}

/** Keeps the lines of the current conversation in the transcript. */
export function markCompactions(workspace: Workspace): void {
  let reads = 0;
  let known = "";
  const update = refreshing(workspace, async () => {
    const { current, memory } = workspace;
    if (!memory || !current) return;
    const read = ++reads;
    const marks = await compactionMarks(memory, current.id);
    const seen = JSON.stringify([current.id, marks]);
    if (read !== reads || workspace.current?.id !== current.id || (seen === known && workspace.marks.size === marks.length)) return;
    known = seen;
    workspace.mark(new Map(marks.map(({ afterSeq, words }) => [afterSeq, words])));
  });
  workspace.subscribe(["messages", "folds"], update);
}
