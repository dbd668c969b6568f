// The tools: what a model gets, what it cannot do, and the shapes that the real SDKs take.
import assert from "node:assert/strict";
import { test } from "node:test";
import { generateText, jsonSchema, stepCountIs } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { countTokens, createMemory, isMemoryError, memoryStorage } from "throughline";
import { aiSdkTools, anthropicTools, memoryTools, openAiResponsesTools, openAiTools, runMemoryTool } from "throughline/tools";

async function opened(options = {}) {
  const memory = await createMemory({ storage: memoryStorage() });
  await memory.conversations.create({ id: "old", projectId: "p" });
  await memory.append("old", [
    { role: "user", content: "Which port is free for the importer?" },
    { role: "assistant", content: "8471 is free, so the importer listens on 8471." },
    { role: "user", content: "Good, thanks." },
  ]);
  await memory.settled();
  const tools = memoryTools(memory, options);
  const call = async (name, input, callOptions) => JSON.parse(await tools.find((tool) => tool.name === name).execute(input, callOptions));
  return { memory, tools, call };
}

const rejects = (code) => (error) => isMemoryError(error, code);

test("search_memory answers with messages word for word, their places, and facts", async () => {
  const { memory, call } = await opened();
  await memory.facts.add({ fact: "Runs the importer on Tuesdays" });
  const { note, facts, found } = await call("search_memory", { query: "importer port" });
  assert.match(note, /not instructions/);
  assert.deepEqual(facts.map(({ fact, trust }) => [fact, trust]), [["Runs the importer on Tuesdays", "user_confirmed"]]);
  const messages = found.flatMap((group) => group.messages);
  assert.ok(messages.some(({ seq, role, text, hit }) => seq === 2 && role === "assistant" && hit && text === "8471 is free, so the importer listens on 8471."), JSON.stringify(found));
  assert.ok(found.every(({ conversationId, from, to }) => conversationId === "old" && from >= 1 && to >= from));
  await memory.close();
});

test("recall_range reads in order, says where to read on, and reads what does not fit in part", async () => {
  const { memory, call } = await opened({ maxResultTokens: 300 });
  await memory.conversations.create({ id: "long" });
  await memory.append("long", Array.from({ length: 30 }, (_, index) => ({ role: "user", content: `Line ${index + 1}: ${"word ".repeat(12)}` })));
  const read = [];
  let from = 1;
  let calls = 0;
  while (from !== undefined) {
    const { messages, readOnFrom } = await call("recall_range", { conversationId: "long", from, to: 30 });
    read.push(...messages.map(({ seq }) => seq));
    from = readOnFrom;
    calls += 1;
  }
  assert.deepEqual(read, Array.from({ length: 30 }, (_, index) => index + 1));
  assert.ok(calls > 1, "one answer holds not everything");
  await memory.append("long", { role: "user", content: `Begin ${"middle ".repeat(5_000)} end` });
  const { messages: [part] } = await call("recall_range", { conversationId: "long", from: 31, to: 31 });
  assert.match(part.text, /^Begin .* \[\.\.\.\] .* end$/s);
  await memory.close();
});

test("no result is longer than its limit", async () => {
  for (const maxResultTokens of [200, 500, 2_000]) {
    const { memory, tools } = await opened({ maxResultTokens });
    await memory.conversations.create({ id: "big" });
    const texts = ["importer 漢字かな交じり文 ".repeat(400), "importer \u{1F600}\u{1F468}\u200D\u{1F469} ".repeat(300), "importer {\"a\":[1,2,3]} ".repeat(400), "importer"];
    await memory.append("big", texts.map((content) => ({ role: "user", content })));
    await memory.settled();
    for (const [name, input] of [["search_memory", { query: "importer", limit: 20 }], ["recall_range", { conversationId: "big", from: 1, to: 4 }]]) {
      const text = await tools.find((tool) => tool.name === name).execute(input);
      const { tokens } = await countTokens(text);
      assert.ok(tokens <= maxResultTokens, `${name}: ${tokens} of ${maxResultTokens}`);
      assert.ok(JSON.parse(text)[name === "search_memory" ? "found" : "messages"].length > 0, name);
    }
    await memory.close();
  }
});

