/** A download that a card begins: it is shown as it goes, can be stopped, and says how it ended. */

import { button, fill } from "./element.ts";
import { tellError } from "./wording.ts";

/** The parts of a card that a download changes. */
export interface DownloadParts {
  choice: HTMLSelectElement;
  actions: HTMLElement;
  bar: HTMLProgressElement;
  result: HTMLElement;
}

/** Runs a download. What `load` answers is said at its end; `failed` puts a failure into words, and `reset` brings the actions back. */
export async function download(
  { actions, bar, choice, result }: DownloadParts,
  load: (signal: AbortSignal) => Promise<string>,
  failed: (words: string) => string,
  reset: () => void,
): Promise<void> {
  const controller = new AbortController();
  fill(actions, button("Stop", () => controller.abort(), { class: "quiet" }));
  choice.disabled = true;
  bar.hidden = false;
  try {
    result.textContent = await load(controller.signal);
  } catch (error) {
    result.textContent = controller.signal.aborted ? "Stopped." : failed(tellError(error).words);
  } finally {
    bar.hidden = true;
    choice.disabled = false;
    reset();
  }
}
