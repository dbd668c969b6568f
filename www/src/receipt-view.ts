/** A receipt as the page draws it: found messages that stand side by side are one piece, named after its best hit. */

import type { Receipt, ReceiptItem, ReceiptSection } from "throughline";

/** The sections of a receipt in the order of the prompt, with the found messages joined to pieces. */
export function readSections({ sections }: Receipt): ReceiptSection[] {
  return sections.map((section) => (section.name === "retrieved" ? { ...section, items: joined(section.items) } : section));
}

/** What was found, best first. */
export function foundItems(sections: readonly ReceiptSection[]): ReceiptItem[] {
  const found = sections.find(({ name }) => name === "retrieved")?.items ?? [];
  return [...found].sort((one, other) => (other.score ?? 0) - (one.score ?? 0));
}

function joined(items: readonly ReceiptItem[]): ReceiptItem[] {
  const pieces: ReceiptItem[] = [];
  for (const item of items) {
    const last = pieces.at(-1);
    if (!last?.range || !item.range || !isNext(last.range, item.range)) {
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

function isNext(last: NonNullable<ReceiptItem["range"]>, range: NonNullable<ReceiptItem["range"]>): boolean {
  return last.conversationId === range.conversationId && last.to + 1 === range.from;
}
