/** The list of conversations, with what starts a new one: empty, the sample, an export of another app, or the measuring data. */

import { button, byId, element, fill } from "./element.ts";
import { importPanel } from "./import-panel.ts";
import { loadLocomo, locomoConversations } from "./locomo.ts";
import { loadSample } from "./sample.ts";
import { showView } from "./views.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Fills the sidebar and keeps it current. */
export function conversationList(root: HTMLElement, workspace: Workspace): void {
  const list = element("ul", { class: "conversation-items", id: "conversation-items" });
  const older = button("Show older", () => void workspace.attempt(() => workspace.listOlder()), {
    class: "quiet",
    hidden: true,
  });
  const start = button("New conversation", () => open(workspace, () => workspace.create()), { class: "wide", id: "new-conversation" });
  const bringIn = element("details", { class: "bring-in", open: true },
    element("summary", {}, "Bring chats in"),
    importPanel(workspace),
    button("Sample conversation", () => open(workspace, () => loadSample(workspace)), { class: "wide", id: "load-sample" }),
    measuringData(workspace));
  root.append(element("h2", {}, "Conversations"), start, bringIn, list, older);
  let wasEmpty = true;
  workspace.subscribe(["conversations"], () => {
    older.hidden = !workspace.olderConversations;
    const isEmpty = workspace.conversations.length === 0;
    // Open where there is nothing else to do; from then on as the person leaves it.
    if (isEmpty !== wasEmpty) bringIn.open = isEmpty;
    wasEmpty = isEmpty;
    const rows = workspace.conversations.map((conversation) => row(workspace, conversation));
    const focused = focusedRow(list);
    fill(list, ...(rows.length > 0 ? rows : [element("li", { class: "empty" }, "None yet.")]));
    if (focused === null) return;
    const same = [...list.querySelectorAll<HTMLElement>(".conversation-open")].find(({ dataset }) => dataset["conversation"] === focused);
    (same ?? start).focus({ preventScroll: true });
  });
}

/** The conversation whose row has the keyboard: the rows are built anew with every change. */
function focusedRow(list: HTMLElement): string | null {
  const { activeElement } = document;
  return activeElement instanceof HTMLElement && list.contains(activeElement) ? activeElement.dataset["conversation"] ?? null : null;
}

/** Runs an action that opens a conversation, and shows it on small screens. */
function open(workspace: Workspace, action: () => Promise<unknown>): void {
  void workspace.attempt(action).then((done) => {
    if (!done) return;
    showView("chat");
    // On a small screen the list is gone now, and the keyboard with it.
    if (byId("conversations").offsetParent === null) byId("transcript").focus({ preventScroll: true });
  });
}

function row(workspace: Workspace, conversation: Workspace["conversations"][number]): HTMLElement {
  const isCurrent = conversation.id === workspace.current?.id;
  const title = visibleLine(conversation.title) || "Untitled";
  return element(
    "li",
    { class: isCurrent ? "conversation current" : "conversation" },
    element(
      "button",
      {
        type: "button",
        class: "conversation-open",
        "aria-current": isCurrent ? "true" : undefined,
        "data-conversation": conversation.id,
        on: { click: () => open(workspace, () => workspace.select(conversation.id)) },
      },
      element("span", { class: "conversation-title" }, title),
      element("span", { class: "conversation-about" }, formatCount(conversation.messageCount, "message")),
    ),
  );
}

function measuringData(workspace: Workspace): HTMLElement {
  const choice = element("select", { id: "locomo" });
  const label = element("label", { class: "measuring", hidden: true }, "Measuring data (LoCoMo)", choice);
  void locomoConversations().then((conversations) => {
    label.hidden = conversations.length === 0;
    const options = conversations.map(({ id, a, b, turns }) =>
      element("option", { value: id }, `${a} and ${b}, ${formatCount(turns.length, "message")}`));
    fill(choice, element("option", { value: "" }, "Choose one"), ...options);
    choice.addEventListener("change", () => {
      const chosen = conversations.find(({ id }) => id === choice.value);
      choice.value = "";
      if (chosen) open(workspace, () => loadLocomo(workspace, chosen));
    });
  });
  return label;
}
