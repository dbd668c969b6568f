/** Turning a language model on and off. Nothing of it is stored: a reload forgets address and key. */

import { button, element, fill } from "./element.ts";
import { checkModel, openAiModel, type ModelSettings } from "./openai-model.ts";
import type { ChatModel } from "./page-state.ts";
import { tellError } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const CHECK_MS = 30_000;

const WITHOUT_MODEL = ["Search by words and by meaning", "Context inside the budget, with its reasons", "Facts that you write down"];
const WITH_MODEL = ["Answers", "Summaries of what was folded away", "Facts found in what you say"];

/** The panel of the language model. */
export class ModelPanel {
  readonly #workspace: Workspace;
  readonly #address = element("input", {
    type: "url", id: "model-url", placeholder: "http://localhost:11434/v1", required: true, autocomplete: "off",
  });
  readonly #name = element("input", { type: "text", id: "model-name", placeholder: "llama3.2", required: true, autocomplete: "off" });
  readonly #window = element("input", {
    type: "number", id: "model-window", value: 32_000, min: 1_024, max: 2_000_000, step: 1, required: true,
  });
  readonly #key = element("input", { type: "password", id: "model-key", autocomplete: "off", placeholder: "Empty for a local server" });
  readonly #on = element("button", { type: "submit", class: "primary", id: "model-on" }, "Turn on");
  readonly #off = button("Turn off", () => void this.#use(null), { id: "model-off" });
  readonly #compact = button("Summarise this conversation now", () => void this.#summarise(), { id: "compact" });
  readonly #result = element("p", { class: "fine", role: "status", id: "model-result" });
  readonly #state = element("div", { class: "model-state" });
  readonly #form = element(
    "form",
    { class: "fields model-form" },
    element("label", { class: "field-wide" }, "Base URL", this.#address,
      element("span", { class: "fine" }, "Any OpenAI-compatible server: https, or http on this machine.")),
    element("label", {}, "Model", this.#name),
    element("label", {}, "Context window", this.#window),
    element("label", { class: "field-wide" }, "API key", this.#key,
      element("span", { class: "fine" }, "Kept in this tab's memory only and sent to this server only.")),
    element("div", { class: "actions field-wide" }, this.#on),
  );

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace;
    const actions = element("div", { class: "actions" }, this.#compact, this.#off);
    root.append(element("h2", {}, "Language model"), this.#state, this.#form, actions, this.#result);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#turnOn({
        baseUrl: this.#address.value.trim(),
        model: this.#name.value.trim(),
        apiKey: this.#key.value.trim(),
        contextWindow: Number(this.#window.value),
      });
    });
    workspace.subscribe(["model"], () => this.#show());
    this.#show();
  }

  async #turnOn(settings: ModelSettings): Promise<void> {
    this.#on.disabled = true;
    this.#result.textContent = "Asking the model for a short answer";
    try {
      await checkModel(settings, AbortSignal.timeout(CHECK_MS));
      this.#result.textContent = "";
      await this.#use(openAiModel(settings));
    } catch (error) {
      const words = error instanceof DOMException ? `No answer within ${CHECK_MS / 1_000} seconds.` : tellError(error).words;
      this.#result.textContent = `Not turned on. ${words}`;
    } finally {
      this.#on.disabled = false;
    }
  }

  async #use(model: ChatModel | null): Promise<void> {
    this.#workspace.model = model;
    await this.#workspace.attempt(() => this.#workspace.open());
    this.#workspace.changed("model");
  }

  async #summarise(): Promise<void> {
    const { current } = this.#workspace;
    if (!current) return;
    this.#compact.disabled = true;
    this.#result.textContent = "Summarising";
    try {
      const summary = await this.#workspace.opened().compact(current.id, { force: true });
      this.#result.textContent = summary.summarizedUntilSeq > 0
        ? `Summarised up to message ${summary.summarizedUntilSeq}. The summary goes into the next context.`
        : "There was nothing to summarise yet.";
    } catch (error) {
      this.#result.textContent = tellError(error).words;
    } finally {
      this.#compact.disabled = false;
    }
  }

  #show(): void {
    const { model } = this.#workspace;
    this.#form.hidden = model !== null;
    this.#off.hidden = this.#compact.hidden = model === null;
    fill(
      this.#state,
      element("p", { class: model ? "state on" : "state off" }, model ? `On: ${model.name}` : "Off"),
      model ? abilities("Works", [...WITHOUT_MODEL, ...WITH_MODEL], "abilities") : abilities("Works without a model", WITHOUT_MODEL, "abilities"),
      model ? null : abilities("Off until you turn one on", WITH_MODEL, "abilities off"),
    );
  }
}

function abilities(words: string, entries: readonly string[], className: string): HTMLElement {
  const list = element("ul", {}, ...entries.map((entry) => element("li", {}, entry)));
  return element("div", { class: className }, element("h3", {}, words), list);
}
