/**
 * Search across all conversations, as one types: titles, and messages by words and by meaning. A hit opens its conversation
 * at the message, with the words marked.
 */

import type { RecallGroup } from "throughline";
import { button, element, fill } from "./element.ts";
import { messageLine, readMessage, speakerOf } from "./message.ts";
import { showMessage } from "./navigation.ts";
import { isTemporary } from "./temporary-chats.ts";
import { inlineText, visibleLine, visibleTitle } from "./visible-text.ts";
import { showConversation } from "./views.ts";
import { formatCount, formatShortDay } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

/** Hits asked for. */
const MOST_HITS = 40;
/** Hits shown of one conversation at first. */
const MOST_OF_ONE = 4;
/** Least similarity, 0 to 1, of a message that has none of the words. */
const SIMILAR = 0.4;
/** Characters of a message that are shown of it. */
const SNIPPET = 110;
/** Characters in front of the first marked word. */
const LEAD = 40;

/** A message that was found. */
interface Hit {
  conversationId: string;
  seq: number;
  who: string;
  when: string;
  text: string;
  /** It has words of the query; else it is only similar in meaning. */
  hasWords: boolean;
}

/** The box, and the hits that take the place of the list of conversations while something is in it. */
export class ChatSearch {
  readonly box = element("input", { type: "search", id: "search", placeholder: "Search all chats", "aria-label": "Search all chats", "aria-keyshortcuts": "Control+K", title: "Ctrl K", autocomplete: "off", spellcheck: "false" });
  readonly results = element("section", { class: "search-results", id: "search-results", "aria-label": "Found", hidden: true });
  readonly #workspace: Workspace;
  readonly #count = element("p", { class: "fine", role: "status", id: "search-count" });
  readonly #hits = element("div", { class: "hits" });
  #running: AbortController | null = null;

