/**
 * Which texts are read as markdown: reading one whose marks are nested or piled up takes time that grows with the square of
 * their number, so such a text is shown as it is. No text that a person reads has that many.
 */

/** Longest text that is read as markdown, in characters. */
const LONGEST = 60_000;

/** More quotes and lists than this inside each other, or a list that is indented by more than 64 characters. */
const NESTED = /^(?:[ \t]*(?:>|[-+*]|\d{1,9}[.)])){17}|^[ \t]{64,}(?:[-+*]|\d{1,9}[.)])[ \t]/m;

/** Marks of emphasis that one paragraph may have. */
const MOST_MARKS = 2_000;

/** Whether it takes no longer to read than a text of its length should. */
export function isReadableMarkdown(text: string): boolean {
  if (text.length > LONGEST || NESTED.test(text)) return false;
  return text.length < MOST_MARKS || text.split(/\n[ \t]*\n/).every((block) => block.length < MOST_MARKS || markCount(block) <= MOST_MARKS);
}

function markCount(block: string): number {
  return block.match(/[_*~]/g)?.length ?? 0;
}
