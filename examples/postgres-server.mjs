// A chat server that remembers, in plain Node: npm install throughline pg, then
//   DATABASE_URL=postgres://... MODEL_URL=http://localhost:11434/v1 MODEL=qwen3:8b node postgres-server.mjs
// POST { "conversationId", "question" } with the header x-user (your own sign-in goes there) streams the answer.
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { createMemory, isMemoryError } from "throughline";
import { openAiChat, openAiLanguageModel } from "throughline/openai";
import { postgresStorage } from "throughline/postgres";

const { DATABASE_URL, MODEL_URL, MODEL, MODEL_KEY, PORT = "8080" } = process.env;
const server = { baseUrl: MODEL_URL, model: MODEL, ...(MODEL_KEY && { apiKey: MODEL_KEY }) };
const languageModel = openAiLanguageModel({ ...server, contextWindow: 32_000 });
const storage = postgresStorage({ connectionString: DATABASE_URL });
const memories = new Map();

function memoryOf(userId) {
  if (!memories.has(userId)) memories.set(userId, createMemory({ userId, storage, languageModel }));
  return memories.get(userId).catch((error) => (memories.delete(userId), Promise.reject(error)));
}

async function answer(request, response) {
  const { conversationId, question } = JSON.parse(await text(request));
  const memory = await memoryOf(String(request.headers["x-user"]));
  await memory.conversations.create({ id: conversationId }).catch((error) => isMemoryError(error, "conflict") || Promise.reject(error));
  await memory.append(conversationId, { role: "user", content: question }); // saved before anything can fail
  const context = await memory.buildContext({ conversationId, system: "You are terse.", window: 32_000, reserve: 4_000 });
  const reply = openAiChat(server).send(context);
  for await (const piece of reply) response.write(piece);
  await memory.append(conversationId, (await reply.finished).message);
  response.end(); // summaries and facts follow in the background
}

const http = createServer((request, response) => answer(request, response).catch((error) => (console.error(error), response.destroy())));
http.listen(Number(PORT), () => console.log("listening on", http.address().port));
