/** The server's side of an exchange: a fetch handler that an app mounts behind its own sign-in. */

import { MemoryError } from "../../errors.js";
import type { Memory } from "../../memory.js";
import type { ReadChanges, StoreState, TakenChanges } from "../../types/changes.js";
import { MESSAGE_BYTES, PROTOCOL, bucketOf, digestsOf, failureOf, type Answers, type Asker, type Behind, type Question, type StateAnswer } from "./protocol.js";

/** What a handler needs of a memory. */
export type ExchangingMemory = Pick<Memory, "changes">;

/** Options of {@link syncHandler}. */
export interface SyncHandlerOptions {
  /**
   * The memory of the user whom a request is of: the app's own sign-in says who that is. Where it is nobody's, answer with a
   * `Response` (401), which is given out as it is. The memory stays yours to close.
   */
  memoryFor: (request: Request) => Promise<ExchangingMemory | Response> | ExchangingMemory | Response;
  /** Bytes of the longest request that is read. Default 16 MB. */
  maxBytes?: number;
}

const MAX_BYTES = 16 * 1024 * 1024;
const MOST_WANTED = 1_000;

/** A function of `Request` to `Response`, for any server that has them: answers what `syncMemory` asks. */
export function syncHandler({ memoryFor, maxBytes = MAX_BYTES }: SyncHandlerOptions): (request: Request) => Promise<Response> {
  return postHandler(memoryFor, maxBytes, (memory, body) => answered(memory, questionOf(body)));
}

/** Answers requests: finds what they are about, or whom it does not let in, reads the body, and tells what fails by code. */
export function postHandler<Of extends object>(
  find: (request: Request) => Promise<Of | Response> | Of | Response,
  maxBytes: number,
  work: (of: Of, body: string) => Promise<object>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      if (request.method !== "POST") throw new MemoryError("invalid_argument", "An exchange is a POST request.");
      const found = await find(request);
      if (found instanceof Response) return found;
      const body = new TextDecoder().decode(await bodyOf(request, maxBytes));
      return answer(await work(found, body), 200);
    } catch (error) {
      const failure = failureOf(error);
      return answer(failure, failure.error.code === "invalid_argument" ? 400 : 503);
    }
  };
}

/** The whole body, unless it is too long. */
async function bodyOf(request: Request, maxBytes: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const reader = request.body?.getReader();
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done || value === undefined) break;
    bytes += value.length;
    if (bytes > maxBytes) {
      await reader?.cancel();
      throw new MemoryError("invalid_argument", `A request of an exchange has more than ${maxBytes} bytes.`);
    }
    chunks.push(value);
  }
  const whole = new Uint8Array(bytes);
  let at = 0;
  for (const chunk of chunks) {
    whole.set(chunk, at);
    at += chunk.length;
  }
  return whole;
}

function answer(body: object, status: number): Response {
  return new Response(JSON.stringify(body), { status, headers: { "content-type": "application/json", "cache-control": "no-store" } });
}

function questionOf(text: string): Asker & Question {
  const refuse = (what: string): MemoryError => new MemoryError("invalid_argument", `The request is none of an exchange: ${what}.`);
  let question: (Asker & Question) | null;
  try {
    question = JSON.parse(text) as (Asker & Question) | null;
  } catch {
    throw refuse("no JSON");
  }
  if (typeof question !== "object" || question === null) throw refuse("no object");
  if (question.throughline !== PROTOCOL) throw refuse(`this server speaks version ${PROTOCOL}`);
  if (typeof question.store !== "string" || !Number.isSafeInteger(question.generation)) throw refuse("it does not say whose it is");
  const { op } = question;
  const list: unknown = op === "state" ? question.digests : op === "give" ? question.pieces : op === "get" ? question.wanted : undefined;
  if (!Array.isArray(list)) throw refuse("it asks nothing");
  return question;
}

async function answered({ changes }: ExchangingMemory, question: Asker & Question): Promise<Answers[keyof Answers] | Behind> {
  let state = await changes.state();
  if (question.op === "state") {
    if (await changes.follow(question.generation)) state = await changes.state();
    return stateAnswer({ ...state, generation: Math.max(state.generation, question.generation) }, question.digests);
  }
  if (question.generation !== state.generation) return { behind: true };
  if (question.op === "give") {
    const taken: TakenChanges[] = [];
    for (const piece of question.pieces) taken.push(await changes.take(piece));
    return { taken };
  }
  const pieces: (ReadChanges | null)[] = [];
  let bytes = 0;
  for (const { id, since } of question.wanted.slice(0, MOST_WANTED)) {
    const read = await readUnlessGone(changes, id, since);
    pieces.push(read);
    bytes += read === null ? 0 : JSON.stringify(read).length;
    if (bytes >= MESSAGE_BYTES) break;
  }
  return { pieces };
}

/** `null`: it was erased. */
export async function readUnlessGone(changes: ExchangingMemory["changes"], id: string | null, since: string | null): Promise<ReadChanges | null> {
  try {
    return await changes.read(id, since);
  } catch (error) {
    if (error instanceof MemoryError && error.code === "not_found") return null;
    throw error;
  }
}

function stateAnswer(state: StoreState, digests: string[]): StateAnswer {
  const { store, generation, erased, facts, heads } = state;
  const own = digestsOf(heads.map(([, mark, version]) => [mark, version]));
  const buckets = own.flatMap((digest, bucket) => (digest === digests[bucket] ? [] : [bucket]));
  const differing = new Set(buckets);
  return { store, generation, erased, facts, buckets, heads: heads.filter(([, mark]) => differing.has(bucketOf(mark))) };
}
