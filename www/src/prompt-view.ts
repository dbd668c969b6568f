/** The prompt as it would be sent, to the letter, in the format of each provider, with a button that copies it. */

import { button, element } from "./element.ts";
import { PROMPT_FORMATS, promptText, type PromptFormat } from "./provider-prompt.ts";
import { tellError } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

/** The folded prompt of a context. */
export function promptView(inquiry: Inquiry, workspace: Workspace): HTMLElement {
  const view = new PromptView(inquiry, workspace);
  return view.node;
}

class PromptView {
  readonly node: HTMLElement;
  readonly #inquiry: Inquiry;
  readonly #workspace: Workspace;
  readonly #text = element("pre", { class: "code prompt-text", id: "prompt-text", tabindex: 0, "aria-label": "Exact prompt" });
  readonly #told = element("span", { class: "fine", role: "status" });
  readonly #choice = element("select", { id: "prompt-format", "aria-label": "Format" },
    ...PROMPT_FORMATS.map(({ id, label }) => element("option", { value: id }, label)));
  #shown: PromptFormat | null = null;

  constructor(inquiry: Inquiry, workspace: Workspace) {
    this.#inquiry = inquiry;
    this.#workspace = workspace;
    const details = element("details", { class: "prompt" },
      element("summary", {}, "Exact prompt"),
      element("div", { class: "actions prompt-actions" }, this.#choice, button("Copy", () => this.#copy(), { id: "copy-prompt" }), this.#told));
    details.addEventListener("toggle", () => {
      if (details.open && !this.#shown) void this.#show();
    });
    this.#choice.addEventListener("change", () => void this.#show());
    this.node = details;
  }

  async #show(): Promise<void> {
    const chosen = PROMPT_FORMATS.find(({ id }) => id === this.#choice.value) ?? PROMPT_FORMATS[0];
    if (!chosen) return;
    this.#shown = chosen;
    this.#told.textContent = "";
    const { answer, context, request } = this.#inquiry;
    this.#text.remove();
    this.#text.textContent = "";
    if (answer !== null && chosen.format !== request.format) {
      this.#told.textContent = "The question was answered since, so another format would be another prompt. Ask again to copy it.";
      return;
    }
    try {
      const text = await promptText(this.#workspace.opened(), request, context, chosen);
      if (this.#shown !== chosen) return;
      this.#text.textContent = text;
      this.node.append(this.#text);
    } catch (error) {
      this.#told.textContent = tellError(error).words;
    }
  }

  #copy(): void {
    navigator.clipboard.writeText(this.#text.textContent ?? "").then(
      () => (this.#told.textContent = "Copied"),
      () => (this.#told.textContent = "This browser does not let the page copy. Select the text instead."),
    );
  }
}