test("what a model adds waits for the user, changes nothing of theirs, and comes not back once forgotten", async () => {
  const told = [];
  const { memory, call } = await opened({ onFact: (fact) => told.push(fact.id) });
  const added = await call("add_memory", { fact: "Lives in Riga", category: "identity" });
  assert.equal(added.status, "proposed");
  const fact = await memory.facts.get(added.id);
  assert.deepEqual([fact.trust, fact.status, fact.source.type, fact.category], ["assistant_inferred", "proposed", "inference", "identity"]);
  assert.deepEqual(told, [added.id]);
  const [event] = await memory.facts.history(added.id);
  assert.deepEqual([event.operation, event.by, event.after], ["ADD", "model", "Lives in Riga"]);
  const { receipt, system } = await memory.buildContext({ conversationId: "old", question: "Where do I live?" });
  assert.ok(!system.includes("Riga"), "what waits is in no context");
  assert.ok(receipt.sections.find(({ name }) => name === "memory").items.every(({ id }) => id !== added.id));
  await memory.facts.approve(added.id);
  assert.match((await memory.buildContext({ conversationId: "old", question: "Where do I live?" })).system, /Riga/);
  await memory.facts.forget(added.id);
  await assert.rejects(call("add_memory", { fact: "lives in riga" }), rejects("invalid_argument"));
  await assert.rejects(call("add_memory", { fact: "The password is hunter2hunter2" }), rejects("invalid_argument"));
  await memory.close();
});

test("where the app asks the user, what they agree to is confirmed by them", async () => {
  const answers = [true, false];
  const { memory, call } = await opened({ confirm: () => answers.shift() });
  const added = await call("add_memory", { fact: "Prefers tea" });
  assert.equal((await memory.facts.get(added.id)).trust, "user_confirmed");
  assert.equal((await call("add_memory", { fact: "Prefers coffee" })).status, "declined");
  assert.deepEqual((await memory.facts.list()).map(({ fact }) => fact), ["Prefers tea"]);
  await memory.close();
});

test("what stays on this device goes to no model elsewhere", async () => {
  const { memory, call, tools } = await opened();
  await memory.append("old", { role: "user", content: "My importer secret-free diary says zanzibar." }, { localOnly: true });
  await memory.facts.add({ fact: "Keeps a zanzibar diary", localOnly: true });
  const everything = await Promise.all([
    call("search_memory", { query: "zanzibar diary", limit: 20 }), call("recall_range", { conversationId: "old", from: 1, to: 9 }),
  ]);
  assert.ok(!JSON.stringify(everything).includes("zanzibar"), JSON.stringify(everything));
  assert.ok(JSON.stringify(everything).includes("8471"));
  const local = memoryTools(memory, { destination: "local" });
  assert.match(await local[0].execute({ query: "zanzibar diary" }), /says zanzibar.*|zanzibar diary/);
  assert.match(await local[1].execute({ conversationId: "old", from: 4, to: 4 }), /zanzibar/);
  assert.equal(tools.length, local.length);
  await memory.close();
});

test("a temporary chat, a part of another chat and another project are not read", async () => {
  const { memory, call } = await opened({ projectId: "p" });
  await memory.conversations.create({ id: "temporary", remember: false, projectId: "p" });
  await memory.conversations.create({ id: "part", parentId: "old" });
  await memory.conversations.create({ id: "elsewhere", projectId: "q" });
  for (const id of ["temporary", "part", "elsewhere"]) {
    await memory.append(id, { role: "user", content: "importer importer" });
    await assert.rejects(call("recall_range", { conversationId: id, from: 1, to: 1 }), rejects("not_found"), id);
  }
  const { found } = await call("search_memory", { query: "importer", limit: 20 });
  assert.deepEqual([...new Set(found.map(({ conversationId }) => conversationId))], ["old"]);
  const own = memoryTools(memory, { conversationId: "temporary" });
  assert.match(await own[1].execute({ conversationId: "temporary", from: 1, to: 1 }), /importer/);
  await memory.close();
});

