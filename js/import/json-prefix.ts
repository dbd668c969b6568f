/** The first part of a JSON text as a value: what is cut off is left out. */

/** Deeper than this nothing is looked at. */
const DEEPEST = 64;

/**
 * The value that a JSON text begins with. Arrays and objects that the text does not end are ended after their last whole
 * entry. `undefined` where it is not JSON.
 */
export function parsePrefix(text: string): unknown {
  const closers: string[] = [];
  let end = 0;
  /** How many of the closers end what ends there: those of the outermost are the same as then. */
  let endDepth = 0;
  const cutAt = (at: number): void => {
    if (closers.length > DEEPEST) return;
    end = at;
    endDepth = closers.length;
  };
  let isInString = false;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at];
    if (isInString) {
      if (character === "\\") at += 1;
      else if (character === '"') isInString = false;
    } else if (character === '"') {
      isInString = true;
    } else if (character === "[" || character === "{") {
      closers.push(character === "[" ? "]" : "}");
      cutAt(at + 1);
    } else if (character === "]" || character === "}") {
      // A bracket that does not fit ends what can be read.
      if (closers.at(-1) !== character) break;
      closers.pop();
      cutAt(at + 1);
      if (closers.length === 0) break;
    } else if (character === ",") {
      cutAt(at);
    }
  }
  try {
    return JSON.parse(text.slice(0, end) + closers.slice(0, endDepth).reverse().join(""));
  } catch {
    return undefined;
  }
}
