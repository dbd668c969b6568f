// What an app without a memory engine would send: nothing of other conversations, everything, or the last messages.

import { countTokens } from "throughline";

/** Messages of the sliding window: what the tutorials of chat apps take. */
const WINDOW_MESSAGES = 20;
/** What a message costs beside its text, as in OpenAI's chat format. */
const MESSAGE_TOKENS = 4;

/** Each takes every message of the user so far, oldest first, and answers with those that are sent. */
export const BASELINES = {
  "no memory": () => [],
  "sliding window, 20 messages": (messages) => messages.slice(-WINDOW_MESSAGES),
  "full context": (messages) => messages,
};

/** The text and the tokens of a prompt of these messages, the system text and the question. */
export async function promptOf(messages, system, question) {
  const texts = [system, ...messages.map(({ content }) => content ?? ""), question];
  const text = texts.join("\n");
  const { tokens } = await countTokens(text, "o200k_base");
  return { text, tokens: tokens + texts.length * MESSAGE_TOKENS, facts: [] };
}
