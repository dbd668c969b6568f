/**
 * Temporary conversations: nothing of them is embedded, remembered or found from elsewhere, and they are deleted when they
 * are left. A tab holds a lock for each one that is open in it, so that another tab that starts deletes only those that a
 * closed or crashed one left behind.
 */

import type { Conversation } from "throughline";
import type { Workspace } from "./workspace.ts";

const PREFIX = "temporary-";

/** What lets a conversation's lock go, by its id; resolved once it is gone. */
const held = new Map<string, () => Promise<void>>();

/** An id for a new one. */
export function temporaryId(): string {
  return PREFIX + crypto.randomUUID();
}

/** Whether a conversation is temporary; one that was kept no longer is. */
export function isTemporary({ id, remember }: Pick<Conversation, "id" | "remember">): boolean {
  return id.startsWith(PREFIX) && !remember;
}

/** Holds one for as long as it is open in this tab. */
export function holdTemporary(id: string): void {
  if (held.has(id)) return;
  let end = (): void => undefined;
  const isOpen = new Promise<void>((resolve) => (end = resolve));
  // Where there are no locks, each tab answers for what it opened itself.
  const lock = navigator.locks?.request(id, { mode: "shared" }, () => isOpen);
  held.set(id, async () => {
    held.delete(id);
    end();
    await lock;
  });
}

/** Deletes the temporary conversations that nobody has open, but for this one. */
export async function sweepTemporary(workspace: Workspace, openId: string | null): Promise<void> {
  const left = workspace.conversations.filter((conversation) => isTemporary(conversation) && conversation.id !== openId);
  if (left.length === 0) return;
  const { conversations } = workspace.opened();
  for (const { id } of left) {
    await held.get(id)?.();
    await ifNobodyHolds(id, () => conversations.delete(id));
  }
  await workspace.refreshConversations();
}

async function ifNobodyHolds(id: string, action: () => Promise<void>): Promise<void> {
  if (navigator.locks === undefined) return action();
  await navigator.locks.request(id, { ifAvailable: true }, (lock) => (lock === null ? undefined : action()));
}
