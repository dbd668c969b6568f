/** The left column: a new conversation, the search, the projects, and the conversations. */

import { ChatSearch } from "./chat-search.ts";
import { startConversation, startTemporary } from "./conversation-edits.ts";
import { button, byId, element, fill } from "./element.ts";
import { projectFilter } from "./projects.ts";
import { isTemporary } from "./temporary-chats.ts";
import { openDrawer, showConversation } from "./views.ts";
import { visibleLine, visibleTitle } from "./visible-text.ts";
import { formatCount, formatShortDay } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

type Conversation = Workspace["conversations"][number];

/** Rows shown at first, and more with each click. */
const ROWS = 100;

/** Fills the column and keeps it current. */
export function conversationList(root: HTMLElement, workspace: Workspace): void {
  const list = element("ul", { class: "conversation-items", id: "conversation-items" });
  const older = button("Show older", () => void workspace.attempt(showOlder), { class: "quiet", hidden: true });
  const start = button("New chat", () => open(workspace, () => startConversation(workspace, workspace.project)), { class: "primary", id: "new-conversation" });
  const passing = button("Temporary", () => open(workspace, () => startTemporary(workspace)), { id: "new-temporary", title: "A chat of which nothing is remembered" });
  const search = new ChatSearch(workspace, (isUsed) => {
    list.hidden = isUsed;
    show();
  });
  root.append(
    element("h2", { class: "visually-hidden" }, "Conversations"),
    element("div", { class: "new-chat" }, start, passing),
    search.box, projectFilter(workspace), search.results, list, older,
  );
  document.addEventListener("keydown", (event) => {
    if (event.key !== "k" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    openDrawer();
    search.box.focus();
  });
  let rows = ROWS;
  async function showOlder(): Promise<void> {
    rows += ROWS;
    if (listed(workspace).length < rows) await workspace.listOlder();
    show();
  }
  const show = (): void => {
    const all = listed(workspace);
    older.hidden = list.hidden || (all.length <= rows && !workspace.olderConversations);
    const nodes = all.slice(0, rows).map((conversation) => row(workspace, conversation));
    const focused = focusedRow(list);
    fill(list, ...(nodes.length > 0 ? nodes : [element("li", { class: "empty" }, "None yet.")]));
    if (focused === null) return;
    const same = [...list.querySelectorAll<HTMLElement>(".conversation-open")].find(({ dataset }) => dataset["conversation"] === focused);
    (same ?? start).focus({ preventScroll: true });
  };
  workspace.subscribe(["conversations"], show);
}

function listed({ conversations, project }: Workspace): Conversation[] {
  return project === null ? conversations : conversations.filter(({ projectId }) => projectId === project);
}

/** The conversation whose row has the keyboard: the rows are built anew with every change. */
function focusedRow(list: HTMLElement): string | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && list.contains(activeElement) ? activeElement.dataset["conversation"] ?? null : null;
}

/** Runs an action that opens a conversation, and shows it. */
function open(workspace: Workspace, action: () => Promise<unknown>): void {
  void workspace.attempt(action).then((done) => {
    if (!done) return;
    showConversation();
    // On a small screen the list is gone now, and the keyboard with it.
    if (!byId("conversations").checkVisibility()) byId("transcript").focus({ preventScroll: true });
  });
}

function row(workspace: Workspace, conversation: Conversation): HTMLElement {
  const { id, messageCount, projectId, title, updatedAt } = conversation;
  const isCurrent = id === workspace.current?.id;
  const isPassing = isTemporary(conversation);
  const about = isPassing
    ? "Temporary, not remembered"
    : [formatShortDay(new Date(updatedAt)), formatCount(messageCount, "message"), workspace.project === null && projectId ? visibleLine(projectId) : ""].filter((word) => word !== "").join(" · ");
  return element(
    "li",
    { class: isCurrent ? "conversation current" : "conversation" },
    element(
      "button",
      {
        type: "button",
        class: "conversation-open",
        "aria-current": isCurrent ? "true" : undefined,
        "data-conversation": id,
        on: { click: () => open(workspace, () => workspace.select(id)) },
      },
      element("span", { class: "conversation-title" }, messageCount === 0 && isPassing ? "Temporary chat" : visibleTitle(title)),
      element("span", { class: "conversation-about" }, about),
    ),
  );
}
