/** Tabs by the usual pattern: arrow keys move between them, only the chosen panel is there. */

import { element } from "./element.ts";

/** A tab and its panel. */
export interface Tab {
  id: string;
  label: string;
  panel: HTMLElement;
}

/** Fills a place with tabs; the first is chosen. Answers with a function that chooses another. */
export function tabs(root: HTMLElement, label: string, entries: readonly Tab[]): (id: string) => void {
  const list = element("div", { role: "tablist", class: "tabs", "aria-label": label });
  const buttons = entries.map(({ id, label: words, panel }) => {
    panel.id = `panel-${id}`;
    panel.setAttribute("role", "tabpanel");
    panel.setAttribute("aria-labelledby", `tab-${id}`);
    panel.tabIndex = 0;
    return element("button", { type: "button", role: "tab", id: `tab-${id}`, "aria-controls": panel.id }, words);
  });
  const choose = (chosen: number, isMoved: boolean): void => {
    buttons.forEach((tab, index) => {
      tab.setAttribute("aria-selected", String(index === chosen));
      tab.tabIndex = index === chosen ? 0 : -1;
      const panel = entries[index]?.panel;
      if (panel) panel.hidden = index !== chosen;
    });
    if (isMoved) buttons[chosen]?.focus();
  };
  buttons.forEach((tab, index) => {
    tab.addEventListener("click", () => choose(index, false));
    tab.addEventListener("keydown", ({ key }) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
      if (step) choose((index + step + buttons.length) % buttons.length, true);
    });
  });
  list.append(...buttons);
  root.append(list, ...entries.map(({ panel }) => panel));
  choose(0, false);
  return (id) => choose(entries.findIndex((entry) => entry.id === id), false);
}
