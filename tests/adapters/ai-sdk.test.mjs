// The adapter for the AI SDK with the library itself: each major, with its own model mocks and chat client.
import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import { MemoryError, createMemory, memoryStorage } from "throughline";
import { aiSdkEmbedder, aiSdkLanguageModel, memoryChatTransport, memoryMiddleware, memorySteps } from "throughline/ai-sdk";
import { WORDS, failsWith, generateRequest } from "./checks.mjs";
import { MAJORS, chatOf, modelOf } from "./ai-sdk-majors.mjs";

const open = () => createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
const plain = (value) => JSON.parse(JSON.stringify(value));
const textOf = ({ content }) => (typeof content === "string" ? content : content.map(({ text }) => text ?? "").join(""));
const roles = (messages) => messages.map(({ role }) => role).join(" ");
const call = (id, input = '{"city":"Oslo"}') => ({ type: "tool-call", toolCallId: id, toolName: "weather", input });
const weather = (execute) => ({ description: "Weather", inputSchema: z.object({ city: z.string() }), ...(execute && { execute }) });

function transportOf({ ai, major }, memory, model, options = {}) {
  const { tools, ...rest } = options;
  return memoryChatTransport({
    memory,
    system: "Be terse.",
    readUIMessageStream: ai.readUIMessageStream,
    ...rest,
    answer: async ({ system, messages, abortSignal }) =>
      ai.streamText({ model, tools, [major === 7 ? "instructions" : "system"]: system, messages: await ai.convertToModelMessages(messages), abortSignal, maxRetries: 0, onError() {} }).toUIMessageStream(),
  });
}

