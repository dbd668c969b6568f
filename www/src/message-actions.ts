/** What can be done with one message: copy it, say it in another way, have it answered anew, show another version, remove it. */

import { answerAnew } from "./asking.ts";
import { confirmAction } from "./confirm.ts";
import { copyButton } from "./copy-button.ts";
import { button, element } from "./element.ts";
import type { ShownMessage } from "./message.ts";
import { editMessage, removeMessage, turnTo } from "./message-edits.ts";
import type { Workspace } from "./workspace.ts";

/** The actions of a message as it stands in the transcript. */
export function messageActions(workspace: Workspace, message: ShownMessage): HTMLElement {
  const conversationId = workspace.current?.id ?? "";
  const place = element("div", { class: "message-actions" });
  const edit = (): void => {
    const article = place.closest("article");
    if (article) openEditor(article, message, workspace.model !== null, (text) => sayAnew(workspace, conversationId, message, text));
  };
  const remove = async (): Promise<void> => {
    const consequence = "Its text, its vector and what was learned from it alone will be gone for good. What followed it stays.";
    if (await confirmAction("Delete this message?", consequence, "Delete")) {
      await workspace.attempt(() => removeMessage(workspace, conversationId, message.id));
    }
  };
  const isWhole = message.status !== "streaming";
  place.append(
    copyButton("Copy message", () => message.text),
    ...(isWhole && workspace.model && message.role === "assistant" ? regenerate(workspace, message) : []),
    ...(isWhole && message.role === "user" ? [button("Edit", edit, { class: "quiet small", "data-action": "edit" })] : []),
    ...(isWhole ? [button("Delete", () => void remove(), { class: "quiet small", "data-action": "delete" })] : []),
  );
  return place;
}

/** With a model on, the message in its new words is answered at once. True once it is stored. */
async function sayAnew(workspace: Workspace, conversationId: string, message: ShownMessage, text: string): Promise<boolean> {
  const isStored = await workspace.attempt(() => editMessage(workspace, conversationId, message, text));
  const said = workspace.messages.at(-1);
  if (isStored && said) void answerAnew(workspace, said, null);
  return isStored;
}

/** Answers what was asked before this message once more. */
function regenerate(workspace: Workspace, message: ShownMessage): HTMLElement[] {
  const { messages } = workspace;
  const question = messages.slice(0, messages.indexOf(message)).reverse().find(({ role }) => role === "user");
  if (!question) return [];
  return [button("Answer again", () => void answerAnew(workspace, question, message.id), { class: "quiet small", "data-action": "regenerate" })];
}

/** `‹ 2 of 3 ›`, for a message that was said in several ways. */
export function versionSwitch(workspace: Workspace, messageId: string): HTMLElement | null {
  const conversationId = workspace.current?.id ?? "";
  const versions = workspace.versions.get(messageId);
  if (!versions) return null;
  const { ids, shown } = versions;
  const step = (to: number, label: string, sign: string): HTMLElement => {
    const id = ids[to];
    const turn = (): void => void (id !== undefined && workspace.attempt(() => turnTo(workspace, conversationId, id)));
    return button(sign, turn, { class: "quiet small", "aria-label": label, disabled: id === undefined });
  };
  return element("span", { class: "versions" },
    step(shown - 1, "Version before", "‹"), `${shown + 1} of ${ids.length}`, step(shown + 1, "Next version", "›"));
}

function openEditor(article: HTMLElement, message: ShownMessage, isAnswered: boolean, save: (text: string) => Promise<boolean>): void {
  if (article.querySelector(".message-editor")) return;
  const input = element("textarea", { rows: 4, "aria-label": "The message in another way" });
  input.value = message.text;
  const form = element("form", { class: "message-editor" }, input,
    element("div", { class: "actions" },
      element("button", { type: "submit", class: "primary" }, isAnswered ? "Ask in this way" : "Save as a new version"),
      button("Cancel", () => form.remove(), { class: "quiet" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (input.value.trim() !== "") void save(input.value).then((isSaved) => isSaved && form.remove());
  });
  input.addEventListener("keydown", (event) => {
    if (event.key === "Escape") form.remove();
  });
  article.append(form);
  input.focus();
}
