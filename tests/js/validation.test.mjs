import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage, validateContext } from "throughline";

const user = (content) => ({ role: "user", content });
const rules = async (context, profile) => (await validateContext(context, profile)).map(({ rule, index }) => [rule, index]);

test("what a provider would take has no violation", async () => {
  const messages = [user("a"), { role: "assistant", content: "b" }, user("c")];
  for (const profile of ["openai", "openai-responses", "anthropic", "gemini", "mistral", "webllm", "prompt-api", "ai-sdk"]) {
    assert.deepEqual(await validateContext({ system: "Be brief.", messages }, profile), [], profile);
    assert.deepEqual(await validateContext({ messages }, profile), [], profile);
  }
  assert.deepEqual(await validateContext({ system: "", messages }, "strict"), []);
});

test("violations name the rule, the message and what is wrong", async () => {
  const call = { role: "assistant", content: [{ type: "tool_use", id: "x", name: "f", input: {} }] };
  const [found, ...more] = await validateContext({ system: "s", messages: [user("a"), call, user("secret")] }, "anthropic");
  assert.deepEqual(more, []);
  assert.equal(found.rule, "R2");
  assert.equal(found.index, 2);
  assert.match(found.message, /result/);
  assert.doesNotMatch(found.message, /secret/);
  assert.deepEqual(await rules({ messages: [user("a"), user("b")] }, "mistral"), [["R11", 1]]);
  assert.deepEqual(await rules({ messages: [user("a"), user("b")] }, "openai"), []);
  assert.deepEqual(await rules({ messages: [user("a"), { role: "system", content: "s" }, user("b")] }, "prompt-api"), [["R12", 1]]);
  assert.deepEqual(await rules({ system: "s", messages: [user("a")] }, "strict"), [["R13", 0]]);
  assert.deepEqual(await rules({ messages: [{ role: "assistant", content: "hi" }, user("a")] }, "gemini"), [["R9", 0]]);
});

test("the format is told, or seen, or the profile's own", async () => {
  const parts = [{ type: "tool-f", toolCallId: "x", state: "input-available", input: {} }];
  const ui = [
    { id: "1", role: "user", parts: [{ type: "text", text: "a" }] },
    { id: "2", role: "assistant", parts },
    { id: "3", role: "user", parts: [{ type: "text", text: "b" }] },
  ];
  for (const context of [{ messages: ui }, { messages: ui, format: "ai-sdk" }, { messages: ui, format: "ai-sdk-ui" }]) {
    assert.deepEqual(await rules(context, "anthropic"), [["R6", 1]]);
    assert.deepEqual(await rules(context, "ai-sdk"), [["R6", 1]]);
  }
});

test("unusable arguments are refused", async () => {
  const refused = (context, profile) =>
    assert.rejects(validateContext(context, profile), (error) => isMemoryError(error, "invalid_argument"));
  await refused({ messages: [user("a")] }, "llama");
  await refused({ messages: [user("a")] }, undefined);
  await refused({ messages: [user("a")], format: "anthropic" }, "mistral");
  await refused({ messages: [user("a")], format: "nothing" }, "openai");
  await refused({ messages: "a" }, "openai");
  await refused({ messages: [{ role: "user", content: () => 1 }] }, "openai");
  await refused(undefined, "openai");
  assert.deepEqual((await validateContext({ messages: [] }, "openai")).map(({ rule }) => rule), ["R10"]);
  await assert.rejects(validateContext({ messages: [] }, "llama"), /openai, openai-responses, anthropic, gemini/);
});

test("what buildContext makes for a profile passes, and an unknown profile is refused", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate", policy: { toolResults: { fullTurns: Infinity } } });
  const { id } = await memory.conversations.create({});
  const call = { id: "call_1", type: "function", function: { name: "read", arguments: "{}" } };
  await memory.append(id, [user("a"), user("b"), { role: "assistant", content: null, tool_calls: [call] }, user("stop")]);
  for (const profile of ["openai", "anthropic", "gemini", "mistral", "webllm", "prompt-api", "strict", "ai-sdk"]) {
    const context = await memory.buildContext({ conversationId: id, question: "And now?", system: "Be brief.", profile });
    assert.deepEqual(await validateContext(context, profile), [], profile);
    assert.ok(context.receipt.repairs.some(({ rule, seq }) => rule === "R7" && seq === 3), profile);
  }
  const flat = await memory.buildContext({ conversationId: id, question: "And now?", flattenTools: true });
  assert.doesNotMatch(JSON.stringify(flat.messages), /tool/);
  await assert.rejects(
    memory.buildContext({ conversationId: id, question: "x", profile: "llama" }),
    (error) => isMemoryError(error, "invalid_argument") && /webllm/.test(error.message),
  );
  await memory.close();
  await assert.rejects(
    createMemory({ storage: memoryStorage(), policy: { toolResults: { shrunkTokens: 1 } } }),
    (error) => isMemoryError(error, "invalid_config"),
  );
});
