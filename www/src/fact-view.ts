/** One fact: what it says, where it is from, how far it is trusted, how it came to be so, and what can be done with it. */

import type { Fact, FactEvent, Memory } from "throughline";
import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { factSources } from "./fact-sources.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount, formatShortDay, formatTime, humanise } from "./wording.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

const CATEGORIES = ["preference", "identity", "project", "constraint", "style", "decision"];

/** How far something may be trusted, in words. */
export const TRUST: Readonly<Record<string, string>> = {
  external: "from outside",
  imported: "imported",
  assistant_inferred: "concluded by the model",
  user_stated: "you said it",
  user_confirmed: "you wrote or confirmed it",
};

const ORIGIN: Readonly<Record<Fact["source"]["type"], string>> = {
  explicit: "written down",
  statement: "said in a chat",
  inference: "concluded from a chat",
  quotation: "in something that you pasted or quoted",
};

const OPERATION: Readonly<Record<string, string>> = {
  ADD: "Remembered",
  UPDATE: "Changed",
  DELETE: "Withdrawn",
  NOOP: "Said again",
  FORGET: "Forgotten",
  REJECT: "Refused",
  REVIEW: "Put up for approval",
  OPT_IN: "Agreed to be remembered",
  OPT_OUT: "No longer agreed to",
};

const BY: Readonly<Record<string, string>> = { user: "by you", model: "by the model", audit: "by the check of facts", import: "by an import" };

/** What a fact's view needs of the panel that it stands in. */
export interface FactHost {
  workspace: Workspace;
  /** Carries a change out, tells its failure, and shows the facts anew. */
  act: (action: (facts: Memory["facts"]) => Promise<unknown>) => Promise<boolean>;
  /** Opens a conversation at a message. */
  show: (conversationId: string, seq: number) => void;
}

/** The fact as an entry of a list. */
export function factView(fact: Fact, host: FactHost): HTMLElement {
  const node = element("li", { class: "fact", "data-fact": fact.id, "data-status": fact.status });
  const forget = async (): Promise<void> => {
    const consequence = `“${visibleLine(fact.fact)}” is erased with everything derived from it, and it will not be learned again.`;
    if (await confirmAction("Forget this?", consequence, "Forget")) await host.act((facts) => facts.forget(fact.id));
  };
  const isProposed = fact.status === "proposed";
  fill(
    node,
    element("p", { class: "fact-text" }, fact.pinned && element("span", { class: "badge" }, "Pinned"), visibleLine(fact.fact)),
    provenance(fact),
    usage(fact, host.workspace.inquiry),
    element("div", { class: "actions" },
      isProposed && button("Approve", () => void host.act((facts) => facts.approve(fact.id)), { class: "primary small", "data-action": "approve" }),
      button("Edit", () => editFact(node, fact, host), { class: "quiet small", "data-action": "edit" }),
      !isProposed && button(fact.pinned ? "Unpin" : "Pin", () => void host.act((facts) => facts.update(fact.id, { pinned: !fact.pinned })), {
        class: "quiet small", "data-action": "pin", "aria-pressed": fact.pinned ? "true" : "false",
      }),
      button(isProposed ? "Refuse" : "Forget", () => void forget(), { class: "quiet small", "data-action": "forget" })),
    fact.source.conversationId !== null && factSources(fact, host),
    historyOf(fact, host.workspace),
  );
  return node;
}

function provenance(fact: Fact): HTMLElement {
  const { conversationId, quote, type } = fact.source;
  const rows: [string, string | false][] = [
    ["Kind", humanise(fact.category)],
    ["Trust", TRUST[fact.trust] ?? humanise(fact.trust)],
    ["Confidence", `${Math.round(fact.confidence * 100)}%`],
    ["Origin", type === "inference" && conversationId === null ? "suggested by a model or a tool" : ORIGIN[type]],
    ["Since", formatShortDay(new Date(fact.createdAt))],
    ["Changed", fact.updatedAt > fact.createdAt && formatShortDay(new Date(fact.updatedAt))],
    ["Until", fact.expiresAt !== null && formatShortDay(new Date(fact.expiresAt))],
    ["Shown to", fact.localOnly === true && "models on this device only"],
  ];
  return element(
    "div",
    { class: "provenance" },
    element("dl", { class: "traits" }, ...rows.flatMap(([name, value]) =>
      (value === false ? [] : [element("div", {}, element("dt", {}, name), element("dd", {}, value))]))),
    quote ? element("blockquote", {}, visibleLine(quote)) : null,
  );
}

