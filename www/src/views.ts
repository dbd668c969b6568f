/**
 * The views of the page and the way from one to another. The conversation is always there; on a wide screen a view stands
 * beside it or in its place, on a small one always in its place.
 */

import { readAddress, writeAddress } from "./address.ts";
import { button, byId, element, fill } from "./element.ts";
import type { Workspace } from "./workspace.ts";

/** A view other than the conversation. */
export interface View {
  /** Its name in the address, and in `nav-<id>` and `view-<id>`. */
  id: string;
  /** Its name on the page. */
  title: string;
  /** Beside the conversation, or a page of its own. */
  place: "beside" | "page";
  /** Fills its place, once, when it is first shown; from then on it keeps itself current by `workspace.subscribe`. */
  mount: (root: HTMLElement, workspace: Workspace) => void | Promise<void>;
  /** What happens whenever somebody turns to it. */
  shown?: (workspace: Workspace) => void;
}

/** The conversation itself. */
const CHAT = "chat";

/** The switch between the views. */
class ViewSwitch {
  readonly #workspace: Workspace;
  readonly #views: readonly View[];
  readonly #roots = new Map<string, HTMLElement>();
  readonly #entries = new Map<string, HTMLButtonElement>();
  readonly #mounting = new Map<string, Promise<unknown>>();
  #shown = "";

  constructor(nav: HTMLElement, views: readonly View[], workspace: Workspace) {
    this.#workspace = workspace;
    this.#views = views;
    this.#addEntry(nav, CHAT, "Chat");
    for (const { id, place, title } of views) {
      this.#addEntry(nav, id, title);
      const root = element("section", { class: `view panel view-${place}`, id: `view-${id}`, "aria-label": title, tabindex: -1, hidden: true });
      byId(place).append(root);
      this.#roots.set(id, root);
    }
    addEventListener("popstate", () => this.show(readAddress().view ?? CHAT, false));
    this.show(readAddress().view ?? CHAT, false);
  }

  /** Shows a view; one that there is not stands for the conversation. With `isStep` the back button leads back. */
  show(id: string, isStep: boolean): void {
    const view = this.#views.find((each) => each.id === id);
    const name = view?.id ?? CHAT;
    document.body.dataset["layout"] = view?.place ?? CHAT;
    for (const [each, root] of this.#roots) root.hidden = each !== name;
    for (const [each, entry] of this.#entries) {
      if (each === name) entry.setAttribute("aria-current", "page");
      else entry.removeAttribute("aria-current");
    }
    this.#entries.get(name)?.scrollIntoView({ block: "nearest", inline: "center" });
    closeDrawer();
    if (view) void this.mount(view.id);
    if (name === this.#shown) return;
    this.#shown = name;
    view?.shown?.(this.#workspace);
    document.title = view ? `${view.title} - Throughline` : "Throughline: see what your model remembers";
    writeAddress({ chat: this.#workspace.current?.id ?? readAddress().chat, view: view ? name : null }, isStep);
    this.#keepFocus(name);
  }

  /** Fills a view that has not been shown yet. What could not be fetched is fetched again the next time. */
  mount(id: string): Promise<unknown> {
    const [view, root] = [this.#views.find((each) => each.id === id), this.#roots.get(id)];
    if (!view || !root) return Promise.resolve();
    const mounting = this.#mounting.get(id) ?? this.#workspace.attempt(async () => {
      try {
        await view.mount(root, this.#workspace);
      } catch (error) {
        fill(root);
        this.#mounting.delete(id);
        throw error;
      }
    });
    this.#mounting.set(id, mounting);
    return mounting;
  }

  #addEntry(nav: HTMLElement, id: string, title: string): void {
    const entry = button(title, () => this.show(id, true), { id: `nav-${id}` });
    this.#entries.set(id, entry);
    nav.append(entry);
  }

  /** What had the keyboard may be out of sight now. */
  #keepFocus(name: string): void {
    const { activeElement } = document;
    if (!(activeElement instanceof HTMLElement) || activeElement === document.body || activeElement.checkVisibility()) return;
    (this.#roots.get(name) ?? byId("transcript")).focus({ preventScroll: true });
  }
}

let current: ViewSwitch | null = null;

/** Fills the switch and shows the view that the address names. */
export function viewSwitch(nav: HTMLElement, views: readonly View[], workspace: Workspace): void {
  current = new ViewSwitch(nav, views, workspace);
}

/** Shows the view of this id, or the conversation for `chat`. With `isStep` the browser's back button leads back. */
export function showView(id: string, isStep = true): void {
  current?.show(id, isStep);
}

/** Brings the conversation into sight; a view that stands beside it stays. */
export function showConversation(): void {
  if (byId("chat").checkVisibility()) closeDrawer();
  else showView(CHAT);
}

/** Fills a view without showing it, for what it does while it is out of sight. */
export function prepareView(id: string): Promise<unknown> {
  return current?.mount(id) ?? Promise.resolve();
}

/** Brings the list of conversations into sight where it is not. */
export function openDrawer(): void {
  if (document.body.dataset["layout"] === "page") showView(CHAT);
  if (byId("conversations").checkVisibility()) return;
  document.body.dataset["drawer"] = "open";
  byId("drawer-open").setAttribute("aria-expanded", "true");
  byId("conversations").querySelector<HTMLElement>("button, input")?.focus();
}

/** Closes it. */
export function closeDrawer(): void {
  if (document.body.dataset["drawer"] === undefined) return;
  delete document.body.dataset["drawer"];
  const opener = byId("drawer-open");
  opener.setAttribute("aria-expanded", "false");
  if (byId("conversations").contains(document.activeElement)) opener.focus();
}
