/** Erasing, and what of the erased can still be found outside the engine's reach. */

import { requireOptions } from "./arguments.js";
import { MemoryError } from "./errors.js";
import type { EventEmitter } from "./events.js";
import type { RunningImports } from "./running-imports.js";
import type { Session } from "./session.js";
import type { CallOptions, EraseTarget, Erasure, Remnant } from "./types.js";

/** The erasures of one memory. */
export class Erasures {
  readonly #session: Session;
  readonly #imports: RunningImports;

  constructor(session: Session, imports: RunningImports, events: EventEmitter) {
    this.#session = session;
    this.#imports = imports;
    // What is being imported would come back behind an erasure, in whichever tab that was.
    events.on("storage", ({ state }) => {
      if (state === "erased") void this.#imports.stop();
    });
  }

  /** See `Memory.erase`. */
  async erase(target: EraseTarget, options: CallOptions): Promise<Erasure> {
    requireOptions(options, "options", []);
    const request = requireOptions(target, "target");
    if (Object.keys(request).length === 0) {
      throw new MemoryError("invalid_argument", "erase: name what to erase: user: true, conversationId (with messageId for one message of it), messageId or factId.");
    }
    if ("user" in target) await this.#imports.stop();
    const answer = (await this.#session.call("erase", request, { idempotent: true, signal: options.signal })) as Erased;
    return { erased: answer.erased, remains: remnants(answer.durable, userAgent()) };
  }
}

/** The engine's answer. */
interface Erased {
  erased: Record<string, number>;
  /** The storage outlives the page. */
  durable: boolean;
}

function userAgent(): string {
  return (globalThis as { navigator?: { userAgent?: string } }).navigator?.userAgent ?? "";
}

/** What was measured to remain, by engine; the newest row first that fits the user agent. */
const UNTIL: readonly [engine: RegExp, until: string][] = [
  [/Chrom(e|ium)\//, "the browser rewrites its LevelDB files, which it does at no known time, not even when it is closed; where it keeps IndexedDB in SQLite: until every tab and worker has closed this memory"],
  [/Firefox\//, "the browser cleans its database files up, at no known time: deleted records were gone at once when measured, those overwritten or cleared as a whole were not"],
  [/AppleWebKit\//, "the database is next opened after every tab and worker has closed this memory"],
  [/(?:)/, "the browser cleans its database files up, at no known time"],
];

/** What may remain of what was erased. */
export function remnants(durable: boolean, agent: string): Remnant[] {
  const page: Remnant = {
    place: "page_memory",
    what: "texts that the page itself was given or gave, as JavaScript values",
    why: "JavaScript frees memory when it wants to, and overwrites nothing",
    until: "the page lets go of them and the browser reuses the memory",
    remedy: "reload the page",
  };
  if (!durable) return [page];
  const [, until] = UNTIL.find(([engine]) => engine.test(agent)) as [RegExp, string];
  return [
    {
      place: "browser_files",
      what: "the bytes of removed records, in the browser's own files of this site",
      why: "the browser marks removed records as free space, and overwrites them later",
      until,
      remedy: 'clear this site\'s data in the browser, or answer a request with the header Clear-Site-Data: "storage"; both remove all data of the site',
    },
    {
      place: "other_tabs",
      what: "copies in the memory of other tabs and workers that have this memory open",
      why: "they are told at once, and let go when they hear it",
      until: "about a second later; where the browser has frozen a tab, until it wakes",
      remedy: "close the other tabs",
    },
    page,
  ];
}
