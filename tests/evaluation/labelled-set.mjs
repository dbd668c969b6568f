// The labelled conversations of `users/`: who said what on which day, which facts follow, and which do not.
//
// A turn may have `facts` (what is to be remembered of it), `traps` (what a careless model would take for a fact), `retracts`
// (the fact that it takes back) and `ref` (a name for probes). A fact's `value` are the words by which it is recognised,
// whatever a model's wording; its message is the one that it stands at.

import { readFileSync, readdirSync } from "node:fs";

const FOLDER = new URL("users/", import.meta.url);
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Monday, 5 January 2026, nine o'clock: day 0 of every user. */
const START_MS = Date.UTC(2026, 0, 5, 9);

/** The day on which everything is asked. All that expires has expired. */
export const ASKING_DAY = 60;

/** Milliseconds since 1970 of a day's minute. */
export const timeOf = (day, minute = 0) => START_MS + day * DAY_MS + minute * MINUTE_MS;

/** Small letters, one space between words: how texts are compared here. */
export const plain = (text) => text.normalize("NFKC").toLowerCase().replace(/\s+/g, " ").trim();

/** Whether a text has all the words by which a fact or a trap is recognised. */
export const tells = (text, { value }) => value.every((words) => plain(text).includes(plain(words)));

/** The users, each with sessions, facts, traps and probes; `names` narrows them. */
export function labelledUsers(names) {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".json") && (names === undefined || names.includes(file.replace(".json", ""))))
    .sort()
    .map((file) => labelled(JSON.parse(readFileSync(new URL(file, FOLDER), "utf8"))));
}

function labelled({ id, language, about, sessions, probes }) {
  const user = { id, language, about, sessions: [], facts: new Map(), traps: [], retractions: [], places: new Map(), probes };
  for (const [number, { day, turns }] of sessions.entries()) {
    const session = { id: `${id}-${number + 1}`, day, messages: [] };
    for (const turn of turns) takeIn(user, session, turn);
    user.sessions.push(session);
  }
  for (const fact of user.facts.values()) {
    if (fact.updates !== undefined) user.facts.get(fact.updates).endsOn = fact.day;
    if (fact.days !== undefined) fact.endsOn = fact.day + fact.days;
  }
  for (const { retracts, day } of user.retractions) user.facts.get(retracts).endsOn = day;
  return user;
}

function takeIn(user, session, turn) {
  if (turn.tool !== undefined) session.messages.push(toolCall(session));
  const text = turn.user ?? turn.assistant ?? turn.tool;
  const place = { session: session.id, seq: session.messages.length + 1, day: session.day, text };
  session.messages.push({ id: `${session.id}-m${place.seq}`, ...message(turn, session) });
  for (const fact of turn.facts ?? []) user.facts.set(fact.id, { ...fact, replaces: fact.updates ?? turn.retracts, ...place });
  for (const trap of turn.traps ?? []) user.traps.push({ ...trap, ...place });
  if (turn.retracts !== undefined) user.retractions.push({ retracts: turn.retracts, says: turn.says, ...place });
  if (turn.ref !== undefined) user.places.set(turn.ref, place);
}

function message(turn, session) {
  if (turn.user !== undefined) return { role: "user", content: turn.user };
  if (turn.assistant !== undefined) return { role: "assistant", content: turn.assistant };
  return { role: "tool", tool_call_id: callId(session, session.messages.length), content: turn.tool };
}

function toolCall(session) {
  const seq = session.messages.length + 1;
  const call = { id: callId(session, seq), type: "function", function: { name: "search", arguments: "{}" } };
  return { id: `${session.id}-m${seq}`, role: "assistant", content: null, tool_calls: [call] };
}

const callId = (session, seq) => `call-${session.id}-${seq}`;

/** Whether a fact holds on a day. */
export const holdsOn = (fact, day) => fact.endsOn === undefined || day < fact.endsOn;

/** What is true of a user on a day. */
export const truths = (user, day) => [...user.facts.values()].filter((fact) => holdsOn(fact, day));

/** The facts that a fact replaced, and those that they had. */
export function replacedBy(user, fact) {
  const before = user.facts.get(fact.replaces);
  return before === undefined ? [] : [before, ...replacedBy(user, before)];
}