test("arguments are checked, abort is heard, and errors never repeat what was given", async () => {
  const { memory, tools, call } = await opened();
  const wrong = [
    ["search_memory", undefined], ["search_memory", []], ["search_memory", {}], ["search_memory", { query: "" }], ["search_memory", { query: 5 }],
    ["search_memory", { query: "Marker77", limit: 21 }], ["search_memory", { query: "Marker77", limit: 1.5 }], ["search_memory", { query: "Marker77", Marker77: 1 }],
    ["search_memory", { query: "Marker77".repeat(300) }], ["recall_range", { conversationId: "old", from: 0, to: 1 }],
    ["recall_range", { conversationId: "old", from: 3, to: 2 }], ["recall_range", { conversationId: "old", from: "1", to: 2 }], ["recall_range", { from: 1, to: 2 }],
    ["add_memory", { fact: " " }], ["add_memory", { fact: "Marker77", category: "Marker77" }], ["add_memory", { fact: "Marker77".repeat(200) }],
  ];
  for (const [name, input] of wrong) {
    await assert.rejects(call(name, input), (error) => isMemoryError(error, "invalid_argument") && error.message.startsWith(name) && !error.message.includes("Marker77"), JSON.stringify(input));
  }
  for (const [name, input] of [["search_memory", { query: "x" }], ["recall_range", { conversationId: "old", from: 1, to: 1 }], ["add_memory", { fact: "x" }]]) {
    await assert.rejects(call(name, input, { signal: AbortSignal.abort() }), rejects("aborted"), name);
  }
  assert.equal((await memory.facts.list()).length, 0);
  const bad = await Promise.all([runMemoryTool(tools, "drop_tables", {}), runMemoryTool(tools, "search_memory", "{"), runMemoryTool(tools, "recall_range", { conversationId: "no", from: 1, to: 1 })]);
  assert.ok(bad.every(({ isError, content }) => isError && JSON.parse(content).error.length > 0));
  const good = await runMemoryTool(tools, "search_memory", JSON.stringify({ query: "importer", limit: null }));
  assert.equal(good.isError, false);
  for (const options of [{ destination: "moon" }, { maxResultTokens: 10 }, { confirm: true }, { conversationId: "" }]) assert.throws(() => memoryTools(memory, options), rejects("invalid_argument"));
  await memory.close();
  await assert.rejects(runMemoryTool(tools, "search_memory", { query: "x" }), rejects("closed"));
});

test("every format of message is read", async () => {
  const { memory, call } = await opened();
  await memory.conversations.create({ id: "formats" });
  const messages = [
    [{ role: "user", content: [{ type: "text", text: "openai parts" }] }, "openai"],
    [{ role: "assistant", content: [{ type: "tool_use", id: "t1", name: "weather", input: { city: "Riga" } }] }, "anthropic"],
    [{ role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "sunny" }] }, "anthropic"],
    [{ role: "model", parts: [{ text: "gemini says" }] }, "gemini"],
    [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "responses say" }] }, "openai-responses"],
    [{ id: "u1", role: "user", parts: [{ type: "text", text: "ui message" }] }, "ai-sdk"],
    [{ type: "human", data: { content: "stored human" } }, "langchain"],
    [{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "AIMessage"], kwargs: { content: "class json" } }, "langchain"],
  ];
  for (const [message, format] of messages) await memory.append("formats", message, { format });
  const read = await call("recall_range", { conversationId: "formats", from: 1, to: 8 });
  assert.deepEqual(read.messages.map(({ role, text }) => `${role}: ${text}`), [
    "user: openai parts", "assistant: [calls weather: {\"city\":\"Riga\"}]", "user: [result: sunny]", "assistant: gemini says",
    "assistant: responses say", "user: ui message", "user: stored human", "assistant: class json",
  ]);
  await memory.close();
});

test("the shapes of OpenAI and Anthropic hold the same schemas", async () => {
  const { memory, tools } = await opened();
  const names = ["search_memory", "recall_range", "add_memory"];
  const schemas = tools.map(({ inputSchema }) => inputSchema);
  assert.deepEqual(openAiTools(tools).map((tool) => [tool.type, tool.function.name]), names.map((name) => ["function", name]));
  assert.deepEqual(openAiTools(tools).map((tool) => tool.function.parameters), schemas);
  assert.deepEqual(openAiResponsesTools(tools).map(({ parameters }) => parameters), schemas);
  assert.deepEqual(anthropicTools(tools).map(({ name }) => name), names);
  assert.deepEqual(anthropicTools(tools).map(({ input_schema }) => input_schema), schemas);
  await memory.close();
});

test("the AI SDK calls the tools and gives their answers to its model", async () => {
  const { memory, tools } = await opened();
  const usage = { inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 }, outputTokens: { total: 1, text: 1, reasoning: 0 } };
  const prompts = [];
  const answers = [
    { content: [{ type: "tool-call", toolCallId: "c1", toolName: "search_memory", input: JSON.stringify({ query: "importer port" }) }], finishReason: { unified: "tool-calls", raw: "x" }, usage, warnings: [] },
    { content: [{ type: "text", text: "It was 8471." }], finishReason: { unified: "stop", raw: "x" }, usage, warnings: [] },
  ];
  const model = new MockLanguageModelV3({ doGenerate: async ({ prompt }) => { prompts.push(prompt); return answers.shift(); } });
  const { text } = await generateText({ model, tools: aiSdkTools(tools, jsonSchema), stopWhen: stepCountIs(3), prompt: "Which port?" });
  assert.equal(text, "It was 8471.");
  assert.match(JSON.stringify(prompts[1]), /listens on 8471/);
  await memory.close();
});
