/** What is stored on this device, and how to delete it. */

import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { formatBytes, formatCount, formatNumber, humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Fills the panel and keeps it current. */
export function storagePanel(root: HTMLElement, workspace: Workspace): void {
  const figures = element("dl", { class: "figures", id: "storage-figures" });
  const result = element("p", { class: "fine", role: "status", id: "storage-result" });
  const persist = button("Ask the browser to keep it", () => void ask(), { id: "persist" });
  root.append(
    element("h2", {}, "On this device"),
    element("p", { class: "fine" }, "Everything is in this browser's own database, for this page only. The memory engine sends nothing anywhere."),
    figures,
    element("div", { class: "actions" }, persist, button("Wipe everything", () => void wipe(), { class: "danger", id: "wipe" })),
    result,
  );

  async function ask(): Promise<void> {
    await workspace.attempt(async () => {
      const isPersisted = (await navigator.storage?.persist?.()) ?? false;
      result.textContent = isPersisted
        ? "The browser will not clear it by itself."
        : "The browser declined for now. It may still clear this page's data when the disk is full; browsers agree more easily to pages used often.";
      await workspace.refreshStats();
    });
  }

  async function wipe(): Promise<void> {
    const consequence = "All conversations, vectors, summaries and facts of this page will be gone. There is no way back.";
    if (!(await confirmAction("Wipe everything?", consequence, "Wipe everything"))) return;
    result.textContent = "";
    await workspace.attempt(async () => {
      const { erased, remains } = await workspace.wipe();
      const kept = remains.find(({ place }) => place === "browser_files");
      const counts = Object.entries(erased).filter(([, count]) => count > 0)
        .map(([store, count]) => `${humanise(store)} ${formatNumber(count)}`);
      result.textContent = `Erased: ${counts.join(", ") || "nothing was stored"}. ${kept === undefined ? "" : `Still kept: ${kept.what}, until ${kept.until}. To be rid of it now: ${kept.remedy}.`}`;
    });
  }

  workspace.subscribe(["stats"], () => {
    const { stats } = workspace;
    if (!stats) return;
    const calls = Object.entries(stats.spent).map(([purpose, spent]) =>
      figure(humanise(purpose), `${formatCount(spent?.calls ?? 0, "call")}, ${((spent?.ms ?? 0) / 1_000).toFixed(1)} s`));
    persist.hidden = stats.persisted === true;
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
      figure("Last backup", stats.lastExportAt === null ? "never" : new Date(stats.lastExportAt).toLocaleString(), "last-export"),
      figure("Work waiting", stats.jobs === 0 ? "none" : formatCount(stats.jobs, "job")),
      ...calls,
    );
  });
}

function figure(label: string, value: string, name?: string): HTMLElement {
  return element("div", { class: "figure", "data-figure": name }, element("dt", {}, label), element("dd", {}, value));
}
