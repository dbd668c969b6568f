/** Why something is recalled: a search as the engine makes it, with the signals behind each score. */

import type { FactHit, RecallGroup, Scores } from "throughline";
import { messageLine, readMessage, speakerOf } from "./message.ts";
import { button, element, fill } from "./element.ts";
import { visibleLine, visibleTitle } from "./visible-text.ts";
import { formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const TOP = 5;
const LONGEST = 240;

/** The signals that a person can make something of, with what each means. */
const SIGNALS: readonly [name: keyof Scores, label: string, about: string][] = [
  ["semantic", "Meaning", "how near the message is to the question by its vector"],
  ["keyword", "Words", "how many of the question's words it has, and how rare they are"],
  ["reference", "Names", "whether the question names something of it"],
  ["quoted", "Quoted", "how much of what the question quotes stands in it"],
  ["recency", "Age", "how new it is, where the question asks for what is newest"],
];

/** Fills its place. `show` opens a conversation at a message. */
export function recallView(root: HTMLElement, workspace: Workspace, show: (conversationId: string, seq: number) => void): void {
  const input = element("input", { type: "search", id: "recall-query", placeholder: "What did we decide about the port?" });
  const results = element("div", { class: "recalled", id: "recalled", role: "status" });
  const form = element("form", { class: "one-line" },
    element("label", {}, "A question or some words", input), element("button", { type: "submit", id: "recall-go" }, "Look"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const query = input.value.trim();
    if (query !== "") void workspace.attempt(() => look(query));
  });
  root.append(
    element("p", { class: "fine" }, "What the engine would bring for a question, from every conversation, and which signals speak for it. No model is asked."),
    form, results,
  );

  async function look(query: string): Promise<void> {
    const memory = workspace.opened();
    const [groups, facts] = await Promise.all([memory.recall(query, { topK: TOP }), memory.facts.search(query, { topK: TOP })]);
    fill(
      results,
      element("h4", {}, groups.length === 0 ? "No message has anything of it" : formatCount(groups.length, "place")),
      element("ul", { class: "hits" }, ...groups.map((group) => groupView(group, workspace, show))),
      facts.length > 0 && element("h4", {}, formatCount(facts.length, "fact")),
      facts.length > 0 && element("ul", { class: "hits" }, ...facts.map(factHit)),
    );
  }
}

function groupView(group: RecallGroup, { conversations }: Workspace, show: (conversationId: string, seq: number) => void): HTMLElement {
  const { conversationId, hits, messages, range: [from], score } = group;
  const [best] = hits;
  const seq = best?.seq ?? from;
  const raw = messages[seq - from] ?? messages[0] ?? {};
  const message = readMessage(raw, seq);
  const title = conversations.find(({ id }) => id === conversationId)?.title ?? "";
  return element(
    "li",
    { class: "hit-found" },
    element("p", { class: "fine" }, `${visibleTitle(title)}, ${speakerOf(message.role)}, message ${seq}`),
    element("p", { class: "found-text" }, shortened(visibleLine(messageLine(message)))),
    signals(score, best?.scores ?? group.scores ?? {}),
    button("Show it", () => show(conversationId, seq), { class: "link" }),
  );
}

function factHit({ fact, score }: FactHit): HTMLElement {
  return element("li", { class: "hit-found" }, element("p", { class: "found-text" }, visibleLine(fact.fact)), signals(score, {}));
}

/** A bar for the score, and one for each signal that was used. */
function signals(score: number, scores: Scores): HTMLElement {
  const used = SIGNALS.filter(([name]) => typeof scores[name] === "number" && scores[name] > 0);
  return element(
    "dl",
    { class: "recall-signals" },
    bar("Score", score, "all signals together"),
    ...used.map(([name, label, about]) => bar(label, scores[name] ?? 0, about)),
  );
}

function bar(label: string, value: number, about: string): HTMLElement {
  const share = Math.max(0, Math.min(1, value));
  return element("div", { title: about }, element("dt", {}, label),
    element("dd", {}, element("meter", { min: 0, max: 1, value: share.toFixed(3), "aria-label": `${label}: ${about}` }), element("span", {}, share.toFixed(2))));
}

function shortened(text: string): string {
  return text.length > LONGEST ? `${text.slice(0, LONGEST)} ...` : text;
}
