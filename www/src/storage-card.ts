/** How much is stored, by kind and by store, and whether the browser promised to keep it. */

import { card, figure } from "./card.ts";
import { button, element, fill } from "./element.ts";
import { storeSizes, type StoreSize } from "./store-sizes.ts";
import { formatBytes, formatCount, formatNumber, formatShortDay, formatTime, humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** The card; it keeps itself current. */
export function storageCard(workspace: Workspace): HTMLElement {
  const figures = element("dl", { class: "figures", id: "storage-figures" });
  const result = element("p", { class: "fine", role: "status", id: "storage-result" });
  const sizes = element("div", { id: "store-sizes" });
  const persist = button("Ask the browser to keep it", () => void workspace.attempt(ask), { id: "persist" });
  const measure = button("Measure each store", () => void workspace.attempt(weigh), { id: "measure-stores" });
  const refresh = (): void => showFigures(figures, persist, workspace);
  workspace.subscribe(["stats"], refresh);
  if (workspace.memory) void workspace.inBackground(() => workspace.refreshStats());
  return card("storage", "On this device", figures, element("div", { class: "actions" }, persist, measure), result, sizes);

  async function ask(): Promise<void> {
    const isPersisted = await workspace.opened().storage.persist();
    result.textContent = isPersisted
      ? "The browser will not clear it by itself."
      : "The browser declined for now. It may still clear this page's data when the disk is full; browsers agree more easily to pages that are installed or used often.";
    await workspace.refreshStats();
  }

  async function weigh(): Promise<void> {
    measure.disabled = true;
    result.textContent = "Reading every record";
    try {
      const stores = await storeSizes(AbortSignal.timeout(60_000));
      fill(sizes, storeTable(stores));
      result.textContent = "";
    } catch (error) {
      result.textContent = "";
      throw error;
    } finally {
      measure.disabled = false;
    }
  }
}

function showFigures(figures: HTMLElement, persist: HTMLElement, { stats }: Workspace): void {
  if (!stats) return;
  persist.hidden = stats.persisted === true;
  const calls = Object.entries(stats.spent).map(([purpose, spent]) =>
    figure(`Model calls to ${humanise(purpose)}`, `${formatCount(spent.calls, "call")}, ${(spent.ms / 1_000).toFixed(1)} s`));
  const exported = stats.lastExportAt === null ? "never" : `${formatShortDay(new Date(stats.lastExportAt))}, ${formatTime(new Date(stats.lastExportAt))}`;
  fill(
    figures,
    figure("Conversations", formatNumber(stats.conversations)),
    figure("Messages", formatNumber(stats.messages), "messages"),
    figure("Tokens", formatNumber(stats.tokens), "tokens"),
    figure("Vectors", formatNumber(stats.vectors), "vectors"),
    figure("Fact records", formatNumber(stats.facts)),
    figure("On disk, all of this site", formatBytes(stats.storageBytes), "bytes"),
    figure("In working memory", formatBytes(stats.wasmBytes)),
    figure("Kept by the browser", stats.persisted === true ? "yes, for good" : "as long as there is room", "persisted"),
    figure("Last backup", exported, "last-export"),
    figure("Work waiting", stats.jobs === 0 ? "none" : formatCount(stats.jobs, "job")),
    ...calls,
  );
}

function storeTable(stores: readonly StoreSize[]): HTMLElement {
  if (stores.length === 0) return element("p", { class: "empty" }, "Nothing is stored.");
  const total = stores.reduce((sum, { bytes }) => sum + bytes, 0);
  return element(
    "div",
    {},
    element("table", { class: "sizes" },
      element("caption", {}, `${formatBytes(total)} of records, before the browser packs them`),
      element("thead", {}, element("tr", {}, ...["Store", "Records", "Bytes"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...stores.map(({ bytes, records, store }) =>
        element("tr", {}, element("th", { scope: "row" }, humanise(store)), element("td", {}, formatNumber(records)), element("td", {}, formatBytes(bytes)))))),
  );
}
