import { createElement as h, type ReactElement, type ReactNode } from "react";
import type { Receipt, ReceiptDrop, ReceiptItem, ReceiptSection, Scores } from "../../index.js";
import { filled, wordFor, wordsOf, type InspectorWords, type WithWords } from "./wording.js";

/** Props of {@link ContextSections}. */
export interface ContextSectionsProps extends WithWords {
  /** Of a built context. */
  receipt: Receipt;
  /** What an item says, e.g. the text of the message: a receipt has only ids and places. Default: its place. */
  renderItem?: (item: ReceiptItem, section: ReceiptSection) => ReactNode;
  className?: string;
}

/** Every section of a context that has something in it or left something out, each item with the reason why it is there. */
export function ContextSections(props: ContextSectionsProps): ReactElement {
  const { receipt, renderItem, className } = props;
  const words = wordsOf(props);
  const shown = receipt.sections.filter(({ items, dropped }) => items.length > 0 || dropped.length > 0);
  return h("div", { className, "data-throughline": "context-sections" }, shown.map((section) => sectionPart(section, words, renderItem)));
}

function sectionPart(section: ReceiptSection, words: InspectorWords, renderItem: ContextSectionsProps["renderItem"]): ReactElement {
  const { name, tokens, items, dropped } = section;
  const content = items.map((item, index) =>
    h(
      "li",
      { key: `${item.kind} ${item.id} ${index}`, "data-kind": item.kind, "data-role": item.role },
      h("div", { "data-part": "item" }, renderItem?.(item, section) ?? itemName(item, words)),
      h(WhyRecalled, { item, words }),
    ),
  );
  return h(
    "details",
    { key: name, "data-section": name },
    h("summary", null, wordFor(words.sections, name), " ", h("span", { "data-part": "tokens" }, filled(words.tokens, { tokens }))),
    items.length > 0 ? h("ul", { "data-part": "items" }, content) : h("p", { "data-part": "nothing" }, words.nothing),
    dropped.length > 0 ? droppedPart(dropped, words) : null,
  );
}

/** What was left out, by reason: there can be thousands. */
function droppedPart(dropped: readonly ReceiptDrop[], words: InspectorWords): ReactElement {
  const reasons = [...new Set(dropped.map(({ reason }) => reason))];
  const rows = reasons.map((reason) => {
    const those = dropped.filter((each) => each.reason === reason);
    const tokens = those.reduce((sum, each) => sum + each.tokens, 0);
    return h("li", { key: reason, "data-reason": reason }, `${wordFor(words.reasons, reason)} ${those.length.toLocaleString()} × (${filled(words.tokens, { tokens })})`);
  });
  return h("div", { "data-part": "dropped" }, h("p", null, words.leftOut), h("ul", null, rows));
}

function itemName({ kind, id, range }: ReceiptItem, words: InspectorWords): string {
  if (range === undefined) return kind === "fact" || kind === "document" ? id : "";
  if (range.from === range.to) return filled(words.message, { position: range.from });
  return filled(words.range, { from: range.from, to: range.to });
}

/** Props of {@link WhyRecalled}. */
export interface WhyRecalledProps extends WithWords {
  /** An item of a receipt. */
  item: ReceiptItem;
  className?: string;
}

/** Why an item is in a context: the reason in words, its tokens, and for what was found the score with the signals behind it. */
export function WhyRecalled(props: WhyRecalledProps): ReactElement {
  const { item, className } = props;
  const words = wordsOf(props);
  const { reason, score, scores, tokens } = item;
  const facts = [wordFor(words.reasons, reason), filled(words.tokens, { tokens }), ...(score === undefined ? [] : [filled(words.score, { score: percent(score) })])];
  return h(
    "div",
    { className, "data-throughline": "why", "data-reason": reason },
    h("p", null, facts.join(" · ")),
    scores === undefined ? null : signalList(scores, words),
  );
}

/** The signals that have a name here and were used. */
function signalList(scores: Scores, words: InspectorWords): ReactElement | null {
  const used = Object.keys(words.signals).flatMap((name) => {
    const value = scores[name as keyof Scores];
    return typeof value === "number" && value > 0 ? [{ name, value }] : [];
  });
  if (used.length === 0) return null;
  const rows = used.map(({ name, value }) =>
    h(
      "div",
      { key: name, "data-signal": name },
      h("dt", null, wordFor(words.signals, name)),
      h("dd", null, h("meter", { min: 0, max: 1, value, "aria-label": wordFor(words.signals, name) }), ` ${percent(value)} %`),
    ),
  );
  return h("dl", { "data-part": "signals" }, rows);
}

function percent(share: number): number {
  return Math.round(share * 100);
}
