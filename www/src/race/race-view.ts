/**
 * The race: one question, asked after every turn of the sample, sent in three ways. It runs when it is first shown, in a worker,
 * and everything on the page follows from what was built and counted there.
 */

import { breakEven } from "../../../bench/cost/strategies.mjs";
import { button, element, fill } from "../element.ts";
import { formatNumber } from "../wording.ts";
import type { Workspace } from "../workspace.ts";
import { LANE_LABELS, money, raceCards, type CardFigures } from "./race-cards.ts";
import { drawChart, type Chart } from "./race-chart.ts";
import { dollars, LANES, lanesOf, sumsOf, type Lane, type LaneName } from "./race-costs.ts";
import { RESERVE, runRace, type RaceRun } from "./race-run.ts";
import { loadRaceSample, type RaceSample } from "./race-sample.ts";
import { firstSettings, raceSettings, type RaceSettings } from "./race-settings.ts";
import { FirstWords } from "./first-words.ts";
import { windowFill } from "./window-fill.ts";

/** What the lines show. */
type Metric = "tokens" | "request" | "sum";

const METRICS: Readonly<Record<Metric, string>> = { tokens: "Tokens sent", request: "Price of the question", sum: "Price so far" };

/** While it runs, the page is drawn again after so many turns. */
const DRAWN_EVERY = 6;

/** Fills a place with the race and starts it. */
export function mountRace(root: HTMLElement, workspace: Workspace): void {
  new RaceView(root, workspace).start();
}

class RaceView {
  readonly #root: HTMLElement;
  readonly #settings: RaceSettings = firstSettings();
  readonly #intro = element("p", { class: "race-intro" });
  readonly #progress = element("progress", { class: "race-progress", "aria-label": "Race", value: 0 });
  readonly #slider = element("input", { type: "range", id: "race-turn", min: 1, max: 1, step: 1, value: 1, disabled: true });
  readonly #turnWords = element("output", { class: "race-turn-words", for: "race-turn" });
  readonly #cards = element("div", { class: "race-cards", id: "race-cards" });
  readonly #chart = element("div", { class: "chart", id: "race-chart" });
  readonly #legend = element("ul", { class: "chart-legend" });
  readonly #verdict = element("p", { class: "race-verdict", id: "race-verdict" });
  readonly #windows = element("div", { id: "race-windows" });
  readonly #firstWords: FirstWords;
  #sample: RaceSample | null = null;
  #run: RaceRun | null = null;
  #lanes: Record<LaneName, Lane> | null = null;
  #metric: Metric = "tokens";
  #turn = 1;
  /** The person has moved the slider: it no longer follows the run. */
  #isHeld = false;
  #turnAt: (clientX: number) => number = () => 1;
  #isDue = false;

