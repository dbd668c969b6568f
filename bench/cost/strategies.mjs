// The same conversation as five kinds of app would send it, turn by turn: blocks of text in order, and where the cache is told
// to stop. In Node and in the demo's page.

/** @typedef {import("./prompt-cache.mjs").Block} Block */
/** @typedef {import("./prompt-cache.mjs").CachedRequest} CachedRequest */

/** Messages of the sliding window: what the tutorials of chat apps take. */
const WINDOW_MESSAGES = 20;

/**
 * @param {readonly (readonly string[])[]} turns Texts of the messages of each turn, the question first.
 * @param {string} system
 * @param {(text: string) => Block} block
 * @returns {Record<"full replay, no cache" | "full replay, cached" | "sliding window, 20 messages", (turn: number, question?: string) => CachedRequest>}
 * The request of a turn, counted from 0: everything before it and its question, or another one instead.
 */
export function plainStrategies(turns, system, block) {
  const first = block(system);
  const blocks = turns.map((texts) => texts.map(block));
  /** @type {(turn: number, question?: string) => Block[]} */
  const until = (turn, question) => [...blocks.slice(0, turn).flat(), ...(question === undefined ? (blocks[turn] ?? []).slice(0, 1) : [block(question)])];
  return {
    "full replay, no cache": (turn, question) => ({ blocks: [first, ...until(turn, question)], marks: [], isPlain: true }),
    "full replay, cached": (turn, question) => {
      const all = [first, ...until(turn, question)];
      return { blocks: all, marks: [1, all.length] };
    },
    "sliding window, 20 messages": (turn, question) => ({ blocks: [first, ...until(turn, question).slice(-WINDOW_MESSAGES)], marks: [1] }),
  };
}

/**
 * What the engine built: its blocks in the order of the prompt, and its marks.
 *
 * @param {{ system: string, messages: readonly unknown[], cacheBreakpoints: readonly { after: string, systemLength?: number, messageIndex?: number }[] }} built
 * What `buildContext` answered.
 * @param {(text: string) => Block} block
 * @param {(message: unknown) => string} textOf
 * @returns {CachedRequest}
 */
export function engineRequest(built, block, textOf) {
  const pieces = systemPieces(built);
  const blocks = [...pieces, ...built.messages.map(textOf)].map(block);
  const marks = built.cacheBreakpoints.map(({ after, messageIndex }) => (after === "memory" ? 1 : pieces.length + (messageIndex ?? -1) + 1));
  return { blocks, marks };
}

/**
 * The system text, cut where a mark stands in it.
 *
 * @param {Parameters<typeof engineRequest>[0]} built
 */
export function systemPieces({ system, cacheBreakpoints }) {
  const shared = cacheBreakpoints.find(({ after }) => after === "memory")?.systemLength;
  return shared === undefined ? [system] : [system.slice(0, shared), system.slice(shared)];
}

/**
 * As an app would send it that puts what was found and remembered in front of the history, with the time of day: the same
 * tokens in an order that changes the prompt's start with every turn.
 *
 * @param {number} turn
 * @param {CachedRequest} request What the engine built.
 * @param {Block} first The app's own prompt.
 * @returns {CachedRequest}
 */
export function rebuiltRequest(turn, { blocks }, first) {
  return { blocks: [first, { text: `turn ${turn}`, tokens: tokensOf(blocks) - first.tokens }], marks: [1] };
}

/** @param {readonly Block[]} blocks */
export const tokensOf = (blocks) => blocks.reduce((total, { tokens }) => total + tokens, 0);

/**
 * From which turn on (1 is the first) one way has cost less than another for good; `undefined`: it has not.
 *
 * @param {readonly number[]} one Sums up to each turn.
 * @param {readonly number[]} other
 * @returns {number | undefined}
 */
export function breakEven(one, other) {
  let last = one.length - 1;
  while (last >= 0 && (one[last] ?? 0) < (other[last] ?? 0)) last -= 1;
  return last === one.length - 1 ? undefined : last + 2;
}
