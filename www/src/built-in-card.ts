/** The model that is built into the browser, in each of its states. */

import { builtInAvailability, builtInModel, type ChromeAiAvailability } from "./built-in-model.ts";
import { card } from "./card.ts";
import { button, element, fill } from "./element.ts";
import type { TurnOn } from "./models-view.ts";
import { tellError } from "./wording.ts";

const STATES: Readonly<Record<ChromeAiAvailability, string>> = {
  unsupported: "This browser has none for pages. Chrome and Edge on desktops have.",
  unavailable: "This browser has one, but it does not run on this device: it asks for a graphics card with more than 4 GB, or 16 GB of memory, and 22 GB of free disk.",
  downloadable: "It can be downloaded: some gigabytes, by the browser itself and from its own maker, once for all pages.",
  downloading: "The browser is downloading it.",
  available: "It is here, and answers without any server.",
};

/** The card. */
export function builtInCard(turnOn: TurnOn): HTMLElement {
  const state = element("p", { id: "built-in-state" });
  const actions = element("div", { class: "actions" });
  const bar = element("progress", { class: "wide", "aria-label": "Download of the built-in model", max: 1, hidden: true });
  const result = element("p", { class: "fine", role: "status" });
  const refresh = async (): Promise<void> => {
    const availability = await builtInAvailability();
    state.textContent = STATES[availability];
    state.dataset["availability"] = availability;
    const isThere = availability === "available";
    const canBegin = isThere || availability === "downloadable" || availability === "downloading";
    fill(actions, canBegin && button(isThere ? "Turn on" : "Download it and turn it on", () => void begin(), { class: "primary", id: "built-in-on" }));
  };
  void refresh();
  return card("built-in", "The browser's own model", state, actions, bar, result);

  async function begin(): Promise<void> {
    const controller = new AbortController();
    fill(actions, button("Stop", () => controller.abort(), { class: "quiet" }));
    result.textContent = "Starting it";
    try {
      const model = await builtInModel((share) => {
        bar.hidden = share >= 1;
        bar.value = share;
        result.textContent = share >= 1 ? "Starting it" : `Downloaded: ${Math.round(share * 100)}%`;
      }, controller.signal);
      await turnOn(model);
      result.textContent = "It is on.";
    } catch (error) {
      result.textContent = controller.signal.aborted ? "Stopped." : tellError(error).detail || tellError(error).words;
    } finally {
      bar.hidden = true;
      await refresh();
    }
  }
}
