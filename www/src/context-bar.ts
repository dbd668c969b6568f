/**
 * The exact prompt as one stacked bar: a segment for each piece, in the order in which it is sent, what stays the same from turn
 * to turn hatched below; and the window as a thin line.
 */

import type { Context } from "throughline";
import { piecesOf, type Piece } from "./context-pieces.ts";
import { element } from "./element.ts";
import { messageSpan } from "./placement.ts";
import type { ShownSection } from "./receipt-view.ts";
import { sectionLook } from "./sections.ts";
import { formatCount, formatNumber } from "./wording.ts";

/** The bar with its legend, and `chosen` between them. `choose` is called with a piece that is stepped to or clicked. */
export function contextBar(context: Context, sections: readonly ShownSection[], chosen: HTMLElement, choose: (piece: Piece) => void): HTMLElement {
  const { tokens } = context.receipt;
  const pieces = piecesOf(sections);
  const segments = pieces.map((piece) => segmentOf(piece));
  const show = (index: number, isMoved: boolean): void => {
    const piece = pieces[index];
    if (!piece) return;
    segments.forEach((segment, at) => {
      segment.tabIndex = at === index ? 0 : -1;
      segment.setAttribute("aria-pressed", String(at === index));
    });
    if (isMoved) segments[index]?.focus();
    choose(piece);
  };
  segments.forEach((segment, index) => {
    segment.tabIndex = index === 0 ? 0 : -1;
    segment.addEventListener("click", () => show(index, false));
    segment.addEventListener("keydown", (event) => {
      const next = stepFrom(index, event.key, pieces);
      if (next === null) return;
      event.preventDefault();
      show(next, true);
    });
  });
  const overhead = tokens.overhead > 0 && wide(element("span", { class: "segment overhead", title: `Envelope: ${formatCount(tokens.overhead, "token")}` }), tokens.overhead);
  const legend = sections.filter(({ tokens: own }) => own > 0).map(({ name, tokens: own }) =>
    element("li", {}, element("button", {
      type: "button", class: "legend-entry", "data-section": name, on: { click: () => show(pieces.findIndex(({ section }) => section === name), true) },
    },
      element("span", { class: "swatch", "data-section": name, "aria-hidden": true }),
      element("span", {}, sectionLook(name).label),
      element("span", { class: "legend-tokens" }, formatNumber(own)))));
  return element(
    "div",
    { class: "bar-and-legend" },
    element("div", { class: "bar", role: "toolbar", "aria-label": `The prompt, ${formatCount(tokens.total, "token")}: arrow keys step through it` }, ...segments, overhead),
    stable(context),
    chosen,
    element("ul", { class: "legend" }, ...legend, overhead && plainEntry("overhead", "Envelope", tokens.overhead)),
    windowLine(context),
  );
}

/** Left and right step by pieces, up and down by sections. */
function stepFrom(index: number, key: string, pieces: readonly Piece[]): number | null {
  const last = pieces.length - 1;
  const own = pieces[index]?.section;
  const other = (from: readonly number[]): number => from.find((at) => pieces[at]?.section !== own) ?? index;
  switch (key) {
    case "ArrowRight": return Math.min(last, index + 1);
    case "ArrowLeft": return Math.max(0, index - 1);
    case "Home": return 0;
    case "End": return last;
    case "ArrowDown": return other(pieces.map((_, at) => at).slice(index));
    case "ArrowUp": {
      const before = other(pieces.map((_, at) => at).slice(0, index).reverse());
      return pieces.findIndex(({ section }) => section === pieces[before]?.section);
    }
    default: return null;
  }
}

function segmentOf({ section, items, tokens }: Piece): HTMLButtonElement {
  const label = `${sectionLook(section).label}${messageSpan(items)}: ${formatCount(Math.round(tokens), "token")}`;
  const isHit = items.some(({ hits }) => hits.length > 0);
  const segment = element("button", {
    type: "button", class: isHit ? "segment hit" : "segment", "data-section": section, title: label, "aria-label": label, "aria-pressed": "false",
  });
  return wide(segment, tokens);
}

/** The part that a provider's cache can hold, below the bar, with the places where it can be told to stop. */
function stable({ cacheBreakpoints, receipt }: Context): HTMLElement {
  const { prefix, total } = receipt.tokens;
  const hatch = element("span", { class: "stable-part" });
  hatch.style.setProperty("--share", String(Math.min(1, prefix / total)));
  const marks = cacheBreakpoints.map(({ after, tokens }) => {
    const mark = element("span", { class: "stable-mark", title: `The cache can stop here, after the ${after}: ${formatCount(tokens, "token")}` });
    mark.style.setProperty("--share", String(Math.min(1, tokens / total)));
    return mark;
  });
  const words = prefix > 0
    ? `The first ${formatCount(prefix, "token")} stay the same from turn to turn until something is folded away or remembered, so a provider's cache can hold them.`
    : "Nothing of it stays the same for the next turn.";
  return element("div", { class: "stable" }, element("div", { class: "stable-track", "aria-hidden": true }, hatch, ...marks), element("p", { class: "fine" }, words));
}

/** How full the window is. */
function windowLine({ receipt }: Context): HTMLElement {
  const { total, window, reserve } = receipt.tokens;
  const free = Math.max(0, window - reserve - total);
  return element(
    "div",
    { class: "window-line" },
    element("div", { class: "window-parts", "aria-hidden": true },
      wide(element("span", { class: "segment used" }), total),
      free > 0 && wide(element("span", { class: "segment free" }), free),
      reserve > 0 && wide(element("span", { class: "segment reserve" }), reserve)),
    element("p", { class: "fine" }, `Window of ${formatNumber(window)}: ${formatNumber(total)} used, ${formatNumber(free)} free, ${formatNumber(reserve)} kept for the answer.`),
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
