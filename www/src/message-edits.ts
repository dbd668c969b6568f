/** What can be done to the messages of a conversation: said in another way, turned to another version, removed. */

import { withText, type ShownMessage } from "./message.ts";
import type { Workspace } from "./workspace.ts";

/** Says a message in another way; the former stays as a version of it, with what followed. */
export async function editMessage(workspace: Workspace, conversationId: string, message: ShownMessage, text: string): Promise<void> {
  await workspace.opened().edit(conversationId, message.id, { ...withText(message.raw, text), createdAt: new Date().toISOString() });
  await workspace.select(conversationId);
}

/** Shows another version of a message, with what followed it last. */
export async function turnTo(workspace: Workspace, conversationId: string, messageId: string): Promise<void> {
  await workspace.opened().setActiveLeaf(conversationId, messageId, { descend: true });
  await workspace.select(conversationId);
}

/** Removes one message for good; what followed it stays. */
export async function removeMessage(workspace: Workspace, conversationId: string, messageId: string): Promise<void> {
  const { ids, shown } = workspace.versions.get(messageId) ?? { ids: [], shown: 0 };
  const other = ids[shown - 1] ?? ids[shown + 1];
  // What followed the removed version stays on the path; only where nothing did, another version takes its place.
  const isLast = workspace.messages.at(-1)?.id === messageId;
  await workspace.opened().remove(conversationId, messageId);
  if (isLast && other !== undefined) await workspace.opened().setActiveLeaf(conversationId, other, { descend: true });
  await workspace.refreshConversations();
  await workspace.select(conversationId);
  await workspace.refreshStats();
}
