/** One piece of the context: closed a line, open the messages themselves and why they are there; or the open part alone. */

import type { Scores } from "throughline";
import { button, element, fill } from "./element.ts";
import { isElsewhere, readElsewhere } from "./elsewhere.ts";
import { hitOf } from "./inquiry-card.ts";
import { messageLine, speakerOf, type ShownMessage } from "./message.ts";
import { messageQuote } from "./message-view.ts";
import { showMessage } from "./navigation.ts";
import { messagesOf } from "./placement.ts";
import { reasonWords } from "./reasons.ts";
import type { ShownItem } from "./receipt-view.ts";
import { shortened, visibleLine, visibleText, wordsToMark } from "./visible-text.ts";
import { formatCount, formatNumber, humanise } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

/** Messages of a piece that are shown without being asked for. */
const SHOWN_AT_ONCE = 3;

/** Most characters of the line of a piece. */
const LONGEST_TITLE = 90;

const SIGNALS: readonly [keyof Scores, string][] = [
  ["semantic", "Meaning"],
  ["keyword", "Words"],
  ["recency", "Recency"],
  ["reference", "Named"],
];

/** The entry of an item. */
export function contextItem(
  item: ShownItem,
  section: string,
  inquiry: Inquiry,
  workspace: Workspace,
  goTo: (seq: number) => void,
  isOpen: boolean,
): HTMLElement {
  const { body, fillBody, title } = parts(item, section, inquiry, workspace, goTo);
  const details = element(
    "details",
    { class: "item", "data-item": item.id, "data-kind": item.kind },
    element(
      "summary",
      {},
      title,
      item.score !== undefined ? element("span", { class: "item-score", title: "Score" }, item.score.toFixed(2)) : null,
      element("span", { class: "item-tokens" }, formatNumber(item.tokens)),
    ),
    body,
  );
  details.addEventListener("toggle", fillBody);
  if (isOpen) {
    details.open = true;
    fillBody();
  }
  return element("li", {}, details);
}

/** An item laid open: its line as a heading, and everything about it. */
export function openItem(item: ShownItem, section: string, inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): HTMLElement {
  const { body, fillBody, title } = parts(item, section, inquiry, workspace, goTo);
  fillBody();
  return element("div", { class: "open-item", "data-item": item.id },
    element("p", { class: "open-item-head" }, title, element("span", { class: "item-tokens" }, formatCount(item.tokens, "token"))), body);
}

/** Its line, and its body, which is filled when it is to be seen. */
function parts(item: ShownItem, section: string, inquiry: Inquiry, workspace: Workspace, goTo: (seq: number) => void): {
  title: HTMLElement;
  body: HTMLElement;
  fillBody: () => void;
} {
  const words = section === "retrieved" ? wordsToMark(inquiry.question) : [];
  const held = messagesOf(item, inquiry.conversationId, workspace.messages);
  const hit = hitOf(item, held, words);
  const body = element("div", { class: "item-body" });
  const title = element("span", { class: "item-title" }, titleOf(item, hit, inquiry));
  if (item.kind === "fact") void nameFact(title, item.id, workspace);
  if (isElsewhere(item, inquiry)) void nameElsewhere(title, item, workspace, words);
  const fillBody = (): void => {
    if (body.childElementCount > 0) return;
    fill(body, why(item, held), signals(item.scores));
    void content(item, section, inquiry, workspace, held, words)
      .then((nodes) => body.append(...nodes))
      .catch((error: unknown) => workspace.fail(error))
      .finally(() => {
        if (hit) body.append(button("Show in the conversation", () => goTo(hit.seq), { class: "link" }));
      });
  };
  return { title, body, fillBody };
}

/** Puts the fact's words in place of its id; a fact that was forgotten since keeps the id. */
async function nameFact(title: HTMLElement, id: string, workspace: Workspace): Promise<void> {
  const fact = await workspace.opened().facts.get(id).catch(() => null);
  if (fact?.fact) title.textContent = shortened(visibleLine(fact.fact), LONGEST_TITLE);
}

/** Puts the title of the other conversation and the found words in place; where they are gone, the title stays general. */
async function nameElsewhere(title: HTMLElement, item: ShownItem, workspace: Workspace, words: readonly string[]): Promise<void> {
  const found = await readElsewhere(item, workspace).catch(() => null);
  if (!found) return;
  const hit = hitOf(item, found.messages, words);
  const line = hit ? `${speakerOf(hit.role)}: ${visibleLine(messageLine(hit))}` : "";
  title.textContent = shortened(`“${found.title}” ${line}`.trim(), LONGEST_TITLE);
}

