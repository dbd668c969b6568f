/** How full the windows of three kinds of model are, and whether the answer is still in them. */

import { tokensOf } from "../../../bench/cost/strategies.mjs";
import { element } from "../element.ts";
import { formatNumber } from "../wording.ts";
import { RESERVE, WINDOWS, type RaceRun, type Window } from "./race-run.ts";

const MODELS: Readonly<Record<Window, string>> = {
  4_000: "4k, in the browser",
  10_000: "10k, on a laptop",
  128_000: "128k, at a provider",
};

/** One row for each window. `turn` is counted from 1. */
export function windowFill(run: RaceRun, turn: number, question: string, answerTurn: number): HTMLElement {
  const replay = run.replay(turn, question);
  const tokens = tokensOf(replay.blocks);
  const rows = WINDOWS.map((window) => {
    const room = window - RESERVE;
    const asked = run.engine[window].asked[turn - 1];
    const mine = tokensOf(asked?.request.blocks ?? []);
    return element("section", { class: "window-row", "data-window": window },
      element("h4", {}, MODELS[window]),
      bar("replay", "Replay", tokens, room, replayVerdict(run, turn, tokens, room, answerTurn)),
      asked ? bar("engine", "Throughline", mine, room, engineVerdict(asked.answerIn, mine, room)) : element("p", { class: "fine" }, "Throughline: being built"));
  });
  return element("div", { class: "window-rows" }, ...rows);
}

/** Whether it is well, and in which words. */
interface Verdict {
  isGood: boolean;
  words: string;
}

function replayVerdict(run: RaceRun, turn: number, tokens: number, room: number, answerTurn: number): Verdict {
  if (tokens <= room) return { isGood: true, words: "fits, with the answer" };
  const since = run.sinceAnswer(turn - 1);
  const words = since <= room ? "does not fit; cut at the front, the answer is still in" : `does not fit; cut at the front, turn ${answerTurn} is gone`;
  return { isGood: false, words };
}

function engineVerdict(answerIn: string | null, tokens: number, room: number): Verdict {
  if (tokens > room) return { isGood: false, words: "does not fit" };
  if (answerIn === null) return { isGood: false, words: "fits, without the answer" };
  return { isGood: true, words: answerIn === "recent" ? "fits, the answer is recent" : "fits, the answer was found" };
}

function bar(lane: string, label: string, tokens: number, room: number, { isGood, words }: Verdict): HTMLElement {
  const fill = element("span", { class: `window-bar ${lane}${tokens > room ? " over" : ""}` });
  fill.style.setProperty("--share", String(Math.min(1, tokens / room)));
  const share = tokens > room ? `${(tokens / room).toFixed(1)} times the room` : `${Math.max(1, Math.round((100 * tokens) / room))}% full`;
  return element(
    "div",
    { class: "window-lane", "data-lane": lane, "data-good": String(isGood) },
    element("span", { class: "window-name" }, label),
    element("span", { class: "window-track", title: `${formatNumber(tokens)} of ${formatNumber(room)} tokens` }, fill),
    element("span", { class: "window-words" }, element("b", {}, share), `, ${words}`),
  );
}
