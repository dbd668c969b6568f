/** Messages that were said in several ways: versions of each other are those that follow the same message. */

import type { TreeMessage } from "throughline";
import type { Versions } from "./page-state.ts";

/** The shown messages that have other versions, by id. */
export function versionsOf(tree: readonly TreeMessage[]): ReadonlyMap<string, Versions> {
  const inTime = [...tree].sort((a, b) => a.createdAt - b.createdAt || a.seq - b.seq);
  const bySource = new Map<string | null, TreeMessage[]>();
  for (const message of inTime) {
    const versions = bySource.get(message.parentId);
    if (versions) versions.push(message);
    else bySource.set(message.parentId, [message]);
  }
  const found = new Map<string, Versions>();
  for (const versions of bySource.values()) {
    const shown = versions.findIndex(({ active }) => active);
    const message = versions[shown];
    if (versions.length > 1 && message) found.set(message.id, { shown, ids: versions.map(({ id }) => id) });
  }
  return found;
}
