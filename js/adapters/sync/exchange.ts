/** The device's side of an exchange: asks what the other side has, gives what is new here, takes what is new there. */

import type { Changes } from "../../changes.js";
import { MemoryError, aborted, toMemoryError } from "../../errors.js";
import type { ChangePiece, ConversationHead, StoreState } from "../../types/changes.js";
import type { Cursor } from "./cursor.js";
import { readUnlessGone } from "./handler.js";
import { MESSAGE_BYTES, PROTOCOL, bucketOf, digestsOf, errorOf, unheard, type Answers, type Behind, type Failure, type Question, type StateAnswer } from "./protocol.js";

/** Carries one message to the other side and its answer back: the app's `fetch`, with the app's sign-in. */
export type ExchangeFunction = (message: string, options: { signal: AbortSignal }) => Promise<string>;

/** How far an exchange is. */
export interface SyncProgress {
  /** Messages and conversations given to the other side so far. */
  sent: { conversations: number; messages: number };
  /** Messages and conversations taken from it. */
  received: { conversations: number; messages: number };
}

/** Conversations that are asked for at once. */
const WANTED_AT_ONCE = 100;
const PIECES_AT_ONCE = 100;
/** Where reading facts begins. */
export const FIRST_FACTS = "facts.0";

/** Everything was erased on the other side, or a store was exchanged for another: begin anew. */
export class BeginAnew extends Error {}

/** What is waiting to be given. */
interface Outgoing {
  head: ConversationHead;
  piece: ChangePiece;
  version: string;
  messages: number;
}

/** One exchange. */
export class Exchange {
  readonly progress: SyncProgress = { sent: { conversations: 0, messages: 0 }, received: { conversations: 0, messages: 0 } };
  readonly #changes: Changes;
  readonly #cursor: Cursor;
  readonly #send: ExchangeFunction;
  readonly #signal: AbortSignal;
  readonly #onProgress: (progress: SyncProgress) => void;
  #own!: StoreState;
  /** Heads of the other side that this one may not have seen, by mark. */
  #theirs = new Map<string, ConversationHead>();

  constructor(changes: Changes, cursor: Cursor, send: ExchangeFunction, signal: AbortSignal, onProgress: (progress: SyncProgress) => void) {
    this.#changes = changes;
    this.#cursor = cursor;
    this.#send = send;
    this.#signal = signal;
    this.#onProgress = onProgress;
  }

  async run(): Promise<void> {
    this.#own = await this.#changes.state();
    const theirs = await this.#meet();
    await this.#erasures(theirs);
    await this.#give();
    await this.#take();
    await this.#facts(theirs);
  }

