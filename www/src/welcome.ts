/** What stands in the transcript where there are no messages. */

import { startConversation, startTemporary } from "./conversation-edits.ts";
import { button, element } from "./element.ts";
import { loadSample } from "./sample.ts";
import { isTemporary } from "./temporary-chats.ts";
import { showView } from "./views.ts";
import type { Workspace } from "./workspace.ts";

/** The words for how it stands: opening, failed, nothing there yet, or an empty conversation. */
export function placeholder(workspace: Workspace): HTMLElement {
  const { conversations, current, memory, status } = workspace;
  if (current && isTemporary(current)) return passingConversation();
  if (current) return emptyConversation(conversations.some(({ messageCount }) => messageCount > 0));
  if (memory) return welcome(workspace);
  if (status.kind !== "error") return element("p", { class: "empty" }, "Opening the memory on this device.");
  return element(
    "div",
    { class: "welcome", role: "alert" },
    element("h2", {}, "The memory could not be opened"),
    element("p", {}, status.words),
    element("p", { class: "fine" }, `Code: ${status.error?.code ?? "error"}`),
    element("p", { class: "actions" }, button("Try again", () => location.reload(), { class: "primary" })),
  );
}

function welcome(workspace: Workspace): HTMLElement {
  const act = (action: () => Promise<unknown>): void => void workspace.attempt(action);
  return element(
    "div",
    { class: "welcome" },
    element("h2", {}, "A long conversation, and the right words from it"),
    element("p", {},
      "A model cannot read everything again for each question. Throughline keeps every message on your device and decides "
        + "what the model is sent: the newest messages, what it knows about you, and the old ones that this question needs."),
    element("p", {},
      "Open the sample: twelve weeks of work on a website for a choir, 566 messages. Then ask about something said on the first evening."),
    element("p", { class: "actions" },
      button("Try the sample conversation", () => act(() => loadSample(workspace)), { class: "primary", id: "try-sample" }),
      button("See the race: 3,000 tokens or 18,000", () => showView("race"), { id: "see-race" }),
      button("Import your chats", () => showView("import")),
      button("Start an empty one", () => act(() => startConversation(workspace, workspace.project))),
      button("Temporary chat", () => act(() => startTemporary(workspace)), { class: "quiet" })),
    element("p", { class: "fine" },
      "No account, no key, no server: search and context run in this page, and what you type stays in this browser."),
  );
}

function emptyConversation(isOtherThere: boolean): HTMLElement {
  const words = isOtherThere
    ? "Nothing said here yet. Ask about your other conversations, or add a message; it is stored on this device, and later questions can find it."
    : "Nothing said yet. Write below; it is stored on this device, and later questions can find it.";
  return element("p", { class: "empty" }, words);
}

function passingConversation(): HTMLElement {
  return element(
    "div",
    { class: "welcome" },
    element("h2", {}, "A temporary chat"),
    element("p", {}, "Nothing that is said here is searched, summarised for other chats or learned as a fact. It is deleted when you go to another chat or, if you close the page before, when the page is opened next."),
    element("p", { class: "fine" }, "What is known about you from other chats can still be used here. “Keep this chat” makes an ordinary one of it."),
  );
}
