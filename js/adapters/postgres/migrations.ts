/**
 * The layout, step by step. A step that was released is never changed: databases that it made are out there
 * (tests/postgres/releases has one of each).
 */

import { dueUsers } from "./due-users-step.js";
import { messageSearch } from "./message-search.js";
import { recordStore } from "./record-store.js";
import { sealedLog } from "./sealed-log-step.js";
import { similarities } from "./similarities.js";

/** Names as they are written in SQL, quoted. */
export interface MigrationNames {
  /** The schema that holds everything. */
  schema: string;
  /** pgvector's schema; `undefined` where it is not installed: vectors are kept as bytes. */
  vectors: string | undefined;
}

/** SQL of each step, the first one's number being 1. `$step$` must not occur in it. */
export const MIGRATIONS: readonly ((names: MigrationNames) => string)[] = [recordStore, dueUsers, messageSearch, sealedLog, similarities];
