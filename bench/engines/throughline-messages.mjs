import { CONVERSATION_MESSAGES } from "../corpus.mjs";
import { indexes } from "../indexes.mjs";

const START_MS = 1.7e12;
const MESSAGE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Where a message stands: conversations one a day. */
export function place(number) {
  const conversation = Math.floor(number / CONVERSATION_MESSAGES);
  const seq = (number % CONVERSATION_MESSAGES) + 1;
  return [conversation, seq, START_MS + conversation * DAY_MS + seq * MESSAGE_MS];
}

export const settings = "MessageIndex as in `recall`: messages, windows and sessions scored, defaults";

export async function open() {
  const { Messages } = await indexes();
  const index = new Messages(0, "auto");
  return {
    add: (number, text) => index.add(...place(number), text),
    search: (text, limit) => index.search(text, undefined, undefined, limit),
  };
}
