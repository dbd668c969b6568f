/** What a message says, as elements: what a model wrote as markdown, what a person or a tool gave as it is. */

import { attachmentChips } from "./attachment-view.ts";
import { element, fill } from "./element.ts";
import { isReadableMarkdown } from "./markdown-limits.ts";
import type { ShownMessage } from "./message.ts";
import { visibleLine, visibleText } from "./visible-text.ts";

type RenderMarkdown = (container: Element, text: string, marked: readonly string[]) => void;

let renderMarkdown: RenderMarkdown | null = null;

/** Fetches what reads markdown. Until it is there, and where it cannot be fetched, such text is shown as it is. */
export async function loadMarkdown(): Promise<void> {
  ({ renderMarkdown } = await import("./markdown-view.ts"));
}

/** The body, with these words marked. */
export function messageBody(message: ShownMessage, marked: readonly string[] = []): HTMLElement {
  const body = element("div", { class: "message-body" });
  showBody(body, message, marked);
  return body;
}

/** Brings a body up to date; what has not changed stays as it is. */
export function showBody(body: HTMLElement, message: ShownMessage, marked: readonly string[] = []): void {
  const { attachments, role, text, toolCalls } = message;
  if (role === "assistant" && toolCalls.length === 0 && attachments.length === 0 && showMarkdown(body, text, marked)) return;
  if (role === "tool") {
    fill(body, element("pre", { class: "code", tabindex: 0, "aria-label": "Tool result" }, element("code", {}, ...visibleText(text))));
    return;
  }
  const said = element("div", { class: "said" });
  if (role !== "assistant" || !showMarkdown(said, text, marked)) fill(said, ...visibleText(text, marked));
  const calls = toolCalls.map((call) =>
    element("p", { class: "tool-call" }, element("span", { class: "tool-name" }, `Calls ${visibleLine(call.name)}`),
      element("code", {}, visibleLine(call.argumentsText))));
  fill(body, said, ...calls, attachments.length > 0 && attachmentChips(attachments));
}

function showMarkdown(place: HTMLElement, text: string, marked: readonly string[]): boolean {
  if (renderMarkdown === null || !isReadableMarkdown(text)) return false;
  try {
    renderMarkdown(place, text, marked);
    return true;
  } catch {
    // A text that the lexer cannot take is still a text.
    return false;
  }
}
