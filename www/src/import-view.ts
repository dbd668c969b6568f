/** The view that brings chats in: an export of another app, the sample, or the measuring data where the server has it. */

import { button, element, fill } from "./element.ts";
import { importPanel } from "./import-panel.ts";
import { loadLocomo, locomoConversations } from "./locomo.ts";
import { loadSample } from "./sample.ts";
import { showView } from "./views.ts";
import { formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Fills the view. */
export function importView(root: HTMLElement, workspace: Workspace): void {
  root.append(
    element("h2", {}, "Bring your chats in"),
    importPanel(workspace),
    element("h2", {}, "Or try it with others"),
    button("Sample conversation", () => open(workspace, () => loadSample(workspace)), { id: "load-sample" }),
    measuringData(workspace),
  );
}

function open(workspace: Workspace, action: () => Promise<unknown>): void {
  void workspace.attempt(action).then((done) => {
    if (done) showView("chat");
  });
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
