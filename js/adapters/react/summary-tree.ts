import { createElement as h, type ReactElement } from "react";
import type { Summary, SummaryNode, SummarySection } from "../../index.js";
import { filled, wordFor, wordsOf, type InspectorWords, type WithWords } from "./wording.js";

/** Props of {@link SummaryTree}. */
export interface SummaryTreeProps extends WithWords {
  /** Of `useSummary`, or `memory.summary`. */
  summary: Summary;
  /** Shows the messages that a part of the summary stands for; without it their places are text. */
  onShowRange?: (from: number, to: number) => unknown;
  className?: string;
}

/** A rolling summary by its sections, and below it what it was made of: topics and parts, each down to its messages. */
export function SummaryTree(props: SummaryTreeProps): ReactElement {
  const { summary, className } = props;
  const words = wordsOf(props);
  if (summary.version === 0) return h("p", { className, "data-throughline": "summary-tree" }, words.noSummary);
  const roots = rootsOf(summary.tree);
  return h(
    "div",
    { className, "data-throughline": "summary-tree" },
    sectionList(summary.sections, words),
    roots.length === 0 ? null : h("ul", { "data-part": "nodes" }, roots.map((node, index) => nodePart(node, index, summary.tree, props, words))),
  );
}

/** Nodes that no other node of this conversation stands on. */
function rootsOf(tree: readonly SummaryNode[]): SummaryNode[] {
  const own = tree.filter(({ level }) => level !== "project");
  return own.filter((node) => !own.some((other) => belowOf(other, own).includes(node)));
}

function belowOf(node: SummaryNode, tree: readonly SummaryNode[]): SummaryNode[] {
  if (node.level === "chunk" || node.level === "project") return [];
  const isBelow = (other: SummaryNode): boolean => (node.level === "conversation" ? other.level === "topic" || other.level === "chunk" : other.level === "chunk");
  // A topic begins where its first chunk does: of two that begin at a place, the higher one is right below.
  const firsts = new Map(tree.filter(isBelow).sort((one, other) => Number(one.level === "topic") - Number(other.level === "topic")).map((other) => [other.range?.[0], other]));
  return node.children.flatMap((first) => firsts.get(first) ?? []);
}

function nodePart(node: SummaryNode, index: number, tree: readonly SummaryNode[], props: SummaryTreeProps, words: InspectorWords): ReactElement {
  const { level, range, sections, dirty } = node;
  const below = belowOf(node, tree);
  const place = range === undefined ? "" : filled(words.range, { from: range[0], to: range[1] });
  const { onShowRange } = props;
  const show = range === undefined || onShowRange === undefined ? null
    : h("button", { type: "button", "data-action": "show-range", onClick: () => void onShowRange(range[0], range[1]) }, place);
  return h(
    "li",
    { key: `${level} ${range?.[0] ?? index}`, "data-level": level, "data-dirty": dirty ? "" : undefined },
    h(
      "details",
      null,
      h("summary", null, wordFor(words.summary, level), " ", h("span", { "data-part": "range" }, place), dirty ? h("span", { "data-part": "dirty" }, ` ${words.outdated}`) : null),
      sectionList(sections, words),
      show,
      below.length === 0 ? null : h("ul", { "data-part": "nodes" }, below.map((child, position) => nodePart(child, position, tree, props, words))),
    ),
  );
}

function sectionList(sections: readonly SummarySection[], words: InspectorWords): ReactElement {
  const filledSections = sections.filter(({ items }) => items.length > 0);
  const parts = filledSections.flatMap(({ name, items }) => [
    h("dt", { key: name }, wordFor(words.summary, name)),
    h("dd", { key: `${name} items`, "data-name": name }, h("ul", null, items.map((item, index) => h("li", { key: index }, item)))),
  ]);
  return h("dl", { "data-part": "sections" }, parts);
}
