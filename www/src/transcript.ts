/**
 * The conversation as it was said. A few hundred messages are in the page at once, more on demand, so that a long
 * conversation opens at once and scrolls smoothly.
 */

import { button, element, fill } from "./element.ts";
import { inquiryCard } from "./inquiry-card.ts";
import { messageActions, versionSwitch } from "./message-actions.ts";
import { messageKeys } from "./message-keys.ts";
import { messageView, updateMessage } from "./message-view.ts";
import type { ShownMessage } from "./message.ts";
import { onGoTo, type Destination } from "./navigation.ts";
import { placements, type Placement } from "./placement.ts";
import { sectionLook } from "./sections.ts";
import { showConversation } from "./views.ts";
import { placeholder } from "./welcome.ts";
import { formatDay } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const SHOWN_AT_FIRST = 200;
const SHOWN_MORE = 200;

/** So near to the end that new messages are followed. */
const NEAR_END_PIXELS = 240;

/** The middle column without the question box. */
export class Transcript {
  readonly #workspace: Workspace;
  readonly #scroller = element("div", { class: "scroller", id: "transcript", tabindex: 0, "aria-label": "Transcript" });
  readonly #list = element("div", { class: "messages" });
  readonly #resetKeys = messageKeys(this.#list);
  readonly #earlier = button("Earlier messages", () => this.#show(this.#from - SHOWN_MORE, this.#to), { class: "quiet more" });
  readonly #later = button("Later messages", () => this.#show(this.#from, this.#to + SHOWN_MORE), { class: "quiet more" });
  readonly #inquiry = element("div", { class: "inquiry-place" });
  #conversationId: string | null = null;
  /** The message that was gone to last: messages are drawn anew with every change. */
  #pointedAt: Destination | null = null;
  #shownInquiry: Inquiry | null = null;
  #isInquiryDue = false;
  #isGrowthDue = false;
  /** How many messages there were when they were last shown. */
  #known = 0;
  /** First message shown, as an index, inclusive. */
  #from = 0;
  /** Last message shown, as an index, exclusive. */
  #to = 0;

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#workspace = workspace;
    root.append(this.#scroller);
    this.#scroller.append(this.#earlier, this.#list, this.#later, this.#inquiry);
    workspace.subscribe(["messages"], () => this.#messagesChanged());
    workspace.subscribe(["growth"], () => this.#growthDue());
    workspace.subscribe(["inquiry", "model"], () => this.#inquiryDue());
    workspace.subscribe(["model", "marks"], () => this.#to > 0 && this.#show(this.#from, this.#to));
    onGoTo((destination) => this.#goTo(destination));
    workspace.subscribe(["status"], () => this.#statusChanged());
    this.#messagesChanged();
  }

  /** Scrolls to a message and points at it, with its words marked. */
  #goTo({ marked, seq }: Destination): void {
    const index = this.#workspace.messages.findIndex((message) => message.seq === seq);
    if (index < 0) return;
    showConversation();
    if (index < this.#from || index >= this.#to) {
      this.#show(index - SHOWN_AT_FIRST / 2, index + SHOWN_AT_FIRST / 2);
    }
    const node = document.getElementById(`message-${seq}`);
    if (!node) return;
    node.scrollIntoView({ block: "center" });
    node.focus({ preventScroll: true });
    for (const other of this.#list.querySelectorAll(".pointed-at")) other.classList.remove("pointed-at");
    const message = this.#workspace.messages[index];
    this.#pointedAt = { marked, seq };
    if (message) this.#point(node, message);
  }

  /** Points at a message, where it is the one. */
  #point(node: HTMLElement, message: ShownMessage): void {
    if (this.#pointedAt?.seq !== message.seq) return;
    node.classList.add("pointed-at");
    if (this.#pointedAt.marked.length > 0) updateMessage(node, message, this.#pointedAt.marked);
  }

  #messagesChanged(): void {
    const { current, messages } = this.#workspace;
    const isOther = (current?.id ?? null) !== this.#conversationId || messages.length < this.#known;
    const isAtEnd = isOther || (this.#to === this.#known && this.#isNearEnd());
    const isEndShown = this.#to === this.#known;
    if ((current?.id ?? null) !== this.#conversationId) this.#pointedAt = null;
    this.#conversationId = current?.id ?? null;
    this.#known = messages.length;
    if (messages.length === 0) {
      this.#from = this.#to = 0;
      this.#earlier.hidden = this.#later.hidden = true;
      this.#fillList(placeholder(this.#workspace));
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
    if (isPlaceholder) this.#fillList(placeholder(this.#workspace));
  }

  /** The keyboard stays on the message that had it, else it goes to the transcript. */
  #fillList(...nodes: HTMLElement[]): void {
    const { activeElement } = document;
    const focused = activeElement && this.#list.contains(activeElement) ? activeElement.closest("[id]")?.id : undefined;
    fill(this.#list, ...nodes);
    this.#resetKeys();
    if (focused !== undefined) (document.getElementById(focused) ?? this.#scroller).focus({ preventScroll: true });
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
      const node = message.status === "streaming" && document.getElementById(`message-${message.seq}`);
      if (node) updateMessage(node, message);
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
    const card = inquiryCard(this.#workspace, (seq) => this.#goTo({ seq, marked: [] }));
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
      const mark = this.#workspace.marks.get(message.seq);
      return [
        ...(isNew ? [element("h3", { class: "day" }, day)] : []),
        this.#view(message),
        ...(mark === undefined ? [] : [element("p", { class: "transcript-mark" }, mark)]),
      ];
    });
  }

  #view(message: ShownMessage): HTMLElement {
    const node = messageView(message, versionSwitch(this.#workspace, message.id), messageActions(this.#workspace, message));
    this.#point(node, message);
    return node;
  }
}

function placeWords({ isHit, section }: Placement): string {
  if (isHit) return "Found for this question";
  return section === "retrieved" ? "Beside a found message" : `In the context: ${sectionLook(section).label}`;
}
