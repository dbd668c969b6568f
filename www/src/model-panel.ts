/** Turning a language model on and off. Nothing of it is stored: a reload forgets address and key. */

import { button, element, fill } from "./element.ts";
import { checkModel, type ModelSettings } from "./openai-model.ts";
import { tellError } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Fills the panel and keeps it current. */
export function modelPanel(root: HTMLElement, workspace: Workspace): void {
  const address = element("input", { type: "url", id: "model-url", placeholder: "http://localhost:11434/v1", required: true, autocomplete: "off" });
  const name = element("input", { type: "text", id: "model-name", placeholder: "llama3.2", required: true, autocomplete: "off" });
  const key = element("input", { type: "password", id: "model-key", autocomplete: "off", placeholder: "Empty for a local server" });
  const contextWindow = element("input", { type: "number", id: "model-window", value: 32_000, min: 1_024, max: 2_000_000, step: 1, required: true });
  const submit = element("button", { type: "submit", class: "primary", id: "model-on" }, "Turn on");
  const off = button("Turn off", () => void use(null), { id: "model-off" });
  const compact = button("Summarise this conversation now", () => void summarise(), { id: "compact" });
  const result = element("p", { class: "fine", role: "status", id: "model-result" });
  const state = element("div", { class: "model-state" });
  const form = element("form", { class: "fields model-form" },
    element("label", { class: "field-wide" }, "Base URL", address,
      element("span", { class: "fine" }, "Any OpenAI-compatible server: https, or http on this machine.")),
    element("label", {}, "Model", name),
    element("label", {}, "Context window", contextWindow),
    element("label", { class: "field-wide" }, "API key", key,
      element("span", { class: "fine" }, "Kept in this tab's memory only and sent to this server only.")),
    element("div", { class: "actions field-wide" }, submit));
  root.append(element("h2", {}, "Language model"), state, form, element("div", { class: "actions" }, compact, off), result);

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void turnOn({
      baseUrl: address.value.trim(),
      model: name.value.trim(),
      apiKey: key.value.trim(),
      contextWindow: Number(contextWindow.value),
    });
  });

  async function turnOn(settings: ModelSettings): Promise<void> {
    submit.disabled = true;
    result.textContent = "Asking the model for a short answer";
    try {
      await checkModel(settings, AbortSignal.timeout(30_000));
      result.textContent = "";
      await use(settings);
    } catch (error) {
      result.textContent = `Not turned on. ${error instanceof DOMException ? "No answer within 30 seconds." : tellError(error).words}`;
    } finally {
      submit.disabled = false;
    }
  }

  async function use(settings: ModelSettings | null): Promise<void> {
    workspace.model = settings;
    await workspace.attempt(() => workspace.open());
    workspace.changed("model");
  }

  async function summarise(): Promise<void> {
    const { current } = workspace;
    if (!current) return;
    compact.disabled = true;
    result.textContent = "Summarising";
    try {
      await workspace.opened().compact(current.id, { force: true });
      result.textContent = "The summary is up to date. It goes into the next context.";
    } catch (error) {
      result.textContent = tellError(error).words;
    } finally {
      compact.disabled = false;
    }
  }

  const update = (): void => {
    const { model } = workspace;
    form.hidden = model !== null;
    off.hidden = compact.hidden = model === null;
    fill(state, element("p", { class: model ? "state on" : "state off" }, model ? `On: ${model.model}` : "Off"), ...abilities(model !== null));
  };
  workspace.subscribe(["model"], update);
  update();
}

function abilities(hasModel: boolean): HTMLElement[] {
  const always = ["Search by words and by meaning", "Context inside the budget, with its reasons", "Facts that you write down"];
  const withModel = ["Answers", "Summaries of what was folded away", "Facts found in what you say"];
  const list = (words: string, entries: readonly string[], className: string): HTMLElement =>
    element("div", { class: className }, element("h3", {}, words), element("ul", {}, ...entries.map((entry) => element("li", {}, entry))));
  return hasModel
    ? [list("Works", [...always, ...withModel], "abilities")]
    : [list("Works without a model", always, "abilities"), list("Off until you turn one on", withModel, "abilities off")];
}
