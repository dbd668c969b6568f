/** A part of a view with a heading of its own. */

import { element, type Child } from "./element.ts";

/** A titled box. */
export function card(id: string, title: string, ...children: Child[]): HTMLElement {
  return element("section", { class: "card", id: `card-${id}`, "aria-labelledby": `card-${id}-title` },
    element("h2", { id: `card-${id}-title` }, title), ...children);
}

/** A figure of a list of them. */
export function figure(label: string, value: string, name?: string): HTMLElement {
  return element("div", { class: "figure", "data-figure": name }, element("dt", {}, label), element("dd", {}, value));
}
