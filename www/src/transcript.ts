/**
 * The conversation as it was said. A few hundred messages are in the page at once, more on demand, so that a long
 * conversation opens at once and scrolls smoothly.
 */

import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { inquiryCard } from "./inquiry-card.ts";
import { messageActions } from "./message-actions.ts";
import { messageView } from "./message-view.ts";
import type { ShownMessage } from "./message.ts";
import { placements, type Placement } from "./placement.ts";
import { loadSample } from "./sample.ts";
import { sectionLook } from "./sections.ts";
import { showView } from "./views.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount, formatDay } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const SHOWN_AT_FIRST = 200;
const SHOWN_MORE = 200;

/** So near to the end that new messages are followed. */
const NEAR_END_PIXELS = 240;

/** The middle column without the question box. */
export class Transcript {
  readonly #workspace: Workspace;
  readonly #head = element("header", { class: "chat-head" });
  readonly #scroller = element("div", { class: "scroller", id: "transcript", tabindex: 0, "aria-label": "Transcript" });
  readonly #list = element("div", { class: "messages" });
  readonly #earlier = button("Earlier messages", () => this.#show(this.#from - SHOWN_MORE, this.#to), { class: "quiet more" });
  readonly #later = button("Later messages", () => this.#show(this.#from, this.#to + SHOWN_MORE), { class: "quiet more" });
  readonly #inquiry = element("div", { class: "inquiry-place" });
  #conversationId: string | null = null;
  #shownInquiry: Inquiry | null = null;
  #isInquiryDue = false;
  #isGrowthDue = false;
  /** Id of the conversation whose title is being edited. */
  #renaming: string | null = null;
  /** How many messages there were when they were last shown. */
  #known = 0;
  /** First message shown, as an index, inclusive. */
  #from = 0;
  /** Last message shown, as an index, exclusive. */
  #to = 0;

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace;
    root.append(this.#head, this.#scroller);
    this.#scroller.append(this.#earlier, this.#list, this.#later, this.#inquiry);
    workspace.subscribe(["messages"], () => this.#messagesChanged());
    workspace.subscribe(["conversations", "messages"], () => this.#showHead());
    workspace.subscribe(["growth"], () => this.#growthDue());
    workspace.subscribe(["inquiry", "model"], () => this.#inquiryDue());
    workspace.subscribe(["status"], () => this.#statusChanged());
    this.#messagesChanged();
  }

  /** Scrolls to a message and marks it for a moment. */
  goTo(seq: number): void {
    const index = this.#workspace.messages.findIndex((message) => message.seq === seq);
    if (index < 0) return;
    showView("chat");
    if (index < this.#from || index >= this.#to) {
      this.#show(index - SHOWN_AT_FIRST / 2, index + SHOWN_AT_FIRST / 2);
    }
    const node = document.getElementById(`message-${seq}`);
    if (!node) return;
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
    for (const other of this.#list.querySelectorAll(".pointed-at")) other.classList.remove("pointed-at");
    node.classList.add("pointed-at");
  }

  #messagesChanged(): void {
    const { current, messages } = this.#workspace;
    const isOther = (current?.id ?? null) !== this.#conversationId || messages.length < this.#known;
    const isAtEnd = isOther || (this.#to === this.#known && this.#isNearEnd());
    const isEndShown = this.#to === this.#known;
    this.#conversationId = current?.id ?? null;
    this.#known = messages.length;
    if (messages.length === 0) {
      this.#from = this.#to = 0;
      this.#earlier.hidden = this.#later.hidden = true;
      this.#fillList(this.#placeholder());
      return;
    }
    if (isOther) this.#show(messages.length - SHOWN_AT_FIRST, messages.length);
    else this.#show(this.#from, isEndShown ? messages.length : this.#to);
    if (isAtEnd) this.#toEnd();
  }

  #isNearEnd(): boolean {
    const { clientHeight, scrollHeight, scrollTop } = this.#scroller;
    return scrollHeight - scrollTop - clientHeight < NEAR_END_PIXELS;
  }

  #statusChanged(): void {
    const isPlaceholder = this.#workspace.messages.length === 0 && !this.#workspace.status.progress;
    if (isPlaceholder) this.#fillList(this.#placeholder());
  }

  /** The keyboard stays on the message that had it, else it goes to the transcript. */
  #fillList(...nodes: HTMLElement[]): void {
    const { activeElement } = document;
    const focused = activeElement && this.#list.contains(activeElement) ? activeElement.closest("[id]")?.id : undefined;
    fill(this.#list, ...nodes);
    if (focused !== undefined) (document.getElementById(focused) ?? this.#scroller).focus({ preventScroll: true });
  }

  #placeholder(): HTMLElement {
    const { current, memory, status } = this.#workspace;
    if (current) return emptyConversation(this.#workspace.conversations.some(({ messageCount }) => messageCount > 0));
    if (memory) return this.#welcome();
    if (status.kind !== "error") return element("p", { class: "empty" }, "Opening the memory on this device.");
    return element(
      "div",
      { class: "welcome", role: "alert" },
      element("h2", {}, "The memory could not be opened"),
      element("p", {}, status.words),
      element("p", { class: "fine" }, `Code: ${status.error?.code ?? "error"}`),
      element("p", { class: "actions" }, button("Try again", () => location.reload(), { class: "primary" })),
    );
  }

  /** Puts these messages in the page; bounds outside the conversation are moved in. */
  #show(from: number, to: number): void {
    const { messages } = this.#workspace;
    const anchor = this.#list.querySelector<HTMLElement>(".message");
    const anchorTop = anchor?.getBoundingClientRect().top ?? 0;
    this.#from = Math.max(0, from);
    this.#to = Math.min(messages.length, to);
    this.#fillList(...this.#withDays(messages.slice(this.#from, this.#to)));
    this.#earlier.hidden = this.#from === 0;
    this.#later.hidden = this.#to === messages.length;
    this.#placeMarks();
    const same = anchor && document.getElementById(anchor.id);
    if (same) this.#scroller.scrollTop += same.getBoundingClientRect().top - anchorTop;
  }

  #toEnd(): void {
    this.#scroller.scrollTop = this.#scroller.scrollHeight;
  }

  /** At most once a frame: an answer that streams in changes many times a second. */
  #growthDue(): void {
    if (this.#isGrowthDue) return;
    this.#isGrowthDue = true;
    requestAnimationFrame(() => {
      this.#isGrowthDue = false;
      this.#showGrowth();
    });
  }

  /** Draws the messages anew that are being written, and follows them where the end is in sight. */
  #showGrowth(): void {
    const isFollowed = this.#isNearEnd();
    for (const message of this.#workspace.messages) {
      if (message.status === "streaming") document.getElementById(`message-${message.seq}`)?.replaceWith(this.#view(message));
    }
    if (isFollowed) this.#toEnd();
  }

  /** At most once a frame: several changes can come at once. */
  #inquiryDue(): void {
    if (this.#isInquiryDue) return;
    this.#isInquiryDue = true;
    requestAnimationFrame(() => {
      this.#isInquiryDue = false;
      this.#inquiryChanged();
    });
  }

  #inquiryChanged(): void {
    const { inquiry, messages } = this.#workspace;
    const card = inquiryCard(this.#workspace, (seq) => this.goTo(seq));
    fill(this.#inquiry, card);
    if (inquiry === this.#shownInquiry) return;
    this.#shownInquiry = inquiry;
    if (!inquiry || !card) {
      this.#placeMarks();
      return;
    }
    if (this.#to < messages.length) this.#show(messages.length - SHOWN_AT_FIRST, messages.length);
    else this.#placeMarks();
    card.scrollIntoView({ block: "start" });
  }

  /** A rail beside every message that is in the context, in its section's colour and with its section's name. */
  #placeMarks(): void {
    const { inquiry, messages } = this.#workspace;
    const places = inquiry ? placements(inquiry.sections, inquiry.conversationId, messages) : new Map<number, Placement>();
    for (const node of this.#list.querySelectorAll<HTMLElement>(".message")) {
      const place = places.get(Number(node.dataset["seq"]));
      const label = node.querySelector(".message-place");
      if (place) {
        node.dataset["section"] = place.section;
        node.classList.toggle("hit", place.isHit);
        if (label) label.textContent = placeWords(place);
      } else {
        delete node.dataset["section"];
        node.classList.remove("hit");
        if (label) label.textContent = "";
      }
    }
  }

  #withDays(messages: readonly ShownMessage[]): HTMLElement[] {
    let last = "";
    return messages.flatMap((message) => {
      const day = message.createdAt ? formatDay(message.createdAt) : "";
      const isNew = day !== "" && day !== last;
      last = day || last;
      return isNew ? [element("h3", { class: "day" }, day), this.#view(message)] : [this.#view(message)];
    });
  }

  #view(message: ShownMessage): HTMLElement {
    return messageView(message, messageActions(this.#workspace, message));
  }

  #showHead(): void {
    const { current } = this.#workspace;
    if (!current) {
      this.#renaming = null;
      fill(this.#head);
      return;
    }
    // A title that is being edited stays as it is, until another conversation is chosen.
    if (this.#renaming === current.id) return;
    this.#renaming = null;
    const focused = this.#head.contains(document.activeElement) ? document.activeElement?.id : undefined;
    fill(
      this.#head,
      element("h2", { class: "chat-title", id: "chat-title" }, visibleLine(current.title) || "Untitled"),
      element("p", { class: "chat-about" },
        `${formatCount(current.messageCount, "message")}, ${formatCount(current.tokens, "token")}`),
      element("div", { class: "actions chat-actions" },
        button("Rename", () => this.#rename(current.id, current.title), { class: "quiet", id: "rename" }),
        button("Delete", () => void this.#delete(current.id, current.title), { class: "quiet", id: "delete-conversation" })),
    );
    // The buttons are built anew with every change; from the form the keyboard goes back to where it was opened.
    if (focused !== undefined) (document.getElementById(focused) ?? document.getElementById("rename"))?.focus({ preventScroll: true });
  }

  async #delete(conversationId: string, title: string): Promise<void> {
    const name = visibleLine(title) || "Untitled";
    const consequence = `“${name}” and everything derived from it (vectors, summary, facts learned from it) will be gone.`;
    if (await confirmAction("Delete this conversation?", consequence, "Delete")) {
      await this.#workspace.attempt(() => this.#workspace.remove(conversationId));
      this.#scroller.focus({ preventScroll: true });
    }
  }

  #rename(conversationId: string, title: string): void {
    const input = element("input", { type: "text", value: title, "aria-label": "Title", maxlength: 200, id: "title-input" });
    const done = (): void => {
      if (this.#renaming !== conversationId) return;
      this.#renaming = null;
      this.#showHead();
    };
    const form = element(
      "form",
      { class: "rename" },
      input,
      element("button", { type: "submit" }, "Save"),
      button("Cancel", done, { class: "quiet" }),
    );
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#workspace.attempt(() => this.#workspace.rename(conversationId, input.value)).then((isRenamed) => {
        if (isRenamed) done();
      });
    });
    input.addEventListener("keydown", (event) => {
      if (event.key === "Escape") done();
    });
    this.#renaming = conversationId;
    fill(this.#head, form);
    input.select();
  }

  #welcome(): HTMLElement {
    const start = button("Try the sample conversation", () => void this.#workspace.attempt(() => loadSample(this.#workspace)), {
      class: "primary",
      id: "try-sample",
    });
    return element(
      "div",
      { class: "welcome" },
      element("h2", {}, "A long conversation, and the right words from it"),
      element("p", {},
        "A model cannot read everything again for each question. Throughline keeps every message on your device and decides "
          + "what the model is sent: the newest messages, what it knows about you, and the old ones that this question needs."),
      element("p", {},
        "Open the sample: twelve weeks of work on a website for a choir, 566 messages. Then ask about something said on the first evening."),
      element("p", { class: "actions" }, start, button("Import your chats", () => document.getElementById("import-file")?.click()), button("Start an empty one",
        () => void this.#workspace.attempt(() => this.#workspace.create()))),
      element("p", { class: "fine" },
        "No account, no key, no server: search and context run in this page, and what you type stays in this browser."),
    );
  }
}

function placeWords({ isHit, section }: Placement): string {
  if (isHit) return "Found for this question";
  return section === "retrieved" ? "Beside a found message" : `In the context: ${sectionLook(section).label}`;
}

function emptyConversation(isOtherThere: boolean): HTMLElement {
  const words = isOtherThere
    ? "Nothing said here yet. Ask about your other conversations, or add a message; it is stored on this device, and later questions can find it."
    : "Nothing said yet. Write below; it is stored on this device, and later questions can find it.";
  return element("p", { class: "empty" }, words);
}
