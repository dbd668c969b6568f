// The same conversation as five kinds of app would send it, turn by turn: blocks of text in order, and where the cache is told
// to stop.

/** Messages of the sliding window: what the tutorials of chat apps take. */
const WINDOW_MESSAGES = 20;

/**
 * @param {{ question: string, answer: string }[]} turns
 * @param {string} system
 * @param {(text: string) => { text: string, tokens: number }} block
 * @returns {Record<string, (turn: number) => { blocks: object[], marks: number[] }>}
 */
export function plainStrategies(turns, system, block) {
  const messages = turns.flatMap(({ question, answer }) => [block(question), block(answer)]);
  const first = block(system);
  const until = (turn, from = 0) => [first, ...messages.slice(Math.max(0, from), turn * 2 + 1)];
  return {
    "full replay, no cache": (turn) => ({ blocks: until(turn), marks: [], isPlain: true }),
    "full replay, cached": (turn) => ({ blocks: until(turn), marks: [1, turn * 2 + 2] }),
    "sliding window, 20 messages": (turn) => ({ blocks: until(turn, turn * 2 + 1 - WINDOW_MESSAGES), marks: [1] }),
  };
}

/**
 * What the engine built, as it stands, and as an app would send it that puts what was found and remembered in front of the
 * history, with the time of day: the same tokens in an order that changes the prompt's start with every turn.
 *
 * @param {number} turn
 * @param {object} built What `buildContext` answered.
 */
export function engineRequests(turn, built, system, block) {
  const { cacheBreakpoints } = built;
  const shared = cacheBreakpoints.find(({ after }) => after === "memory")?.systemLength;
  const pieces = shared === undefined ? [built.system] : [built.system.slice(0, shared), built.system.slice(shared)];
  const blocks = [...pieces, ...built.messages.map(({ content }) => content)].map(block);
  const marks = cacheBreakpoints.map(({ after, messageIndex }) => (after === "memory" ? 1 : pieces.length + (messageIndex ?? -1) + 1));
  const first = block(system);
  const others = { text: `turn ${turn}`, tokens: tokensOf(blocks) - first.tokens };
  return { engine: { blocks, marks }, "rebuilt each turn": { blocks: [first, others], marks: [1] } };
}

export const tokensOf = (blocks) => blocks.reduce((total, { tokens }) => total + tokens, 0);
