/** The prompt as it would be sent, to the letter, with a button that copies it. */

import type { Context } from "throughline";
import { button, element, fill } from "./element.ts";

/** The folded prompt of a context. */
export function promptView(context: Context): HTMLElement {
  const text = JSON.stringify(context.system ? { system: context.system, messages: context.messages } : context.messages, null, 2);
  const place = element("div", {});
  const copied = element("span", { class: "fine", role: "status" });
  const copy = button("Copy", () => {
    navigator.clipboard.writeText(text).then(
      () => (copied.textContent = "Copied"),
      () => (copied.textContent = "This browser does not let the page copy. Select the text instead."),
    );
  }, { id: "copy-prompt" });
  const details = element("details", { class: "prompt" }, element("summary", {}, "Exact prompt"), place);
  details.addEventListener("toggle", () => {
    if (place.childElementCount > 0) return;
    fill(place, element("div", { class: "actions" }, copy, copied),
      element("pre", { class: "code prompt-text", id: "prompt-text", tabindex: 0, "aria-label": "Exact prompt" }, text));
  });
  return details;
}
