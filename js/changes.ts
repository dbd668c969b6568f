import type { Session } from "./session.js";
import type { CallOptions } from "./types.js";
import type { ChangePiece, ReadChanges, StoreState, TakenChanges } from "./types/changes.js";

/**
 * What `throughline/sync` is made of (docs/sync.md): the versions of what there is, pieces of it for another store of the
 * same user, and pieces of the other one taken in. An app calls `syncMemory` and `syncHandler`.
 */
export class Changes {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /** What there is, and in which versions. */
  async state(options: CallOptions = {}): Promise<StoreState> {
    return (await this.#call({ step: "state", name: crypto.randomUUID() }, options)) as StoreState;
  }

  /** What is new in a conversation since a version; of no conversation: which were erased; since `facts.0`: facts. */
  async read(conversationId: string | null, since: string | null, options: CallOptions = {}): Promise<ReadChanges> {
    return (await this.#call({ step: "read", conversationId, since }, options)) as ReadChanges;
  }

  /** Merges a piece that another store read. Taking one again changes nothing. */
  async take(piece: ChangePiece, options: CallOptions = {}): Promise<TakenChanges> {
    return (await this.#call({ step: "take", piece }, options)) as TakenChanges;
  }

  /** What was kept about a peer; `null`: nothing. */
  async load(peer: string, options: CallOptions = {}): Promise<unknown> {
    return this.#call({ step: "load", peer }, options);
  }

  /** Keeps something about a peer. Erasing everything takes it away. */
  async save(peer: string, kept: object, options: CallOptions = {}): Promise<void> {
    await this.#call({ step: "save", peer, kept }, options);
  }

  /** Takes over how often everything was erased elsewhere; answers whether everything was erased here because of it. */
  async follow(generation: number, options: CallOptions = {}): Promise<boolean> {
    return ((await this.#call({ step: "follow", generation }, options)) as { erased: boolean }).erased;
  }

  #call(request: object, { signal }: CallOptions): Promise<unknown> {
    return this.#session.call("sync", request, { idempotent: true, counts: true, signal });
  }
}