function titleOf(item: ShownItem, hit: ShownMessage | undefined, inquiry: Inquiry): string {
  if (hit) return `${speakerOf(hit.role)}: ${shortened(visibleLine(messageLine(hit)), LONGEST_TITLE)}`;
  if (item.kind === "question") return shortened(visibleLine(inquiry.question), LONGEST_TITLE);
  if (isElsewhere(item, inquiry)) return "From another conversation";
  return `${humanise(item.kind)} ${visibleLine(item.id)}`;
}

function why(item: ShownItem, held: readonly ShownMessage[]): HTMLElement {
  const first = held[0];
  const last = held.at(-1);
  const span = first && last ? (first === last ? `Message ${first.seq}` : `Messages ${first.seq} to ${last.seq}`) : humanise(item.kind);
  return element(
    "p",
    { class: "why" },
    element("b", {}, "Why it is here: "),
    `${reasonWords(item.reason)}. `,
    element("span", { class: "fine" }, `${span}, ${formatCount(item.tokens, "token")}. Rule: `, element("code", {}, item.reason), `.${shortenedWords(item)}`),
  );
}

/** Of a message that is shown in part. */
function shortenedWords({ reduced }: ShownItem): string {
  return reduced ? ` Shortened from ${formatNumber(reduced.from)} to ${formatNumber(reduced.to)} tokens.` : "";
}

function signals(scores: Scores | undefined): HTMLElement | null {
  if (!scores) return null;
  const rows = SIGNALS.flatMap(([name, label]) => {
    const value = scores[name];
    if (value === undefined || value === null) return [];
    const bar = element("span", { class: "signal-bar", "aria-hidden": true });
    bar.style.setProperty("--share", String(Math.max(0, Math.min(1, value))));
    return [element("div", { class: "signal" }, element("dt", {}, label), element("dd", {}, bar, value.toFixed(2)))];
  });
  return element("dl", { class: "signals" }, ...rows);
}

async function content(
  item: ShownItem,
  section: string,
  inquiry: Inquiry,
  workspace: Workspace,
  held: readonly ShownMessage[],
  words: readonly string[],
): Promise<Node[]> {
  if (section === "question") return visibleText(inquiry.question);
  if (section === "system") return visibleText(workspace.settings.system);
  if (section === "summary") return summaryText(workspace, inquiry.conversationId);
  if (section === "memory") {
    const fact = await workspace.opened().facts.get(item.id).catch(() => null);
    return fact ? visibleText(fact.fact) : [];
  }
  if (held.length > 0) return quotesOf(item, held, words);
  if (!item.range) return [];
  const { conversationId, messages, title } = await readElsewhere(item, workspace);
  const quotes = quotesOf(item, messages, words);
  if (!isElsewhere(item, inquiry)) return quotes;
  const seq = hitOf(item, messages, words)?.seq ?? item.range.from;
  const open = button("Open that conversation", () => void showMessage(workspace, conversationId, seq), { class: "link" });
  return [element("p", { class: "fine" }, `From “${title}”`), ...quotes, open];
}

/** The best match first, its surroundings folded where they are long. */
function quotesOf(item: ShownItem, held: readonly ShownMessage[], words: readonly string[]): HTMLElement[] {
  const quotes = held.map((message) => {
    const quote = messageQuote(message, item.hits.includes(message.id), words);
    // A long one scrolls, by keyboard too.
    quote.tabIndex = 0;
    return quote;
  });
  const best = held.findIndex((message) => message === hitOf(item, held, words));
  const first = quotes[best];
  if (!first || quotes.length <= SHOWN_AT_ONCE) return quotes;
  const others = quotes.filter((quote) => quote !== first);
  return [first, element("details", { class: "around" }, element("summary", {}, `With the ${others.length} messages around it`), ...others)];
}

async function summaryText(workspace: Workspace, conversationId: string): Promise<Node[]> {
  const summary = await workspace.opened().summary(conversationId);
  return summary.sections.flatMap(({ name, items }) => [
    element("h4", {}, humanise(name)),
    element("ul", {}, ...items.map((line) => element("li", {}, visibleLine(line)))),
  ]);
}
