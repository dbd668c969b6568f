/** Asking before something is gone for good. */

import { button, element } from "./element.ts";

/** Shows a dialog; true when the person chose the named action. Escape and the other button say no. */
export function confirmAction(question: string, consequence: string, action: string): Promise<boolean> {
  return new Promise((resolve) => {
    const dialog = element(
      "dialog",
      { class: "confirm", "aria-labelledby": "confirm-question" },
      element("h2", { id: "confirm-question" }, question),
      element("p", {}, consequence),
      element(
        "div",
        { class: "actions" },
        button("Keep it", () => dialog.close(), { autofocus: true }),
        button(action, () => dialog.close("yes"), { class: "danger", id: "confirm-yes" }),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
