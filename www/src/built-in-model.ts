/** The model that is built into Chrome and Edge. */

import { chromeAiAvailability, createChromeAi, type ChromeAiAvailability } from "throughline/chrome-ai";
import { sendable, type ChatModel } from "./chat-model.ts";

export type { ChromeAiAvailability } from "throughline/chrome-ai";

/** How far it is. */
export function builtInAvailability(): Promise<ChromeAiAvailability> {
  return chromeAiAvailability().catch(() => "unavailable" as const);
}

/** Turns it on; downloads it first where it is not there, which only a click may start. */
export async function builtInModel(onDownload: (share: number) => void, signal: AbortSignal): Promise<ChatModel> {
  const builtIn = await createChromeAi({ onDownload, signal });
  const chat = builtIn.chat();
  return {
    name: "the browser's own model",
    place: "this browser",
    contextWindow: builtIn.contextWindow,
    profile: "prompt-api",
    destination: "local",
    languageModel: builtIn.languageModel,
    stream: (messages, _maxTokens, stop) => chat.send(sendable(messages), { signal: stop }),
    close: () => chat.close(),
  };
}
