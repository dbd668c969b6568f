// Other conversations around the labelled ones: made-up messages in which nothing is to be remembered, so that a user has
// as long a past as users have.

import { makeCorpus } from "../../bench/corpus.mjs";

/** A user with `count` more messages, in one more session after each labelled one. */
export function withHistory(user, count, seed) {
  const { texts } = makeCorpus({ size: count, seed, questions: 0, perClass: 1 });
  const each = Math.ceil(count / user.sessions.length);
  const sessions = user.sessions.flatMap((session, index) => [session, otherSession(user, session, index, texts.slice(index * each, (index + 1) * each))]);
  return { ...user, sessions };
}

function otherSession(user, { day }, index, texts) {
  const id = `${user.id}-other-${index + 1}`;
  const messages = texts.map((content, place) => ({ id: `${id}-m${place + 1}`, role: place % 2 === 0 ? "user" : "assistant", content }));
  return { id, day: day + 0.5, messages };
}
