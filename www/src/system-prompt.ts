/** What this app tells a model, in a chat and in the race. */
export const SYSTEM = "You are the assistant of this conversation. Answer from it, briefly, and say so when it does not hold the answer.";
