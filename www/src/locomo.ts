/**
 * LoCoMo conversations, where the local server offers the measuring data: long chats of two people with labelled
 * questions. They are read for trying the page and are no part of it.
 */

import type { RawMessage } from "throughline";
import type { Suggestion, Workspace } from "./workspace.ts";

interface Turn {
  id: string;
  s: number;
  w: "a" | "b";
  t: string;
  c?: string;
}

/** A conversation of the data set, as far as the page uses it. */
export interface LocomoConversation {
  id: string;
  a: string;
  b: string;
  sessions: { n: number; date: string }[];
  turns: Turn[];
  questions: { q: string; ev: string[] }[];
}

const DATA_URL = "data/locomo/conversations.json";
const ID_PREFIX = "locomo-";
const SUGGESTED = 40;
const TURN_MS = 30_000;

let loaded: Promise<readonly LocomoConversation[]> | null = null;

/** The conversations that the server offers; none where it offers no data. */
export function locomoConversations(): Promise<readonly LocomoConversation[]> {
  loaded ??= fetchConversations().catch(() => []);
  return loaded;
}

/** Brings one of them in and opens it. */
export async function loadLocomo(workspace: Workspace, conversation: LocomoConversation): Promise<void> {
  const title = `${conversation.a} and ${conversation.b}`;
  await workspace.bringIn({ id: ID_PREFIX + conversation.id, title }, locomoMessages(conversation));
}

/** The labelled questions of a conversation that was brought in. */
export async function locomoSuggestions(conversationId: string): Promise<readonly Suggestion[]> {
  if (!conversationId.startsWith(ID_PREFIX)) return [];
  const id = conversationId.slice(ID_PREFIX.length);
  const conversation = (await locomoConversations()).find((candidate) => candidate.id === id);
  const labelled = conversation?.questions.filter(({ ev }) => ev.length > 0) ?? [];
  return labelled.slice(0, SUGGESTED).map(({ q, ev }) => ({ question: q, evidence: ev }));
}

/** Its turns as messages: the first person is the user, the second the assistant, each with the name in front. */
export function locomoMessages({ a, b, sessions, turns }: LocomoConversation): RawMessage[] {
  const starts = new Map(sessions.map(({ n, date }) => [n, sessionTime(date)]));
  const said = new Map<number, number>();
  return turns.map(({ id, s, w, t, c }) => {
    const index = said.get(s) ?? 0;
    said.set(s, index + 1);
    const start = starts.get(s) ?? null;
    const content = `${w === "a" ? a : b}: ${t}${c ? ` [shares ${c}]` : ""}`;
    const createdAt = start === null ? {} : { createdAt: new Date(start + index * TURN_MS).toISOString() };
    return { id, role: w === "a" ? "user" : "assistant", content, ...createdAt };
  });
}

/** Milliseconds of a session's date, `1:56 pm on 8 May, 2023`; read as UTC, so that every machine gets the same. */
export function sessionTime(date: string): number | null {
  const match = /^(\d{1,2}):(\d{2}) (am|pm) on (\d{1,2} \w+),? (\d{4})$/i.exec(date.trim());
  if (!match) return null;
  const [, hour, minute, half, dayAndMonth, year] = match;
  const midnight = Date.parse(`${dayAndMonth} ${year} 00:00 UTC`);
  if (Number.isNaN(midnight)) return null;
  const hours = (Number(hour) % 12) + (half?.toLowerCase() === "pm" ? 12 : 0);
  return midnight + (hours * 60 + Number(minute)) * 60_000;
}

async function fetchConversations(): Promise<readonly LocomoConversation[]> {
  const response = await fetch(new URL(DATA_URL, document.baseURI));
  if (!response.ok) return [];
  return (await response.json()) as LocomoConversation[];
}
