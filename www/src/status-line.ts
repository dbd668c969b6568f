/** The line in the page's head that says what is going on; screen readers hear it. */

import { element, fill } from "./element.ts";
import { formatNumber } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Fills the status line and keeps it current. */
export function statusLine(root: HTMLElement, workspace: Workspace): void {
  const words = element("span", { class: "status-words", role: "status", "aria-live": "polite" });
  const figures = element("span", { class: "status-figures" });
  const bar = element("progress", { class: "status-progress", "aria-label": "Progress", hidden: true });
  const detail = element("details", { class: "status-detail", hidden: true });
  root.append(words, figures, bar, detail);
  workspace.subscribe(["status"], () => {
    const { kind, words: said, error, progress } = workspace.status;
    root.dataset["kind"] = kind;
    if (words.textContent !== said) words.textContent = said;
    figures.textContent = progress ? `${formatNumber(progress.done)} of ${formatNumber(progress.total)}` : "";
    bar.hidden = kind !== "busy";
    if (progress) {
      bar.max = Math.max(1, progress.total);
      bar.value = progress.done;
    } else {
      bar.removeAttribute("value");
    }
    detail.hidden = !error;
    if (error) fill(detail, element("summary", {}, error.code), element("p", {}, error.detail || error.words));
  });
}
