/** Types of exchanging changes between two stores of one user (docs/sync.md). */

/** A conversation and its version: its id, how versions are kept about it, the version, whether it is remembered. */
export type ConversationHead = readonly [id: string, mark: string, version: string, remember: boolean];

/** What a store has, by versions. */
export interface StoreState {
  /** The store's name among those that exchange: random, given once. */
  store: string;
  /** How often everything was erased, here or in a store that this one exchanges with. */
  generation: number;
  /** Another text once a conversation was made, changed or erased. */
  version: string;
  /** Marks of erased conversations. */
  erased: number;
  /** A digest of the facts that may be exchanged: the same where they are the same. */
  facts: string;
  /** All conversations that may be exchanged, those before that others are a part of. */
  heads: ConversationHead[];
}

/** A piece of a store, as another takes it: plain data, which only the engine reads. */
export type ChangePiece = object;

/** A piece that was read. */
export interface ReadChanges {
  /** `null`: nothing that may be exchanged. */
  piece: ChangePiece | null;
  /** What the other side has seen, once it has taken the piece. */
  version?: string;
  /** There is more of the conversation behind it. */
  more?: boolean;
  /** Messages that were looked at. */
  count?: number;
}

/** What became of a piece. */
export interface TakenChanges {
  /** As in {@link ConversationHead}; `null`: the conversation has no place here, or was erased. */
  mark: string | null;
  /** The version that the piece was merged into; `null`: there was none. */
  before: string | null;
  /** The version that came of it, where nothing else had a part in it; else `null`. */
  after: string | null;
  /** The piece follows something that is not here: it is needed from the beginning. */
  missing: boolean;
  /** What is here counts where the piece says otherwise: the other side must hear of it. */
  differs: boolean;
}
