/** How many messages have their vectors by now. */

import { element } from "./element.ts";
import { formatNumber } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** A bar with words, which keeps itself current until it is ended. */
export function vectorProgress(workspace: Workspace): { view: HTMLElement; end: () => void } {
  const words = element("p", { class: "fine" });
  const bar = element("progress", { class: "wide", "aria-label": "Messages with vectors" });
  const view = element("div", { class: "vector-progress" }, words, bar);
  const show = (): void => {
    const { stats } = workspace;
    if (!stats) return;
    const done = stats.messages - stats.waitingForVectors;
    bar.max = Math.max(1, stats.messages);
    bar.value = done;
    bar.hidden = stats.waitingForVectors === 0;
    words.textContent = stats.waitingForVectors === 0
      ? "Search works by words and by meaning."
      : `Search works by words now. By meaning: ${formatNumber(done)} of ${formatNumber(stats.messages)} messages.`;
  };
  const end = workspace.subscribe(["stats"], show);
  show();
  if (workspace.memory) void workspace.inBackground(() => workspace.refreshStats());
  return { view, end };
}
