/** A receipt as the page draws it: found messages that stand side by side are one piece, named after its best hit. */

import type { Context, Scores } from "throughline";

/** One piece of a section. */
export interface ShownItem {
  kind: string;
  /** Id of the message, fact or document; for a found piece, of its best hit. */
  id: string;
  /** The messages it holds, both ends inclusive. */
  range: { conversationId: string; from: number; to: number } | null;
  tokens: number;
  score: number | null;
  scores: Scores | null;
  reason: string;
}

/** One section of the prompt. */
export interface ShownSection {
  name: string;
  cap: number | null;
  tokens: number;
  items: ShownItem[];
  dropped: Context["receipt"]["sections"][number]["dropped"];
}

/** The sections of a context that was built for this conversation, in the order of the prompt. */
export function readSections({ receipt }: Context, conversationId: string): ShownSection[] {
  return receipt.sections.map(({ name, cap, tokens, items, dropped }) => {
    const shown = items.map((item) => readItem(item, conversationId));
    return { name, cap, tokens, items: name === "retrieved" ? joined(shown) : shown, dropped };
  });
}

/** What was found, best first. */
export function foundItems(sections: readonly ShownSection[]): ShownItem[] {
  const found = sections.find(({ name }) => name === "retrieved")?.items ?? [];
  return [...found].sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
}

/** What is off, in the engine's words. */
export function readNotes({ receipt }: Context): string[] {
  const { notes } = receipt as { notes?: unknown };
  return Array.isArray(notes) ? notes.filter((note): note is string => typeof note === "string") : [];
}

/** Tokens of sending the whole conversation, where the receipt tells. */
export function readFullHistory({ receipt }: Context): number | null {
  const { fullHistory } = receipt.tokens as { fullHistory?: unknown };
  return typeof fullHistory === "number" ? fullHistory : null;
}

function readItem(item: Context["receipt"]["sections"][number]["items"][number], conversationId: string): ShownItem {
  const { kind, id, tokens, score, scores, reason } = item;
  return { kind, id, range: readRange(item, conversationId), tokens, score: score ?? null, scores: scores ?? null, reason };
}

/** A range is `[from, to]` or `{ from, to }`; the conversation stands beside it or in it. */
function readRange(item: object, conversationId: string): ShownItem["range"] {
  const { conversationId: beside, range } = item as { conversationId?: unknown; range?: unknown };
  if (typeof range !== "object" || range === null) return null;
  const given = range as { from?: unknown; to?: unknown; conversationId?: unknown; 0?: unknown; 1?: unknown };
  const from = given.from ?? given[0];
  const to = given.to ?? given[1];
  if (typeof from !== "number" || typeof to !== "number") return null;
  const named = [beside, given.conversationId].find((id): id is string => typeof id === "string");
  return { conversationId: named ?? conversationId, from, to };
}

function joined(items: readonly ShownItem[]): ShownItem[] {
  const pieces: ShownItem[] = [];
  for (const item of items) {
    const last = pieces.at(-1);
    const isNext = last?.range && item.range && last.range.conversationId === item.range.conversationId
      && last.range.to + 1 === item.range.from;
    if (!last?.range || !item.range || !isNext) {
      pieces.push({ ...item });
      continue;
    }
    last.range = { ...last.range, to: item.range.to };
    last.tokens += item.tokens;
    if ((item.score ?? -1) > (last.score ?? -1)) {
      Object.assign(last, { id: item.id, score: item.score, scores: item.scores, reason: item.reason });
    }
  }
  return pieces;
}
