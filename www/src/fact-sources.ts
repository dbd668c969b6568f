/** Where a fact was said: every message that shows it, each a way there. */

import type { Fact, FactPlace } from "throughline";
import { button, element, fill } from "./element.ts";
import type { FactHost } from "./fact-view.ts";
import { visibleTitle } from "./visible-text.ts";

/** The list, folded; it is read whenever it is opened, since it may have been said again. */
export function factSources(fact: Fact, host: FactHost): HTMLElement {
  const list = element("ul", { class: "history places" });
  const details = element("details", { class: "fact-history", "data-part": "sources" }, element("summary", {}, "Where it was said"), list);
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    void host.workspace.inBackground(async () => {
      const places = await host.workspace.opened().facts.sources(fact.id);
      const titles = await titlesOf(places, host);
      fill(list, ...places.map((place) => placeView(place, titles.get(place.conversationId) ?? "", host)));
    });
  });
  return details;
}

function placeView({ conversationId, seq }: FactPlace, title: string, { show }: FactHost): HTMLElement {
  const name = `Message ${seq} of “${visibleTitle(title)}”`;
  return element("li", {}, button(name, () => show(conversationId, seq), { class: "link", "data-action": "show" }));
}

/** The titles of their conversations, of which not all need be in the list at the side. */
async function titlesOf(places: readonly FactPlace[], { workspace }: FactHost): Promise<Map<string, string>> {
  const ids = [...new Set(places.map(({ conversationId }) => conversationId))];
  const conversations = await Promise.all(ids.map((id) => workspace.opened().conversations.get(id)));
  return new Map(conversations.map(({ id, title }) => [id, title]));
}
