/** The question box with the suggested questions above it. */

import { ask, stopAnswering } from "./asking.ts";
import { AttachmentPicker } from "./attachment-picker.ts";
import { contentWith, type Attachment } from "./attachments.ts";
import { button, element, fill } from "./element.ts";
import { isTemporary } from "./temporary-chats.ts";
import type { Workspace } from "./workspace.ts";

/** Suggestions shown before all are asked for. */
const CHIPS = 6;

/** The lower end of the middle column. */
export class Composer {
  readonly #workspace: Workspace;
  readonly #box = element("textarea", {
    id: "question",
    rows: 2,
    placeholder: "Ask about anything said before",
    "aria-describedby": "composer-hint",
    autocomplete: "off",
    dir: "auto",
  });
  readonly #ask = element("button", { type: "submit", class: "primary", id: "ask" }, "Build context");
  readonly #store = button("Add as message", () => void this.#storeMessage(), { id: "add-message" });
  readonly #stop = button("Stop", stopAnswering, { class: "primary", hidden: true, id: "stop" });
  readonly #files: AttachmentPicker;
  readonly #hint = element("p", { class: "fine", id: "composer-hint" });
  readonly #chips = element("div", { class: "chips" });
  readonly #all = button("All questions", () => this.#showChips(!this.#isOpen), { class: "quiet" });
  readonly #suggestions = element(
    "div",
    { class: "suggestions", role: "group", "aria-label": "Suggested questions" },
    this.#all,
    this.#chips,
  );
  readonly #form: HTMLFormElement;
  /** What was typed and chosen and not sent, by conversation. */
  readonly #drafts = new Map<string, { text: string; attachments: readonly Attachment[] }>();
  #conversationId: string | null = null;
  /** The question that waits for its answer, and where it was asked. */
  #asked: { question: string; from: string | null } | null = null;
  #isOpen = false;

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace;
    this.#files = new AttachmentPicker(workspace);
    this.#form = element(
      "form",
      { class: "composer" },
      element("label", { for: "question", class: "visually-hidden" }, "Question or message"),
      this.#files.chosen,
      this.#box,
      element("div", { class: "composer-row" }, this.#files.button, this.#hint, this.#store, this.#ask, this.#stop),
    );
    root.append(this.#suggestions, this.#form);
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#acceptDrops();
    this.#box.addEventListener("paste", (event) => {
      const files = [...(event.clipboardData?.files ?? [])];
      if (files.length === 0) return;
      event.preventDefault();
      void this.#files.add(files);
    });
    this.#box.addEventListener("keydown", (event) => {
      // While a Korean or Japanese word is being composed, Enter ends the word.
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      void this.#submit();
    });
    workspace.subscribe(["suggestions"], () => this.#showChips(false));
    workspace.subscribe(["conversations", "messages"], () => this.#keepDraft());
    workspace.subscribe(["wiped"], () => this.#forgetDrafts());
    workspace.subscribe(["model", "inquiry", "status", "messages", "conversations"], () => this.#showState());
    this.#showChips(false);
    this.#showState();
  }

  /** Without a model and with nothing to ask about, the first thing to do is to say something. */
  get #isOnlyStoring(): boolean {
    const { conversations, messages, model } = this.#workspace;
    return model === null && messages.length === 0 && !conversations.some(({ messageCount }) => messageCount > 0);
  }

  /** Files that are dropped here go with the message; elsewhere on the page they are an export to be imported. */
  #acceptDrops(): void {
    const isOver = (event: DragEvent, isIt: boolean): boolean => {
      if (!event.dataTransfer?.types.includes("Files")) return false;
      event.preventDefault();
      event.stopPropagation();
      this.#form.classList.toggle("dropping", isIt);
      const veil = document.getElementById("drop-veil");
      if (veil) veil.hidden = true;
      return true;
    };
    this.#form.addEventListener("dragover", (event) => isOver(event, true));
    this.#form.addEventListener("dragleave", (event) => isOver(event, false));
    this.#form.addEventListener("drop", (event) => {
      if (isOver(event, false)) void this.#files.add([...(event.dataTransfer?.files ?? [])]);
    });
  }

  /** Each conversation has its own draft; one that is gone leaves none. */
  #keepDraft(): void {
    const before = this.#conversationId;
    const now = this.#workspace.current?.id ?? null;
    if (before === now) return;
    this.#conversationId = now;
    // What was typed before there was a conversation goes into the first one.
    const { attachments } = this.#files;
    const text = this.#box.value;
    const isEmpty = text === "" && attachments.length === 0;
    if (before === null && !isEmpty) return;
    if (before !== null && now !== null && !isEmpty) this.#drafts.set(before, { text, attachments });
    else if (before !== null) this.#drafts.delete(before);
    const draft = now === null ? undefined : this.#drafts.get(now);
    this.#box.value = draft?.text ?? "";
    this.#files.choose(draft?.attachments ?? []);
  }

  #forgetDrafts(): void {
    this.#drafts.clear();
    this.#box.value = "";
  }

  /** Empties the box, unless another conversation or another text is in it by now. */
  #sent(text: string, conversationId: string | null): void {
    if (conversationId !== null && this.#drafts.get(conversationId)?.text.trim() === text) this.#drafts.delete(conversationId);
    if (this.#box.value.trim() !== text) return;
    this.#box.value = "";
    this.#files.choose([]);
  }

  async #submit(): Promise<void> {
    const question = this.#box.value.trim();
    if (question === "" || this.#workspace.isAsking) return;
    if (this.#isOnlyStoring) return this.#storeMessage();
    const known = this.#workspace.suggestions.find((suggestion) => suggestion.question === question);
    const from = this.#conversationId;
    this.#asked = { question, from };
    await ask(this.#workspace, question, known?.evidence, this.#files.attachments);
    this.#asked = null;
  }

  async #storeMessage(): Promise<void> {
    const said = this.#box.value.trim();
    const { attachments } = this.#files;
    if (said === "" && attachments.length === 0) return;
    const from = this.#conversationId;
    const message = { id: crypto.randomUUID(), role: "user", ...contentWith(said, attachments), createdAt: new Date().toISOString() };
    const isStored = await this.#workspace.attempt(async () => {
      const { id } = await this.#workspace.currentOrNew();
      await this.#workspace.append(id, [message]);
    });
    if (!isStored) return;
    this.#sent(said, from);
    this.#workspace.say({ kind: "ready", words: "Stored" });
  }

  #showChips(isOpen: boolean): void {
    const { suggestions } = this.#workspace;
    this.#isOpen = isOpen;
    this.#suggestions.hidden = suggestions.length === 0;
    this.#suggestions.classList.toggle("open", isOpen);
    this.#all.textContent = isOpen ? "Show fewer" : "All questions";
    this.#all.setAttribute("aria-expanded", String(isOpen));
    this.#all.hidden = suggestions.length <= CHIPS;
    const chips = suggestions.slice(0, isOpen ? undefined : CHIPS).map(({ question, evidence }) =>
      button(question, () => {
        this.#closeChips(question);
        void ask(this.#workspace, question, evidence);
      }, { class: "chip", title: question }));
    fill(this.#chips, ...chips);
  }

  /** Folds the questions; the keyboard stays on the one that was chosen, where it is still shown. */
  #closeChips(question: string): void {
    if (!this.#isOpen) return;
    this.#showChips(false);
    const chosen = [...this.#chips.children].find((chip) => chip.textContent === question);
    (chosen instanceof HTMLElement ? chosen : this.#all).focus();
  }

  #showState(): void {
    const { current, inquiry, isAsking, memory, model } = this.#workspace;
    // With the first word of its answer the question is in the conversation, and no longer here.
    if (this.#asked && inquiry?.answer === "writing") {
      this.#sent(this.#asked.question, this.#asked.from);
      this.#asked = null;
    }
    const isOnlyStoring = this.#isOnlyStoring;
    const isAnswering = isAsking && model !== null;
    this.#ask.textContent = isOnlyStoring ? "Add as message" : model ? "Ask" : "Build context";
    this.#ask.disabled = isAsking || !memory;
    this.#ask.hidden = isAnswering;
    this.#store.hidden = model !== null || isOnlyStoring;
    this.#store.disabled = !memory;
    // The keyboard goes along from the one to the other.
    const hadFocus = document.activeElement === this.#stop;
    this.#stop.hidden = !isAnswering;
    if (hadFocus && !isAnswering) this.#box.focus();
    this.#form.classList.toggle("temporary", current !== null && isTemporary(current));
    this.#hint.textContent = model ? `Answers come from ${model.name}.` : "No model is on: you see the context, without an answer.";
  }
}
