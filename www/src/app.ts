/** The page: opens the memory and puts the panels in their places. */

import { Composer } from "./composer.ts";
import { contextPanel } from "./context-panel.ts";
import { conversationList } from "./conversation-list.ts";
import { byId, element } from "./element.ts";
import { factsPanel } from "./facts-panel.ts";
import { locomoSuggestions } from "./locomo.ts";
import { ModelPanel } from "./model-panel.ts";
import { SAMPLE_ID, sampleSuggestions } from "./sample.ts";
import { statusLine } from "./status-line.ts";
import { storagePanel } from "./storage-panel.ts";
import { tabs } from "./tabs.ts";
import { Transcript } from "./transcript.ts";
import { viewSwitch } from "./views.ts";
import { Workspace } from "./workspace.ts";

const workspace = new Workspace();
workspace.suggestFor = (conversationId) =>
  (conversationId === SAMPLE_ID ? sampleSuggestions() : locomoSuggestions(conversationId)).catch(() => []);

statusLine(byId("status"), workspace);
viewSwitch(byId("views"));
conversationList(byId("conversations"), workspace);
const transcript = new Transcript(byId("chat"), workspace);
new Composer(byId("chat"), workspace);

const context = element("div", { class: "panel" });
const facts = element("div", { class: "panel" });
const storage = element("div", { class: "panel" });
const model = element("div", { class: "panel" });
contextPanel(context, workspace, (seq) => transcript.goTo(seq));
factsPanel(facts, workspace, (conversationId, seq) => void showMessage(conversationId, seq));
storagePanel(storage, workspace);
new ModelPanel(model, workspace);
const chooseTab = tabs(byId("memory"), "Memory", [
  { id: "context", label: "Context", panel: context },
  { id: "facts", label: "Facts", panel: facts },
  { id: "storage", label: "Storage", panel: storage },
  { id: "model", label: "Model", panel: model },
]);

let shown = workspace.inquiry;
let isTopDue = false;
workspace.subscribe(["inquiry"], () => {
  const { inquiry } = workspace;
  if (inquiry && inquiry !== shown) {
    isTopDue ||= context.hidden !== false || inquiry.question !== shown?.question;
    chooseTab("context");
    toTop();
  }
  shown = inquiry;
});

/** Scrolls the context to its top. What is not shown cannot be scrolled: on a small screen that waits for its view. */
function toTop(): void {
  if (!isTopDue || context.offsetParent === null) return;
  context.scrollTop = 0;
  isTopDue = false;
}
new ResizeObserver(toTop).observe(context);

async function showMessage(conversationId: string, seq: number): Promise<void> {
  await workspace.attempt(async () => {
    if (workspace.current?.id !== conversationId) await workspace.select(conversationId);
    transcript.goTo(seq);
  });
}

/** The conversation that an address names; none where the fragment cannot be read. */
function askedFor(fragment: string): string | null {
  try {
    return decodeURIComponent(fragment.slice(1));
  } catch {
    return null;
  }
}

async function start(): Promise<void> {
  await workspace.open();
  const asked = askedFor(location.hash);
  const known = workspace.conversations.find(({ id }) => id === asked) ?? workspace.conversations[0];
  if (known) await workspace.select(known.id);
  await workspace.refreshStats();
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && workspace.memory) void workspace.inBackground(() => workspace.catchUp());
});

void workspace.attempt(start);
