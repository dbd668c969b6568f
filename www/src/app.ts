/** The page: opens the memory and puts the parts in their places. */

import { readAddress } from "./address.ts";
import { answerVoice } from "./answer-voice.ts";
import { ChatHead } from "./chat-head.ts";
import { markCompactions } from "./compaction-marks.ts";
import { Composer } from "./composer.ts";
import { conversationList } from "./conversation-list.ts";
import { byId } from "./element.ts";
import { locomoSuggestions } from "./locomo.ts";
import { loadMarkdown } from "./message-body.ts";
import { keepOffline } from "./offline.ts";
import { SAMPLE_ID, sampleSuggestions } from "./sample.ts";
import { statusLine } from "./status-line.ts";
import { isTemporary } from "./temporary-chats.ts";
import { Transcript } from "./transcript.ts";
import { VIEWS } from "./view-list.ts";
import { closeDrawer, openDrawer, prepareView, showView, viewSwitch } from "./views.ts";
import { startWitness } from "./witness.ts";
import { Workspace } from "./workspace.ts";

/** From this width on there is room for a view beside the conversation; the same as in layout.css. */
const WIDE = matchMedia("(min-width: 901px)");

const workspace = new Workspace();
workspace.suggestFor = (conversationId) =>
  (conversationId === SAMPLE_ID ? sampleSuggestions() : locomoSuggestions(conversationId)).catch(() => []);

statusLine(byId("status"), workspace);
conversationList(byId("conversations"), workspace);
new ChatHead(byId("chat"), workspace);
new Transcript(byId("chat"), workspace);
new Composer(byId("chat"), workspace);
answerVoice(byId("chat"), workspace);
viewSwitch(byId("views"), VIEWS, workspace);

byId("drawer-open").addEventListener("click", openDrawer);
byId("drawer-close").addEventListener("click", closeDrawer);
document.addEventListener("keydown", ({ key }) => {
  if (key === "Escape") closeDrawer();
});

let shown = workspace.inquiry;
workspace.subscribe(["inquiry"], () => {
  const { inquiry, model } = workspace;
  const isNew = inquiry !== null && inquiry !== shown;
  const isFirst = shown === null;
  shown = inquiry ?? shown;
  // Without a model the context is the answer; with one it is shown once, and then as the person leaves it.
  if (isNew && WIDE.matches && (model === null || isFirst)) showView("context", false);
  if (isNew) byId("view-context").scrollTop = 0;
});

async function start(): Promise<void> {
  await Promise.all([workspace.open(), loadMarkdown().catch(() => undefined)]);
  const { conversations } = workspace;
  const { chat } = readAddress();
  const known = conversations.find(({ id }) => id === chat) ?? conversations.find((each) => !isTemporary(each));
  if (known) await workspace.select(known.id);
  await workspace.refreshStats();
  // The projects are those of all conversations that are listed.
  await workspace.listOlder();
  // Files can be dropped on whichever view is shown.
  await prepareView("import");
}

document.addEventListener("visibilitychange", () => {
  if (document.visibilityState === "visible" && workspace.memory) void workspace.inBackground(() => workspace.catchUp());
});

markCompactions(workspace);
startWitness();
keepOffline(workspace.attempt(start));
