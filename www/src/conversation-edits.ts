/** What can be done to a whole conversation: begun, named, put into a project, kept, deleted. */

import type { Conversation } from "throughline";
import { holdTemporary, temporaryId } from "./temporary-chats.ts";
import type { Workspace } from "./workspace.ts";

/** Starts an empty conversation, in this project. */
export async function startConversation(workspace: Workspace, projectId: string | null): Promise<void> {
  const conversation = await workspace.opened().conversations.create(projectId === null ? {} : { projectId });
  await workspace.refreshConversations();
  await workspace.select(conversation.id);
}

/** Starts a conversation of which nothing is remembered, and which is deleted when it is left. */
export async function startTemporary(workspace: Workspace): Promise<void> {
  const id = temporaryId();
  holdTemporary(id);
  await workspace.opened().conversations.create({ id, remember: false });
  await workspace.refreshConversations();
  await workspace.select(id);
}

/** Makes an ordinary conversation of a temporary one: from now on it is searched and remembered. */
export async function keepTemporary(workspace: Workspace, conversationId: string): Promise<void> {
  await update(workspace, conversationId, { remember: true });
  workspace.watchJobs();
}

/** Renames a conversation; an empty title goes back to the one made from its first message. */
export async function renameConversation(workspace: Workspace, conversationId: string, title: string): Promise<void> {
  await update(workspace, conversationId, { title: title.trim() });
}

/** Puts a conversation into a project, or takes it out of the one that it is in. */
export async function assignProject(workspace: Workspace, conversationId: string, projectId: string | null): Promise<void> {
  await update(workspace, conversationId, { projectId });
}

async function update(workspace: Workspace, id: string, changes: Partial<Pick<Conversation, "title" | "projectId" | "remember">>): Promise<void> {
  const updated = await workspace.opened().conversations.update(id, changes);
  if (workspace.current?.id === id) workspace.current = updated;
  await workspace.refreshConversations();
}

/** Deletes a conversation and everything derived from it, and shows the next one. */
export async function deleteConversation(workspace: Workspace, conversationId: string): Promise<void> {
  await workspace.opened().conversations.delete(conversationId);
  if (workspace.current?.id === conversationId) workspace.clear();
  await workspace.refreshConversations();
  const next = workspace.conversations[0];
  if (!workspace.current && next) await workspace.select(next.id);
  workspace.changed("facts");
  await workspace.refreshStats();
}
