// What a context holds goes into the providers' own clients as it is.
import type Anthropic from "@anthropic-ai/sdk";
import type { Content } from "@google/genai";
import type OpenAI from "openai";
import type { Memory } from "throughline";

export async function requests(memory: Memory, conversationId: string): Promise<object[]> {
  const openai = await memory.buildContext({ conversationId, format: "openai" });
  const chat: OpenAI.ChatCompletionCreateParams = { model: "m", messages: [{ role: "system", content: openai.system }, ...openai.messages] };
  const anthropic = await memory.buildContext({ conversationId, format: "anthropic" });
  const message: Anthropic.MessageCreateParams = { model: "m", max_tokens: 100, system: anthropic.system, messages: anthropic.messages };
  const gemini = await memory.buildContext({ conversationId, format: "gemini" });
  const contents: Content[] = gemini.messages;
  return [chat, message, contents];
}
