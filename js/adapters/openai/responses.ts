import { MemoryError } from "../../errors.js";
import { startAnswer, type ChatAnswer, type SendableContext } from "../provider/chat-answer.js";
import { brokenAnswer, refusal } from "../provider/provider-error.js";
import { DONE, addressBelow, postStream } from "../provider/provider-request.js";
import type { OpenAiOptions, SendOptions } from "./chat.js";
import { ResponseItems, type FinishedResponse } from "./response.js";
import { openAiResponsesRequest, type OpenAiResponsesRequestOptions } from "./responses-request.js";
import { OPENAI, unreachableServer } from "./server-hints.js";

/** Options of {@link openAiResponses}. */
export interface OpenAiResponsesOptions extends Omit<OpenAiOptions, "maxTokensField">, OpenAiResponsesRequestOptions {}

/** A model to chat with. */
export interface OpenAiResponses {
  /** Sends a context, and answers at once; the answer arrives in it. */
  send(context: SendableContext, options?: SendOptions): ChatAnswer<FinishedResponse>;
}

/**
 * A model behind a Responses endpoint (`/v1/responses`), to chat with by contexts of `format: "openai-responses"`. The provider is
 * asked to store nothing: every request brings what it needs.
 */
export function openAiResponses(options: OpenAiResponsesOptions): OpenAiResponses {
  const { baseUrl = OPENAI, model } = options;
  if (typeof model !== "string" || model === "") throw new MemoryError("invalid_config", "Option model must name the model.");
  return {
    send(context, { signal, ...own } = {}) {
      const body = { ...openAiResponsesRequest(context, { ...options, ...own }), stream: true, ...options.body };
      const request = {
        options, body, headers: {}, url: addressBelow(baseUrl, "responses"), keyHeader: ["authorization", "Bearer "] as const,
        failure: "model_failed" as const, unreachable: unreachableServer,
      };
      return startAnswer(signal, (own, give) => postStream({ ...request, signal: own }, (events) => read(events, give)));
    },
  };

  async function read(events: AsyncIterable<unknown>, give: (piece: string) => void): Promise<FinishedResponse> {
    const response = new ResponseItems(model);
    const { origin } = new URL(baseUrl, globalThis.location?.href);
    for await (const event of events) {
      if (event === DONE) break;
      give(response.add(event));
      if (response.failure !== undefined) throw refusal("model_failed", origin, { body: response.failure });
      if (response.isFinished) break;
    }
    if (!response.isFinished) throw brokenAnswer("model_failed", origin, "ended before it was whole");
    return response.finish();
  }
}
