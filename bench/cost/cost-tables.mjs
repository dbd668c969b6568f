// The costs as Markdown.

import { breakEven } from "./strategies.mjs";

const line = (cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) => [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
const millions = (tokens) => (tokens / 1e6).toFixed(2);

/** @returns {string} */
export function costTables(reports) {
  return reports.map(costTable).join("\n\n");
}

function costTable({ turns, pauseEvery, extract, tokens, compactions, results }) {
  const named = (name) => results.find((result) => result.name === name);
  const [engine, cached, sliding] = ["engine", "full replay, cached", "sliding window, 20 messages"].map(named);
  const pauses = pauseEvery === 0 ? "no pause that a cache does not survive" : `a pause longer than caches live in front of every ${pauseEvery}th`;
  const intro = `${turns} turns, ${tokens.history} tokens, ${pauses}; the app's prompt ${tokens.system}; ${compactions} compactions${extract ? ", facts extracted" : ""}. Million input tokens, or what costs as much.`;
  const rules = engine.rules.map(({ rule }) => rule);
  const turn = (one, other, at) => breakEven(one.rules[at].sums, other.rules[at].sums) ?? "never";
  const rows = [
    ...results.map((result) => [result.name, ...result.rules.map(({ price }) => millions(price))]),
    ["of the engine's: its own calls", ...rules.map((_, at) => (engine.rules[at].rule.includes("anew") ? "-" : millions(engine.calls)))],
    ["engine: share read from the cache, %", ...engine.rules.map(({ readShare }) => (readShare * 100).toFixed(1))],
    ["engine cheaper than cached replay from turn", ...rules.map((_, at) => turn(engine, cached, at))],
    ["engine cheaper than the sliding window from turn", ...rules.map((_, at) => turn(engine, sliding, at))],
  ];
  const sizes = results.map(({ name, sent, largest, fits }) => [name, millions(sent), largest, fits < 0 ? "all" : `until turn ${fits}`]);
  return `${intro}\n\n${table(["", ...rules], rows)}\n\n${table(["", "tokens sent, millions", "longest prompt", "fits 128,000 with 4,000 for the answer"], sizes)}`;
}
