/**
 * Bringing in the chats that a person already has: choose the export's files or drop them anywhere on the page, see how far
 * it is, stop it, and read what came in.
 */

import { isMemoryError, type ImportOptions, type ImportProgress, type ImportReport } from "throughline";
import { button, element, fill } from "./element.ts";
import { headline, isPlain, showReport } from "./import-report.ts";
import { askFilePassphrase } from "./passphrase-dialog.ts";
import { vectorProgress } from "./vector-progress.ts";
import { showView } from "./views.ts";
import { startWorker } from "./workers.ts";
import { formatBytes, formatCount } from "./wording.ts";
import type { Workspace } from "./workspace.ts";

const ACCEPTED = ".zip,.json,.jsonl,.html,.gz,.throughline,application/json,application/zip,text/html";

/** How each app gives its chats out. */
const SOURCES: readonly [app: string, way: string][] = [
  ["ChatGPT", "Settings, Data controls, Export data; the zip comes by mail"],
  ["Claude", "Settings, Privacy, Export data; the zip comes by mail"],
  ["Gemini", "Google Takeout, My Activity with Gemini Apps"],
  ["Grok", "Settings, Data controls, Export account data"],
  ["Open WebUI, LibreChat, SillyTavern", "their own export of chats, as it is"],
  ["This page", "a backup, encrypted or not"],
];

/** The button, the progress below it, and the place where files can be dropped: the whole page. */
export function importPanel(workspace: Workspace): HTMLElement {
  const input = element("input", { type: "file", accept: ACCEPTED, multiple: true, id: "import-file", class: "visually-hidden" });
  const own = element("input", { type: "checkbox", id: "import-own" });
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
        const worker = (): Worker => startWorker("import");
        const options = { onProgress: meter.show, signal, worker, ...(own.checked ? { trusted: true } : {}) };
        const report = await opened(workspace, files, options);
        if (report !== null) await tell(workspace, report);
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
    element("label", { class: "button primary wide", for: "import-file" }, "Choose the export, or drop it anywhere", input),
    element("p", { class: "fine" }, "The file as it was downloaded. It is read here, in a worker, and sent nowhere. The same file again changes nothing; a later one adds what is new."),
    element("label", { class: "tick" }, own, "These are backups that I made myself: believe what they say about me"),
    progress,
    vectorProgress(workspace).view,
    element("details", { class: "sources" }, element("summary", {}, "Where each app keeps its export"),
      element("dl", {}, ...SOURCES.map(([app, way]) => element("div", {}, element("dt", {}, app), element("dd", {}, way))))),
  );
}

/** Imports; asks for the passphrase of a file that has one. `null`: the person had none. */
async function opened(workspace: Workspace, files: readonly File[], options: ImportOptions): Promise<ImportReport | null> {
  let passphrase: string | undefined;
  for (;;) {
    try {
      return await workspace.bringInExport(files, { ...options, ...(passphrase === undefined ? {} : { passphrase }) });
    } catch (error) {
      const reason = isMemoryError(error, "invalid_argument") ? error.details?.["reason"] : undefined;
      if (reason !== "passphrase_needed" && reason !== "wrong_passphrase") throw error;
      const given = await askFilePassphrase(files[0]?.name ?? "the file", reason === "wrong_passphrase");
      if (given === null) {
        workspace.say({ kind: "ready", words: "Nothing was imported" });
        return null;
      }
      passphrase = given;
    }
  }
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
  const [first] = report.conversations;
  if (first !== undefined) await workspace.select(first);
  workspace.say({ kind: "ready", words: isPlain(report) ? `Imported ${formatCount(report.messages, "message")}` : headline(report) });
  if (isPlain(report)) showView("chat");
  else showReport(workspace, report);
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
