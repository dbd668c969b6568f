// The report as Markdown.

const ms = (value) => (value === undefined ? "" : value < 10 ? value.toFixed(value < 1 ? 3 : 2) : value.toFixed(0));
const mb = (bytes) => (bytes === undefined || bytes === null ? "" : `${(bytes / 1e6).toFixed(1)}`);
const percent = (share) => (share * 100).toFixed(1);
const seconds = (value) => (value === undefined ? "" : (value / 1000).toFixed(2));
const pair = (times) => (times === undefined ? "" : `${ms(times.p50)} / ${ms(times.p95)}`);

/** What stands in the table in place of figures. */
const missing = ({ failed, tookTooLong, limitMs }) => (tookTooLong === true ? `more than ${limitMs / 1000} s` : failed === undefined ? undefined : `failed: ${failed}`);

/** @returns {string} */
export function tables(report) {
  const parts = [`${report.browser}, ${report.processors}; load of the machine ${report.load.map((load) => load.toFixed(1)).join(" to ")}`];
  if (report.words !== undefined) parts.push(wordTable(report.words), exactTable(report.words));
  if (report.vectors !== undefined) parts.push(vectorTable(report.vectors));
  if (report.hybrid !== undefined) parts.push(hybridTable(report.hybrid));
  if (report.package !== undefined) parts.push(packageTable(report.package));
  const settings = new Map([...(report.words ?? []), ...(report.vectors ?? [])].flatMap(({ engine, settings: given }) => (given === undefined ? [] : [[engine, given]])));
  if (settings.size > 0) parts.push(`Settings: ${[...settings].map(([engine, given]) => `${engine}: ${given}`).join("; ")}.`);
  return `\n${parts.join("\n\n")}\n`;
}