for (const major of MAJORS) {
  const name = (what) => `AI SDK ${major.major}: ${what}`;
  const { ai } = major;

  test(name("a chat without a server: both sides are stored, as the client has them, and sent again"), async () => {
    const memory = await open();
    const { model, prompts } = modelOf(major, [{ type: "reasoning", text: "Hm" }, { type: "text", text: "Noted." }], "8471.");
    const chat = chatOf(major, { id: "chat-1", transport: transportOf(major, memory, model) });
    await chat.sendMessage({ text: "We use port 8471." });
    await chat.sendMessage({ text: "Which port?" });
    assert.equal(chat.error, undefined);
    assert.deepEqual(chat.messages.map(({ parts }) => parts.filter(({ type }) => type === "text").map(({ text }) => text).join("")), ["We use port 8471.", "Noted.", "Which port?", "8471."]);
    await memory.settled();
    assert.deepEqual(await memory.history("chat-1"), plain(chat.messages));
    assert.deepEqual((await memory.history("chat-1", { withStatus: true })).map(({ status }) => status), ["complete", "complete", "complete", "complete"]);
    assert.equal(roles(prompts[1]), "system user assistant user");
    assert.equal(textOf(prompts[1].at(-1)), "Which port?");
    assert.match(prompts[1][0].content, /^Be terse\./);
    assert.equal(await transportOf(major, memory, model).reconnectToStream({ chatId: "chat-1" }), null);
    await memory.close();
  });

  test(name("an edit and a new answer are branches; a chat that began elsewhere is taken along"), async () => {
    const memory = await open();
    const { model, prompts } = modelOf(major, "one", "two", "three", "four");
    const transport = transportOf(major, memory, model);
    const chat = chatOf(major, { id: "c", transport, messages: [] });
    await chat.sendMessage({ text: "first" });
    await chat.regenerate();
    assert.equal(roles(prompts[1]), "system user");
    assert.deepEqual(await memory.history("c"), plain(chat.messages));
    await chat.sendMessage({ text: "second", messageId: chat.messages[0].id });
    assert.equal(textOf(prompts[2].at(-1)), "second");
    assert.ok(!JSON.stringify(prompts[2]).includes("first"), "what was edited away is not sent");
    await chat.sendMessage({ text: "third" });
    assert.equal(roles(prompts[3]), "system user assistant user");
    assert.deepEqual((await memory.history("c")).map(({ parts }) => parts.at(-1).text), ["second", "three", "third", "four"]);
    assert.equal((await memory.conversations.get("c")).messageCount, 7);
    const other = chatOf(major, { id: "d", transport });
    other.messages = plain(chat.messages);
    await other.sendMessage({ text: "go on" });
    assert.equal((await memory.history("d")).length, 6);
    await memory.close();
  });

  test(name("an answer that waits for a tool of the page goes on in the same message"), async () => {
    const memory = await open();
    const { model, prompts } = modelOf(major, [{ type: "text", text: "Let me look." }, call("t1")], "It rains.");
    const chat = chatOf(major, { id: "c", transport: transportOf(major, memory, model, { tools: { weather: weather() } }) });
    await chat.sendMessage({ text: "Weather in Oslo?" });
    const output = { tool: "weather", toolCallId: "t1", output: "rain" };
    await (chat.addToolOutput ?? chat.addToolResult).call(chat, output);
    await chat.sendMessage();
    assert.equal(chat.error, undefined);
    await memory.settled();
    const stored = await memory.history("c", { withStatus: true });
    assert.deepEqual(stored.map(({ message }) => message), plain(chat.messages));
    assert.equal(stored.length, 2);
    assert.equal(stored[1].status, "complete");
    assert.equal(roles(prompts[1]), "system user assistant tool");
    assert.deepEqual(prompts[1].at(-1).content[0].output, { type: "text", value: "rain" });
    await memory.close();
  });

  test(name("a tool of the page may answer after the page was loaded anew, and after a try that failed"), async () => {
    const storage = memoryStorage();
    const first = await createMemory({ storage, tokenizer: "estimate" });
    const options = { tools: { weather: weather() } };
    const before = chatOf(major, { id: "c", transport: transportOf(major, first, modelOf(major, [call("t1")]).model, options) });
    await before.sendMessage({ text: "Weather in Oslo?" });
    await first.close();
    const memory = await createMemory({ storage, tokenizer: "estimate" });
    const { model, prompts } = modelOf(major, new Error("no"), "It rains.");
    const chat = chatOf(major, { id: "c", transport: transportOf(major, memory, model, options) });
    chat.messages = await memory.history("c");
    await (chat.addToolOutput ?? chat.addToolResult).call(chat, { tool: "weather", toolCallId: "t1", output: "rain" });
    await chat.sendMessage();
    await chat.sendMessage();
    assert.equal(roles(prompts[1]), "system user assistant tool");
    const stored = await memory.history("c", { withStatus: true });
    assert.deepEqual(stored.map(({ message: { id, ...rest } }) => ({ id: id.replace(/~\d+$/, ""), ...rest })), plain(chat.messages));
    assert.deepEqual(stored.map(({ status }) => status), ["complete", "complete"]);
    await chat.sendMessage({ text: "And in Rome?" });
    assert.equal(roles(prompts[2]), "system user assistant tool assistant user");
    await memory.close();
  });

  test(name("what had arrived when the user stopped is kept, and so is the question of an answer that failed"), async () => {
    const memory = await open();
    const { model } = modelOf(major, "Half of the.........", new Error("no"), "fine");
    const errors = [];
    const chat = chatOf(major, { id: "c", transport: transportOf(major, memory, model), onError: (error) => errors.push(error) });
    const sent = chat.sendMessage({ text: "Tell me" });
    while (!JSON.stringify(chat.messages.at(-1) ?? "").includes("Half of")) await new Promise((resolve) => setTimeout(resolve, 2));
    await chat.stop();
    await sent;
    await chat.sendMessage({ text: "Again" });
    await chat.sendMessage({ text: "Once more" });
    assert.equal(roles(await memory.history("c")), "user assistant user user assistant", "an answer that failed before it began leaves nothing");
    const [, stopped, again] = await memory.history("c", { withStatus: true });
    assert.equal(stopped.status, "aborted");
    assert.match(stopped.message.parts.map(({ text }) => text ?? "").join(""), /^Half of/);
    assert.equal(again.message.parts[0].text, "Again");
    assert.equal(errors.length > 0, true);
    await memory.close();
  });

  test(name("an answer that cannot be stored is shown all the same, and told"), async () => {
    const memory = await open();
    const full = () => Promise.reject(new MemoryError("storage_quota_exceeded", "full"));
    const { conversations } = memory;
    const passed = ["append", "buildContext", "history", "setActiveLeaf"].map((call) => [call, (...given) => memory[call](...given)]);
    const failing = { conversations, ...Object.fromEntries(passed), stream: full };
    const { model } = modelOf(major, "Shown.");
    const told = [];
    const chat = chatOf(major, { id: "c", transport: transportOf(major, failing, model, { onError: (error) => told.push(error.code) }) });
    await chat.sendMessage({ text: "Tell me" });
    assert.equal(chat.messages.at(-1).parts.at(-1).text, "Shown.");
    assert.deepEqual(told, ["storage_quota_exceeded"]);
    const errors = [];
    const quiet = chatOf(major, { id: "d", transport: transportOf(major, failing, model), onError: (error) => errors.push(error.code) });
    await quiet.sendMessage({ text: "Tell me" });
    await quiet.sendMessage({ text: "Again" });
    assert.deepEqual(errors, ["storage_quota_exceeded"]);
    const onError = (error) => told.push(error.code);
    let appends = 0;
    const onlyQuestions = { ...failing, append: (...given) => ((appends += 1) === 2 ? full() : memory.append(...given)) };
    const middleware = memoryMiddleware({ memory: onlyQuestions, conversationId: "m", specificationVersion: major.version, onError });
    assert.equal((await ai.generateText({ model: ai.wrapLanguageModel({ model, middleware }), prompt: "Hello" })).text, "Shown.");
    assert.equal(told.length, 2);
    await memory.close();
  });

  test(name("a wrapped model has the memory's context in front of each question, and its answers are stored"), async () => {
    const memory = await open();
    const bytes = new Uint8Array([137, 80, 78, 71, 13, 10, 26, 10]);
    const { model, prompts } = modelOf(major, [{ type: "text", text: "Noted.", providerMetadata: { x: { y: 1 } } }], "8471.", "A picture.");
    const wrapped = ai.wrapLanguageModel({ model, middleware: memoryMiddleware({ memory, conversationId: "m", specificationVersion: major.version }) });
    await ai.generateText({ model: wrapped, system: "Be terse.", messages: [{ role: "user", content: [{ type: "text", text: "We use port 8471." }, { type: "file", mediaType: "image/png", data: bytes }] }] });
    const streamed = ai.streamText({ model: wrapped, system: "Be terse.", prompt: "Which port?" });
    assert.equal(await streamed.text, "8471.");
    assert.equal(roles(prompts[1]), "system user assistant user");
    const file = prompts[1][1].content.find(({ type }) => type === "file");
    const base64 = Buffer.from(bytes).toString("base64");
    assert.deepEqual(file.data, major.version === "v4" ? { type: "data", data: base64 } : base64);
    assert.deepEqual(prompts[1][2].content[0], { type: "text", text: "Noted.", providerOptions: { x: { y: 1 } } });
    assert.equal(roles(await memory.history("m")), "user assistant user assistant");
    assert.deepEqual((await memory.history("m")).at(-1), { role: "assistant", content: [{ type: "text", text: "8471." }] });
    await memory.close();
  });

  test(name("a wrapped model that is stopped leaves what had arrived"), async () => {
    const memory = await open();
    const { model, prompts } = modelOf(major, "Half of the.........", "Whole.");
    const wrapped = ai.wrapLanguageModel({ model, middleware: memoryMiddleware({ memory, conversationId: "m", specificationVersion: major.version }) });
    const controller = new AbortController();
    const stopped = ai.streamText({ model: wrapped, prompt: "Tell me", abortSignal: controller.signal, maxRetries: 0, onError() {} });
    for await (const part of stopped.fullStream) if (part.type === "text-delta") controller.abort();
    while ((await memory.history("m")).length < 2) await new Promise((resolve) => setTimeout(resolve, 2));
    const [, half] = await memory.history("m", { withStatus: true });
    assert.deepEqual([half.status, textOf(half.message)], ["aborted", "Half of th"]);
    assert.equal(await ai.streamText({ model: wrapped, prompt: "Go on" }).text, "Whole.");
    assert.equal(roles(prompts[1]), "user assistant user");
    await memory.close();
  });

  test(name("a wrapped model in a loop of tools, and one that fails first, store each message once"), async () => {
    const memory = await open();
    const busy = new ai.APICallError({ message: "busy", url: "u", requestBodyValues: {}, isRetryable: true, statusCode: 503, responseHeaders: { "retry-after-ms": "1" } });
    const { model, prompts } = modelOf(major, busy, [call("t1"), call("t2", '{"city":"Rome"}')], "Rain and sun.");
    const wrapped = ai.wrapLanguageModel({ model, middleware: memoryMiddleware({ memory, conversationId: "m", specificationVersion: major.version }) });
    const { text } = await ai.generateText({ model: wrapped, prompt: "Weather?", tools: { weather: weather(({ city }) => ({ city, sky: "?" })) }, stopWhen: ai.stepCountIs?.(5) ?? ai.isStepCount(5) });
    assert.equal(text, "Rain and sun.");
    assert.equal(roles(prompts.at(-1)), "user assistant tool");
    const stored = await memory.history("m");
    assert.equal(roles(stored), "user assistant tool assistant");
    assert.deepEqual(stored[1].content.map(({ toolCallId, input }) => [toolCallId, input.city]), [["t1", "Oslo"], ["t2", "Rome"]]);
    await memory.close();
  });

  test(name("prepareStep sends the memory's context at each step, and each step is stored once"), async () => {
    for (const run of [ai.generateText, async (options) => ({ text: await ai.streamText(options).text })]) {
      const memory = await open();
      await memory.conversations.create({ id: "s" });
      await memory.append("s", [{ role: "user", content: "We live in Oslo." }, { role: "assistant", content: "Good to know." }]);
      const { model, prompts } = modelOf(major, [call("t1")], [call("t2", '{"city":"Rome"}')], "Rain and sun.");
      const { prepareStep, onStepFinish } = memorySteps({ memory, conversationId: "s", system: "Be terse." });
      const { text } = await run({ model, prompt: "Weather?", tools: { weather: weather(({ city }) => `${city}: ?`) }, stopWhen: ai.stepCountIs?.(5) ?? ai.isStepCount(5), prepareStep, onStepFinish });
      assert.equal(text, "Rain and sun.");
      assert.equal(roles(prompts[2]), "system user assistant user assistant tool assistant tool");
      assert.match(prompts[2][0].content, /^Be terse\./);
      assert.equal(roles(await memory.history("s")), "user assistant user assistant tool assistant tool assistant");
      await memory.close();
    }
  });

  test(name("its models are the memory's own; a failure shows nothing of the request"), async () => {
    const failing = new ai.APICallError({ message: WORDS, url: "u", requestBodyValues: { prompt: WORDS }, statusCode: 400, isRetryable: false });
    const { model, calls } = modelOf(major, '{"facts":[]}', failing);
    const used = [];
    const languageModel = aiSdkLanguageModel({ model: () => model, contextWindow: 8_000, extraTokens: 100, onUsage: (usage) => used.push(usage), call: { temperature: 0 } });
    const request = generateRequest();
    assert.equal(await languageModel.generate(request), '{"facts":[]}');
    const { prompt, maxOutputTokens, responseFormat, temperature, abortSignal } = calls[0];
    assert.deepEqual([maxOutputTokens, temperature, abortSignal], [300, 0, request.signal]);
    assert.deepEqual(responseFormat, { type: "json", schema: request.schema, name: "extract" });
    assert.deepEqual(prompt, [{ role: "system", content: "Find facts." }, { role: "user", content: [{ type: "text", text: WORDS }] }]);
    assert.deepEqual(used.map(({ inputTokens, outputTokens, purpose }) => [inputTokens, outputTokens, purpose]), [[1, 1, "extract"]]);
    await assert.rejects(languageModel.generate(request), failsWith("model_failed", { retryable: false, details: { reason: "AI_APICallError", status: 400 } }));
    await assert.rejects(languageModel.generate(generateRequest({ signal: AbortSignal.abort() })), failsWith("aborted"));
    const sizes = [];
    const embedding = new major.EmbeddingModel({ maxEmbeddingsPerCall: 2, doEmbed: async ({ values }) => (sizes.push(values.length), { embeddings: values.map((text) => [text.length, 1]), warnings: [] }) });
    const embedder = aiSdkEmbedder({ model: embedding, dimensions: 2 });
    const vectors = await embedder.embed(["a", "bb", "ccc"], { signal: request.signal });
    assert.deepEqual([sizes, vectors.map(([length]) => length)], [[2, 1], [1, 2, 3]]);
    assert.equal(embedder.id, "mock-provider:mock-model-id:2");
  });
}
