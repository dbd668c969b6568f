/** Which model answers, and which one turns texts into vectors. Nothing of it is stored: a reload forgets address and key. */

import { builtInCard } from "./built-in-card.ts";
import type { ChatModel } from "./chat-model.ts";
import { element, fill, button } from "./element.ts";
import { embedderCard } from "./embedder-card.ts";
import { serverCard } from "./server-card.ts";
import { webLlmCard } from "./webllm-card.ts";
import { formatNumber } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const WITHOUT_MODEL = ["Search by words and by meaning", "Context inside the budget, with its reasons", "Facts that you write down"];
const WITH_MODEL = ["Answers", "Summaries of what was folded away", "Facts found in what you say", "What happened in each session"];

/** Turns a model on in place of the one that is on. */
export type TurnOn = (model: ChatModel) => Promise<void>;

/** Fills its place and keeps it current. */
export function modelsView(root: HTMLElement, workspace: Workspace): void {
  const state = element("div", { class: "model-state", id: "model-state" });
  const turnOn: TurnOn = (model) => use(workspace, model);
  const show = (): void => fill(state, ...stateOf(workspace));
  root.append(
    element("h2", {}, "Models"),
    state,
    element("div", { class: "cards" }, serverCard(workspace, turnOn), builtInCard(turnOn), webLlmCard(turnOn), embedderCard(workspace)),
  );
  workspace.subscribe(["model", "stats"], show);
  show();
}

async function use(workspace: Workspace, model: ChatModel | null): Promise<void> {
  const before = workspace.model;
  workspace.model = model;
  await workspace.open();
  before?.close();
}

function stateOf(workspace: Workspace): HTMLElement[] {
  const { model } = workspace;
  if (!model) return [element("p", { class: "state off" }, "No model is on"), abilities("Works without one", WITHOUT_MODEL, "abilities"), abilities("Off until you turn one on", WITH_MODEL, "abilities off")];
  const where = model.destination === "local" ? `It answers on this device (${model.place}): the page sends what you ask nowhere else.` : `What you ask, and what the context brings along, is sent to ${model.place}.`;
  return [
    element("p", { class: "state on" }, `On: ${model.name}`),
    element("p", { class: "fine" }, where),
    abilities("Works", [...WITHOUT_MODEL, ...WITH_MODEL], "abilities"),
    ...billed(workspace),
    element("div", { class: "actions" }, button("Turn it off", () => void workspace.attempt(() => use(workspace, null)), { id: "model-off" })),
  ];
}

/** What models took so far, as they said themselves. */
function billed({ stats }: Workspace): HTMLElement[] {
  const rows = stats?.usage ?? [];
  if (rows.length === 0) return [];
  const cells = (tag: "th" | "td", entries: readonly string[]): HTMLElement[] => entries.map((entry) => element(tag, tag === "th" ? { scope: "col" } : {}, entry));
  return [element("table", { class: "sizes", id: "billed" },
    element("caption", {}, "What the models said they took, here and in your other chats with them"),
    element("thead", {}, element("tr", {}, ...cells("th", ["Model", "Answers", "Tokens in", "of them cached", "Tokens out", "Correction"]))),
    element("tbody", {}, ...rows.map(({ cachedTokens, calls, correction, inputTokens, model, outputTokens }) =>
      element("tr", {}, element("th", { scope: "row" }, model || "others"),
        ...cells("td", [...[calls, inputTokens, cachedTokens, outputTokens].map(formatNumber), correction.toFixed(2)])))))];
}

function abilities(words: string, entries: readonly string[], className: string): HTMLElement {
  const list = element("ul", {}, ...entries.map((entry) => element("li", {}, entry)));
  return element("div", { class: className }, element("h3", {}, words), list);
}
