/** The window as one stacked bar: a segment for each section, the room left free, and the reserve for the answer. */

import type { Receipt } from "throughline";
import { element } from "./element.ts";
import { sectionLook } from "./sections.ts";
import { formatCount, formatNumber } from "./wording.ts";

/** The bar with its legend. Choosing a segment or an entry calls `choose` with the section's name. */
export function contextBar(receipt: Receipt, choose: (section: string) => void): HTMLElement {
  const { total, window, reserve, overhead } = receipt.tokens;
  const sections = receipt.sections.filter(({ tokens }) => tokens > 0);
  const free = Math.max(0, window - reserve - total);
  const segments = sections.map(({ name, tokens }) => {
    const label = `${sectionLook(name).label}: ${formatCount(tokens, "token")}`;
    const segment = element("button", {
      type: "button", class: "segment", "data-section": name, title: label, "aria-label": label, on: { click: () => choose(name) },
    });
    return wide(segment, tokens);
  });
  const rest = [
    overhead > 0 && wide(element("span", { class: "segment overhead", title: `Envelope: ${formatCount(overhead, "token")}` }), overhead),
    free > 0 && wide(element("span", { class: "segment free", title: `Free: ${formatCount(free, "token")}` }), free),
    reserve > 0 && wide(element("span", { class: "segment reserve", title: `Kept for the answer: ${formatCount(reserve, "token")}` }), reserve),
  ];
  const legend = sections.map(({ name, tokens }) =>
    element("li", {}, element("button", { type: "button", class: "legend-entry", "data-section": name, on: { click: () => choose(name) } },
      element("span", { class: "swatch", "data-section": name, "aria-hidden": true }),
      element("span", {}, sectionLook(name).label),
      element("span", { class: "legend-tokens" }, formatNumber(tokens)))));
  const plain = [overhead > 0 && plainEntry("overhead", "Envelope", overhead), plainEntry("free", "Free", free),
    plainEntry("reserve", "For the answer", reserve)];
  return element(
    "div",
    { class: "bar-and-legend" },
    element("div", { class: "bar", role: "group", "aria-label": `Window of ${formatCount(window, "token")}` }, ...segments, ...rest),
    element("ul", { class: "legend" }, ...legend, ...plain),
  );
}

function plainEntry(kind: string, label: string, tokens: number): HTMLElement {
  return element("li", { class: "legend-entry" }, element("span", { class: `swatch ${kind}`, "aria-hidden": true }),
    element("span", {}, label), element("span", { class: "legend-tokens" }, formatNumber(tokens)));
}

/** Sets the share of the bar through the CSSOM, which the page's policy allows. */
function wide<Node extends HTMLElement>(node: Node, tokens: number): Node {
  node.style.setProperty("flex-grow", String(tokens));
  return node;
}
