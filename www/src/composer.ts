/** The question box with the suggested questions above it. */

import { ask, stopAnswering } from "./asking.ts";
import { button, element, fill } from "./element.ts";
import type { Workspace } from "./workspace.ts";

const CHIPS = 6;

/** Fills the lower end of the middle column. */
export function composer(root: HTMLElement, workspace: Workspace): void {
  const box = element("textarea", {
    id: "question",
    rows: 2,
    placeholder: "Ask about anything said before",
    "aria-describedby": "composer-hint",
    autocomplete: "off",
  });
  const chips = element("div", { class: "chips" });
  const toggle = button("", () => showChips(!isListOpen), { class: "quiet" });
  const suggestions = element("div", { class: "suggestions", role: "group", "aria-label": "Suggested questions" }, toggle, chips);
  const primary = element("button", { type: "submit", class: "primary", id: "ask" }, "Build context");
  const store = button("Add as message", () => void storeMessage(), { id: "add-message" });
  const stop = button("Stop", stopAnswering, { hidden: true, id: "stop" });
  const hint = element("p", { class: "fine", id: "composer-hint" });
  const form = element(
    "form",
    { class: "composer" },
    element("label", { for: "question", class: "visually-hidden" }, "Question or message"),
    box,
    element("div", { class: "composer-row" }, hint, stop, store, primary),
  );
  root.append(suggestions, form);

  async function submit(): Promise<void> {
    const question = box.value.trim();
    if (question === "" || workspace.isAsking) return;
    const known = workspace.suggestions.find((suggestion) => suggestion.question === question);
    if ((await ask(workspace, question, known?.evidence)) && workspace.model) box.value = "";
  }

  async function storeMessage(): Promise<void> {
    const content = box.value.trim();
    if (content === "") return;
    const message = { id: crypto.randomUUID(), role: "user", content, createdAt: new Date().toISOString() };
    if (await workspace.attempt(() => workspace.append([message]))) {
      box.value = "";
      workspace.say({ kind: "ready", words: "Stored" });
    }
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void submit();
  });
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    void submit();
  });

  let isListOpen = false;
  const showChips = (isOpen: boolean): void => {
    isListOpen = isOpen;
    suggestions.hidden = workspace.suggestions.length === 0;
    suggestions.classList.toggle("open", isOpen);
    toggle.textContent = isOpen ? "Show fewer" : "All questions";
    toggle.setAttribute("aria-expanded", String(isOpen));
    toggle.hidden = workspace.suggestions.length <= CHIPS;
    const shown = isOpen ? workspace.suggestions : workspace.suggestions.slice(0, CHIPS);
    fill(chips, ...shown.map(({ question, evidence }) =>
      button(question, () => {
        showChips(false);
        void ask(workspace, question, evidence);
      }, { class: "chip" })));
  };
  const showState = (): void => {
    const hasModel = workspace.model !== null;
    primary.textContent = hasModel ? "Ask" : "Build context";
    primary.disabled = workspace.isAsking || !workspace.memory;
    store.hidden = hasModel;
    store.disabled = !workspace.memory;
    stop.hidden = !workspace.isAsking || !hasModel;
    hint.textContent = hasModel
      ? `Answers come from ${workspace.model?.model ?? "the model"}.`
      : "No model is on: you see the context, without an answer.";
  };
  workspace.subscribe(["suggestions"], () => showChips(false));
  workspace.subscribe(["model", "inquiry", "status", "messages"], showState);
  showChips(false);
  showState();
}
