/** Projects: a name that several conversations share. Which there are, which one the list shows, and what it came to. */

import type { Conversation, SummarySection } from "throughline";
import { element, fill } from "./element.ts";
import { visibleLine } from "./visible-text.ts";
import { humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** The projects of these conversations, and this one, by name. */
export function projectsOf(conversations: readonly Conversation[], further: string | null = null): string[] {
  const names = [...conversations.map(({ projectId }) => projectId), further].filter((name) => name !== null);
  return [...new Set(names)].sort((one, other) => one.localeCompare(other));
}

/** The choice of a project, hidden where there is none, and below it what is known of the chosen one. */
export function projectFilter(workspace: Workspace): HTMLElement {
  const choice = element("select", { id: "project-filter", "aria-label": "Show chats of" });
  const summary = element("details", { class: "project-summary", hidden: true });
  const root = element("div", { class: "project-filter", hidden: true }, choice, summary);
  choice.addEventListener("change", () => void workspace.attempt(async () => {
    await workspace.showProject(choice.value === "" ? null : choice.value);
    await showSummary(workspace, summary);
  }));
  workspace.subscribe(["conversations"], () => {
    const names = projectsOf(workspace.conversations, workspace.project);
    root.hidden = names.length === 0;
    fill(choice, element("option", { value: "" }, "All chats"),
      ...names.map((name) => element("option", { value: name, selected: name === workspace.project }, `Project: ${visibleLine(name)}`)));
    if (workspace.project === null) summary.hidden = true;
  });
  return root;
}

async function showSummary(workspace: Workspace, place: HTMLDetailsElement): Promise<void> {
  const { project } = workspace;
  const member = workspace.conversations.find(({ projectId }) => projectId === project);
  place.hidden = project === null;
  if (project === null || !member) return;
  const { tree } = await workspace.opened().summary(member.id);
  if (workspace.project !== project) return;
  const known = tree.find(({ level }) => level === "project")?.sections ?? [];
  fill(place, element("summary", {}, "What this project came to"), ...(known.length > 0
    ? known.map(sectionView)
    : [element("p", { class: "fine" }, "Nothing yet. With a model on, each session of its chats is summarised when it has ended, and the project's summary is made from those.")]));
}

function sectionView({ items, name }: SummarySection): HTMLElement {
  return element("div", {}, element("h3", {}, humanise(name)), element("ul", { class: "prose-list" }, ...items.map((item) => element("li", {}, visibleLine(item)))));
}
