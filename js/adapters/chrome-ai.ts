/** `throughline/chrome-ai`: the model that is built into Chrome and Edge (the Prompt API). It needs a page: workers have none. */

import type { GenerateRequest, LanguageModel } from "../types/options.js";
import { builtInApi, expectations, failureOf, missing, openSession, windowOf, type ChromeAiAvailability, type SessionOptions } from "./chrome-ai/built-in.js";
import { BuiltInConversation } from "./chrome-ai/conversation.js";
import { startAnswer, type ChatAnswer, type SendableContext } from "./provider/chat-answer.js";

export type { BuiltInApi, BuiltInMessage, BuiltInSession, ChromeAiAvailability, SessionOptions } from "./chrome-ai/built-in.js";
export type { AnswerUsage, ChatAnswer, FinishedAnswer, FinishReason, SendableContext } from "./provider/chat-answer.js";

/** Options of {@link createChromeAi}. */
export interface ChromeAiOptions extends SessionOptions {
  /** Told how much of the model is downloaded, 0 to 1. Only a click of the user may start a download. */
  onDownload?: (share: number) => void;
  /** Gives up waiting for the download. */
  signal?: AbortSignal;
}

/** A conversation with the model. */
export interface ChromeAiChat {
  /**
   * Sends a context of `format: "openai"` and `profile: "prompt-api"`, and answers at once; the answer arrives in it. While
   * contexts only grow, one session reads only what is new.
   */
  send(context: SendableContext, options?: { signal?: AbortSignal }): ChatAnswer;
  /** Releases its session. */
  close(): void;
}

/** The built-in model. */
export interface ChromeAi {
  /** Tokens that fit it, input and output together: `buildContext({ window: chromeAi.contextWindow, profile: "prompt-api" })`. */
  readonly contextWindow: number;
  /** For `createMemory`. Nothing leaves the device. */
  readonly languageModel: LanguageModel;
  /** A conversation: one for each chat that is open. */
  chat(): ChromeAiChat;
}

/** Whether there is a model. Asks for nothing and downloads nothing. */
export async function chromeAiAvailability(options: SessionOptions = {}): Promise<ChromeAiAvailability> {
  const api = builtInApi(options.api);
  if (api === undefined) return "unsupported";
  const answer = await api.availability(expectations(options) as never);
  return answer === "downloadable" || answer === "downloading" || answer === "available" ? answer : "unavailable";
}

/**
 * The built-in model, once it is there. Downloads it where it is not.
 *
 * @throws `model_failed` with `details.reason`: `unsupported`, `unavailable`, or the name of the browser's error
 * (`NotAllowedError`: a download that no click asked for); `aborted`.
 */
export async function createChromeAi(options: ChromeAiOptions = {}): Promise<ChromeAi> {
  const availability = await chromeAiAvailability(options);
  if (availability === "unsupported" || availability === "unavailable") throw missing(availability);
  // Only a session tells how much fits.
  const first = await openSession(options, [], options.signal);
  const contextWindow = Math.max(1_024, Math.floor(windowOf(first) ?? 4_096));
  first.destroy();
  return {
    contextWindow,
    languageModel: { contextWindow, remote: false, generate: (request) => generate(options, request) },
    chat() {
      const conversation = new BuiltInConversation(options);
      return {
        send: (context, { signal } = {}) => startAnswer(signal, (inner, give) => conversation.ask(context, inner, give)),
        close: () => conversation.close(),
      };
    },
  };
}

async function generate(options: SessionOptions, request: GenerateRequest): Promise<string> {
  const { system, messages, schema, signal } = request;
  const history = messages.map(({ role, content }) => ({ role, content }));
  const question = history.pop()?.content ?? "";
  const session = await openSession({ languages: options.languages ?? ["en"], ...(options.api === undefined ? {} : { api: options.api }) }, [{ role: "system", content: system }, ...history], signal);
  try {
    // The prompt says what the schema says already.
    const constraint = schema === undefined ? {} : { responseConstraint: schema, omitResponseConstraintInput: true };
    return await session.prompt(question, { signal, ...constraint } as never);
  } catch (error) {
    throw failureOf(error, signal);
  } finally {
    session.destroy();
  }
}
