/** How long a connected model takes until its first word, measured with the very prompts. */

import { button, element, fill } from "../element.ts";
import { formatNumber, tellError } from "../wording.ts";
import type { Workspace } from "../workspace.ts";
import type { LaneName } from "./race-costs.ts";
import { promptsAt, type Window } from "./race-run.ts";
import type { RaceSample } from "./race-sample.ts";

/** So little of an answer is asked for. */
const ANSWER_TOKENS = 16;
const LIMIT_MS = 120_000;

/** What is measured: the sample, after which turn, with which window of the engine. */
interface Place {
  sample: RaceSample;
  turn: number;
  window: Window;
}

/** The measurement, and where it is asked for. */
export class FirstWords {
  readonly node = element("div", { class: "first-words" });
  readonly #workspace: Workspace;
  readonly #changed: () => void;
  readonly #words = element("p", { class: "fine", role: "status" });
  #place: Place | null = null;
  #measured: { turn: number; window: Window; seconds: Partial<Record<LaneName, number>> } | null = null;
  #running: AbortController | null = null;

  constructor(workspace: Workspace, changed: () => void) {
    this.#workspace = workspace;
    this.#changed = changed;
    workspace.subscribe(["model"], () => {
      this.#measured = null;
      this.#show();
      changed();
    });
    this.#show();
  }

  /** Says what would be measured now. */
  offer(place: Place): void {
    this.#place = place;
  }

  /** Seconds that were measured for this lane, turn and window; null: none were. */
  seconds(lane: LaneName, turn: number, window: Window): number | null {
    const measured = this.#measured;
    return measured?.turn === turn && measured.window === window ? measured.seconds[lane] ?? null : null;
  }

  #show(): void {
    const { model } = this.#workspace;
    if (!model) {
      fill(this.node, element("p", { class: "fine" }, "The time to the first word is estimated, as no model is on: start + tokens that are not in the cache / tokens per second."));
      return;
    }
    const action = this.#running
      ? button("Stop", () => this.#running?.abort(), { id: "race-measure-stop" })
      : button(`Measure the first word with ${model.name}`, () => void this.#measure(), { id: "race-measure" });
    fill(this.node, element("div", { class: "actions" }, action), this.#words);
  }

  async #measure(): Promise<void> {
    const place = this.#place;
    if (!place || this.#running) return;
    const running = (this.#running = new AbortController());
    this.#show();
    try {
      const prompts = await promptsAt(place.sample, place.turn, place.window);
      const seconds: Partial<Record<LaneName, number>> = {};
      this.#measured = { turn: place.turn, window: place.window, seconds };
      // Everything for the second time is what a cache makes of it. The engine's prompt is new, and has none.
      for (const [lane, messages] of [["engine", prompts.engine], ["replay", prompts.replay], ["cached", prompts.replay]] as const) {
        this.#words.textContent = `Sending ${formatNumber(messages.length)} messages`;
        seconds[lane] = await this.#firstWord(messages, running.signal);
        this.#changed();
      }
      this.#words.textContent = "Measured once, with an empty cache for Throughline and full replay, and sent again for cached replay.";
    } catch (error) {
      this.#words.textContent = `Not measured to the end. ${tellError(error).words}`;
    } finally {
      this.#running = null;
      this.#show();
    }
  }

  async #firstWord(messages: Parameters<NonNullable<Workspace["model"]>["stream"]>[0], signal: AbortSignal): Promise<number> {
    const { model } = this.#workspace;
    if (!model) throw new Error("No model is on.");
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)]);
    const begin = performance.now();
    for await (const piece of model.stream(messages, ANSWER_TOKENS, limited)) {
      if (piece !== "") return (performance.now() - begin) / 1_000;
    }
    throw new Error("The model answered with nothing.");
  }
}
