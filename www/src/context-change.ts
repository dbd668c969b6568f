/** What is different from the context before: what came, what went, what stayed, and how much of the start is the same. */

import type { Context, ReceiptItem } from "throughline";
import { element } from "./element.ts";
import type { ShownMessage } from "./message.ts";
import { messageLine, speakerOf } from "./message.ts";
import { sectionLook } from "./sections.ts";
import { shortened, visibleLine } from "./visible-text.ts";
import { formatCount, formatNumber } from "./wording.ts";
import type { Inquiry } from "./workspace.ts";

/** Most pieces that are named. */
const MOST_NAMED = 40;

/** A piece with its section. */
interface Placed extends ReceiptItem {
  section: string;
}

/** The pieces of two contexts, compared. */
interface ContextChange {
  came: Placed[];
  went: Placed[];
  stayed: Placed[];
  /** Messages at the start of the prompt that are the same to the byte, behind the same system text; null: that differs. */
  sameMessages: number | null;
}

/** Compares two contexts. The question is another each time, and is left out. */
function contextChange(before: Context, now: Context): ContextChange {
  const [old, fresh] = [placed(before), placed(now)];
  return {
    came: [...fresh].filter(([key]) => !old.has(key)).map(([, item]) => item),
    went: [...old].filter(([key]) => !fresh.has(key)).map(([, item]) => item),
    stayed: [...fresh].filter(([key]) => old.has(key)).map(([, item]) => item),
    sameMessages: before.system === now.system ? sameStart(before.messages, now.messages) : null,
  };
}

function placed({ receipt }: Context): Map<string, Placed> {
  const items = receipt.sections.filter(({ name }) => name !== "question").flatMap(({ name, items }) => items.map((item) => ({ ...item, section: name })));
  return new Map(items.map((item) => [`${item.kind} ${item.id} ${item.range?.from ?? ""}`, item]));
}

function sameStart(before: readonly object[], now: readonly object[]): number {
  let same = 0;
  while (same < before.length && same < now.length && JSON.stringify(before[same]) === JSON.stringify(now[same])) same += 1;
  return same;
}

/** The difference as it is shown; nothing where there was no context of this conversation before. */
export function contextChangeView(now: Inquiry, messages: readonly ShownMessage[]): HTMLElement {
  const { before } = now;
  const heading = element("h3", {}, "Since the question before");
  if (!before || before.conversationId !== now.conversationId) {
    return element("div", { class: "change" }, heading, element("p", { class: "fine" }, "Ask another question, and here is what came, what went and what stayed."));
  }
  const change = contextChange(before.context, now.context);
  return element(
    "div",
    { class: "change", "data-came": change.came.length, "data-went": change.went.length, "data-stayed": change.stayed.length },
    heading,
    list("came", "came", change.came, messages),
    list("went", "went", change.went, messages),
    list("stayed", "stayed", change.stayed, messages),
    element("p", { class: "fine" }, startWords(change, now.context)),
  );
}

function startWords({ sameMessages }: ContextChange, { messages }: Context): string {
  if (sameMessages === null) return "The system text changed, so a provider's cache begins anew.";
  if (sameMessages === 0) return "The system text is the same to the byte; the messages behind it begin elsewhere.";
  return `To the byte the same: the system text and the first ${formatNumber(sameMessages)} of ${formatCount(messages.length, "message")}.`;
}

function list(kind: string, verb: string, items: readonly Placed[], messages: readonly ShownMessage[]): HTMLElement {
  const tokens = items.reduce((sum, item) => sum + item.tokens, 0);
  const head = `${formatCount(items.length, "piece")} ${verb}`;
  if (items.length === 0) return element("p", { class: `change-kind ${kind}` }, head);
  const rest = items.length - MOST_NAMED;
  return element(
    "details",
    { class: `change-kind ${kind}` },
    element("summary", {}, head, element("span", { class: "legend-tokens" }, formatNumber(tokens))),
    element("ul", { tabindex: 0, "aria-label": head }, ...items.slice(0, MOST_NAMED).map((item) => element("li", {}, `${sectionLook(item.section).label}: ${nameOf(item, messages)}`))),
    rest > 0 ? element("p", { class: "fine" }, `and ${formatNumber(rest)} more`) : null,
  );
}

function nameOf(item: Placed, messages: readonly ShownMessage[]): string {
  const message = messages.find(({ id }) => id === item.id);
  if (!message) return visibleLine(item.id);
  return `message ${message.seq}, ${speakerOf(message.role)}: ${shortened(visibleLine(messageLine(message)), 70)}`;
}
