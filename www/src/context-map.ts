/** The whole conversation as one line, and which of its messages are in the prompt. */

import { element } from "./element.ts";
import { placements } from "./placement.ts";
import { svg } from "./svg.ts";
import { formatCount, formatNumber } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const HEIGHT = 22;

/** The line; a click goes to the message there. */
export function contextMap(inquiry: Inquiry, { messages }: Workspace, goTo: (seq: number) => void): HTMLElement | null {
  const last = messages.at(-1)?.seq ?? 0;
  if (last < 2) return null;
  const places = placements(inquiry.sections, inquiry.conversationId, messages);
  const picture = svg("svg", { viewBox: `0 0 ${last} ${HEIGHT}`, preserveAspectRatio: "none", class: "map", "aria-hidden": "true" });
  picture.append(svg("rect", { class: "map-all", x: 0, y: 8, width: last, height: 6 }));
  // Narrower than this, one message of thousands would not be seen.
  const least = last / 180;
  for (const [seq, { isHit, section }] of places) {
    picture.append(svg("rect", { "data-section": section, class: "map-part", x: seq - 1, y: isHit ? 0 : 5, width: Math.max(1, isHit ? least : 1), height: isHit ? HEIGHT : 12 }));
  }
  const found = [...places.values()].filter(({ section }) => section === "retrieved").length;
  const words = `Of ${formatCount(last, "message")} ${formatNumber(places.size)} are in the prompt${found > 0 ? `, ${formatNumber(found)} of them from further back` : ""}.`;
  picture.addEventListener("click", ({ clientX }) => {
    const { left, width } = picture.getBoundingClientRect();
    const at = 1 + ((clientX - left) / width) * last;
    const near = [...places.keys()].reduce((best, seq) => (Math.abs(seq - at) < Math.abs(best - at) ? seq : best), Math.round(at));
    goTo(Math.abs(near - at) < last / 40 ? near : Math.max(1, Math.min(last, Math.round(at))));
  });
  return element("div", { class: "map-place" }, picture, element("p", { class: "fine" }, words));
}
