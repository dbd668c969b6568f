/**
 * Bringing in the chats that a person already has: choose the export's files or drop them anywhere on the page, see how far
 * it is, stop it, and read what came in and what did not, with the reasons.
 */

import { isMemoryError, type ImportProgress, type ImportReport } from "throughline";
import { button, element, fill } from "./element.ts";
import { importWorker } from "./import-worker.ts";
import { showView } from "./views.ts";
import { formatBytes, formatCount, formatNumber } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const ACCEPTED = ".zip,.json,.jsonl,.html,.gz,application/json,application/zip,text/html";

const APPS: Readonly<Record<string, string>> = {
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

/** The button, the progress below it, and the place where files can be dropped: the whole page. */
export function importPanel(workspace: Workspace): HTMLElement {
  const input = element("input", { type: "file", accept: ACCEPTED, multiple: true, id: "import-file", class: "visually-hidden" });
  const progress = element("div", { class: "import-progress", id: "import-progress", hidden: true });
  let running: AbortController | null = null;

  async function run(files: readonly File[]): Promise<void> {
    if (files.length === 0 || running) return;
    running = new AbortController();
    const { signal } = running;
    const meter = progressMeter(() => running?.abort());
    fill(progress, ...meter.nodes);
    progress.hidden = false;
    await workspace.attempt(async () => {
      try {
        const report = await workspace.bringInExport(files, { onProgress: meter.show, signal, worker: importWorker });
        await tell(workspace, report);
      } catch (error) {
        // What is wrong with a file is said by the importer itself, and better.
        throw isMemoryError(error, "invalid_argument") ? new Error(error.message, { cause: error }) : error;
      } finally {
        progress.hidden = true;
        running = null;
      }
    });
  }

  input.addEventListener("change", () => {
    const files = [...(input.files ?? [])];
    input.value = "";
    void run(files);
  });
  acceptDrops((files) => void run(files));
  return element(
    "div",
    { class: "import" },
    element("label", { class: "button wide", for: "import-file" }, "Import your chats", input),
    element("p", { class: "fine" }, "The export file of ChatGPT, Claude, Gemini, Grok, Open WebUI, LibreChat or SillyTavern, as it was downloaded. It is read here and sent nowhere."),
    progress,
  );
}

/** A bar with figures and a way to stop. */
function progressMeter(stop: () => void): { nodes: HTMLElement[]; show: (progress: ImportProgress) => void } {
  const bar = element("progress", { class: "wide", "aria-label": "Import" });
  const words = element("p", { class: "fine" }, "Looking at the files");
  return {
    nodes: [bar, words, button("Stop", stop, { class: "quiet", id: "import-stop" })],
    show: ({ bytes, conversations, messages, phase, totalBytes }) => {
      bar.max = Math.max(1, totalBytes);
      bar.value = bytes;
      words.textContent = phase === "scan"
        ? `Checking ${formatBytes(bytes)} of ${formatBytes(totalBytes)}`
        : `${formatCount(conversations, "chat")}, ${formatCount(messages, "message")} (${formatBytes(bytes)} of ${formatBytes(totalBytes)})`;
    },
  };
}

/** One chat is opened at once; of more, or where something was left out, a report is shown first. */
async function tell(workspace: Workspace, report: ImportReport): Promise<void> {
  const [first, ...others] = report.conversations;
  if (first !== undefined) await workspace.select(first);
  if (others.length === 0 && report.skipped.every(({ reason }) => COMPANIONS.has(reason)) && first !== undefined) {
    workspace.say({ kind: "ready", words: `Imported ${formatCount(report.messages, "message")}` });
    showView("chat");
    return;
  }
  workspace.say({ kind: "ready", words: headline(report) });
  showReport(report);
}

/** Files of an export that hold no chats: nothing is lost with them. */
const COMPANIONS: ReadonlySet<string> = new Set(["not_conversations", "unknown_format"]);

function headline({ imported, source, unchanged, updated }: ImportReport): string {
  if (source === null) return "This is not an export that is known here";
  const app = APPS[source] ?? source;
  if (imported + updated > 0) return `From ${app}: ${formatCount(imported, "new chat")}${updated > 0 ? `, ${formatNumber(updated)} continued` : ""}`;
  return unchanged > 0 ? `From ${app}: nothing new` : `From ${app}: nothing came in`;
}

function showReport(report: ImportReport): void {
  document.getElementById("import-report")?.remove();
  const lost = report.skipped.filter(({ reason }) => !COMPANIONS.has(reason));
  const companions = report.skipped.length - lost.length;
  const rows = [
    ["New chats", report.imported],
    ["Chats that went on", report.updated],
    ["Already here", report.unchanged],
    ["Messages stored", report.messages],
    ["Left out", lost.length],
  ] as const;
  const dialog = element(
    "dialog",
    { class: "confirm import-report", "aria-labelledby": "import-headline", id: "import-report" },
    element("h2", { id: "import-headline" }, headline(report)),
    element("dl", { class: "figures" }, ...rows.map(([label, value]) =>
      element("div", { class: "figure" }, element("dt", {}, label), element("dd", {}, formatNumber(value))))),
    lost.length > 0 && leftOut(lost),
    companions > 0 && element("p", { class: "fine" }, `${formatCount(companions, "other file")} of the export ${companions === 1 ? "holds" : "hold"} no chats.`),
    element("p", { class: "fine" }, "Search by words works now; vectors fill in behind. Nothing imported is sent to a model by itself."),
    element("div", { class: "actions" }, button("Done", () => dialog.close(), { class: "primary", autofocus: true, id: "import-done" })),
  );
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
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

/** Files can be dropped anywhere; while they are held over the page, it says so. */
function acceptDrops(take: (files: readonly File[]) => void): void {
  const veil = element("div", { class: "drop-veil", id: "drop-veil", hidden: true }, element("p", {}, "Drop the export of your chats"));
  document.body.append(veil);
  const holdsFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
  document.addEventListener("dragover", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    veil.hidden = false;
  });
  document.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) veil.hidden = true;
  });
  document.addEventListener("drop", (event) => {
    if (!holdsFiles(event)) return;
    event.preventDefault();
    veil.hidden = true;
    take([...(event.dataTransfer?.files ?? [])]);
  });
}