  constructor(root: HTMLElement, workspace: Workspace) {
    this.#root = root;
    this.#firstWords = new FirstWords(workspace, () => this.#due());
    root.classList.add("race-waiting");
    const metrics = element("div", { class: "segmented", role: "group", "aria-label": "What the lines show" },
      ...(Object.keys(METRICS) as Metric[]).map((metric) => this.#metricButton(metric)));
    root.append(
      element("h2", {}, "One question, sent in three ways"),
      this.#intro,
      element("label", { class: "race-slider" }, element("span", {}, "Asked after turn"), this.#slider, this.#turnWords),
      this.#progress,
      this.#cards,
      this.#verdict,
      element("div", { class: "chart-head" }, metrics, this.#legend),
      this.#chart,
      element("h3", {}, "Does it fit the model's window?"),
      this.#windows,
      this.#firstWords.node,
      raceSettings(this.#settings, () => this.#settingsChanged()),
    );
    this.#slider.addEventListener("input", () => this.#goTo(this.#slider.valueAsNumber));
    this.#chart.addEventListener("pointerdown", ({ clientX }) => this.#goTo(this.#turnAt(clientX)));
    this.#chart.addEventListener("pointermove", ({ buttons, clientX }) => {
      if (buttons > 0) this.#goTo(this.#turnAt(clientX));
    });
    new ResizeObserver(() => this.#due()).observe(this.#chart);
  }

  /** Runs; a failure is told where the race would be, and it can be started again. */
  start(): void {
    this.#race().catch((error: unknown) => {
      const words = error instanceof Error ? error.message : String(error);
      fill(this.#cards, element("p", { role: "alert" }, `The race could not be run. ${words} `), button("Try again", () => this.start()));
      this.#progress.hidden = true;
    });
  }

  async #race(): Promise<void> {
    this.#progress.hidden = false;
    fill(this.#cards, element("p", { class: "fine" }, "Building and counting every prompt of the sample, here in the page."));
    const sample = (this.#sample = await loadRaceSample());
    fill(this.#intro, ...introOf(sample));
    this.#slider.min = String(sample.answerTurn);
    this.#slider.max = String(sample.turns.length);
    await runRace(sample, (run, window) => {
      this.#run = run;
      const turns = run.engine[window].asked.length;
      const isEnd = turns === sample.turns.length;
      if (turns % DRAWN_EVERY > 0 && !isEnd) return;
      if (window === this.#settings.window) {
        if (!this.#isHeld) this.#turn = turns;
        this.#lanes = null;
        this.#progress.value = turns / sample.turns.length;
        this.#progress.hidden = isEnd;
        this.#slider.disabled = false;
      }
      this.#due();
    });
  }

  #goTo(turn: number): void {
    if (!this.#run || !this.#sample) return;
    this.#isHeld = true;
    this.#turn = Math.max(this.#sample.answerTurn, Math.min(this.#run.engine[this.#settings.window].asked.length, turn));
    this.#due();
  }

  #settingsChanged(): void {
    this.#lanes = null;
    this.#due();
  }

  /** Drawn at most once a frame, and only where it can be seen. */
  #due(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      if (this.#run && this.#sample && this.#chart.clientWidth > 0) this.#draw(this.#run, this.#sample);
    });
  }

  #draw(run: RaceRun, sample: RaceSample): void {
    const { rule, window, prices } = this.#settings;
    const turns = run.engine[window].asked.length;
    if (turns < sample.answerTurn) return;
    this.#turn = Math.min(this.#turn, turns);
    this.#root.classList.remove("race-waiting");
    const lanes = (this.#lanes ??= lanesOf(run, rule, window, sample.question));
    const sums = byLane((lane) => sumsOf(lanes[lane], run.answers, prices));
    const figures = byLane((lane) => this.#figures(run, lane, lanes[lane], sums[lane]));
    this.#firstWords.offer({ sample, turn: this.#turn, window });
    this.#slider.valueAsNumber = this.#turn;
    this.#turnWords.textContent = `${this.#turn} of ${sample.turns.length}`;
    fill(this.#cards, ...raceCards(figures, this.#settings));
    fill(this.#verdict, verdict(sums, figures, turns));
    fill(this.#windows, windowFill(run, this.#turn, sample.question, sample.answerTurn));
    this.#drawLines(lanes, sums, sample);
  }

  #figures(run: RaceRun, lane: LaneName, turns: Lane, sums: readonly number[]): CardFigures {
    const { window } = this.#settings;
    const at = this.#turn - 1;
    const turn = turns[at];
    if (!turn) throw new Error(`Turn ${this.#turn} was not run.`);
    const hasAnswer = lane !== "engine" || run.engine[window].asked[at]?.answerIn !== null;
    return { turn, soFar: sums[at] ?? 0, measured: this.#firstWords.seconds(lane, this.#turn, window), hasAnswer };
  }

  #drawLines(lanes: Record<LaneName, Lane>, sums: Record<LaneName, number[]>, sample: RaceSample): void {
    const { prices, window } = this.#settings;
    const values: Readonly<Record<Metric, (lane: LaneName) => number[]>> = {
      tokens: (lane) => lanes[lane].map(({ tokens }) => tokens),
      request: (lane) => lanes[lane].map(({ asked }) => dollars(asked, prices)),
      sum: (lane) => sums[lane],
    };
    const format = this.#metric === "tokens" ? (value: number) => formatNumber(Math.round(value)) : money;
    // The engine's line is the thinnest where lines meet, and drawn last.
    const lines = LANES.map((lane) => ({ name: lane, label: LANE_LABELS[lane], values: values[this.#metric](lane) }));
    const chart: Chart = {
      lines, format,
      turns: sample.turns.length, turn: this.#turn, answerTurn: sample.answerTurn,
      limit: this.#metric === "tokens" ? { value: window - RESERVE, label: `what fits ${formatNumber(window)} with room for the answer` } : null,
      description: `${METRICS[this.#metric]} by turn. After turn ${this.#turn}: ${lines.map(({ label, values: all }) => `${label} ${format(all[this.#turn - 1] ?? 0)}`).join(", ")}.`,
    };
    this.#turnAt = drawChart(this.#chart, chart);
    fill(this.#legend, ...lines.map(({ name, label }) => element("li", {}, element("span", { class: `chart-key ${name}`, "aria-hidden": true }), label)));
  }

  #metricButton(metric: Metric): HTMLElement {
    const choose = (): void => {
      this.#metric = metric;
      for (const each of node.parentElement?.children ?? []) each.setAttribute("aria-pressed", String(each === node));
      this.#due();
    };
    const node = button(METRICS[metric], choose, { "aria-pressed": String(metric === this.#metric), "data-metric": metric });
    return node;
  }
}

function byLane<Value>(make: (lane: LaneName) => Value): Record<LaneName, Value> {
  return { replay: make("replay"), cached: make("cached"), engine: make("engine") };
}

function introOf({ answer, answerTurn, question, turns }: RaceSample): (Node | string)[] {
  return [`A choir's website, planned over ${turns.length} turns. Then somebody asks: `, element("q", {}, question),
    ` It was said once, at turn ${answerTurn}: `, element("q", {}, answer)];
}

/** What the figures say, also where they speak for somebody else. */
function verdict(sums: Record<LaneName, number[]>, figures: Record<LaneName, CardFigures>, turns: number): string {
  const share = Math.round(100 - (100 * figures.engine.turn.tokens) / figures.replay.turn.tokens);
  const size = share > 0 ? `Throughline sends ${share}% fewer tokens here.` : "So early everything is short: Throughline sends it all as well.";
  const from = breakEven(sums.engine, sums.cached);
  const price = from === undefined
    ? `In money alone cached replay stays cheaper over these ${turns} turns, for models whose window holds it all.`
    : `In money it is cheaper than cached replay from turn ${from} on; before that cached replay wins, for models whose window holds it all.`;
  return `${size} ${price}`;
}
