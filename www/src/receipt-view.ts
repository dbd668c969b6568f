/** A receipt as the page draws it: each found message with its neighbours is one piece. */

import type { Receipt, ReceiptItem, ReceiptSection } from "throughline";

/** Something in a section; for what was found, a hit with the messages around it. */
export interface ShownItem extends ReceiptItem {
  /** Ids of the messages in it that match the question. */
  hits: readonly string[];
}

/** A section with its pieces. */
export interface ShownSection extends Omit<ReceiptSection, "items"> {
  items: ShownItem[];
}

/** The sections of a receipt, in the order of the prompt. */
export function readSections({ sections }: Receipt): ShownSection[] {
  return sections.map((section) => ({
    ...section,
    items: section.name === "retrieved"
      ? runs(section.items).flatMap(splitBetweenHits).map(piece)
      : section.items.map((item) => ({ ...item, hits: [] })),
  }));
}

/** What was found, best first. */
export function foundItems(sections: readonly ShownSection[]): ShownItem[] {
  const found = sections.find(({ name }) => name === "retrieved")?.items ?? [];
  return [...found].sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
}

/** Messages that follow each other in their conversation. */
function runs(items: readonly ReceiptItem[]): ReceiptItem[][] {
  const all: ReceiptItem[][] = [];
  for (const item of items) {
    const run = all.at(-1);
    const last = run?.at(-1)?.range;
    const { range } = item;
    const isNext = last && range && last.conversationId === range.conversationId && last.to + 1 === range.from;
    if (run && isNext) run.push(item);
    else all.push([item]);
  }
  return all;
}

/** Cuts a run halfway between hits that do not touch, so that neighbours stay with their hit. */
function splitBetweenHits(run: readonly ReceiptItem[]): ReceiptItem[][] {
  const hits = run.flatMap((item, index) => (item.score === undefined ? [] : [index]));
  const cuts = hits.flatMap((hit, index) => {
    const next = hits[index + 1];
    return next === undefined || next - hit < 2 ? [] : [Math.ceil((hit + next) / 2)];
  });
  const edges = [0, ...cuts, run.length];
  return edges.slice(1).map((end, index) => run.slice(edges[index], end));
}

function piece(items: readonly ReceiptItem[]): ShownItem {
  const best = items.reduce((one, other) => ((other.score ?? -1) > (one.score ?? -1) ? other : one));
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  const hits = items.filter(({ score }) => score !== undefined).map(({ id }) => id);
  const from = items[0]?.range?.from;
  const to = items.at(-1)?.range?.to;
  const range = best.range && from !== undefined && to !== undefined ? { range: { ...best.range, from, to } } : {};
  return { ...best, ...range, tokens, hits };
}
