/** The three ways beside each other, at one turn. */

import { element } from "../element.ts";
import { formatNumber } from "../wording.ts";
import { dollars, firstToken, LANES, type LaneName, type LaneTurn } from "./race-costs.ts";
import type { RaceSettings } from "./race-settings.ts";

/** What the page calls the ways. */
export const LANE_LABELS: Readonly<Record<LaneName, string>> = {
  replay: "Full replay",
  cached: "Cached replay",
  engine: "Throughline",
};

const ABOUT: Readonly<Record<LaneName, string>> = {
  replay: "Everything, every time.",
  cached: "Everything, and the provider keeps what it has read.",
  engine: "What this question needs, inside the window.",
};

/** One way at one turn. */
export interface CardFigures {
  turn: LaneTurn;
  /** Dollars of the whole conversation so far. */
  soFar: number;
  /** Seconds to the first token with the connected model, where that was measured. */
  measured: number | null;
  hasAnswer: boolean;
}

/** The cards. */
export function raceCards(figures: Readonly<Record<LaneName, CardFigures>>, settings: RaceSettings): HTMLElement[] {
  const most = Math.max(...LANES.map((lane) => figures[lane].turn.tokens));
  const cheapest = Math.min(...LANES.map((lane) => figures[lane].soFar));
  return LANES.map((lane) => card(lane, figures[lane], { most, cheapest }, settings));
}

function card(
  lane: LaneName,
  { turn, soFar, measured, hasAnswer }: CardFigures,
  { most, cheapest }: { most: number; cheapest: number },
  { pace, prices }: RaceSettings,
): HTMLElement {
  const bar = element("span", { class: `race-card-bar ${lane}`, "aria-hidden": true });
  bar.style.setProperty("--share", String(turn.tokens / most));
  const seconds = measured ?? firstToken(turn.asked, pace);
  return element(
    "section",
    { class: `race-card ${lane}`, "data-lane": lane, "data-tokens": turn.tokens, "data-so-far": soFar, "data-answer": String(hasAnswer) },
    element("h3", {}, LANE_LABELS[lane]),
    element("p", { class: "race-card-about" }, ABOUT[lane]),
    element("p", { class: "race-card-tokens" }, element("strong", {}, formatNumber(turn.tokens)), " tokens"),
    bar,
    element("dl", { class: "race-card-figures" },
      figure("This question", money(dollars(turn.asked, prices)), turn.asked.read > 0 ? `${percent(turn.asked.read / turn.tokens)} from the cache` : ""),
      figure("The chat so far", money(soFar), soFar === cheapest ? "the least" : ""),
      figure("First word after", `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`, measured === null ? "estimated" : "measured")),
  );
}

function figure(label: string, value: string, note: string): HTMLElement {
  return element("div", {}, element("dt", {}, label), element("dd", {}, note === "" ? null : element("small", {}, note), " ", value));
}

const percent = (share: number): string => `${Math.round(share * 100)}%`;

/** Dollars, with as many digits as little sums need. */
export function money(value: number): string {
  if (value === 0) return "$0";
  return `$${value.toFixed(value >= 1 ? 2 : value >= 0.01 ? 3 : 4)}`;
}
