/** What may be remembered beyond the ordinary: the person agrees to each special category, or not. */

import type { Memory } from "throughline";
import { confirmAction } from "./confirm.ts";
import { element, fill } from "./element.ts";
import type { Workspace } from "./workspace.ts";

type Category = Parameters<Memory["facts"]["optIn"]>[0];

const CATEGORIES: Readonly<Record<Category, string>> = {
  health: "Health",
  belief: "Belief",
  orientation: "Sexual orientation",
  politics: "Politics",
  ethnicity: "Ethnicity",
  union: "Union membership",
  biometric: "Biometric and genetic data",
  criminal: "Crime and punishment",
};

type Act = (action: (facts: Memory["facts"]) => Promise<unknown>) => Promise<unknown>;

/** A list of boxes to tick; `refresh` brings it up to date. `act` carries a decision out. */
export function agreements(workspace: Workspace, act: Act): { view: HTMLElement; refresh: () => Promise<void> } {
  const boxes = element("div", { class: "agreements" });
  const view = element("details", { id: "agreements" }, element("summary", {}, "May also be remembered"),
    element("p", { class: "fine" }, "None of this is remembered unless you tick it. Taking a tick away removes what was remembered."), boxes);
  const decide = async (category: Category, allow: boolean): Promise<void> => {
    if (allow) await act((facts) => facts.optIn(category));
    else if (await confirmAction("Remember this no more?", `Everything remembered about ${CATEGORIES[category].toLowerCase()} is removed.`, "Remove")) {
      await act((facts) => facts.optOut(category));
    }
    await refresh();
  };
  const refresh = async (): Promise<void> => {
    if (!workspace.memory) return;
    const { optedIn } = await workspace.memory.facts.consent();
    fill(boxes, ...(Object.entries(CATEGORIES) as [Category, string][]).map(([category, name]) => {
      const box = element("input", { type: "checkbox", id: `agree-${category}`, checked: optedIn.includes(category) });
      box.addEventListener("change", () => void workspace.inBackground(() => decide(category, box.checked)));
      return element("label", {}, box, ` ${name}`);
    }));
  };
  return { view, refresh };
}
