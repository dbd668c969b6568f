/** Which messages of a conversation a context holds, and where. */

import type { ShownMessage } from "./message.ts";
import type { ShownItem, ShownSection } from "./receipt-view.ts";

/** A message's place in a context. */
export interface Placement {
  section: string;
  /** The message itself was found, not only its neighbourhood. */
  isHit: boolean;
}

/** Places by position. Only whole messages count: a summary covers its range without holding it. */
export function placements(
  sections: readonly ShownSection[],
  conversationId: string,
  messages: readonly ShownMessage[],
): Map<number, Placement> {
  const bySeq = new Map<number, Placement>();
  for (const section of sections) {
    if (section.name !== "recent" && section.name !== "retrieved") continue;
    for (const item of section.items) {
      for (const message of messagesOf(item, conversationId, messages)) {
        bySeq.set(message.seq, { section: section.name, isHit: item.hits.includes(message.id) });
      }
    }
  }
  return bySeq;
}

/** The messages of this conversation that an item holds. */
export function messagesOf(item: ShownItem, conversationId: string, messages: readonly ShownMessage[]): ShownMessage[] {
  const { range } = item;
  if (!range) return messages.filter(({ id }) => id === item.id);
  if (range.conversationId !== conversationId) return [];
  return messages.filter(({ seq }) => seq >= range.from && seq <= range.to);
}

/** Of these labelled messages, the ones that the context holds. */
export function evidenceFound(
  evidence: readonly string[],
  sections: readonly ShownSection[],
  conversationId: string,
  messages: readonly ShownMessage[],
): string[] {
  const places = placements(sections, conversationId, messages);
  return messages.filter(({ id, seq }) => evidence.includes(id) && places.has(seq)).map(({ id }) => id);
}

/** Which messages these are, as words behind a section's name; nothing where they are none. */
export function messageSpan(items: readonly ShownItem[]): string {
  const first = items[0]?.range;
  const last = items.at(-1)?.range;
  if (!first || !last) return "";
  return first.from === last.to ? `, message ${first.from}` : `, messages ${first.from} to ${last.to}`;
}