/** Whether the question in hand was answered with it, and why; else how often it was used. */
function usage(fact: Fact, inquiry: Inquiry | null): HTMLElement {
  const sections = inquiry?.context.receipt.sections ?? [];
  const item = sections.flatMap(({ items }) => items).find(({ id, kind }) => kind === "fact" && id === fact.id);
  const drop = sections.flatMap(({ dropped }) => dropped).find(({ id }) => id === fact.id);
  const used = fact.accessCount === 0 || fact.lastAccessedAt === null
    ? item ? "" : "In no context so far."
    : `In ${formatCount(fact.accessCount, "context")}, last on ${formatShortDay(new Date(fact.lastAccessedAt))}.`;
  const now = item
    ? `In the present context (${formatCount(item.tokens, "token")}), because ${fact.pinned ? "you pinned it" : "you wrote it down or confirmed it, or it fits the question"}.`
    : drop ? "Left out of the present context: no room for it." : "";
  return element("p", { class: "fine", "data-used": item ? "now" : undefined }, `${now} ${used}`.trim());
}

/** Read when it is opened: most people look at few of them. */
function historyOf(fact: Fact, workspace: Workspace): HTMLElement {
  const list = element("ol", { class: "history" });
  const details = element("details", { class: "fact-history", "data-part": "history" }, element("summary", {}, "History"), list);
  details.addEventListener("toggle", () => {
    if (!details.open || list.childElementCount > 0) return;
    void workspace.inBackground(async () => {
      const events = await workspace.opened().facts.history(fact.id);
      fill(list, ...events.map(eventView));
    });
  });
  return details;
}

/** One decision, as an entry of a list. */
export function eventView({ after, at, before, by, changed, operation, reason }: FactEvent): HTMLElement {
  const date = new Date(at);
  // Whoever found it, it was the person who said it again.
  const who = by === null || operation === "NOOP" ? "" : ` ${BY[by] ?? by}`;
  return element(
    "li",
    { "data-operation": operation },
    element("p", {}, element("b", {}, `${OPERATION[operation] ?? humanise(operation)}${who}`),
      element("span", { class: "fine" }, ` ${formatShortDay(date)}, ${formatTime(date)}`)),
    before !== null && before !== after && element("p", { class: "before" }, element("del", {}, visibleLine(before))),
    after !== null && element("p", {}, visibleLine(after)),
    before === after && changed.length > 0 && element("p", { class: "fine" }, `Changed: ${changed.map(humanise).join(", ")}`),
    reason !== null && reason !== "explicit" && element("p", { class: "fine" }, `Reason: ${humanise(reason)}`),
  );
}

function editFact(node: HTMLElement, fact: Fact, { act, workspace }: FactHost): void {
  const input = element("input", { type: "text", value: fact.fact, "aria-label": "Fact", maxlength: 500 });
  const category = categoryChoice(`category-${fact.id}`, fact.category);
  const leave = (): void => {
    delete node.dataset["editing"];
    workspace.changed("facts");
  };
  const local = element("input", { type: "checkbox", checked: fact.localOnly === true });
  const form = element("form", { class: "add-fact" },
    element("label", { class: "field-wide" }, "Fact", input),
    element("label", {}, "Kind", category),
    element("label", { class: "tick field-wide" }, local, "Show it to models on this device only"),
    element("div", { class: "actions field-wide" },
      element("button", { type: "submit", class: "primary" }, "Save"),
      button("Cancel", leave, { class: "quiet" })));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text === "") return;
    void act(async (facts) => {
      await facts.update(fact.id, { fact: text, category: category.value, localOnly: local.checked });
      delete node.dataset["editing"];
    });
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave();
  });
  node.dataset["editing"] = "";
  fill(node, form);
  input.focus();
}

/** The kinds of facts; one that is not among the usual ones is offered too. */
export function categoryChoice(id: string, chosen: string): HTMLSelectElement {
  const names = CATEGORIES.includes(chosen) ? CATEGORIES : [...CATEGORIES, chosen];
  return element("select", { id }, ...names.map((name) => element("option", { value: name, selected: name === chosen }, humanise(name))));
}