function table(head, rows) {
  const line = (cells) => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

/** How many times the best of the engines of the same size, for one figure. */
function ratio(result, results, figure) {
  const own = figure(result);
  const others = results.filter((other) => other.size === result.size && other.dataset === result.dataset).map(figure).filter((value) => value !== undefined);
  return own === undefined ? "" : `${(own / Math.min(...others)).toFixed(1)}`;
}

function wordTable(results) {
  const head = ["messages", "engine", "build s", "query p50 / p95 ms", "times the fastest", "hit@10", "insert p50 / p95 ms", "memory MB", "saved MB", "save / load s"];
  const rows = results.map((result) => {
    if (missing(result) !== undefined) return [result.size, result.engine, missing(result), "", "", "", "", "", "", ""];
    const { saved } = result;
    return [
      result.size, result.engine, seconds(result.buildMs), pair(result.query), ratio(result, results, (each) => each.query?.p50), percent(result.hitAt10),
      `${pair(result.insert)}${result.insert.foundAtOnce < 1 ? ` (found at once ${percent(result.insert.foundAtOnce)} %)` : ""}`, mb(result.memory), mb(saved?.bytes),
      saved === undefined ? "" : `${seconds(saved.saveMs)} / ${seconds(saved.loadMs)}`,
    ];
  });
  return `### By words\n\n${table(head, rows)}`;
}

function exactTable(results) {
  const measured = results.filter((result) => missing(result) === undefined);
  const kinds = Object.keys(measured[0]?.exact.byKind ?? {});
  const head = ["found first, %", ...measured.map((result) => `${result.engine} ${result.size}`)];
  // Where questions took so long that not all were asked, a kind may be missing.
  const cell = (kind) => (kind === undefined ? "-" : percent(kind.first / kind.asked).replace(/\.0$/, ""));
  const both = (result, show) => `${show(result.exact)} / ${show(result.exactInQuestion)}`;
  const rows = kinds.map((kind) => [kind, ...measured.map((result) => both(result, ({ byKind }) => cell(byKind[kind])))]);
  return `### Exact things\n\nAlone / in "what did we say about ...".\n\n${table(head, [...rows, ["all", ...measured.map((result) => both(result, ({ first }) => percent(first)))]])}`;
}

function vectorTable(results) {
  const head = ["vectors", "engine", "build s", "query p50 / p95 ms", "times the fastest", "recall@10", "1/10, 1/100, 1/1000 let through: p50 ms (recall)", "insert p50 / p95 ms", "memory MB", "saved MB", "save / load s"];
  const rows = results.map((result) => {
    const name = `${result.dataset} ${result.size}`;
    if (missing(result) !== undefined) return [name, result.engine, missing(result), "", "", "", "", "", "", "", ""];
    const { saved, filters } = result;
    const filtered = Object.values(filters).map((each) => `${ms(each.p50)} (${each.recall.toFixed(3)})`).join(", ");
    return [
      name, result.engine, seconds(result.buildMs), pair(result.query), ratio(result, results, (each) => each.query?.p50), result.recall.toFixed(4), filtered,
      `${pair(result.insert)}${result.insert.foundAtOnce < 1 ? ` (found at once ${percent(result.insert.foundAtOnce)} %)` : ""}`,
      mb(result.memory), mb(saved?.bytes), saved === undefined ? "" : `${seconds(saved.saveMs)} / ${seconds(saved.loadMs)}`,
    ];
  });
  return `### By vectors, 384 dimensions\n\n${table(head, rows)}`;
}

function hybridTable(results) {
  const head = ["messages", "build, graph s", "query everywhere p50 / p95 ms", "in one conversation", "insert p50 / p95 ms", "WebAssembly memory MB"];
  const rows = results.map((result) =>
    missing(result) === undefined
      ? [result.size, `${seconds(result.buildMs)}, ${seconds(result.growMs)}`, pair(result.everywhere), pair(result.within), pair(result.insert), mb(result.bytes)]
      : [result.size, missing(result), "", "", "", ""],
  );
  return `### By words and vectors, without storage\n\n${table(head, rows)}`;
}

function packageTable(results) {
  const firsts = (runs, field) => middle(runs.map((run) => run[field]));
  const head = ["", ...results.map(({ size, mode }) => `${size} ${mode}`)];
  const rows = [
    ["append, 500 at once, per message, ms", (result) => pair(result.filled.append)],
    ["embed and index everything, per message, ms", (result) => ms(result.filled.embedMs)],
    ["open, median ms", (result) => ms(firsts(result.open.everywhere, "openMs"))],
    ["open to first answer, everything, median ms", (result) => ms(firsts(result.open.everywhere, "answerMs"))],
    ["the same after the browser's cache was emptied, median ms", (result) => ms(firsts(result.open.uncached, "answerMs"))],
    ["open to first answer, one conversation, median ms", (result) => ms(firsts(result.open.within, "answerMs"))],
    ["recall everywhere, p50 / p95 ms", (result) => pair(result.recall)],
    ["recall everywhere, hit@10 %", (result) => percent(result.hitAt10)],
    ["recall in one conversation, p50 / p95 ms", (result) => pair(result.recallWithin)],
    ["buildContext retrieving, p50 / p95 ms", (result) => pair(result.buildContext)],
    ["of it searching (receipt.retrieval.ms), p50 / p95", (result) => pair(result.searching)],
    ["buildContext without retrieval, p50 / p95 ms", (result) => pair(result.buildContextPlain)],
    ["append one, p50 / p95 ms", (result) => pair(result.appendOne)],
    ["bytes handed to storage per message appended", (result) => result.writtenBytes.toFixed(0)],
    ["WebAssembly memory MB: filled, asked", (result) => `${mb(result.filled.wasmBytes)}, ${mb(result.wasmBytes)}`],
    ["in storage MB", (result) => mb(result.storageBytes)],
  ];
  return `### The package, storage and all\n\n${table(head, rows.map(([name, cell]) => [name, ...results.map(cell)]))}`;
}

function middle(values) {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[sorted.length >> 1];
}
