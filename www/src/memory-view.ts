/** The memory inspector: facts about the person, what would be recalled, what was folded away, sessions, and the audit. */

import { auditView } from "./audit-view.ts";
import { element } from "./element.ts";
import { episodesView } from "./episodes-view.ts";
import { factsPanel } from "./facts-panel.ts";
import { showMessage } from "./navigation.ts";
import { recallView } from "./recall-view.ts";
import { summaryView } from "./summary-view.ts";
import type { Workspace } from "./workspace.ts";

/** Fills its place; what is folded is read when it is opened for the first time. */
export function memoryView(root: HTMLElement, workspace: Workspace): void {
  const show = (conversationId: string, seq: number): void => void showMessage(workspace, conversationId, seq);
  const facts = element("div", { class: "about-you" });
  root.append(
    facts,
    part("recall", "Why was this recalled?", (place) => recallView(place, workspace, show)),
    part("summary", "Summary of this conversation", (place) => summaryView(place, workspace, show)),
    part("episodes", "Sessions", (place) => episodesView(place, workspace, show)),
    part("audit", "Audit", (place) => auditView(place, workspace)),
  );
  factsPanel(facts, workspace, show);
}

/** Opens a part of the inspector, where it is on the page. */
export function openPart(name: "recall" | "summary" | "episodes" | "audit"): void {
  const details = document.querySelector<HTMLDetailsElement>(`#part-${name}`);
  if (!details) return;
  details.open = true;
  details.querySelector("summary")?.focus();
}

function part(name: string, title: string, mount: (place: HTMLElement) => void): HTMLElement {
  const place = element("div", { class: "part-body" });
  const details = element("details", { class: "part", id: `part-${name}` }, element("summary", {}, element("h2", {}, title)), place);
  details.addEventListener("toggle", () => {
    if (details.open && place.childElementCount === 0) mount(place);
  });
  return details;
}
