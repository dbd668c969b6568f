/** Asking before something is gone for good, and asking for a name. */

import { button, element } from "./element.ts";

/** Shows a dialog; true when the person chose the named action. Escape and the other button say no. */
export function confirmAction(question: string, consequence: string, action: string): Promise<boolean> {
  return shown((close) => element(
    "dialog",
    { class: "confirm", "aria-labelledby": "confirm-question" },
    element("h2", { id: "confirm-question" }, question),
    element("p", {}, consequence),
    element(
      "div",
      { class: "actions" },
      button("Keep it", () => close(""), { autofocus: true }),
      button(action, () => close("yes"), { class: "danger", id: "confirm-yes" }),
    ),
  )).then((answer) => answer === "yes");
}

/** Asks for a line of text; `null` where it was given up or left empty. */
export function askForText(question: string, label: string, action: string): Promise<string | null> {
  const input = element("input", { type: "text", maxlength: 100, id: "asked-text", autofocus: true, autocomplete: "off" });
  return shown((close) => element(
    "dialog",
    { class: "confirm", "aria-labelledby": "confirm-question" },
    element("h2", { id: "confirm-question" }, question),
    element("form", { on: { submit: (event) => {
      event.preventDefault();
      close("yes");
    } } },
      element("label", { for: "asked-text" }, label), input,
      element("div", { class: "actions" }, button("Cancel", () => close("")), element("button", { type: "submit", class: "primary" }, action))),
  )).then((answer) => (answer === "yes" && input.value.trim() !== "" ? input.value.trim() : null));
}

/** Shows a dialog until it is closed; answers with what it was closed with. The keyboard goes back to where it was. */
export function shown(make: (close: (answer: string) => void) => HTMLDialogElement): Promise<string> {
  return new Promise((resolve) => {
    const dialog = make((answer) => dialog.close(answer));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
