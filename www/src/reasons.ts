/** The engine's reasons in plain words: why something is in a context, why not, and why search ran. */

import { humanise } from "./wording.ts";

const REASONS: Readonly<Record<string, string>> = {
  // In the context.
  instructions: "the app's instructions",
  remembered: "you wrote it down or confirmed it",
  needed_now: "you said so before, and this question needs it",
  covers_earlier: "it stands in for earlier messages",
  recent_window: "it is among the newest messages",
  hit: "it matches the question",
  neighbour: "it stands beside a match",
  given_by_app: "the app adds it",
  question: "it is what you ask now",
  current_turn: "it belongs to this turn",
  // Left out.
  no_room: "no room left in its section",
  below_floor: "scored too low to be worth the room",
  duplicate: "already in the context",
  outside_window: "older than the recent window",
  // Search ran.
  always: "you chose to look up old messages always",
  past_reference: "the question points to something said before",
  exact_detail: "it asks for an exact detail",
  identifier: "it names an identifier",
  unresolved_mention: "it mentions something that the recent messages do not",
  personal: "it is about you, or depends on what you have told",
  topic_shift: "it is about something else than the recent messages",
  older_match: "an older message fits it better than the recent ones",
  in_doubt: "the recent messages may not be enough",
  nothing_found: "nothing that was found fits well enough",
  // Search did not run.
  never: "you switched it off",
  nothing_older: "everything said so far is in the recent window",
  small_talk: "small talk needs no old messages",
  about_last_answer: "it is about the last answer",
  self_contained: "it brings all that it needs",
  general_knowledge: "it asks for general knowledge",
  no_older_match: "no older message has its words",
  answered_by_recent: "the recent messages cover the question",
};

/** A reason in words. */
export function reasonWords(reason: string): string {
  return REASONS[reason] ?? humanise(reason);
}

/** Reasons as one sentence. */
export function reasonSentence(reasons: readonly string[]): string {
  const words = reasons.map(reasonWords).join("; ");
  if (words === "") return "";
  const text = words.charAt(0).toUpperCase() + words.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}
