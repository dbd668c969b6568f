/** What happened in each session, and ending one by hand. */

import type { Episode } from "throughline";
import { button, element, fill } from "./element.ts";
import { TRUST } from "./fact-view.ts";
import { refreshing } from "./refresh.ts";
import { visibleLine, visibleTitle } from "./visible-text.ts";
import { formatShortDay, formatTime } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const MOST = 50;

/** Fills its place and keeps it current. `show` opens a conversation at a message. */
export function episodesView(root: HTMLElement, workspace: Workspace, show: (conversationId: string, seq: number) => void): void {
  const list = element("ul", { class: "episodes", id: "episodes" });
  const result = element("p", { class: "fine", role: "status" });
  const end = button("End this session now", () => void workspace.attempt(endSession), { id: "end-session" });
  root.append(
    element("p", { class: "fine" }, "A session is over after half an hour of silence. What happened in it is then told to the next conversation, unless results of tools or imports were part of it."),
    list, element("div", { class: "actions" }, end), result,
  );
  let reads = 0;
  const refresh = async (): Promise<void> => {
    const { current, memory, model } = workspace;
    end.disabled = model === null || current === null;
    end.title = model === null ? "This needs a model" : "";
    if (!memory) return;
    const read = ++reads;
    const episodes = await memory.episodes.list({ limit: MOST });
    if (read !== reads) return;
    fill(list, ...(episodes.length > 0
      ? episodes.map((episode) => episodeView(episode, workspace, show))
      : [element("li", { class: "empty" }, model === null ? "None. Episodes need a model." : "None yet.")]));
  };
  async function endSession(): Promise<void> {
    const { current } = workspace;
    if (!current) return;
    result.textContent = "Asking the model what happened";
    try {
      const episode = await workspace.opened().episodes.end(current.id);
      result.textContent = episode === null ? "Nothing was said since the last one." : "";
    } catch (error) {
      result.textContent = "";
      throw error;
    }
    await refresh();
  }
  const update = refreshing(workspace, refresh);
  workspace.subscribe(["conversations", "model", "stats"], update);
  update();
}

function episodeView({ conversationId, endedAt, range, text, trust }: Episode, { conversations }: Workspace, show: (conversationId: string, seq: number) => void): HTMLElement {
  const date = new Date(endedAt);
  const title = conversations.find(({ id }) => id === conversationId)?.title ?? "";
  return element(
    "li",
    { class: "episode" },
    element("p", { class: "fine" }, `${formatShortDay(date)} ${formatTime(date)}, ${visibleTitle(title)}, ${TRUST[trust] ?? trust}`),
    element("p", {}, visibleLine(text)),
    button(`Messages ${range[0]} to ${range[1]}`, () => show(conversationId, range[0]), { class: "link" }),
  );
}
