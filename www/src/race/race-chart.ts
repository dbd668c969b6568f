/** Lines over the turns, drawn by hand: a few numbers need no library. */

import { svg } from "../svg.ts";

/** One line. */
export interface ChartLine {
  /** Its look, see race.css. */
  name: string;
  label: string;
  values: readonly number[];
}

/** What is drawn. */
export interface Chart {
  lines: readonly ChartLine[];
  /** Turns on the axis, run or not. */
  turns: number;
  /** The turn that is looked at, from 1. */
  turn: number;
  /** The turn with the answer, from 1. */
  answerTurn: number;
  /** A level that matters, where there is one. */
  limit: { value: number; label: string } | null;
  format: (value: number) => string;
  /** What the picture shows, for those who do not see it. */
  description: string;
}

const EDGE = { top: 14, right: 12, bottom: 22, left: 52 };

/** Draws into the place, as wide as it is. Answers with the turn at a horizontal place of it. */
export function drawChart(place: HTMLElement, chart: Chart): (clientX: number) => number {
  const width = Math.max(280, place.clientWidth);
  const height = width < 500 ? 180 : 230;
  const top = highest(chart);
  const x = (turn: number): number => EDGE.left + ((width - EDGE.left - EDGE.right) * (turn - 1)) / Math.max(1, chart.turns - 1);
  const y = (value: number): number => height - EDGE.bottom - ((height - EDGE.top - EDGE.bottom) * value) / top;
  const picture = svg("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": chart.description, class: "chart-picture" });
  picture.append(...grid(chart, { top, width, height, x, y }));
  for (const line of chart.lines) picture.append(svg("polyline", { class: `chart-line ${line.name}`, points: line.values.map((value, turn) => `${x(turn + 1).toFixed(1)},${y(value).toFixed(1)}`).join(" ") }));
  picture.append(svg("line", { class: "chart-turn", x1: x(chart.turn), x2: x(chart.turn), y1: EDGE.top, y2: height - EDGE.bottom }));
  for (const { name, values } of chart.lines) {
    const value = values[chart.turn - 1];
    if (value !== undefined) picture.append(svg("circle", { class: `chart-dot ${name}`, cx: x(chart.turn), cy: y(value), r: 4 }));
  }
  place.replaceChildren(picture);
  return (clientX) => {
    const share = (clientX - place.getBoundingClientRect().left - EDGE.left) / (width - EDGE.left - EDGE.right);
    return Math.round(1 + Math.max(0, Math.min(1, share)) * (chart.turns - 1));
  };
}

interface Axes {
  top: number;
  width: number;
  height: number;
  x: (turn: number) => number;
  y: (value: number) => number;
}

function grid(chart: Chart, { top, width, height, x, y }: Axes): SVGElement[] {
  const marks = [0, 1, 2, 3, 4].map((part) => (top * part) / 4);
  const levels = marks.flatMap((value) => [
    svg("line", { class: "chart-grid", x1: EDGE.left, x2: width - EDGE.right, y1: y(value), y2: y(value) }),
    svg("text", { class: "chart-label", x: EDGE.left - 8, y: y(value) + 4, "text-anchor": "end" }, chart.format(value)),
  ]);
  const turns = turnMarks(chart.turns).map((turn) =>
    svg("text", { class: "chart-label", x: x(turn), y: height - 5, "text-anchor": "middle" }, String(turn)));
  const answer = svg("path", { class: "chart-answer", d: `M${x(chart.answerTurn)} ${height - EDGE.bottom}l-5 8h10z` }, svg("title", {}, `Turn ${chart.answerTurn}, where the answer is`));
  const { limit } = chart;
  const level = limit && limit.value < top ? [
    svg("line", { class: "chart-limit", x1: EDGE.left, x2: width - EDGE.right, y1: y(limit.value), y2: y(limit.value) }),
    svg("text", { class: "chart-label limit", x: width - EDGE.right, y: y(limit.value) - 5, "text-anchor": "end" }, limit.label),
  ] : [];
  return [...levels, ...turns, answer, ...level];
}

/** A round number above everything that is drawn, and above the limit where that is near. */
function highest({ lines, limit }: Chart): number {
  const most = Math.max(1e-9, ...lines.flatMap(({ values }) => values));
  const wanted = limit && limit.value < most * 1.5 ? Math.max(most, limit.value * 1.05) : most;
  const step = 10 ** Math.floor(Math.log10(wanted));
  return ([1, 1.2, 1.6, 2, 2.4, 3.2, 4, 5, 6, 8, 10].find((factor) => factor * step >= wanted) ?? 10) * step;
}

function turnMarks(turns: number): number[] {
  const step = [10, 20, 25, 50, 100, 200, 500, 1_000].find((each) => turns / each <= 7) ?? 1_000;
  return Array.from({ length: Math.floor(turns / step) }, (_, index) => (index + 1) * step).filter((turn) => turn < turns - step / 2).concat(turns);
}
