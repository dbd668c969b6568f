/**
 * Notices that a page has the package more than once. Copies share no memory: each has an engine of its own, and they get along
 * as tabs do. What one made in memory, another cannot open, so it is told apart.
 */

import { MemoryError } from "./errors.js";

/** Where the copies of a page know of each other, of whichever version they are. */
const COPIES = Symbol.for("throughline.copies");
/** On what a copy made: which one. */
const MAKER = Symbol.for("throughline.maker");

/** This copy. */
const THIS = {};

/** To be called when a memory is opened: says once per copy where there are several. */
export function noteCopy(): void {
  const page = globalThis as { [COPIES]?: Set<object> };
  const copies = (page[COPIES] ??= new Set());
  if (copies.has(THIS)) return;
  copies.add(THIS);
  if (copies.size === 1) return;
  console.warn(
    `throughline: this page has loaded ${copies.size} copies of the package, each with an engine of its own. Data stays right, memory is used ${copies.size} times. ` +
      "See who brings them with npm ls throughline, and let one version be used.",
  );
}

/** Marks what only this copy can use. */
export function ofThisCopy<Made extends object>(made: Made): Made {
  return Object.defineProperty(made, MAKER, { value: THIS });
}

/** Throws `invalid_config` for what another copy made; `what` names it. */
export function requireThisCopy(given: object, what: string): void {
  const maker = (given as { [MAKER]?: object })[MAKER];
  if (maker === undefined || maker === THIS) return;
  throw new MemoryError("invalid_config", `${what} was made by another copy of the package in this page. Import everything from one copy: npm ls throughline shows who brings another.`);
}
