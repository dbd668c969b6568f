/** Above the transcript: which conversation it is, its project, and what can be done with it as a whole. */

import { assignProject, deleteConversation, keepTemporary, renameConversation } from "./conversation-edits.ts";
import { askForText, confirmAction } from "./confirm.ts";
import { button, byId, element, fill } from "./element.ts";
import { projectsOf } from "./projects.ts";
import { isTemporary } from "./temporary-chats.ts";
import { visibleLine, visibleTitle } from "./visible-text.ts";
import { formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

type Current = NonNullable<Workspace["current"]>;

/** Stands in the list of projects for a new one. */
const NEW_PROJECT = "\n";

/** The head of the middle column. */
export class ChatHead {
  readonly #workspace: Workspace;
  readonly #root = element("header", { class: "chat-head" });
  /** Id of the conversation whose title is being edited. */
  #renaming: string | null = null;

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace;
    root.append(this.#root);
    workspace.subscribe(["conversations", "messages"], () => this.#show());
  }

  #show(): void {
    const { current } = this.#workspace;
    if (!current) {
      this.#renaming = null;
      fill(this.#root);
      return;
    }
    // A title that is being edited stays as it is, until another conversation is chosen.
    if (this.#renaming === current.id) return;
    this.#renaming = null;
    const { activeElement } = document;
    const focused = this.#root.contains(activeElement) ? activeElement?.id : undefined;
    const isPassing = isTemporary(current);
    fill(
      this.#root,
      element("div", { class: "chat-name" },
        element("h2", { class: "chat-title", id: "chat-title" }, isPassing && current.messageCount === 0 ? "Temporary chat" : visibleTitle(current.title)),
        element("p", { class: "chat-about" }, isPassing
          ? "Temporary: not searched, not remembered, deleted when you leave it."
          : `${formatCount(current.messageCount, "message")}, ${formatCount(current.tokens, "token")}`)),
      element("div", { class: "actions chat-actions" }, ...(isPassing
        ? [button("Keep this chat", () => this.#act((id) => keepTemporary(this.#workspace, id)), { id: "keep-chat" })]
        : [this.#projectChoice(current), button("Rename", () => this.#rename(current.id, current.title), { class: "quiet", id: "rename" })]),
        button("Delete", () => void this.#delete(current.id, current.title), { class: "quiet", id: "delete-conversation" })),
    );
    // The buttons are built anew with every change; from the form the keyboard goes back to where it was opened.
    if (focused !== undefined) (document.getElementById(focused) ?? document.getElementById("rename"))?.focus({ preventScroll: true });
  }

  #act(action: (conversationId: string) => Promise<unknown>): void {
    const { current } = this.#workspace;
    if (current) void this.#workspace.attempt(() => action(current.id));
  }

  #projectChoice({ projectId }: Current): HTMLElement {
    const choice = element("select", { id: "chat-project", "aria-label": "Project of this chat" },
      element("option", { value: "", selected: projectId === null }, "No project"),
      ...projectsOf(this.#workspace.conversations, projectId).map((name) => element("option", { value: name, selected: name === projectId }, visibleLine(name))),
      element("option", { value: NEW_PROJECT }, "New project"));
    choice.addEventListener("change", () => void this.#assign(choice.value, projectId));
    return choice;
  }

  async #assign(chosen: string, before: string | null): Promise<void> {
    const name = chosen === NEW_PROJECT ? await askForText("New project", "Name of the project", "Make it") : chosen;
    // Given up: the choice shows again what it was.
    if (name === null || name === before) this.#show();
    else this.#act((id) => assignProject(this.#workspace, id, name === "" ? null : name));
  }

  async #delete(conversationId: string, title: string): Promise<void> {
    const name = visibleTitle(title);
    const consequence = `“${name}” and everything derived from it (vectors, summary, facts learned from it) will be gone.`;
    if (await confirmAction("Delete this conversation?", consequence, "Delete")) {
      await this.#workspace.attempt(() => deleteConversation(this.#workspace, conversationId));
      byId("transcript").focus({ preventScroll: true });
    }
  }

  #rename(conversationId: string, title: string): void {
    const input = element("input", { type: "text", value: title, "aria-label": "Title", maxlength: 200, id: "title-input" });
    const done = (): void => {
      if (this.#renaming !== conversationId) return;
      this.#renaming = null;
      this.#show();
    };
    const form = element(
      "form",
      { class: "rename" },
      input,
      element("button", { type: "submit" }, "Save"),
      button("Cancel", done, { class: "quiet" }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#workspace.attempt(() => renameConversation(this.#workspace, conversationId, input.value)).then((isRenamed) => {
        if (isRenamed) done();
      });
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done();
    });
    this.#renaming = conversationId;
    fill(this.#root, form);
    input.select();
  }
}
