/** Erasing everything, with a receipt: what is gone, and what may still be where. */

import type { Erasure } from "throughline";
import { card, figure } from "./card.ts";
import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { formatNumber, formatShortDay, formatTime, humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const PLACES: Readonly<Record<string, string>> = { browser_files: "In the browser's files", other_tabs: "In other tabs", page_memory: "In this page's memory" };

/** The card. */
export function eraseCard(workspace: Workspace): HTMLElement {
  const receipt = element("div", { class: "receipt", id: "receipt", role: "status" });
  const wipe = async (): Promise<void> => {
    const consequence = "All conversations, vectors, summaries and facts of this page will be gone. There is no way back.";
    if (!(await confirmAction("Wipe everything?", consequence, "Wipe everything"))) return;
    fill(receipt);
    await workspace.attempt(async () => fill(receipt, ...receiptView(await workspace.wipe())));
  };
  return card(
    "erase", "Erase",
    element("p", { class: "fine" }, "One fact, one message or one conversation is erased where it stands, with everything that was made of it. Here everything goes at once."),
    element("div", { class: "actions" }, button("Wipe everything", () => void wipe(), { class: "danger", id: "wipe" })),
    receipt,
  );
}

function receiptView({ erased, remains }: Erasure): HTMLElement[] {
  const rows = Object.entries(erased).filter(([, count]) => count > 0);
  const now = new Date();
  return [
    element("h3", {}, `Erased on ${formatShortDay(now)}, ${formatTime(now)}`),
    rows.length === 0
      ? element("p", { class: "fine" }, "Nothing was stored.")
      : element("dl", { class: "figures" }, ...rows.map(([store, count]) => figure(humanise(store), formatNumber(count)))),
    element("h3", {}, "What may remain"),
    element("ul", { class: "remnants" }, ...remains.map(({ place, remedy, until, what, why }) =>
      element("li", { "data-place": place }, element("b", {}, PLACES[place] ?? humanise(place)), element("p", {}, `${sentence(what)} ${sentence(why)}`),
        element("p", { class: "fine" }, `Until ${until}. To be rid of it now: ${remedy}.`)))),
  ];
}

function sentence(words: string): string {
  return `${words.charAt(0).toUpperCase()}${words.slice(1)}.`;
}
