// Cost against the number of messages, as a picture: both axes logarithmic.

const WIDTH = 920;
const HEIGHT = 440;
const PLOT = { left: 80, right: 640, top: 56, bottom: 388 };
/** Labels of lines that end near each other are moved apart to this distance. */
const LABEL_DISTANCE = 17;

const middle = (values) => [...values].sort((one, other) => one - other)[values.length >> 1];

/** What is drawn: name, colour, the figure of one result in milliseconds. */
const LINES = [
  ["open to first answer, everything", "#8a3ffc", ({ open }) => middle(open.everywhere.map((run) => run.answerMs))],
  ["open to first answer, one conversation", "#d12771", ({ open }) => middle(open.within.map((run) => run.answerMs))],
  ["recall everywhere, p95", "#0f62fe", ({ recall }) => recall.p95],
  ["recall everywhere, median", "#4589ff", ({ recall }) => recall.p50],
  ["buildContext retrieving, median", "#007d79", ({ buildContext }) => buildContext.p50],
  ["recall in one conversation, median", "#198038", ({ recallWithin }) => recallWithin.p50],
  ["append one, median", "#8e6a00", ({ appendOne }) => appendOne.p50],
];

/**
 * @param {object[]} results of `runWholeEngine`, one mode
 * @returns {string} an SVG
 */
export function drawCurve(results) {
  const sorted = [...results].sort((one, other) => one.size - other.size);
  const sizes = sorted.map(({ size }) => size);
  const values = LINES.flatMap(([, , figure]) => sorted.map(figure));
  const x = scale(sizes[0], sizes.at(-1), PLOT.left, PLOT.right);
  const [low, high] = [10 ** Math.floor(Math.log10(Math.min(...values))), 10 ** Math.ceil(Math.log10(Math.max(...values)))];
  const y = scale(low, high, PLOT.bottom, PLOT.top);
  const parts = [
    `<text x="${PLOT.left}" y="28" font-size="16" font-weight="600" fill="#161616">Milliseconds a call against messages in storage</text>`,
    ...gridY(low, high, y), ...gridX(sizes, x), ...lines(sorted, x, y),
  ];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, sans-serif" font-size="13" role="img" aria-label="Milliseconds a call against messages in storage">\n<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>\n${parts.join("\n")}\n</svg>\n`;
}

function scale(low, high, from, to) {
  const span = Math.log(high / low) || 1;
  return (value) => Math.round((from + ((to - from) * Math.log(value / low)) / span) * 10) / 10;
}

function gridY(low, high, y) {
  const parts = [];
  for (let value = low; value <= high * 1.001; value *= 10) {
    parts.push(`<line x1="${PLOT.left}" x2="${PLOT.right}" y1="${y(value)}" y2="${y(value)}" stroke="#e0e0e0"/>`);
    parts.push(`<text x="${PLOT.left - 8}" y="${y(value) + 4}" text-anchor="end" fill="#525252">${value < 1 ? value : value.toLocaleString("en")} ms</text>`);
  }
  return parts;
}

function gridX(sizes, x) {
  return [
    ...sizes.map((size) => `<text x="${x(size)}" y="${PLOT.bottom + 22}" text-anchor="middle" fill="#525252">${size.toLocaleString("en")}</text>`),
    `<text x="${(PLOT.left + PLOT.right) / 2}" y="${PLOT.bottom + 44}" text-anchor="middle" fill="#525252">messages</text>`,
  ];
}

function lines(results, x, y) {
  const drawn = LINES.map(([name, colour, figure]) => ({ name, colour, points: results.map((result) => [x(result.size), y(figure(result))]) }));
  const labels = drawn.map(({ points }, place) => ({ place, at: points.at(-1)[1] })).sort((one, other) => one.at - other.at);
  labels.forEach((label, order) => {
    if (order > 0) label.at = Math.max(label.at, labels[order - 1].at + LABEL_DISTANCE);
  });
  const over = Math.max(0, labels.at(-1).at - PLOT.bottom);
  const placeOf = new Map(labels.map(({ place, at }) => [place, at - over]));
  return drawn.flatMap(({ name, colour, points }, place) => [
    `<polyline points="${points.map((point) => point.join(",")).join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`,
    ...points.map(([cx, cy]) => `<circle cx="${cx}" cy="${cy}" r="3" fill="${colour}"/>`),
    `<text x="${PLOT.right + 14}" y="${placeOf.get(place) + 4}" fill="${colour}">${name}</text>`,
  ]);
}
