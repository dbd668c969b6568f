/** Who has been called since the page was opened, counted while one looks. */

import { card } from "./card.ts";
import { element, fill } from "./element.ts";
import { formatCount } from "./wording.ts";
import { onSeen, seen } from "./witness.ts";

/** The card; it keeps itself current. */
export function requestsCard(): HTMLElement {
  const figure = element("p", { class: "big-figure", id: "foreign-requests", role: "status" });
  const detail = element("div", { id: "requests-detail" });
  const show = (): void => {
    const { blocked, page, serviceWorker, workers } = seen();
    const own = sum(page);
    const asked = [...workers].filter(([, count]) => count > 0);
    figure.dataset["count"] = String(own + sum(workers));
    fill(figure, element("strong", {}, String(own)), " requests to third parties");
    fill(
      detail,
      element("p", { class: "fine" }, "Counted since this page was opened, by the browser's own record of what the page loads. The page's policy lets it call its own server and nobody else; "
        + "only the separate part that talks to a model you turned on may call others."),
      ...[...page].map(([origin, count]) => element("p", { class: "fault" }, `${origin}: ${formatCount(count, "request")}`)),
      asked.length > 0 ? element("p", {}, "Called because you asked for it:") : element("p", { class: "fine" }, "No model is called, since none is turned on."),
      asked.length > 0 && element("ul", { class: "plain-list" }, ...asked.map(([origin, count]) => element("li", { "data-origin": origin }, `${origin}: ${formatCount(count, "request")}`))),
      element("p", { class: "fine" }, serviceWorker === null
        ? "From the next visit on the service worker counts along."
        : `The service worker, which sees every request of page and workers, saw ${formatCount(sum(serviceWorker), "request")} to others.`),
      blocked > 0 && element("p", { class: "fault", id: "blocked" }, `Stopped by the page's policy: ${formatCount(blocked, "load")}.`),
    );
  };
  onSeen(show);
  show();
  return card("requests", "Who is called", figure, detail);
}

function sum(counts: ReadonlyMap<string, number>): number {
  return [...counts.values()].reduce((total, count) => total + count, 0);
}
