/** Models that run in the page on the graphics card, by WebLLM. */

import { card } from "./card.ts";
import { download } from "./download.ts";
import { button, element, fill } from "./element.ts";
import type { TurnOn } from "./models-view.ts";
import { formatNumber } from "./wording.ts";
import { hasWebGpu, WEBLLM_CHOICES, WEBLLM_HOSTS, webLlmModel } from "./webllm-model.ts";

/** The card. */
export function webLlmCard(turnOn: TurnOn): HTMLElement {
  const state = element("p", { id: "webllm-state" }, "Looking for a graphics card");
  const choice = element("select", { id: "webllm-model" }, ...WEBLLM_CHOICES.map(({ id, megabytes, name }) =>
    element("option", { value: id }, `${name}, about ${formatNumber(megabytes)} MB`)));
  const actions = element("div", { class: "actions" });
  const label = element("label", { class: "stacked" }, "Model", choice);
  const bar = element("progress", { class: "wide", "aria-label": "Download of the model", max: 1, hidden: true });
  const result = element("p", { class: "fine", role: "status", id: "webllm-result" });
  const idle = (): void => fill(actions, button("Download it and turn it on", () => void begin(), { id: "webllm-on" }));
  void hasWebGpu().then((isThere) => {
    label.hidden = !isThere;
    state.textContent = isThere
      ? `Downloads the model from ${WEBLLM_HOSTS.join(" and ")} when you say so, and keeps it in this browser. The size is what it takes on the graphics card; the download is of that order.`
      : "This browser offers no graphics card to pages (WebGPU), which WebLLM needs.";
    state.dataset["webgpu"] = isThere ? "yes" : "no";
    if (isThere) idle();
  });
  return card("webllm", "A model in the page (WebLLM)", state, label, actions, bar, result);

  async function begin(): Promise<void> {
    const chosen = WEBLLM_CHOICES.find(({ id }) => id === choice.value) ?? WEBLLM_CHOICES[0];
    if (!chosen) return;
    await download({ actions, bar, choice, result }, async (signal) => {
      const model = await webLlmModel(chosen, (share, words) => {
        bar.value = share;
        result.textContent = words;
      }, signal);
      await turnOn(model);
      return "It is on.";
    }, (words) => words, idle);
  }
}
