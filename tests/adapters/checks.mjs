// What the tests of adapters have in common.
import assert from "node:assert/strict";
import { inspect } from "node:util";
import { isMemoryError } from "throughline";

/** What no error may show. */
export const KEY = "sk-very-secret-key-000000";
export const WORDS = "my grandmother's recipe";

/** For `assert.rejects`: the code, whether a retry helps, words of the message, details; never the key nor the user's words. */
export function failsWith(code, { retryable, message = /./, details } = {}) {
  return (error) => {
    assert.ok(isMemoryError(error, code), `${error?.code}: ${inspect(error)}`);
    if (retryable !== undefined) assert.equal(error.retryable, retryable);
    assert.match(error.message, message);
    if (details !== undefined) assert.deepEqual(error.details, details);
    const shown = inspect(error, { depth: 10, showHidden: true }) + JSON.stringify(error);
    assert.ok(!shown.includes(KEY), "the key is in the error");
    assert.ok(!shown.includes(WORDS) && !shown.includes("grandmother"), "the user's words are in the error");
    return true;
  };
}

/** The pieces of an answer. */
export async function piecesOf(answer) {
  const pieces = [];
  for await (const piece of answer) pieces.push(piece);
  return pieces;
}

/** A context as `buildContext` gives it, by hand. */
export function context(messages, system = "Be terse.", cacheBreakpoints = []) {
  return { system, messages, cacheBreakpoints };
}

/** A request as the engine makes it. */
export function generateRequest(changes = {}) {
  return {
    purpose: "extract",
    system: "Find facts.",
    messages: [{ role: "user", content: WORDS }],
    schema: { type: "object", properties: { facts: { type: "array" } }, required: ["facts"], additionalProperties: false },
    maxTokens: 200,
    signal: new AbortController().signal,
    ...changes,
  };
}
