/** What came in and what did not, with the reasons; a search over it that works at once; vectors as they fill in. */

import type { ImportReport } from "throughline";
import { figure } from "./card.ts";
import { button, element, fill } from "./element.ts";
import { messageLine, readMessage } from "./message.ts";
import { showMessage } from "./navigation.ts";
import { vectorProgress } from "./vector-progress.ts";
import { visibleLine } from "./visible-text.ts";
import { formatCount, formatNumber } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const APPS: Readonly<Record<string, string>> = {
  "throughline": "a backup of this page",
  "chatgpt": "ChatGPT",
  "claude": "Claude",
  "gemini": "Gemini",
  "ai-studio": "AI Studio",
  "grok": "Grok",
  "open-webui": "Open WebUI",
  "librechat": "LibreChat",
  "sillytavern": "SillyTavern",
  "sharegpt": "ShareGPT",
  "messages": "a list of messages",
  "mixed": "several apps",
};

/** Most rows of the list of what was left out; the rest is counted. */
const MOST_ROWS = 100;
const MOST_HITS = 5;
const LONGEST = 160;

/** Files of an export that hold no chats: nothing is lost with them. */
const COMPANIONS: ReadonlySet<string> = new Set(["not_conversations", "unknown_format"]);

/** Whether a report says nothing that the conversation itself does not show. */
export function isPlain({ conversations, skipped }: ImportReport): boolean {
  return conversations.length === 1 && skipped.every(({ reason }) => COMPANIONS.has(reason));
}

/** The report in a line. */
export function headline({ imported, source, unchanged, updated }: ImportReport): string {
  if (source === null) return "This is not an export that is known here";
  const app = APPS[source] ?? source;
  if (imported + updated > 0) return `From ${app}: ${formatCount(imported, "new chat")}${updated > 0 ? `, ${formatNumber(updated)} continued` : ""}`;
  return unchanged > 0 ? `From ${app}: nothing new` : `From ${app}: nothing came in`;
}

/** Shows the report. */
export function showReport(workspace: Workspace, report: ImportReport): void {
  document.getElementById("import-report")?.remove();
  const lost = report.skipped.filter(({ reason }) => !COMPANIONS.has(reason));
  const companions = report.skipped.length - lost.length;
  const rows = [
    ["New chats", report.imported],
    ["Chats that went on", report.updated],
    ["Already here", report.unchanged],
    ["Messages stored", report.messages],
    ...(report.facts > 0 ? [["Facts", report.facts] as const] : []),
    ["Left out", lost.length],
  ] as const;
  const progress = vectorProgress(workspace);
  const dialog = element(
    "dialog",
    { class: "confirm import-report", "aria-labelledby": "import-headline", id: "import-report" },
    element("h2", { id: "import-headline" }, headline(report)),
    element("dl", { class: "figures" }, ...rows.map(([label, value]) => figure(label, formatNumber(value)))),
    lost.length > 0 && leftOut(lost),
    companions > 0 && element("p", { class: "fine" }, `${formatCount(companions, "other file")} of the export ${companions === 1 ? "holds" : "hold"} no chats.`),
    report.messages > 0 && quickSearch(workspace, () => dialog.close()),
    report.messages > 0 && progress.view,
    element("p", { class: "fine" }, "Nothing imported is sent to a model by itself. Facts of somebody else's file wait for your approval."),
    element("div", { class: "actions" }, button("Done", () => dialog.close(), { class: "primary", id: "import-done" })),
  );
  dialog.addEventListener("close", () => {
    progress.end();
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  document.getElementById("import-done")?.focus();
}

function leftOut(skipped: ImportReport["skipped"]): HTMLElement {
  const rest = skipped.length - MOST_ROWS;
  return element(
    "details",
    { class: "left-out", open: skipped.length <= 5 },
    element("summary", {}, `${formatNumber(skipped.length)} left out, and why`),
    element("ul", {}, ...skipped.slice(0, MOST_ROWS).map(({ message, where }) =>
      element("li", {}, element("code", {}, where), ` ${message}`))),
    rest > 0 && element("p", { class: "fine" }, `and ${formatNumber(rest)} more`),
  );
}

/** Finds by words while vectors are still being made. */
function quickSearch(workspace: Workspace, leave: () => void): HTMLElement {
  const input = element("input", { type: "search", id: "import-search", placeholder: "Anything you remember saying" });
  const results = element("div", { class: "recalled", role: "status", id: "import-found" });
  let asked = 0;
  const look = async (): Promise<void> => {
    const ask = ++asked;
    const query = input.value.trim();
    if (query === "") {
      fill(results);
      return;
    }
    const begin = performance.now();
    const groups = await workspace.opened().recall(query, { topK: MOST_HITS, explain: false });
    if (ask !== asked) return;
    const ms = performance.now() - begin;
    const go = (conversationId: string, seq: number): void => {
      leave();
      void showMessage(workspace, conversationId, seq);
    };
    fill(results, element("p", { class: "fine" }, `${formatCount(groups.length, "place")} in ${ms.toFixed(0)} ms`),
      element("ul", { class: "hits" }, ...groups.map(({ conversationId, hits: [hit], messages, range: [from] }) => {
        const seq = hit?.seq ?? from;
        const line = visibleLine(messageLine(readMessage(messages[seq - from] ?? {}, seq)));
        return element("li", {}, button(line.length > LONGEST ? `${line.slice(0, LONGEST)} ...` : line, () => go(conversationId, seq), { class: "link found-text" }));
      })));
  };
  input.addEventListener("input", () => void workspace.inBackground(look));
  return element("div", {}, element("label", { class: "stacked" }, "Search it now", input), results);
}
