/** How the next context is built: window, reserve, whether old messages are looked up, and the instructions. */

import { rebuild } from "./asking.ts";
import { element } from "./element.ts";
import { formatNumber } from "./wording.ts";
import type { ContextSettings, Workspace } from "./workspace.ts";

const WINDOWS = [2_000, 4_000, 8_000, 16_000, 32_000, 128_000];
const RESERVES = [250, 500, 1_000, 2_000, 4_000];

/** The settings; a change builds the context in hand again. */
export function contextSettings(workspace: Workspace): HTMLElement {
  const { settings } = workspace;
  const change = (changes: Partial<ContextSettings>): void => {
    Object.assign(workspace.settings, changes);
    void rebuild(workspace);
  };
  const windowChoice = numbers("window", WINDOWS, settings.window, (window) => change({ window }));
  const reserveChoice = numbers("reserve", RESERVES, settings.reserve, (reserve) => change({ reserve }));
  const retrieval = element("select", { id: "retrieval" },
    element("option", { value: "auto" }, "When the question calls for it"),
    element("option", { value: "always" }, "Always"),
    element("option", { value: "never" }, "Never"));
  retrieval.addEventListener("change", () => change({ retrieval: retrieval.value as ContextSettings["retrieval"] }));
  const system = element("textarea", { id: "system", rows: 3 }, settings.system);
  system.addEventListener("change", () => change({ system: system.value }));
  return element(
    "details",
    { class: "settings" },
    element("summary", {}, "Window and rules"),
    element("div", { class: "fields" },
      element("label", {}, "Window", windowChoice),
      element("label", {}, "Kept for the answer", reserveChoice),
      element("label", { class: "field-wide" }, "Look up old messages", retrieval),
      element("label", { class: "field-wide" }, "Instructions", system)),
  );
}

function numbers(id: string, choices: readonly number[], chosen: number, change: (value: number) => void): HTMLSelectElement {
  const select = element("select", { id },
    ...choices.map((choice) => element("option", { value: choice, selected: choice === chosen }, `${formatNumber(choice)} tokens`)));
  select.addEventListener("change", () => change(Number(select.value)));
  return select;
}