  /** Facts come last: the messages that show them are there then. */
  async #facts(theirs: StateAnswer): Promise<void> {
    const cursor = this.#cursor;
    const { facts } = await this.#changes.state();
    if (facts === theirs.facts || (facts === cursor.factsOurs && theirs.facts === cursor.factsTheirs)) return;
    for (let since: string | null = FIRST_FACTS; since !== null; ) {
      const { piece, version, more } = await this.#changes.read(null, since);
      await this.#ask({ op: "give", pieces: [piece as ChangePiece] });
      since = more ? (version as string) : null;
    }
    for (let since: string | null = FIRST_FACTS; since !== null; ) {
      const answer: Answers["get"] = await this.#ask({ op: "get", wanted: [{ id: null, since }] });
      const page = answer.pieces[0] ?? null;
      if (page === null) throw notUnderstood();
      await this.#changes.take(page.piece as ChangePiece);
      since = page.more ? (page.version as string) : null;
    }
    cursor.factsOurs = (await this.#changes.state()).facts;
    cursor.factsTheirs = (await this.#ask({ op: "state", digests: digestsOf(cursor.theirs) })).facts;
  }

  /** Learns what the other side has. */
  async #meet(): Promise<StateAnswer> {
    const cursor = this.#cursor;
    let theirs = await this.#ask({ op: "state", digests: digestsOf(cursor.theirs) });
    if (await this.#changes.follow(theirs.generation)) throw new BeginAnew();
    const generation = Math.max(theirs.generation, this.#own.generation);
    this.#own.generation = generation;
    if (cursor.store !== theirs.store || cursor.generation !== generation) {
      cursor.reset(theirs.store, generation);
      theirs = await this.#ask({ op: "state", digests: [] });
    }
    this.#theirs = new Map(theirs.heads.map((head) => [head[1], head]));
    const differing = new Set(theirs.buckets);
    // What is gone there is seen no more.
    for (const mark of cursor.theirs.keys()) if (differing.has(bucketOf(mark)) && !this.#theirs.has(mark)) cursor.theirs.delete(mark);
    const ownMarks = new Set(this.#own.heads.map(([, mark]) => mark));
    for (const mark of cursor.ours.keys()) if (!ownMarks.has(mark)) cursor.ours.delete(mark);
    return theirs;
  }

  /** What was erased comes first, so that nothing of it goes over once more. */
  async #erasures(theirs: StateAnswer): Promise<void> {
    const cursor = this.#cursor;
    if (this.#own.erased !== cursor.erasedOurs) {
      const { piece } = await this.#changes.read(null, null);
      await this.#ask({ op: "give", pieces: [piece as ChangePiece] });
      cursor.erasedOurs = this.#own.erased;
    }
    if (theirs.erased === cursor.erasedTheirs) return;
    const { pieces } = await this.#ask({ op: "get", wanted: [{ id: null, since: null }] });
    await this.#changes.take(pieces[0]?.piece as ChangePiece);
    cursor.erasedTheirs = theirs.erased;
    const { generation } = this.#own;
    this.#own = { ...(await this.#changes.state()), generation };
  }

  async #give(): Promise<void> {
    const { ours } = this.#cursor;
    const again: ConversationHead[] = [];
    let waiting: Outgoing[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (waiting.length > 0) again.push(...(await this.#handOver(waiting)));
      waiting = [];
      bytes = 0;
    };
    const read = async (head: ConversationHead): Promise<void> => {
      const [id, mark, version, remember] = head;
      if (!remember && !ours.has(mark)) return;
      let since = ours.get(mark) ?? null;
      for (let more = since !== version; more; ) {
        const next = await readUnlessGone(this.#changes, id, since);
        if (next === null || next.version === since) return;
        if (next.piece === null) return void ours.set(mark, next.version as string);
        since = next.version as string;
        waiting.push({ head, piece: next.piece, version: since, messages: next.count ?? 0 });
        bytes += JSON.stringify(next.piece).length;
        if (bytes >= MESSAGE_BYTES || waiting.length >= PIECES_AT_ONCE) await flush();
        more = next.more ?? false;
      }
    };
    for (const head of this.#own.heads) await read(head);
    await flush();
    // Those of which the other side misses the beginning.
    for (const head of again.splice(0)) {
      ours.delete(head[1]);
      await read(head);
    }
    await flush();
  }

  /** Gives pieces away; answers the conversations that must be given from the beginning. */
  async #handOver(waiting: Outgoing[]): Promise<ConversationHead[]> {
    const cursor = this.#cursor;
    const { taken } = await this.#ask({ op: "give", pieces: waiting.map(({ piece }) => piece) });
    const missing = new Set<ConversationHead>();
    for (const [index, { head, version, messages }] of waiting.entries()) {
      const answer = taken[index];
      if (answer === undefined) throw notUnderstood();
      if (answer.missing || missing.has(head)) {
        missing.add(head);
        continue;
      }
      cursor.ours.set(head[1], version);
      this.progress.sent.conversations += 1;
      this.progress.sent.messages += messages;
      const { mark, before, after, differs } = answer;
      if (mark !== null && differs && cursor.theirs.has(mark)) cursor.theirs.set(mark, unheard(cursor.theirs.get(mark)));
      if (mark === null || after === null || before !== (cursor.theirs.get(mark) ?? null)) continue;
      // What came of it there is what we have.
      const listed = this.#theirs.get(mark);
      if (listed !== undefined && listed[2] !== before) continue;
      cursor.theirs.set(mark, after);
      if (listed !== undefined) this.#theirs.set(mark, [listed[0], mark, after, listed[3]]);
    }
    this.#onProgress(this.progress);
    await cursor.keep(false);
    return [...missing];
  }

  async #take(): Promise<void> {
    const { theirs } = this.#cursor;
    let wanted = [...this.#theirs.values()].filter(([, mark, version]) => theirs.get(mark) !== version).map((head) => ({ head, since: theirs.get(head[1]) ?? null, whole: false }));
    while (wanted.length > 0) {
      const asked = wanted.slice(0, WANTED_AT_ONCE);
      const { pieces } = await this.#ask({ op: "get", wanted: asked.map(({ head, since }) => ({ id: head[0], since })) });
      if (pieces.length === 0) throw notUnderstood();
      const rest: typeof wanted = [];
      for (const [index, read] of pieces.entries()) {
        const { head, since, whole } = asked[index] as (typeof asked)[number];
        if (read === null || read.version === since) continue;
        const version = read.version as string;
        if (read.piece !== null && (await this.#takeOne(read.piece, read.count ?? 0))) {
          if (!whole) rest.push({ head, since: null, whole: true });
          continue;
        }
        theirs.set(head[1], version);
        if (read.more) rest.push({ head, since: version, whole });
      }
      wanted = [...rest, ...wanted.slice(pieces.length)];
      this.#onProgress(this.progress);
      await this.#cursor.keep(false);
    }
  }

  /** True: it is needed from the beginning. */
  async #takeOne(piece: ChangePiece, messages: number): Promise<boolean> {
    const { ours } = this.#cursor;
    const { mark, before, after, missing, differs } = await this.#changes.take(piece);
    if (missing) return true;
    this.progress.received.conversations += 1;
    this.progress.received.messages += messages;
    if (mark !== null && after !== null && before === (ours.get(mark) ?? null)) ours.set(mark, after);
    if (mark !== null && differs && ours.has(mark)) ours.set(mark, unheard(ours.get(mark)));
    return false;
  }

  async #ask<Op extends Question["op"]>(question: Extract<Question, { op: Op }>): Promise<Answers[Op]> {
    const { store, generation } = this.#own;
    const answer = await asked<Answers[Op] | Behind>(this.#send, { throughline: PROTOCOL, store, generation, ...question }, this.#signal);
    if ("behind" in answer) throw new BeginAnew();
    return answer;
  }
}

/** Carries a question over, and the answer back. */
export async function asked<Answer extends object>(send: ExchangeFunction, question: object, signal: AbortSignal): Promise<Answer> {
  if (signal.aborted) throw aborted(signal);
  let text: string;
  try {
    text = await send(JSON.stringify(question), { signal });
  } catch (error) {
    if (signal.aborted) throw aborted(signal);
    throw toMemoryError(error, "exchange_failed", "The other side of the exchange could not be reached.");
  }
  let answer: Answer | Failure;
  try {
    answer = JSON.parse(text) as typeof answer;
  } catch (cause) {
    throw new MemoryError("exchange_failed", "The other side of the exchange answered with something else than JSON.", { cause });
  }
  if ("error" in answer) throw errorOf(answer);
  return answer;
}

function notUnderstood(): MemoryError {
  return new MemoryError("exchange_failed", "The other side of the exchange answered less than it was asked.");
}
