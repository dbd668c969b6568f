/** What is not in the prompt, by the reason for it. */

import { element } from "./element.ts";
import { messageLine, speakerOf, type ShownMessage } from "./message.ts";
import { reasonWords } from "./reasons.ts";
import type { ShownSection } from "./receipt-view.ts";
import { sectionLook } from "./sections.ts";
import { shortened, visibleLine } from "./visible-text.ts";
import { formatCount, formatNumber } from "./wording.ts";

/** Most pieces that are named for one reason. */
const MOST_NAMED = 100;

type Drop = ShownSection["dropped"][number] & { section: string };

/** All that was left out; nothing where everything is in. */
export function leftOutView(sections: readonly ShownSection[], messages: readonly ShownMessage[]): HTMLElement | null {
  const drops: Drop[] = sections.flatMap(({ dropped, name }) => dropped.map((drop) => ({ ...drop, section: name })));
  if (drops.length === 0) return null;
  const reasons = [...new Set(drops.map(({ reason }) => reason))];
  return element(
    "div",
    { class: "left-outs" },
    element("h3", {}, "What was left out, and why"),
    ...reasons.map((reason) => one(reason, drops.filter((drop) => drop.reason === reason), messages)),
  );
}

function one(reason: Drop["reason"], drops: readonly Drop[], messages: readonly ShownMessage[]): HTMLElement {
  const tokens = drops.reduce((sum, drop) => sum + drop.tokens, 0);
  const words = reasonWords(reason);
  return element(
    "details",
    { class: "left-out", "data-reason": reason },
    element("summary", {}, `${words.charAt(0).toUpperCase()}${words.slice(1)}: ${countOf(reason, drops, messages)}`,
      element("span", { class: "legend-tokens" }, formatNumber(tokens))),
    element("ul", { tabindex: 0, "aria-label": words }, ...drops.slice(0, MOST_NAMED).map((drop) =>
      element("li", {}, `${sectionLook(drop.section).label}: ${named(drop, messages)}, ${formatCount(drop.tokens, "token")}`))),
    drops.length > MOST_NAMED ? element("p", { class: "fine" }, `and ${formatNumber(drops.length - MOST_NAMED)} more`) : null,
  );
}

/** What is outside the window is told as one: everything up to a message. */
function countOf(reason: Drop["reason"], drops: readonly Drop[], messages: readonly ShownMessage[]): string {
  const only = drops[0];
  const seq = reason === "outside_window" && drops.length === 1 && only ? messages.find(({ id }) => id === only.id)?.seq : undefined;
  return seq === undefined ? formatCount(drops.length, "piece") : `everything up to message ${formatNumber(seq)}`;
}

function named({ id, reason }: Drop, messages: readonly ShownMessage[]): string {
  const message = messages.find((candidate) => candidate.id === id);
  if (!message) return visibleLine(id);
  if (reason === "outside_window") return `everything up to message ${message.seq}`;
  return `message ${message.seq}, ${speakerOf(message.role)}: ${shortened(visibleLine(messageLine(message)), 60)}`;
}
