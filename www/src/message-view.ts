/** One message as an element: who, when, text, tool calls. */

import { element } from "./element.ts";
import { messageBody, showBody } from "./message-body.ts";
import { speakerOf, type ShownMessage } from "./message.ts";
import { visibleLine } from "./visible-text.ts";
import { formatShortDay, formatTime } from "./wording.ts";

/** What is said of a message that is not whole. */
const STATUS_WORDS = { complete: null, streaming: "Being written", aborted: "Stopped before its end" };

/** A message as it stands in the transcript, with the switch of its versions and what can be done with it. */
export function messageView(message: ShownMessage, versions: HTMLElement | null, actions: HTMLElement): HTMLElement {
  const { createdAt, id, role, seq, status } = message;
  const words = STATUS_WORDS[status];
  return element(
    "article",
    { class: `message from-${role}`, id: `message-${seq}`, "data-seq": seq, "data-message-id": id, "data-status": status, tabindex: -1 },
    element(
      "header",
      { class: "message-head" },
      element("span", { class: "speaker" }, speakerOf(role)),
      createdAt && element("time", { datetime: createdAt.toISOString() }, formatTime(createdAt)),
      element("span", { class: "message-id", title: `Id: ${visibleLine(id)}` }, `#${seq}`),
      words && element("span", { class: "message-status" }, words),
      versions,
      element("span", { class: "message-place" }),
    ),
    actions,
    messageBody(message),
  );
}

/** A message as it stands in a list of what was found, with these words marked. */
export function messageQuote(message: ShownMessage, isHit: boolean, marked: readonly string[]): HTMLElement {
  const date = message.createdAt ? `, ${formatShortDay(message.createdAt)}` : "";
  return element(
    "div",
    { class: isHit ? "quote hit" : "quote" },
    element("p", { class: "quote-head" }, `${speakerOf(message.role)}, message ${message.seq}${date}`),
    messageBody(message, marked),
  );
}

/** Brings what an article of the transcript says up to date, with these words marked. */
export function updateMessage(article: HTMLElement, message: ShownMessage, marked: readonly string[] = []): void {
  const body = article.querySelector<HTMLElement>(".message-body");
  if (body) showBody(body, message, marked);
}
