// LangChain's own runnables over a memory: history and retriever.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AIMessage, HumanMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { ChatPromptTemplate, MessagesPlaceholder } from "@langchain/core/prompts";
import { RunnableWithMessageHistory } from "@langchain/core/runnables";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { ThroughlineChatHistory, ThroughlineRetriever } from "throughline/langchain";

const open = () => createMemory({ storage: memoryStorage(), tokenizer: "estimate" });

test("RunnableWithMessageHistory keeps each turn and gives the earlier ones to the model", async () => {
  const memory = await open();
  const seen = [];
  const model = new FakeListChatModel({ responses: ["First answer", "Second answer"] });
  const prompt = ChatPromptTemplate.fromMessages([["system", "You are terse."], new MessagesPlaceholder("history"), ["human", "{input}"]]);
  const watched = prompt.pipe((value) => { seen.push(value.messages.length); return value; }).pipe(model);
  const chain = new RunnableWithMessageHistory({
    runnable: watched, inputMessagesKey: "input", historyMessagesKey: "history",
    getMessageHistory: (conversationId) => new ThroughlineChatHistory({ memory, conversationId, projectId: "p" }),
  });
  const config = { configurable: { sessionId: "chat-1" } };
  assert.equal((await chain.invoke({ input: "First question" }, config)).content, "First answer");
  assert.equal((await chain.invoke({ input: "Second question" }, config)).content, "Second answer");
  assert.deepEqual(seen, [2, 4]);
  const messages = await new ThroughlineChatHistory({ memory, conversationId: "chat-1" }).getMessages();
  assert.deepEqual(messages.map((message) => [message.getType(), message.content]), [["human", "First question"], ["ai", "First answer"], ["human", "Second question"], ["ai", "Second answer"]]);
  assert.equal((await memory.conversations.get("chat-1")).projectId, "p");
  const [group] = await memory.recall("second question", { topK: 1, before: 0, after: 0 });
  assert.equal(group.conversationId, "chat-1");
  await memory.close();
});

test("messages of every class come back as they were, tool calls and ids included", async () => {
  const memory = await open();
  const history = new ThroughlineChatHistory({ memory, conversationId: "c" });
  assert.deepEqual(await history.getMessages(), []);
  const given = [
    new SystemMessage("Rules"), new HumanMessage({ content: [{ type: "text", text: "Weather?" }], name: "ada" }),
    new AIMessage({ id: "a1", content: "", tool_calls: [{ id: "t1", name: "weather", args: { city: "Riga" } }], response_metadata: { model: "m" } }),
    new ToolMessage({ content: "sunny", tool_call_id: "t1" }),
  ];
  await history.addMessages(given);
  await history.addMessages(given.slice(2, 3));
  const read = await history.getMessages();
  assert.deepEqual(read.map((message) => JSON.parse(JSON.stringify(message.toDict()))), given.map((message) => JSON.parse(JSON.stringify(message.toDict()))));
  assert.ok(read[2] instanceof AIMessage && read[2].tool_calls[0].args.city === "Riga");
  const context = await memory.buildContext({ conversationId: "c", question: "And tomorrow?", format: "openai" });
  assert.ok(JSON.stringify(context.messages).includes("sunny"));
  await history.clear();
  assert.deepEqual(await history.getMessages(), []);
  await history.addUserMessage("Again");
  assert.equal((await history.getMessages()).length, 1);
  await memory.close();
});

test("two histories of one new session do not lose each other's messages", async () => {
  const memory = await open();
  const histories = [1, 2, 3].map(() => new ThroughlineChatHistory({ memory, conversationId: "new" }));
  await Promise.all(histories.map((history, index) => history.addUserMessage(`message ${index}`)));
  assert.equal((await histories[0].getMessages()).length, 3);
  assert.throws(() => new ThroughlineChatHistory({ memory, conversationId: "" }), (error) => isMemoryError(error, "invalid_argument"));
  await memory.close();
  await assert.rejects(histories[0].getMessages(), (error) => isMemoryError(error, "closed"));
});

test("the retriever answers with documents that say where they are from, and can be given up", async () => {
  const memory = await open();
  await memory.conversations.create({ id: "c" });
  await memory.append("c", [{ role: "user", content: "Which port for the importer?" }, { role: "assistant", content: "The importer listens on 8471." }]);
  await memory.append("c", { role: "user", content: "The importer diary is private" }, { localOnly: true });
  const retriever = new ThroughlineRetriever({ memory, topK: 5, tags: ["memory"] });
  const documents = await retriever.invoke("importer port");
  assert.match(documents[0].pageContent, /assistant: The importer listens on 8471\./);
  const { conversationId, from, to, hits, score } = documents[0].metadata;
  assert.ok(conversationId === "c" && from === 1 && to >= 2 && hits.length > 0 && score > 0);
  assert.ok(documents.every(({ pageContent }) => !pageContent.includes("private")), "what stays on this device");
  const joined = retriever.pipe((found) => found.map(({ pageContent }) => pageContent).join("\n"));
  assert.match(await joined.invoke("importer port"), /8471/);
  await assert.rejects(retriever.invoke("importer", { signal: AbortSignal.abort() }), (error) => isMemoryError(error, "aborted"));
  await memory.close();
  await assert.rejects(retriever.invoke("importer"), (error) => isMemoryError(error, "closed"));
});
