/** What has been folded away of the current conversation: the summary, the tree that it is made of, and making it anew. */

import type { Summary, SummaryNode, SummarySection } from "throughline";
import { button, element, fill } from "./element.ts";
import { TRUST } from "./fact-view.ts";
import { refreshing } from "./refresh.ts";
import { visibleLine } from "./visible-text.ts";
import { formatNumber, formatShortDay, formatTime, humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const SECTIONS: Readonly<Record<string, string>> = {
  goal: "Goal",
  confirmed: "Confirmed",
  decisions: "Decisions",
  constraints: "Constraints",
  failed: "Tried, and did not work",
  open: "Open questions",
  next: "Next steps",
  identifiers: "Named",
};

const LEVELS: Readonly<Record<SummaryNode["level"], string>> = { chunk: "Part", topic: "Topic", conversation: "Conversation", project: "Project" };

type Show = (conversationId: string, seq: number) => void;

/** Fills its place and keeps it current. */
export function summaryView(root: HTMLElement, workspace: Workspace, show: Show): void {
  const shown = element("div", { id: "summary" });
  const result = element("p", { class: "fine", role: "status", id: "summary-result" });
  const redo = button("Summarise now", () => void workspace.attempt(run), { id: "compact" });
  root.append(shown, element("div", { class: "actions" }, redo), result);
  let reads = 0;
  let known = "";
  const refresh = async (): Promise<void> => {
    const { current, memory, model } = workspace;
    redo.disabled = model === null || current === null;
    redo.title = model === null ? "This needs a model" : "";
    if (!memory || !current) {
      known = "";
      fill(shown, element("p", { class: "empty" }, "No conversation is open."));
      return;
    }
    const read = ++reads;
    const summary = await memory.summary(current.id);
    // What is unfolded stays so while nothing has changed.
    const seen = `${current.id} ${model !== null} ${JSON.stringify(summary)}`;
    if (read !== reads || seen === known) return;
    known = seen;
    const unfolded = new Set([...shown.querySelectorAll<HTMLElement>("details[open]")].map(({ dataset }) => dataset["node"]));
    fill(shown, ...summaryParts(summary, current.id, model !== null, show));
    for (const node of shown.querySelectorAll("details")) node.open = unfolded.has(node.dataset["node"]);
  };
  async function run(): Promise<void> {
    const { current } = workspace;
    if (!current) return;
    redo.disabled = true;
    result.textContent = "Summarising";
    try {
      const { summarizedUntilSeq } = await workspace.opened().compact(current.id, { force: true });
      result.textContent = summarizedUntilSeq > 0
        ? `Summarised up to message ${summarizedUntilSeq}. The summary goes into the next context.`
        : "There was nothing to summarise yet.";
    } catch (error) {
      result.textContent = "";
      throw error;
    } finally {
      await refresh();
    }
  }
  const update = refreshing(workspace, refresh);
  workspace.subscribe(["conversations", "model", "stats"], update);
  update();
}

function summaryParts({ sections, summarizedUntilSeq, tree, trust, updatedAt, version }: Summary, conversationId: string, hasModel: boolean, show: Show): HTMLElement[] {
  if (version === 0) {
    const why = hasModel ? "Nothing has been folded away yet: the conversation still fits as it is." : "Nothing has been folded away. Summaries need a model; without one old messages are found by search instead.";
    return [element("p", { class: "empty" }, why)];
  }
  const date = new Date(updatedAt);
  return [
    element("p", { class: "fine" },
      `Version ${version}, up to message ${formatNumber(summarizedUntilSeq)}, ${formatShortDay(date)} ${formatTime(date)}. Its trust: ${TRUST[trust ?? ""] ?? "not known"}.`),
    sectionList(sections),
    element("h4", {}, "What it is made of"),
    treeView(tree, conversationId, show),
  ];
}

function sectionList(sections: readonly SummarySection[]): HTMLElement {
  const present = sections.filter(({ items }) => items.length > 0);
  return element("dl", { class: "summary-sections" }, ...present.map(({ items, name }) =>
    element("div", {}, element("dt", {}, SECTIONS[name] ?? humanise(name)),
      element("dd", {}, element("ul", {}, ...items.map((item) => element("li", {}, visibleLine(item))))))));
}

/** The nodes, each below the one that was made of it. */
function treeView(tree: readonly SummaryNode[], conversationId: string, show: Show): HTMLElement {
  const below = new Set(tree.flatMap(({ children, level }) => (level === "conversation" || level === "topic" ? children.map((first) => first) : [])));
  const tops = tree.filter((node) => node.level === "project" || node.level === "conversation");
  const roots = tops.length > 0 ? tops : tree.filter(({ range }) => range === undefined || !below.has(range[0]));
  const branch = (node: SummaryNode): HTMLElement => {
    const children = node.level === "conversation" || node.level === "topic" ? childrenOf(node, tree) : [];
    return element("li", { class: "tree-node", "data-level": node.level },
      nodeView(node, conversationId, show),
      children.length > 0 && element("ul", { class: "tree" }, ...children.map(branch)));
  };
  return element("ul", { class: "tree", id: "summary-tree" }, ...roots.map(branch));
}

/** A conversation has topics, and the parts of none; a topic has parts. */
function childrenOf({ children, level }: SummaryNode, tree: readonly SummaryNode[]): SummaryNode[] {
  return children.flatMap((first) => {
    const candidates = tree.filter((node) => node.range?.[0] === first);
    const topic = level === "conversation" ? candidates.find((node) => node.level === "topic") : undefined;
    const node = topic ?? candidates.find((candidate) => candidate.level === "chunk");
    return node ? [node] : [];
  });
}

function nodeView({ conversationIds, dirty, level, range, sections, trust }: SummaryNode, conversationId: string, show: Show): HTMLElement {
  const lines = sections.reduce((sum, { items }) => sum + items.length, 0);
  const span = range
    ? button(`Messages ${range[0]} to ${range[1]}`, () => show(conversationId, range[0]), { class: "link", "data-from": range[0] })
    : element("span", {}, `${conversationIds?.length ?? 0} conversations`);
  return element(
    "details",
    { "data-node": `${level} ${range?.[0] ?? ""}` },
    element("summary", {}, element("b", {}, LEVELS[level]), ` ${range ? `${range[0]}-${range[1]}` : ""}`,
      element("span", { class: "fine" }, ` ${lines} lines${dirty ? ", to be made anew" : ""}`)),
    element("p", { class: "fine" }, span, trust ? `, ${TRUST[trust] ?? trust}` : ""),
    sectionList(sections),
  );
}
