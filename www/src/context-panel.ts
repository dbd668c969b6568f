/** The built context: how the window is used, what is in it and why, what was left out, and the exact prompt. */

import { contextBar } from "./context-bar.ts";
import { contextChangeView } from "./context-change.ts";
import { contextItem, openItem } from "./context-item.ts";
import { leftOutView } from "./context-left-out.ts";
import { contextMap } from "./context-map.ts";
import type { Piece } from "./context-pieces.ts";
import { contextSettings } from "./context-settings.ts";
import { element, fill } from "./element.ts";
import { promptView } from "./prompt-view.ts";
import { reasonSentence } from "./reasons.ts";
import { foundItems, type ShownSection } from "./receipt-view.ts";
import { sectionLook } from "./sections.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount, formatNumber, humanise } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

/** The sections that every app has, in the order of the prompt. */
const GUIDE = ["system", "memory", "summary", "recent", "retrieved", "question"];

/** Fills the panel and keeps it current. `goTo` scrolls the transcript. */
export function contextPanel(root: HTMLElement, workspace: Workspace, goTo: (seq: number) => void): void {
  const shown = element("div", { class: "context" });
  root.append(shown, contextSettings(workspace));
  let last: Inquiry | null = null;
  const update = (): void => {
    const { inquiry } = workspace;
    if (inquiry && inquiry === last) return;
    last = inquiry;
    fill(shown, inquiry ? built(inquiry, workspace, goTo) : nothingYet());
  };
  workspace.subscribe(["inquiry"], update);
  update();
}

function nothingYet(): HTMLElement {
  return element(
    "div",
    { class: "empty" },
    element("h2", {}, "No context yet"),
    element("p", {}, "Ask a question. Here you then see every token that a model would be sent, and the reason for each piece:"),
    element("ul", { class: "section-guide" }, ...GUIDE.map((name) => {
      const { about, label } = sectionLook(name);
      return element("li", {}, element("span", { class: "swatch", "data-section": name, "aria-hidden": true }),
        element("span", {}, element("b", {}, label), ` ${about}`));
    })),
  );
}

function built(inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): HTMLElement {
  const { receipt } = inquiry.context;
  const chosen = element("div", { class: "chosen-piece", id: "chosen-piece", "aria-live": "polite" },
    element("p", { class: "fine" }, "Click a piece of the bar, or step through it with the arrow keys."));
  const choose = ({ items, section }: Piece): void => {
    const [only, ...others] = items;
    if (!only) return;
    const head = element("p", { class: "chosen-head", "data-section": section },
      element("span", { class: "swatch", "data-section": section, "aria-hidden": true }),
      element("b", {}, sectionLook(section).label), others.length > 0 ? ` ${formatCount(items.length, "piece")}` : "");
    fill(chosen, head, others.length === 0
      ? openItem(only, section, inquiry, workspace, goTo)
      : element("ul", { class: "items" }, ...items.map((item) => contextItem(item, section, inquiry, workspace, goTo, false))));
  };
  const sections = element("div", { class: "sections" });
  fill(sections, ...inquiry.sections.filter((section) => section.tokens > 0 || section.dropped.length > 0)
    .map((section) => sectionView(section, inquiry, workspace, goTo)));
  return element(
    "div",
    {},
    element("h2", { class: "context-question" }, visibleLine(inquiry.question)),
    totals(inquiry),
    contextBar(inquiry.context, inquiry.sections, chosen, choose),
    contextMap(inquiry, workspace, goTo),
    retrievalNote(inquiry),
    receipt.repairs.length > 0 ? element("p", { class: "fine" }, `${formatCount(receipt.repairs.length, "repair")}: ${receipt.repairs
      .map(repairWords).join("; ")}`) : null,
    element("h3", {}, "What is in it"),
    sections,
    leftOutView(inquiry.sections, workspace.messages),
    contextChangeView(inquiry, workspace.messages),
    promptView(inquiry, workspace),
  );
}

/** What was done; a repair is `{ rule, seq, what }`. */
function repairWords(repair: unknown): string {
  const what = typeof repair === "object" && repair !== null && "what" in repair ? repair.what : repair;
  const seq = typeof repair === "object" && repair !== null && "seq" in repair && typeof repair.seq === "number" ? repair.seq : null;
  const words = typeof what === "string" ? humanise(what) : "a rule of the format was restored";
  return seq === null ? words : `${words} (message ${seq})`;
}

function totals(inquiry: Inquiry): HTMLElement {
  const { total, window, reserve, exact, fullHistory } = inquiry.context.receipt.tokens;
  const room = window - reserve;
  const saved = Math.round((1 - total / fullHistory) * 100);
  const replay = fullHistory > room
    ? `Sending everything would take ${formatNumber(fullHistory)} tokens and not fit.`
    : `Sending everything would take ${formatNumber(fullHistory)} tokens.`;
  return element(
    "div",
    { class: "totals" },
    element("p", { class: "total" },
      element("strong", { id: "context-total", "data-tokens": total }, formatNumber(total)),
      ` of ${formatNumber(room)} tokens${exact ? "" : " (estimated)"}`),
    element("p", { class: "fine" }, `${replay} `, saved > 0 ? element("b", { class: "saving" }, `${saved}% saved.`) : null),
  );
}

function retrievalNote(inquiry: Inquiry): HTMLElement {
  const { decision, reasons, mode, candidates, ms } = inquiry.context.receipt.retrieval;
  const how = { hybrid: "by words and meaning", lexical: "by words only", none: "not run" }[mode];
  return element(
    "p",
    { class: "retrieval-note", "data-decision": decision, "data-mode": mode },
    element("b", {}, `Search: ${how}`),
    mode === "none" ? "" : `, ${formatCount(candidates, "candidate")}, ${ms.toFixed(1)} ms`,
    `. ${reasonSentence(reasons)}`,
    ...inquiry.context.receipt.notes.map((note) => element("span", { class: "note" }, `${note.charAt(0).toUpperCase()}${note.slice(1)}.`)),
  );
}

function sectionView(section: ShownSection, inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): HTMLElement {
  const look = sectionLook(section.name);
  const items = element("ul", { class: "items" });
  const details = element(
    "details",
    { class: "section", "data-section": section.name },
    element(
      "summary",
      {},
      element("span", { class: "swatch", "data-section": section.name, "aria-hidden": true }),
      element("span", { class: "section-label" }, look.label),
      element("span", { class: "section-count" }, section.items.length > 1 ? formatCount(section.items.length, "piece") : ""),
      element("span", { class: "section-tokens" }, formatNumber(section.tokens)),
    ),
    element("p", { class: "fine" }, `${look.about} ${section.cap > 0 ? `At most ${formatNumber(section.cap)} tokens.` : ""}`),
    items,
  );
  // Built when opened: the recent section alone can hold a hundred messages.
  const best = foundItems(inquiry.sections)[0];
  const fillItems = (): void => {
    if (items.childElementCount > 0) return;
    fill(items, ...section.items.map((item) =>
      contextItem(item, section.name, inquiry, workspace, goTo, section.name === "retrieved" && item === best)));
  };
  details.addEventListener("toggle", fillItems);
  if (section.name === "retrieved" && section.items.length > 0) {
    details.open = true;
    fillItems();
  }
  return details;
}
