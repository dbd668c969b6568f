/** A device's exchange with the other devices through a log that the server cannot read. */

import type { Changes } from "../../changes.js";
import { toBase64 } from "../../byte-text.js";
import { MemoryError } from "../../errors.js";
import type { ConversationHead, StoreState } from "../../types/changes.js";
import { FIRST_FACTS, asked, type ExchangeFunction, type SyncProgress } from "./exchange.js";
import { readUnlessGone } from "./handler.js";
import { START, chained, openBatch, sealBatch, type Batch } from "./log-seal.js";
import { MESSAGE_BYTES, PROTOCOL, unheard, untold } from "./protocol.js";
import { entryBytes, type LogAnswers, type LogQuestion } from "./sealed-log.js";

/** What is kept about a log. */
interface Kept {
  /** Entries that were read, and their hash. */
  position: number;
  chain: string;
  /** Versions of our conversations that are in the log, by mark. */
  ours: Record<string, string>;
  erased: number;
  generation: number;
  /** The digest of the facts that are in the log. */
  facts: string;
  /** The number behind the last entry that says that everything was written anew. */
  renewed?: number;
  /** The log has what was written before everything was erased. */
  isStale?: boolean;
  /** This device writes everything anew, so that what is before `at` may go. */
  rewriting?: { at: number; chain: string; isWhole: boolean } | undefined;
}

/** Pieces of one batch that are ours, with what is seen once it is in the log. */
interface Outgoing {
  pieces: object[];
  seen: [mark: string, version: string][];
  messages: number;
  bytes: number;
  hasFacts: boolean;
}

/** The digest of none. */
const NO_FACTS = "0";
/** Others were faster so many times. */
const TRIES = 50;
/** Entries beyond what was written anew, and as many again as that took: then it is time to do it once more. */
const MOST_ENTRIES = 256;

/** What is before an entry was removed while the log was read, and whether it is whole from there on is to be seen. */
class Shortened extends Error {}

/** What an exchange is given. */
export interface SealedExchangeOptions {
  peer: string;
  key: CryptoKey;
  send: ExchangeFunction;
  signal: AbortSignal;
  onProgress: (progress: SyncProgress) => void;
  /** Writes everything anew, whether or not it is time to. */
  compact: boolean;
}

/** One exchange. */
export class SealedExchange {
  readonly progress: SyncProgress = { sent: { conversations: 0, messages: 0 }, received: { conversations: 0, messages: 0 } };
  readonly #changes: Changes;
  readonly #peer: string;
  readonly #key: CryptoKey;
  readonly #send: ExchangeFunction;
  readonly #signal: AbortSignal;
  readonly #onProgress: (progress: SyncProgress) => void;
  readonly #compact: boolean;
  #own!: StoreState;
  /** The first entry that is left; `undefined`: this log cannot be shortened. */
  #start: number | undefined;
  /** The beginning from which on the log was seen to have everything. */
  #wholeFrom = 0;
  #kept: Kept = { position: 0, chain: START, ours: {}, erased: 0, generation: 0, facts: NO_FACTS };

  constructor(changes: Changes, options: SealedExchangeOptions) {
    this.#changes = changes;
    this.#peer = options.peer;
    this.#key = options.key;
    this.#send = options.send;
    this.#signal = options.signal;
    this.#onProgress = options.onProgress;
    this.#compact = options.compact;
  }

  async run(): Promise<void> {
    this.#own = await this.#changes.state();
    this.#kept = ((await this.#changes.load(this.#peer)) as Kept | null) ?? this.#kept;
    await this.#read();
    await this.#write();
    await this.#shorten();
    await this.#keep();
  }

