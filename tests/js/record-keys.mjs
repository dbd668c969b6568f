// Keys of records, as the port of a storage orders them.

/** The order that the port asks for. */
export function compareKeys(one, other) {
  for (let at = 0; at < Math.max(one.length, other.length); at += 1) {
    const [a, b] = [one[at], other[at]];
    if (a === b) continue;
    if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
    if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
    // JavaScript compares texts by UTF-16 code units.
    return a < b ? -1 : 1;
  }
  return 0;
}
