/** What turns texts into vectors: the embedder that ships, or a larger one that is loaded when the person says so. */

import { card } from "./card.ts";
import { download } from "./download.ts";
import { button, element, fill } from "./element.ts";
import { EMBEDDER_CHOICES, loadEmbedder, RUNTIME_MEGABYTES, SHIPPED_NAME, TRANSFORMERS_HOSTS } from "./embedders.ts";
import { formatBytes } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** The card; it keeps itself current. */
export function embedderCard(workspace: Workspace): HTMLElement {
  const state = element("p", { class: "state on", id: "embedder-state" });
  const choice = element("select", { id: "embedder-model" }, ...EMBEDDER_CHOICES.map(({ about, megabytes, model, name }) =>
    element("option", { value: model }, `${name}, ${about}, about ${megabytes + RUNTIME_MEGABYTES} MB`)));
  const actions = element("div", { class: "actions" });
  const bar = element("progress", { class: "wide", "aria-label": "Download of the embedder", hidden: true });
  const result = element("p", { class: "fine", role: "status", id: "embedder-result" });
  const show = (): void => {
    const { embedder } = workspace;
    state.textContent = embedder === null ? `On: ${SHIPPED_NAME}, which ships with the page (3.2 MB)` : `On: ${embedder.choice.name}`;
    fill(actions,
      button("Download it and use it", () => void begin(), { id: "embedder-on" }),
      embedder !== null && button("Back to the one that ships", () => void workspace.attempt(() => change(null)), { class: "quiet", id: "embedder-off" }));
  };
  workspace.subscribe(["model"], show);
  show();
  return card(
    "embedder", "Search by meaning", state,
    element("p", { class: "fine" }, "The shipped one is quick and works at once. A larger one understands more, in English or in about a hundred languages, and takes longer for each message. After a change everything is embedded again in the background."),
    element("p", { class: "fine" }, `Loaded from ${TRANSFORMERS_HOSTS.join(" and ")} when you say so, by transformers.js, and kept in this browser. What it embeds stays here.`),
    element("label", { class: "stacked" }, "Model", choice), actions, bar, result,
  );

  async function begin(): Promise<void> {
    const chosen = EMBEDDER_CHOICES.find(({ model }) => model === choice.value) ?? EMBEDDER_CHOICES[0];
    if (!chosen) return;
    await download({ actions, bar, choice, result }, async (signal) => {
      const loaded = await loadEmbedder(chosen, (bytes, totalBytes) => {
        bar.max = Math.max(1, totalBytes);
        bar.value = bytes;
        result.textContent = `${formatBytes(bytes)} of ${formatBytes(totalBytes)}`;
      }, signal);
      await change(loaded);
      return "It is on. What is stored is embedded again now.";
    }, (words) => `Not turned on. ${words}`, show);
  }

  async function change(loaded: Awaited<ReturnType<typeof loadEmbedder>> | null): Promise<void> {
    const before = workspace.embedder;
    workspace.embedder = loaded;
    await workspace.open();
    before?.close();
  }
}
