/** At the end of the transcript: the question in hand, the answer where a model is on, and what was found for it. */

import type { ReceiptItem } from "throughline";
import { button, element } from "./element.ts";
import { messageLine, type ShownMessage } from "./message.ts";
import { messageQuote } from "./message-view.ts";
import { evidenceFound, messagesOf } from "./placement.ts";
import { showView } from "./views.ts";
import { visibleText, wordsToMark } from "./visible-text.ts";
import { formatNumber } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const SHOWN_FINDS = 3;

/** The card, or nothing when no question is in hand. */
export function inquiryCard(workspace: Workspace, goTo: (seq: number) => void): HTMLElement | null {
  const { inquiry, messages } = workspace;
  if (!inquiry) return null;
  const { answer, context, question } = inquiry;
  const found = context.receipt.sections.find(({ name }) => name === "retrieved")?.items ?? [];
  return element(
    "section",
    { class: "inquiry", "aria-label": "Your question" },
    answer?.state === "done" ? null : element("p", { class: "asked" }, question),
    answer && answer.state !== "done" && element("div", { class: "answer", "aria-live": "off" }, ...visibleText(answer.text)),
    !workspace.model && element("p", { class: "fine" },
      "No model is on, so there is no answer. This is what a model would be given; the question was not stored."),
    element(
      "p",
      { class: "inquiry-figures" },
      `${formatNumber(context.tokens)} tokens instead of ${formatNumber(inquiry.replayTokens)}. `,
      button("See the whole context", () => showView("memory"), { class: "link to-memory" }),
    ),
    evidenceNote(inquiry, messages),
    element("h3", {}, found.length > 0 ? "Found for this question" : "Nothing older was looked up"),
    found.length === 0 ? element("p", { class: "fine" }, reasonsOf(inquiry)) : null,
    ...found.slice(0, SHOWN_FINDS).map((item) => find(item, inquiry, messages, goTo)),
    found.length > SHOWN_FINDS ? element("p", { class: "fine" }, `${found.length - SHOWN_FINDS} more in the context.`) : null,
  );
}

function find(item: ReceiptItem, inquiry: Inquiry, messages: readonly ShownMessage[], goTo: (seq: number) => void): HTMLElement {
  const held = messagesOf(item, inquiry.conversationId, messages);
  const marked = wordsToMark(inquiry.question);
  const message = hitOf(item, held, marked);
  if (!message) return element("p", { class: "fine" }, "From another conversation; see the context.");
  return element(
    "div",
    { class: "find" },
    messageQuote(message, true, marked),
    button("Show in the conversation", () => goTo(message.seq), { class: "link" }),
  );
}

/** The message that a group was found for: the one it is named after, else the one with most of the question's words. */
export function hitOf(item: ReceiptItem, held: readonly ShownMessage[], words: readonly string[]): ShownMessage | undefined {
  const named = held.find(({ id }) => id === item.id);
  if (named) return named;
  const shared = (message: ShownMessage): number => {
    const text = messageLine(message).toLowerCase();
    return words.filter((word) => text.includes(word)).length;
  };
  return [...held].sort((one, other) => shared(other) - shared(one))[0];
}

function evidenceNote({ context, conversationId, evidence }: Inquiry, messages: readonly ShownMessage[]): HTMLElement | null {
  if (evidence.length === 0) return null;
  const found = evidenceFound(evidence, context, conversationId, messages);
  const words = found.length > 0
    ? `The message that answers it (${found.join(", ")}) is in the context.`
    : `The message that answers it (${evidence.join(", ")}) is not in the context.`;
  return element("p", { class: found.length > 0 ? "evidence found" : "evidence missing", "data-found": found.join(" ") }, words);
}

function reasonsOf({ context }: Inquiry): string {
  const { reasons } = context.receipt.retrieval;
  return reasons.length > 0 ? reasons.join("; ") : "No older message scored high enough to be worth the room.";
}
