import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";

const round = {
  "openai-responses": [
    { role: "user", content: "Which port is free?" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    { type: "function_call", id: "fc_1", call_id: "call_1", name: "scan", arguments: "{ \"host\" : \"staging\" }" },
    { type: "function_call_output", call_id: "call_1", output: "8471" },
    { type: "message", id: "msg_1", role: "assistant", status: "completed", content: [{ type: "output_text", text: "Port 8471.", annotations: [] }] },
  ],
  gemini: [
    { role: "user", parts: [{ text: "Which port is free?" }] },
    { role: "model", parts: [{ functionCall: { name: "scan", args: { host: "staging" } }, thoughtSignature: "sig" }] },
    { role: "user", parts: [{ functionResponse: { name: "scan", response: { output: "8471" } } }] },
    { role: "model", parts: [{ text: "Port 8471." }] },
  ],
  langchain: [
    { type: "human", data: { content: "Which port is free?" } },
    { lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: { content: "", tool_calls: [{ name: "scan", args: { host: "staging" }, id: "call_1" }] } },
    { type: "tool", content: "8471", tool_call_id: "call_1", artifact: { rows: [1] } },
    { type: "ai", data: { content: "Port 8471." } },
  ],
};

const open = () => createMemory({ storage: memoryStorage(), tokenizer: "estimate" });

for (const [format, messages] of Object.entries(round)) {
  test(`${format} is detected, comes back as it was, and goes out in its own and in OpenAI's format`, async () => {
    const memory = await open();
    const chat = await memory.conversations.create();
    await memory.append(chat.id, messages);
    assert.deepEqual(await memory.history(chat.id), messages);
    const own = await memory.buildContext({ conversationId: chat.id, question: "And which did we pick?", format });
    assert.deepEqual(own.messages.slice(0, -1), messages);
    const openai = await memory.buildContext({ conversationId: chat.id, question: "And which did we pick?", format: "openai" });
    assert.deepEqual(openai.messages.map(({ role }) => role), ["user", "assistant", "tool", "assistant", "user"]);
    const [, { tool_calls: [call] }, result] = openai.messages;
    assert.equal(result.tool_call_id, call.id);
    assert.equal(result.content, "8471");
    await memory.close();
  });
}

test("messages of LangChain's classes are given as they are", async () => {
  class HumanMessage {
    lc_serializable = true;
    invoke() {}
    toJSON() {
      return { lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"], kwargs: { content: "hi" } };
    }
  }
  const memory = await open();
  const chat = await memory.conversations.create();
  await memory.append(chat.id, new HumanMessage());
  const context = await memory.buildContext({ conversationId: chat.id, format: "langchain" });
  assert.deepEqual(context.messages, [new HumanMessage().toJSON()]);
  await memory.close();
});

test("a format that is not known is refused, and the error names those that are", async () => {
  const memory = await open();
  const chat = await memory.conversations.create();
  const names = ["openai", "openai-responses", "anthropic", "ai-sdk", "ai-sdk-ui", "ai-sdk-model", "gemini", "langchain"];
  await assert.rejects(memory.append(chat.id, { role: "user", content: "hi" }, { format: "hologram" }), (error) => {
    assert.equal(error.code, "invalid_argument");
    for (const name of names) assert.ok(error.message.includes(`"${name}"`), error.message);
    return true;
  });
  for (const format of names) await memory.buildContext({ conversationId: chat.id, question: "hi", format });
  await memory.close();
});
