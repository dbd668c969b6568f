/** What is remembered about the person: what waits for their word, what is in use, and what they write down themselves. */

import type { Memory } from "throughline";
import { agreements } from "./agreements.ts";
import { button, element, fill } from "./element.ts";
import { categoryChoice, factView, type FactHost } from "./fact-view.ts";
import { refreshing } from "./refresh.ts";
import type { Workspace } from "./workspace.ts";

/** Fills its place and keeps it current. `show` opens a conversation at a message. */
export function factsPanel(root: HTMLElement, workspace: Workspace, show: (conversationId: string, seq: number) => void): void {
  const host: FactHost = { workspace, show, act: (action) => act(workspace, action) };
  const about = element("p", { class: "fine" });
  const review = element("div", { class: "review", id: "review", hidden: true });
  const list = element("ul", { class: "facts", id: "facts", tabindex: -1, "aria-label": "What is remembered" });
  const agreed = agreements(workspace, (action) => act(workspace, action));
  root.append(element("h2", {}, "About you"), about, review, addForm(host), list, agreed.view);
  let reads = 0;
  const refresh = async (): Promise<void> => {
    about.textContent = workspace.model
      ? "Facts that you write down, and facts that the model finds in what you say. Each goes into later contexts where it fits."
      : "Facts that you write down go into later contexts where they fit. Finding them in what you say needs a model.";
    if (!workspace.memory) return;
    const read = ++reads;
    await agreed.refresh();
    const facts = await workspace.memory.facts.list();
    // What is being edited is not taken away; it is shown anew when that ends.
    if (read !== reads || root.querySelector("[data-editing]")) return;
    const unfolded = new Set([...root.querySelectorAll<HTMLDetailsElement>(".fact-history[open]")].map(partOfFact));
    const proposed = facts.filter(({ status }) => status === "proposed");
    const inUse = facts.filter(({ status }) => status !== "proposed").sort((a, b) => Number(b.pinned) - Number(a.pinned) || b.updatedAt - a.updatedAt);
    const isFocused = root.contains(document.activeElement) && (list.contains(document.activeElement) || review.contains(document.activeElement));
    review.hidden = proposed.length === 0;
    fill(review, ...reviewed(proposed, host));
    fill(list, ...(inUse.length > 0 ? inUse.map((fact) => factView(fact, host)) : [element("li", { class: "empty" }, "Nothing is remembered yet.")]));
    for (const details of root.querySelectorAll<HTMLDetailsElement>(".fact-history")) details.open = unfolded.has(partOfFact(details));
    if (isFocused) list.focus({ preventScroll: true });
  };
  const update = refreshing(workspace, refresh);
  workspace.subscribe(["facts", "model", "inquiry"], update);
  update();
}

/** Which part of which fact is folded away there. */
function partOfFact(details: HTMLDetailsElement): string {
  return `${details.closest<HTMLElement>(".fact")?.dataset["fact"] ?? ""} ${details.dataset["part"] ?? ""}`;
}

function act(workspace: Workspace, action: (facts: Memory["facts"]) => Promise<unknown>): Promise<boolean> {
  return workspace.attempt(() => action(workspace.opened().facts)).then((done) => {
    workspace.changed("facts");
    void workspace.inBackground(() => workspace.refreshStats());
    return done;
  });
}

/** Facts that are used only once the person has said yes. */
function reviewed(proposed: Awaited<ReturnType<Memory["facts"]["list"]>>, host: FactHost): HTMLElement[] {
  if (proposed.length === 0) return [];
  const approveAll = async (): Promise<void> => {
    await host.act(async (facts) => {
      for (const { id } of proposed) await facts.approve(id);
    });
  };
  return [
    element("h3", {}, `Waiting for your word: ${proposed.length}`),
    element("p", { class: "fine" }, "These came from an import, a tool or a text that you pasted, or a check doubts them. They are in no context until you approve them."),
    element("ul", { class: "facts", "aria-label": "Waiting for your word" }, ...proposed.map((fact) => factView(fact, host))),
    ...(proposed.length > 1 ? [button("Approve all", () => void approveAll(), { id: "approve-all" })] : []),
  ];
}

function addForm(host: FactHost): HTMLElement {
  const input = element("input", { type: "text", id: "fact-text", placeholder: "I prefer short answers", maxlength: 500 });
  const category = categoryChoice("fact-category", "preference");
  const form = element("form", { class: "add-fact" },
    element("label", { class: "field-wide" }, "Remember this", input),
    element("label", {}, "Kind", category),
    element("button", { type: "submit", id: "fact-add" }, "Remember"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const fact = input.value.trim();
    if (fact === "") return;
    void host.act((facts) => facts.add({ fact, category: category.value })).then((done) => {
      if (done) input.value = "";
    });
  });
  return form;
}
