/** A prompt in pieces that can be chosen one by one, in its order. */

import type { ShownItem, ShownSection } from "./receipt-view.ts";

/** A piece of the bar: mostly one item; of a long run of recent messages several, so that each can be hit. */
export interface Piece {
  section: string;
  items: readonly ShownItem[];
  /** Tokens of the prompt, what frames the section included. */
  tokens: number;
}

/** Most pieces of one section. */
const MOST_PIECES = 48;

/** The pieces of a context. */
export function piecesOf(sections: readonly ShownSection[]): Piece[] {
  return sections.filter(({ tokens }) => tokens > 0).flatMap(({ name, items, tokens }) => {
    const told = items.reduce((sum, item) => sum + item.tokens, 0);
    const size = Math.max(1, Math.ceil(items.length / MOST_PIECES));
    const groups = Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size));
    return groups.map((group) => {
      const own = group.reduce((sum, item) => sum + item.tokens, 0);
      return { section: name, items: group, tokens: told === 0 ? 0 : (own * tokens) / told };
    });
  });
}