  /** `onUse` is told whether something is in the box. */
  constructor(workspace: Workspace, onUse: (isUsed: boolean) => void) {
    this.#workspace = workspace;
    this.results.append(this.#count, this.#hits);
    this.box.addEventListener("input", () => {
      const query = this.box.value.trim();
      this.results.hidden = query === "";
      onUse(query !== "");
      void this.#search(query);
    });
    // The first query waits for the embedder's table: who comes to the box gets it fetched.
    this.box.addEventListener("focus", () => void workspace.memory?.recall("warm up", { topK: 1 }).catch(() => undefined), { once: true });
    this.box.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.#step(event, 1);
      else if (event.key === "Enter") this.#buttons()[0]?.click();
      else if (event.key === "Escape" && this.box.value !== "") this.#empty(event);
    });
    this.results.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") this.#step(event, 1);
      else if (event.key === "ArrowUp") this.#step(event, -1);
      else if (event.key === "Escape") this.#empty(event);
    });
    workspace.subscribe(["wiped"], () => this.#empty());
  }

  #buttons(): HTMLButtonElement[] {
    return [...this.#hits.querySelectorAll<HTMLButtonElement>("button.hit-open")].filter((each) => each.checkVisibility());
  }

  /** To the next or former hit; above the first is the box. */
  #step(event: Event, step: number): void {
    event.preventDefault();
    const all = this.#buttons();
    const at = all.findIndex((each) => each === document.activeElement) + step;
    (at < 0 ? this.box : all[Math.min(at, all.length - 1)])?.focus();
  }

  #empty(event?: Event): void {
    event?.preventDefault();
    this.box.value = "";
    this.box.dispatchEvent(new Event("input"));
    if (event) this.box.focus();
  }

  async #search(query: string): Promise<void> {
    this.#running?.abort();
    if (query === "") {
      fill(this.#hits);
      return;
    }
    const running = new AbortController();
    this.#running = running;
    const { signal } = running;
    const projectId = this.#workspace.project;
    try {
      const groups = await this.#workspace.opened().recall(query, {
        topK: MOST_HITS, before: 0, after: 0, signal, ...(projectId === null ? {} : { filter: { projectId } }),
      });
      if (!signal.aborted) await this.#show(query, groups, signal);
    } catch (error) {
      if (signal.aborted) return;
      fill(this.#hits);
      this.#count.textContent = "The search failed.";
      this.#workspace.fail(error);
    }
  }

  async #show(query: string, groups: readonly RecallGroup[], signal: AbortSignal): Promise<void> {
    const words = searchedWords(query);
    const hits = groups.flatMap(hitsOf);
    const titles = await this.#titles([...new Set(hits.map(({ conversationId }) => conversationId))]);
    if (signal.aborted) return;
    const named = this.#named(query);
    const [exact, similar] = [hits.filter(({ hasWords }) => hasWords), hits.filter(({ hasWords }) => !hasWords)];
    const chats = new Set(exact.map(({ conversationId }) => conversationId)).size;
    const found = [
      named.length > 0 && formatCount(named.length, "title"),
      exact.length > 0 && `${formatCount(exact.length, "message")} in ${formatCount(chats, "chat")}`,
      similar.length > 0 && `${similar.length} similar in meaning`,
    ].filter((part) => part !== false);
    this.#count.textContent = found.length === 0 ? "Nothing found." : found.join(", ");
    fill(
      this.#hits,
      ...named.map(({ id, title }) => this.#entry(inlineText(visibleLine(title), words), "Title", () => this.#workspace.attempt(() => this.#workspace.select(id)))),
      ...this.#conversations(exact, titles, words),
      similar.length > 0 && element("details", { class: "similar", open: exact.length === 0 },
        element("summary", {}, "Similar in meaning"), ...this.#conversations(similar, titles, words)),
    );
  }

  /** The hits by conversation, in the order of each one's best. */
  #conversations(hits: readonly Hit[], titles: ReadonlyMap<string, string>, words: readonly string[]): HTMLElement[] {
    const ids = [...new Set(hits.map(({ conversationId }) => conversationId))];
    return ids.map((id) => this.#conversation(titles.get(id) ?? "Untitled", hits.filter(({ conversationId }) => conversationId === id), words));
  }

  #named(query: string): Workspace["conversations"] {
    const searched = query.toLowerCase();
    const { conversations, project } = this.#workspace;
    const isShown = (one: Workspace["conversations"][number]): boolean => !isTemporary(one) && (project === null || one.projectId === project);
    return conversations.filter((one) => one.title.toLowerCase().includes(searched) && isShown(one)).slice(0, 3);
  }

  async #titles(ids: readonly string[]): Promise<Map<string, string>> {
    const known = new Map(this.#workspace.conversations.map(({ id, title }) => [id, title]));
    const { conversations } = this.#workspace.opened();
    return new Map(await Promise.all(ids.map(async (id): Promise<[string, string]> =>
      [id, visibleTitle(known.get(id) ?? (await conversations.get(id)).title)])));
  }

  #conversation(title: string, hits: readonly Hit[], words: readonly string[]): HTMLElement {
    const entries = hits.map((hit) =>
      this.#entry(inlineText(snippet(hit.text, words), words), [hit.who, hit.when].filter((word) => word !== "").join(", "),
        () => showMessage(this.#workspace, hit.conversationId, hit.seq, words)));
    const rest = entries.slice(MOST_OF_ONE);
    return element("div", { class: "hits-of-one" }, element("h3", {}, title), ...entries.slice(0, MOST_OF_ONE),
      rest.length > 0 && element("details", {}, element("summary", {}, `${rest.length} more`), ...rest));
  }

  #entry(words: (Node | string)[], about: string, open: () => Promise<unknown>): HTMLElement {
    const node = button("", () => {
      showConversation();
      void open();
    }, { class: "hit-open" });
    fill(node, element("span", { class: "hit-text" }, ...words), about !== "" && element("span", { class: "hit-about" }, about));
    return node;
  }
}

function hitsOf({ conversationId, hits, messages, range }: RecallGroup): Hit[] {
  return hits.flatMap(({ id, scores, seq }) => {
    const hasWords = (scores?.keyword ?? 0) > 0;
    if (!hasWords && (scores?.semantic ?? 0) < SIMILAR) return [];
    const raw = messages.find((each) => each["id"] === id) ?? messages[seq - range[0]] ?? {};
    const message = readMessage(raw, seq);
    const when = message.createdAt ? formatShortDay(message.createdAt) : "";
    return [{ conversationId, seq, who: speakerOf(message.role), when, text: messageLine(message), hasWords }];
  });
}

/** The words of a query, to be marked; a single letter would be marked everywhere. */
function searchedWords(query: string): string[] {
  const words = query.toLowerCase().match(/[\p{L}\p{N}_.-]+/gu) ?? [];
  return [...new Set(words)].filter((word) => word.length > 1 || /[\p{Script=Han}\p{N}]/u.test(word));
}

/** The part of a text around the first of these words. */
function snippet(text: string, words: readonly string[]): string {
  const line = visibleLine(text);
  const lower = line.toLowerCase();
  const found = words.map((word) => lower.indexOf(word)).filter((at) => at >= 0);
  const first = found.length === 0 ? 0 : Math.min(...found);
  const from = first <= LEAD ? 0 : line.lastIndexOf(" ", first - LEAD) + 1;
  const end = from + SNIPPET;
  return `${from > 0 ? "… " : ""}${line.slice(from, end)}${end < line.length ? " …" : ""}`;
}
