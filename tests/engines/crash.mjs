// One crash: a browser is killed while it writes, started again on the same profile, and what it kept is compared with what it
// had acknowledged.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { start } from "./browsers.mjs";
import { textOf } from "./payload.js";
import { openStation } from "./station.mjs";

/** A browser with a profile of its own and the station that it takes its jobs from. */
export class Bench {
  /** @param {string} name One of `BROWSERS`. */
  static async open(name) {
    const bench = new Bench();
    bench.name = name;
    bench.profile = mkdtempSync(join(tmpdir(), `throughline-${name}-`));
    bench.station = await openStation();
    return bench;
  }

  /** Starts the browser, under a tracer or in a private window where that is asked for. */
  start({ tracer = [], isPrivate = false } = {}) {
    this.browser = start(this.name, this.profile, this.station.url, { tracer, isPrivate });
  }

  /** Gives the page, of the first tab or another, a job and waits for what comes of it. */
  async job(job, { onWord, tab } = {}) {
    try {
      return await this.station.give(job, onWord, tab);
    } catch (error) {
      throw new Error(`${this.name}: ${error.message}\n${this.browser.output()}`, { cause: error });
    }
  }

  /** Gives the page a job and kills the browser `delayMs` after its first word; resolves with all it said. */
  async killDuring(job, delayMs) {
    const words = [];
    let begun;
    const beginning = new Promise((resolve) => { begun = resolve; });
    const onWord = (word) => {
      words.push(word);
      begun();
    };
    const result = this.job(job, { onWord });
    await Promise.race([beginning, result]);
    await Promise.race([new Promise((resolve) => { setTimeout(resolve, delayMs); }), result]);
    await this.browser.kill();
    this.station.forget();
    await result;
    return words;
  }

  async close() {
    await this.browser?.close();
    this.station.forget();
    await this.station.close();
    // The last writes of a browser that is going away can race with this.
    rmSync(this.profile, { recursive: true, force: true, maxRetries: 5, retryDelay: 200 });
  }
}

/**
 * What is wrong with `kept` after a burst of which `words` were heard: a list of sentences, empty where all is well.
 *
 * @param {{ id: string, stored: [string, number, boolean][], version?: number }[]} words Acknowledged appends and compactions.
 * @param {number} run The number of the run.
 */
export function faultsAfterBurst(words, kept, run) {
  const faults = [];
  for (const { id, stored, version = 0 } of words) {
    if ((kept[id]?.version ?? 0) < version) faults.push(`version ${version} of the summary of ${id} is lost`);
    const bySeq = new Map((kept[id]?.messages ?? []).map(([own, seq]) => [seq, own]));
    for (const [own, seq] of stored) if (bySeq.get(seq) !== own) faults.push(`lost: ${own} at ${seq}`);
  }
  for (const [id, { messages, summarizedUntilSeq, version, summary }] of Object.entries(kept)) {
    const prefix = `run-${run}-`;
    if (!id.startsWith(prefix)) continue;
    const conversation = Number(id.slice(prefix.length));
    faults.push(...faultsOfConversation(run, conversation, messages));
    if (summarizedUntilSeq > messages.length) faults.push(`the cursor of ${id} is at ${summarizedUntilSeq} of ${messages.length}`);
    if ((version === 0) !== (summarizedUntilSeq === 0)) faults.push(`version ${version} with the cursor at ${summarizedUntilSeq}`);
    if (version > 0 && summary === "") faults.push(`the summary of ${id} is empty`);
  }
  return faults;
}

/** What is wrong after an import that was done again: each conversation is there, with all of its messages, once. */
export function faultsAfterImport(kept, run, conversations = 60, messages = 24) {
  const faults = [];
  const imported = Object.values(kept).filter(({ messages: [first] }) => first?.[2]?.startsWith(`Note ${run}-10`));
  if (imported.length !== conversations) faults.push(`${imported.length} conversations where ${conversations} should be`);
  for (const { messages: [...found] } of imported) {
    const conversation = Number(found[0][2].split("-")[1]);
    if (found.length !== messages) faults.push(`${found.length} messages in export ${conversation}`);
    found.forEach(([, , content], number) => {
      if (content !== textOf(run, conversation, number)) faults.push(`the text of message ${number} of export ${conversation} is another`);
    });
  }
  return faults;
}

/** Messages of a burst are numbered without a gap, in order, once each, word for word; pairs are whole. */
function faultsOfConversation(run, conversation, messages) {
  const faults = [];
  messages.forEach(([own, seq, content], index) => {
    if (seq !== index + 1) faults.push(`position ${seq} where ${index + 1} should be`);
    if (own !== `m-${run}-${conversation}-${index}`) faults.push(`${own} where number ${index} should be`);
    if (content !== textOf(run, conversation, index)) faults.push(`the text of ${own} is another`);
  });
  // Writes are two messages at each multiple of three (they begin at 0, so after a pair comes a single one): 2, 1, 2, 1, ...
  if (messages.length % 3 === 1) faults.push(`half of a pair at the end of conversation ${conversation}`);
  return faults;
}