  /** Takes what is new in the log. */
  async #read(): Promise<void> {
    for (;;) {
      try {
        await this.#readOnce();
        return;
      } catch (error) {
        if (!(error instanceof Shortened)) throw error;
      }
    }
  }

  async #readOnce(): Promise<void> {
    // What was written before everything was erased is of no use to anybody.
    const generation = await this.#newestGeneration();
    if (await this.#changes.follow(generation)) this.#begin(generation);
    this.#own = await this.#changes.state();
    for await (const { batch, at, chain } of this.#entries()) {
      if (batch.generation < this.#own.generation) this.#kept.isStale = true;
      else if (batch.store !== this.#own.store) await this.#takeAll(batch);
      this.#kept = { ...this.#kept, position: at + 1, chain };
      if (batch.completes !== undefined) this.#noteRenewal(batch, batch.completes, at);
      this.#onProgress(this.progress);
    }
    await this.#keep();
    this.#own = await this.#changes.state();
  }

  /** What another device has written anew need not be written here as well. */
  #noteRenewal({ store }: Batch, from: number, at: number): void {
    this.#kept.renewed = at + 1;
    const { rewriting } = this.#kept;
    if (rewriting === undefined || from < rewriting.at) return;
    const isOwn = store === this.#own.store && from === rewriting.at;
    this.#kept.rewriting = isOwn ? { ...rewriting, isWhole: true } : undefined;
  }

  #begin(generation: number): void {
    this.#kept = { ...this.#kept, ours: {}, erased: 0, generation, facts: NO_FACTS };
  }

  async #newestGeneration(): Promise<number> {
    let newest = this.#own.generation;
    let isWhole = true;
    for await (const { batch, from } of this.#entries(true)) {
      newest = Math.max(newest, batch.generation);
      if (from !== undefined) [isWhole, this.#wholeFrom] = [false, from];
      isWhole ||= batch.completes === this.#wholeFrom;
    }
    if (!isWhole) throw cutLog();
    return newest;
  }

  async #takeAll({ pieces, facts }: Batch): Promise<void> {
    const { ours } = this.#kept;
    for (const piece of pieces) {
      if ("facts" in piece) {
        await this.#changes.take(piece);
        // What is here now is what was there.
        if ((await this.#changes.state()).facts === facts) this.#kept.facts = facts;
        continue;
      }
      const { mark, before, after, differs } = await this.#changes.take(piece);
      // What came of a piece alone is in the log.
      if (mark !== null && after !== null && before === (ours[mark] ?? null)) ours[mark] = after;
      if (mark !== null && differs && mark in ours) ours[mark] = unheard(ours[mark]);
      if (!("id" in piece)) continue;
      this.progress.received.conversations += 1;
      this.progress.received.messages += (piece as unknown as { messages: unknown[] }).messages.length;
    }
  }

  /**
   * The entries that were not read yet, opened; each must be there, where and as it was written. Where the log begins later than
   * was read, it goes on there, and the entry says so (`from`): unless `looks`, only where the log was seen to be whole from there.
   */
  async *#entries(looks = false): AsyncGenerator<{ batch: Batch; at: number; chain: string; from?: number }> {
    let { position: at, chain } = this.#kept;
    for (;;) {
      const page = await this.#ask({ throughline: PROTOCOL, op: "read", from: at });
      const { entries, length } = page;
      this.#start = page.start;
      if (length < at) throw cutLog();
      let from: number | undefined;
      if ((page.start ?? 0) > at) {
        from = at = page.start as number;
        chain = page.chain ?? START;
        if (!looks && from !== this.#wholeFrom) throw new Shortened();
      }
      if (entries.length === 0) return;
      for (const text of entries) {
        const entry = entryBytes(text);
        // The hash of what is gone comes from the server: an entry that opens with it was sealed with it.
        const batch = await openBatch(this.#key, entry, at, chain);
        if (batch === null) throw this.#kept.position === 0 && (at === 0 || from !== undefined) ? wrongKey() : cutLog();
        chain = await chained(chain, entry);
        yield { batch, at, chain, ...(from !== undefined && { from }) };
        from = undefined;
        at += 1;
      }
      if (at >= length) return;
    }
  }

  /** Adds what is new here; where another device was faster, its entry is read first. */
  async #write(): Promise<void> {
    for (let tries = 0; ; ) {
      const outgoing = await this.#gather();
      if (outgoing === null) return;
      const { erased, generation, facts } = this.#own;
      if (!(await this.#append({ pieces: outgoing.pieces }))) {
        if (++tries >= TRIES) throw busyLog();
        await this.#read();
        continue;
      }
      this.#kept = { ...this.#kept, erased, generation };
      if (outgoing.hasFacts) this.#kept.facts = facts;
      for (const [mark, version] of outgoing.seen) this.#kept.ours[mark] = version;
      if (this.#kept.rewriting === undefined) {
        this.progress.sent.conversations += outgoing.seen.length;
        this.progress.sent.messages += outgoing.messages;
      }
      this.#onProgress(this.progress);
      await this.#keep();
    }
  }

  /** Adds an entry behind all that were read; false where there is another one. */
  async #append(said: Pick<Batch, "pieces" | "completes">): Promise<boolean> {
    const { position, chain } = this.#kept;
    const { store, generation, facts } = this.#own;
    const entry = await sealBatch(this.#key, { store, generation, facts, ...said }, position, chain);
    const { appended } = await this.#ask({ throughline: PROTOCOL, op: "append", at: position, entry: toBase64(entry) });
    if (appended) this.#kept = { ...this.#kept, position: position + 1, chain: await chained(chain, entry) };
    return appended;
  }

  /**
   * Where it is time to, writes everything anew as more entries, says that it is whole, and lets what is before them go. Others may
   * write meanwhile; cut anywhere, the next exchange goes on with it.
   */
  async #shorten(): Promise<void> {
    if (this.#start === undefined) return;
    if (this.#kept.rewriting === undefined) {
      if (!this.#isDue(this.#start)) return;
      const { position: at, chain } = this.#kept;
      // Of what is not remembered any more goes only that.
      const ours = Object.fromEntries(this.#own.heads.filter(([, , , remember]) => !remember).map(([, mark, version]) => [mark, untold(version)]));
      this.#kept = { ...this.#kept, rewriting: { at, chain, isWhole: false }, isStale: false, ours, erased: 0, facts: NO_FACTS };
      await this.#keep();
      await this.#write();
    }
    for (let tries = 1; this.#kept.rewriting !== undefined; tries += 1) {
      const { at, chain, isWhole } = this.#kept.rewriting;
      if (isWhole || (await this.#append({ pieces: [], completes: at }))) {
        this.#kept = { ...this.#kept, renewed: this.#kept.position, rewriting: { at, chain, isWhole: true } };
        await this.#keep();
        await this.#ask({ throughline: PROTOCOL, op: "cut", before: at, chain });
        this.#kept = { ...this.#kept, rewriting: undefined };
        return;
      }
      if (tries >= TRIES) throw busyLog();
      await this.#read();
      await this.#write();
    }
  }

  #isDue(start: number): boolean {
    const { position, renewed = 0, isStale = false } = this.#kept;
    if (position === start) return false;
    return this.#compact || isStale || position - renewed > MOST_ENTRIES + Math.max(renewed - start, 0);
  }

  /** The next batch; `null`: nothing is new. */
  async #gather(): Promise<Outgoing | null> {
    const out: Outgoing = { pieces: [], seen: [], messages: 0, bytes: 0, hasFacts: false };
    if (this.#own.erased !== this.#kept.erased || this.#own.generation !== this.#kept.generation) {
      out.pieces.push((await this.#changes.read(null, null)).piece as object);
    }
    for (const head of this.#own.heads) {
      if (out.bytes >= MESSAGE_BYTES) break;
      await this.#gatherOne(head, out);
    }
    // Behind the messages that show them.
    if (out.bytes < MESSAGE_BYTES && this.#own.facts !== this.#kept.facts) await this.#gatherFacts(out);
    return out.pieces.length === 0 ? null : out;
  }

  async #gatherFacts(out: Outgoing): Promise<void> {
    for (let since: string | null = FIRST_FACTS; since !== null; ) {
      const { piece, version, more } = await this.#changes.read(null, since);
      out.pieces.push(piece as object);
      since = more ? (version as string) : null;
    }
    out.hasFacts = true;
  }

  async #gatherOne([id, mark, version, remember]: ConversationHead, out: Outgoing): Promise<void> {
    let since = this.#kept.ours[mark] ?? null;
    if ((since === null && !remember) || since === version) return;
    for (let more = true; more && out.bytes < MESSAGE_BYTES; ) {
      const next = await readUnlessGone(this.#changes, id, since);
      if (next === null || next.version === since || next.piece === null) return;
      since = next.version as string;
      out.pieces.push(next.piece);
      out.seen.push([mark, since]);
      out.messages += next.count ?? 0;
      out.bytes += JSON.stringify(next.piece).length;
      more = next.more ?? false;
    }
  }

  #keep(): Promise<void> {
    return this.#changes.save(this.#peer, this.#kept);
  }

  #ask<Op extends keyof LogAnswers>(question: Extract<LogQuestion, { op: Op }>): Promise<LogAnswers[Op]> {
    return asked(this.#send, question, this.#signal);
  }
}

function busyLog(): MemoryError {
  return new MemoryError("storage_conflict", "Other devices kept writing to the log; call again.");
}

function cutLog(): MemoryError {
  return new MemoryError("storage_corrupt", "The server's log is not the one that was read before: entries are missing, changed or in another order. Nothing of it was taken.");
}

function wrongKey(): MemoryError {
  return new MemoryError("storage_key_wrong", "The log was sealed with another key.");
}
