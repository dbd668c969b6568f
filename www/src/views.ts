/** On a small screen one view is shown at a time; this is the switch between them. On a wide one all are there. */

import { button } from "./element.ts";

/** The views. */
export type View = "conversations" | "chat" | "memory";

const LABELS: Record<View, string> = { conversations: "Conversations", chat: "Chat", memory: "Memory" };

/** Fills the switch. */
export function viewSwitch(root: HTMLElement): void {
  for (const view of Object.keys(LABELS) as View[]) {
    root.append(button(LABELS[view], () => showView(view), { "data-view": view }));
  }
  showView("chat");
}

/** Shows this view. */
export function showView(view: View): void {
  document.body.dataset["view"] = view;
  for (const entry of document.querySelectorAll<HTMLElement>("#views button")) {
    if (entry.dataset["view"] === view) entry.setAttribute("aria-current", "page");
    else entry.removeAttribute("aria-current");
  }
}
