/** At the end of the transcript: the question in hand, until it is answered there, and what was found for it. */

import { button, element, fill } from "./element.ts";
import { isElsewhere, readElsewhere } from "./elsewhere.ts";
import { messageLine, type ShownMessage } from "./message.ts";
import { messageQuote } from "./message-view.ts";
import { showMessage } from "./navigation.ts";
import { evidenceFound, messagesOf } from "./placement.ts";
import { reasonSentence } from "./reasons.ts";
import { foundItems, type ShownItem } from "./receipt-view.ts";
import { showView } from "./views.ts";
import { wordsToMark } from "./visible-text.ts";
import { formatNumber } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const SHOWN_FINDS = 3;

/**
 * The card, or nothing when no question is in hand. Once its answer is being written into the conversation, it only keeps
 * what the answer is made from.
 */
export function inquiryCard(workspace: Workspace, goTo: (seq: number) => void): HTMLElement | null {
  const { inquiry, messages } = workspace;
  if (!inquiry) return null;
  const { answer, context, question, storedAs } = inquiry;
  const { fullHistory } = context.receipt.tokens;
  const isAnswered = answer === "writing" || answer === "done";
  const figures = element(
    "p",
    { class: "inquiry-figures" },
    context.tokens < fullHistory ? `${formatNumber(context.tokens)} tokens instead of ${formatNumber(fullHistory)}. ` : `${formatNumber(context.tokens)} tokens. `,
    button("See the whole context", () => showView("context"), { class: "link to-memory" }),
  );
  const finds = found(inquiry, workspace, goTo);
  return element(
    "section",
    { class: "inquiry", "aria-label": "Your question" },
    isAnswered || storedAs !== null ? null : element("p", { class: "asked" }, question),
    answer === "awaited" ? element("p", { class: "fine awaited" }, "Waiting for the first word of the answer.") : null,
    workspace.model ? null : element("p", { class: "fine" },
      "No model is on, so there is no answer. This is what a model would be given; the question was not stored."),
    figures,
    evidenceNote(inquiry, messages, goTo),
    ...(isAnswered ? [element("details", {}, element("summary", {}, "What was found for it"), ...finds)] : finds),
  );
}

function found(inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): HTMLElement[] {
  const items = foundItems(inquiry.sections);
  if (items.length === 0) {
    return [element("h3", {}, "Nothing older was needed"), element("p", { class: "fine" }, reasonsOf(inquiry))];
  }
  const more = items.length - SHOWN_FINDS;
  return [
    element("h3", {}, "Found for this question"),
    ...items.slice(0, SHOWN_FINDS).map((item) => find(item, inquiry, workspace, goTo)),
    ...(more > 0 ? [element("p", { class: "fine" }, `${more} more in the context.`)] : []),
  ];
}

function find(item: ShownItem, inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): HTMLElement {
  if (isElsewhere(item, inquiry)) return findElsewhere(item, inquiry, workspace);
  const held = messagesOf(item, inquiry.conversationId, workspace.messages);
  const marked = wordsToMark(inquiry.question);
  const message = held.find(({ id }) => inquiry.evidence.includes(id)) ?? hitOf(item, held, marked);
  if (!message) return element("p", { class: "fine" }, "This message is not loaded here; see the context.");
  return element(
    "div",
    { class: "find" },
    messageQuote(message, true, marked),
    button("Show in the conversation", () => goTo(message.seq), { class: "link" }),
  );
}

/** The card is drawn again with every piece of an answer; what was read from elsewhere stays the same element. */
const drawnElsewhere = new WeakMap<ShownItem, HTMLElement>();

function findElsewhere(item: ShownItem, inquiry: Inquiry, workspace: Workspace): HTMLElement {
  const drawn = drawnElsewhere.get(item);
  if (drawn) return drawn;
  const node = element("div", { class: "find" }, element("p", { class: "fine" }, "From another conversation."));
  drawnElsewhere.set(item, node);
  const marked = wordsToMark(inquiry.question);
  readElsewhere(item, workspace).then(({ conversationId, messages, title }) => {
    const message = hitOf(item, messages, marked);
    if (!message) return;
    fill(
      node,
      element("p", { class: "fine" }, `From “${title}”`),
      messageQuote(message, true, marked),
      button("Open that conversation", () => void showMessage(workspace, conversationId, message.seq), { class: "link" }),
    );
  }).catch(() => fill(node, element("p", { class: "fine" }, "From another conversation, which can no longer be read.")));
  return node;
}

/** The message that a group was found for: the one it is named after, else the one with most of the question's words. */
export function hitOf(item: ShownItem, held: readonly ShownMessage[], words: readonly string[]): ShownMessage | undefined {
  const named = held.find(({ id }) => id === item.id);
  if (named) return named;
  const shared = (message: ShownMessage): number => {
    const text = messageLine(message).toLowerCase();
    return words.filter((word) => text.includes(word)).length;
  };
  return [...held].sort((one, other) => shared(other) - shared(one))[0];
}

/** For a suggested question: whether the message that is known to answer it made it into the context. */
function evidenceNote(inquiry: Inquiry, messages: readonly ShownMessage[], goTo: (seq: number) => void): HTMLElement | null {
  const { conversationId, evidence, sections } = inquiry;
  const labelled = messages.filter(({ id }) => evidence.includes(id));
  if (labelled.length === 0) return null;
  const ids = evidenceFound(evidence, sections, conversationId, messages);
  const first = labelled.find(({ id }) => ids.includes(id));
  const shown = first ? labelled.filter(({ id }) => ids.includes(id)) : labelled;
  const numbers = shown.map(({ seq }) => String(seq)).join(" and ");
  const subject = shown.length === 1 ? `Message ${numbers}, which answers it, is` : `Messages ${numbers}, which answer it, are`;
  return element(
    "p",
    { class: first ? "evidence found" : "evidence missing", "data-found": ids.join(" ") },
    first ? `${subject} in the context. ` : `${subject} not in the context. `,
    button("Show it", () => goTo((first ?? labelled[0])?.seq ?? 0), { class: "link" }),
  );
}

function reasonsOf({ context }: Inquiry): string {
  const { decision, reasons } = context.receipt.retrieval;
  if (decision === "retrieve") return "Search ran, but no older message scored high enough to be worth the room.";
  return reasonSentence(reasons);
}
