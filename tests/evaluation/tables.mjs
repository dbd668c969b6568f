// The evaluation as Markdown.

import { DEPTHS, figures } from "./retrieval.mjs";
import { KINDS } from "./probes.mjs";

const percent = (part, whole) => (whole === 0 ? "-" : ((part / whole) * 100).toFixed(1));
const of = (part, whole) => `${part} of ${whole}`;
const line = (cells) => `| ${cells.join(" | ")} |`;
const table = (head, rows) => [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
const middle = (values, share = 0.5) => [...values].sort((one, other) => one - other)[Math.min(values.length - 1, Math.floor(values.length * share))];
const mean = (values) => (values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length);

/** @returns {string} */
export function tables(report) {
  const { set } = report;
  const intro = `${set.users} users, ${set.languages.join(", ")}; ${set.sessions} sessions, ${set.messages} messages, ${set.userMessages} of them the users'; `
    + `${set.facts} facts of which ${set.holding} hold on the day of asking, ${set.traps} traps, ${set.probes} probes. ${set.history} made-up messages of each user around them.`;
  return [intro, extractionTable(report), trapTable(report), factTable(report), messageTable(report), decayLine(report), injectionLine(report), probeTable(report), costTable(report), batchTable(report)].filter((part) => part !== "").join("\n\n");
}

/** The runs with a model; of those in which the same was remembered only the first. */
function withModel({ runs }) {
  const modelled = Object.entries(runs).filter(([, { extraction }]) => extraction !== undefined);
  const same = (one, other) => JSON.stringify(one) === JSON.stringify(other);
  return modelled.filter(([, { extraction }], index) => !modelled.slice(0, index).some(([, other]) => same(extraction, other.extraction)));
}

function extractionTable(report) {
  const rows = withModel(report).flatMap(([name, { extraction: e }]) => [
    // What a real model proposed is not known by label.
    ...(e.proposed === 0 ? [] : [[`${name}: proposed by the model`, percent(e.proposedRight, e.proposed), percent(e.proposedFound, e.wanted), "", "", ""]]),
    [`${e.proposed === 0 ? `${name}: ` : ""}remembered`, percent(e.knownRight, e.known), percent(e.knownFound, e.wanted), `${percent(e.keyRight, e.knownRight)}, ${percent(e.categoryRight, e.knownRight)}`, percent(e.quoteRight, e.knownRight), e.twice],
    ["put into prompts by itself", percent(e.usedRight, e.used), percent(e.usedFound, e.wanted), "", "", ""],
  ]);
  return `### Extraction\n\n${table(["", "precision %", "recall %", "key, category right %", "message right %", "twice"], rows)}`;
}

function trapTable(report) {
  const runs = withModel(report);
  const kinds = [...new Set(runs[0][1].extraction.traps.map(({ kind }) => kind))];
  const cell = (traps, kind) => {
    const ours = traps.filter((trap) => trap.kind === kind);
    return `${ours.filter(({ known }) => known).length} / ${ours.filter(({ used }) => used).length}`;
  };
  const stale = ({ stale: all }) => {
    const expiring = all.filter(({ how }) => how === "expiring").length;
    return all.length === 0 ? "0" : `${all.length} (${expiring} that expired, ${all.length - expiring} replaced or taken back)`;
  };
  const rows = [
    ...kinds.map((kind) => [`${kind}, of ${runs[0][1].extraction.traps.filter((trap) => trap.kind === kind).length}`, ...runs.map(([, { extraction }]) => cell(extraction.traps, kind))]),
    ["used though it no longer holds", ...runs.map(([, { extraction }]) => stale(extraction))],
  ];
  return `What is no fact about the user: remembered / put into prompts by itself.\n\n${table(["", ...runs.map(([name]) => name)], rows)}`;
}

const rankRow = (name, ranks, rest) => {
  const { asked, recall, mrr } = figures(ranks);
  return [name, asked, ...recall.map((share) => percent(share, 1)), mrr.toFixed(3), rest];
};

function factTable({ retrieval: { facts, decay } }) {
  const rows = Object.entries(facts).filter(([, result]) => result !== undefined && result !== null).flatMap(([mode, { ranks, outdated }]) => [
    ...Object.entries(ranks).map(([kind, of]) => rankRow(`${mode}: ${kind}`, of, kind === "update" ? `${outdated} found` : "")),
    rankRow(`${mode}: all`, Object.values(ranks).flat(), ""),
  ]);
  rows.push(rankRow("words: the newer of two alike", decay.map(({ rank }) => rank), ""));
  return `### Retrieval of facts\n\n\`facts.search\`, facts of all users in one memory.\n\n${table(["", "asked", ...DEPTHS.map((depth) => `recall@${depth}`), "MRR", "replaced value"], rows)}`;
}

function messageTable({ retrieval: { messages } }) {
  const rows = Object.entries(messages).filter(([, result]) => result !== undefined && result !== null).flatMap(([mode, { ranks, newerFirst }]) => [
    ...Object.entries(ranks).map(([kind, of]) => rankRow(`${mode}: ${kind}`, of, kind === "update" ? of_(newerFirst) : "")),
    rankRow(`${mode}: all`, Object.values(ranks).flat(), ""),
  ]);
  return `### Retrieval of messages\n\n\`recall\`, messages of all users in one memory.\n\n${table(["", "asked", ...DEPTHS.map((depth) => `recall@${depth}`), "MRR", "new before old"], rows)}`;
}

const of_ = (list) => of(list.filter(Boolean).length, list.length);

function decayLine({ retrieval: { decay } }) {
  return `Of two facts alike, the newer one is first in \`facts.search\` in ${of_(decay.map(({ searched }) => searched))} cases, and is the one that is put in where there is room for one in ${of_(decay.map(({ injected }) => injected))}.`;
}

function injectionLine({ retrieval: { injection } }) {
  const told = Object.entries(injection).filter(([, result]) => result !== undefined && result !== null);
  const line = ([mode, { asked, there, facts, of: all }]) => `by ${mode} in ${of(there, asked)} (${(facts / asked).toFixed(0)} of ${all} facts put in, mean)`;
  return `Where far from all facts have room, the one that a question needs is put in ${told.map(line).join(", ")}.`;
}

function batchTable({ batches }) {
  if (batches === undefined) return "";
  const rows = batches.map((row) => [
    row.size, row.calls, row.judged, row.tokensPerMessage.toFixed(0), percent(row.found, row.wanted), percent(row.right, row.used), `${row.wait.toFixed(1)} / ${row.longestWait}`,
  ]);
  const head = ["batchMessages", "extract calls", "judge calls", "tokens of both per user message", "recall of what is used %", "precision %", "messages of the user until a fact is known, mean / most"];
  return `### Reading several messages at once\n\nThe labelled sessions alone, each begun right after the one before.\n\n${table(head, rows)}`;
}

function probeTable({ runs, baselines }) {
  const rows = [...Object.entries(runs), ...Object.entries(baselines)].map(([name, { probes }]) => [
    name,
    ...KINDS.map((kind) => probeCell(kind, probes.filter((probe) => probe.kind === kind))),
    mean(probes.map(({ tokens }) => tokens)).toFixed(0),
  ]);
  const head = ["", ...KINDS, "tokens, mean"];
  return `### Probes in a new conversation\n\nWhat is needed and there; then how often something that no longer holds is there, as a remembered fact / as the message that once said it.\n\n${table(head, rows)}`;
}

/** Found, where something is needed; then how often a fact, or else the message, that no longer holds is in the prompt. */
function probeCell(kind, probes) {
  if (kind === "abstention") return `${probes.filter(({ injected }) => injected === true).length} injected of ${probes.length}`;
  const held = probes.filter((probe) => probe.holds !== undefined);
  const found = held.length === 0 ? [] : [`${of(held.filter(({ holds }) => holds).length, held.length)}`];
  const ended = ["preference", "fact", "exact"].includes(kind) ? [] : [`stale ${probes.filter(({ staleFact }) => staleFact).length} / ${probes.filter(({ staleText }) => staleText).length}`];
  return [...found, ...ended].join("; ");
}

function costTable({ set, runs, baselines, trouble }) {
  const full = mean(baselines["full context"].probes.map(({ tokens }) => tokens));
  const rows = Object.entries(runs).map(([name, { usage, probes, times }]) => {
    const spent = Object.values(usage).reduce((sum, { input, output }) => sum + input + output, 0);
    const perTurn = spent / set.toldByUsers;
    const saved = full - mean(probes.map(({ tokens }) => tokens));
    const purposes = Object.entries(usage).map(([purpose, { calls, input, output }]) => `${purpose} ${calls}: ${(input / calls).toFixed(0)} + ${(output / calls).toFixed(0)}`);
    const ms = probes.map((probe) => probe.ms);
    return [name, purposes.join("; "), perTurn.toFixed(0), saved.toFixed(0), `${middle(ms).toFixed(1)} / ${middle(ms, 0.95).toFixed(1)}`, `${middle(times).toFixed(1)} / ${middle(times, 0.95).toFixed(1)}`];
  });
  const head = ["", "calls: tokens in + out, mean", "tokens spent per user message", "tokens saved per question against full context", "buildContext p50 / p95 ms", "append with background work p50 / p95 ms"];
  return [`### Cost\n\n${table(head, rows)}`, ...troubles(runs, trouble)].join("\n\n");
}

/** What went wrong between the engine and a real model: answers of the server by status, and background work that failed. */
function troubles(runs, trouble = {}) {
  const list = (counts) => Object.entries(counts).map(([name, count]) => `${name}: ${count}`).join(", ");
  const failed = Object.entries(runs).filter(([, { errors }]) => Object.keys(errors).length > 0).map(([name, { errors }]) => `${name}: ${list(errors)}`);
  return [
    ...(Object.keys(trouble).length === 0 ? [] : [`Answers of the model's server that were tried again or given up, by status: ${list(trouble)}.`]),
    ...(failed.length === 0 ? [] : [`Background work that failed and was tried again: ${failed.join("; ")}.`]),
  ];
}

