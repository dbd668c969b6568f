/** What is remembered about the person: written down, learned with a model, changed, and forgotten. */

import type { Fact, Memory } from "throughline";
import { agreements } from "./agreements.ts";
import { confirmAction } from "./confirm.ts";
import { button, element, fill } from "./element.ts";
import { visibleLine } from "./visible-text.ts";
import { formatShortDay, humanise } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const CATEGORIES = ["preference", "identity", "project", "constraint", "style", "decision"];

const TRUST: Readonly<Record<string, string>> = {
  external: "from outside",
  imported: "imported",
  assistant_inferred: "concluded by the model",
  user_stated: "you said it",
  user_confirmed: "you wrote or confirmed it",
};

/** Fills the panel and keeps it current. `show` opens a conversation at a message. */
export function factsPanel(root: HTMLElement, workspace: Workspace, show: (conversationId: string, seq: number) => void): void {
  const list = element("ul", { class: "facts", id: "facts", tabindex: -1, "aria-label": "What is remembered" });
  const about = element("p", { class: "fine" });
  const agreed = agreements(workspace, (action) => act(workspace, action));
  root.append(element("h2", {}, "About you"), about, addForm(workspace), list, agreed.view);
  const refresh = async (): Promise<void> => {
    about.textContent = workspace.model
      ? "Facts that you write down, and facts that the model finds in what you say. Each goes into later contexts where it fits."
      : "Facts that you write down go into later contexts where they fit. Finding them in what you say needs a model.";
    if (!workspace.memory) return;
    await agreed.refresh();
    const facts = await workspace.memory.facts.list();
    const isFocused = list.contains(document.activeElement);
    fill(list, ...(facts.length > 0
      ? facts.map((fact) => factView(fact, workspace, show))
      : [element("li", { class: "empty" }, "Nothing is remembered yet.")]));
    if (isFocused) list.focus({ preventScroll: true });
  };
  const update = (): void => void workspace.inBackground(refresh);
  workspace.subscribe(["facts", "model"], update);
  about.textContent = "";
}

function act(workspace: Workspace, action: (facts: Memory["facts"]) => Promise<unknown>): Promise<boolean> {
  return workspace.attempt(() => action(workspace.opened().facts)).then((done) => {
    workspace.changed("facts");
    void workspace.inBackground(() => workspace.refreshStats());
    return done;
  });
}

function addForm(workspace: Workspace): HTMLElement {
  const input = element("input", { type: "text", id: "fact-text", placeholder: "I prefer short answers", maxlength: 500 });
  const category = categories("fact-category", "preference");
  const form = element("form", { class: "add-fact" },
    element("label", { class: "field-wide" }, "Remember this", input),
    element("label", {}, "Kind", category),
    element("button", { type: "submit", id: "fact-add" }, "Remember"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fact = input.value.trim();
    if (fact === "") return;
    void act(workspace, (facts) => facts.add({ fact, category: category.value })).then((done) => {
      if (done) input.value = "";
    });
  });
  return form;
}

function factView(fact: Fact, workspace: Workspace, show: (conversationId: string, seq: number) => void): HTMLElement {
  const node = element("li", { class: "fact", "data-fact": fact.id });
  const text = visibleLine(fact.fact);
  const forget = async (): Promise<void> => {
    const consequence = `“${text}” is erased with everything derived from it, and it will not be learned again.`;
    if (await confirmAction("Forget this?", consequence, "Forget")) await act(workspace, (facts) => facts.forget(fact.id));
  };
  const approve = fact.status === "proposed"
    && button("Approve", () => void act(workspace, (facts) => facts.approve(fact.id)), { class: "quiet" });
  fill(
    node,
    element("p", { class: "fact-text" }, text),
    provenance(fact, show),
    element("div", { class: "actions" }, approve, button("Edit", () => edit(node, fact, workspace), { class: "quiet" }),
      button("Forget", () => void forget(), { class: "quiet" })),
  );
  return node;
}

function provenance(fact: Fact, show: (conversationId: string, seq: number) => void): HTMLElement {
  const { conversationId, quote, seq } = fact.source;
  return element(
    "div",
    { class: "provenance" },
    element("p", { class: "fine" },
      [humanise(fact.category), TRUST[fact.trust] ?? humanise(fact.trust), formatShortDay(new Date(fact.updatedAt)),
        fact.status === "proposed" ? "waits for your approval" : ""].filter(Boolean).join(", ")),
    quote ? element("blockquote", {}, visibleLine(quote)) : null,
    conversationId !== null && seq !== null
      ? button("Show where you said it", () => show(conversationId, seq), { class: "link" })
      : null,
  );
}

function edit(node: HTMLElement, fact: Fact, workspace: Workspace): void {
  const input = element("input", { type: "text", value: fact.fact, "aria-label": "Fact", maxlength: 500 });
  const category = categories(`category-${fact.id}`, fact.category);
  const form = element("form", { class: "add-fact" },
    element("label", { class: "field-wide" }, "Fact", input),
    element("label", {}, "Kind", category),
    element("button", { type: "submit" }, "Save"),
    button("Cancel", () => workspace.changed("facts"), { class: "quiet" }));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const text = input.value.trim();
    if (text) void act(workspace, (facts) => facts.update(fact.id, { fact: text, category: category.value }));
  });
  fill(node, form);
  input.focus();
}

function categories(id: string, chosen: string): HTMLSelectElement {
  const names = CATEGORIES.includes(chosen) ? CATEGORIES : [...CATEGORIES, chosen];
  return element("select", { id }, ...names.map((name) => element("option", { value: name, selected: name === chosen }, humanise(name))));
}
