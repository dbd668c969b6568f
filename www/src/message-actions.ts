/** What can be done with one message: say it in another way, show another version of it, remove it. */

import { confirmAction } from "./confirm.ts";
import { button, element } from "./element.ts";
import type { ShownMessage } from "./message.ts";
import type { Workspace } from "./workspace.ts";

/** The actions of a message as it stands in the transcript. */
export function messageActions(workspace: Workspace, message: ShownMessage): HTMLElement {
  const conversationId = workspace.current?.id ?? "";
  const place = element("div", { class: "message-actions" });
  const edit = (): void => {
    const article = place.closest("article");
    if (article) openEditor(article, message, (text) => workspace.attempt(() => workspace.edit(conversationId, message, text)));
  };
  const remove = async (): Promise<void> => {
    const consequence = "Its text, its vector and what was learned from it alone will be gone for good. What followed it stays.";
    if (await confirmAction("Delete this message?", consequence, "Delete")) {
      await workspace.attempt(() => workspace.removeMessage(conversationId, message.id));
    }
  };
  const isWhole = message.status !== "streaming";
  place.append(
    ...versionSwitch(workspace, conversationId, message.id),
    ...(isWhole && message.role === "user" ? [button("Edit", edit, { class: "quiet small", "data-action": "edit" })] : []),
    ...(isWhole ? [button("Delete", () => void remove(), { class: "quiet small", "data-action": "delete" })] : []),
  );
  return place;
}

/** `‹ 2 of 3 ›`, for a message that was said in several ways. */
function versionSwitch(workspace: Workspace, conversationId: string, messageId: string): HTMLElement[] {
  const versions = workspace.versions.get(messageId);
  if (!versions) return [];
  const { ids, shown } = versions;
  const step = (to: number, label: string, sign: string): HTMLElement => {
    const id = ids[to];
    const turn = (): void => void (id !== undefined && workspace.attempt(() => workspace.turnTo(conversationId, id)));
    return button(sign, turn, { class: "quiet small", "aria-label": label, disabled: id === undefined });
  };
  return [
    element("span", { class: "versions" },
      step(shown - 1, "Version before", "‹"), `${shown + 1} of ${ids.length}`, step(shown + 1, "Next version", "›")),
  ];
}

function openEditor(article: HTMLElement, message: ShownMessage, save: (text: string) => Promise<boolean>): void {
  if (article.querySelector(".message-editor")) return;
  const input = element("textarea", { rows: 4, "aria-label": "The message in another way" });
  input.value = message.text;
  const form = element("form", { class: "message-editor" }, input,
    element("div", { class: "actions" },
      element("button", { type: "submit", class: "primary" }, "Save as a new version"),
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
