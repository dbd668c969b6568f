import { openAiChat, openAiLanguageModel } from "throughline/openai";

// Any server that speaks OpenAI's protocol; without settings, an Ollama of this machine.
const { MODEL_URL = "http://localhost:11434/v1", MODEL = "qwen3:8b", MODEL_KEY } = process.env;
const server = { baseUrl: MODEL_URL, model: MODEL, ...(MODEL_KEY && { apiKey: MODEL_KEY }) };

/** Tokens that fit the model, and those of them that are kept for its answer. */
export const WINDOW = { window: 32_000, reserve: 4_000 };
/** Answers the user. */
export const chatModel = openAiChat(server);
/** Makes summaries and finds facts, in the background; a cheaper model will do. */
export const backgroundModel = openAiLanguageModel({ ...server, contextWindow: WINDOW.window });
