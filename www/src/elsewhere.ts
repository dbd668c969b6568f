/** What was found in another conversation than the one on screen: its messages and that conversation's title. */

import { readMessage, type ShownMessage } from "./message.ts";
import type { ShownItem } from "./receipt-view.ts";
import { visibleTitle } from "./visible-text.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

/** A find in another conversation. */
export interface Elsewhere {
  conversationId: string;
  title: string;
  messages: ShownMessage[];
}

/** Read once for each piece of a context. */
const known = new WeakMap<ShownItem, Promise<Elsewhere>>();

/** Whether an item holds messages of another conversation. */
export function isElsewhere({ range }: ShownItem, { conversationId }: Inquiry): boolean {
  return range !== undefined && range.conversationId !== conversationId;
}

/** Reads the messages that an item holds, and their conversation's title. */
export function readElsewhere(item: ShownItem, workspace: Workspace): Promise<Elsewhere> {
  const reading = known.get(item) ?? read(item, workspace);
  known.set(item, reading);
  return reading;
}

async function read({ range }: ShownItem, workspace: Workspace): Promise<Elsewhere> {
  if (!range) throw new Error("This piece of the context holds no messages.");
  const { conversationId, from, to } = range;
  const memory = workspace.opened();
  const [conversation, entries] = await Promise.all([memory.conversations.get(conversationId), memory.history(conversationId, { from, to, withStatus: true })]);
  const messages = entries.map(({ message, seq, status }) => readMessage(message, seq, status));
  return { conversationId, title: visibleTitle(conversation.title), messages };
}
