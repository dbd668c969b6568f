/** A provider's model as the language model of a memory. */

import { MemoryError } from "../../errors.js";
import type { GenerateRequest, LanguageModel, ModelPurpose } from "../../types/options.js";
import type { AnswerUsage, FinishedAnswer } from "./chat-answer.js";

/** What every adapter's language model can be given. */
export interface MemoryModelOptions {
  /** The model, or one for each purpose: `(purpose) => (purpose === "extract" ? "small" : "large")`. */
  model: string | ((purpose: ModelPurpose) => string);
  /** Tokens that fit the model, input and output together, from 1,024. */
  contextWindow: number;
  /** False for a model that runs on the user's own device or network: then it is shown what was marked `localOnly` too. Default true. */
  remote?: boolean;
  /** Told what each call took. */
  onUsage?: (usage: AnswerUsage & { purpose: ModelPurpose }) => void;
}

/** The model in the shape that `createMemory` takes. */
export function memoryModel(
  options: Omit<MemoryModelOptions, "model"> & { model?: unknown },
  call: (request: GenerateRequest) => Promise<FinishedAnswer>,
): LanguageModel {
  return {
    ...(typeof options.model === "string" && { id: options.model.slice(0, 128) }),
    contextWindow: options.contextWindow,
    remote: options.remote ?? true,
    async generate(request) {
      const { text, finishReason, usage } = await call(request);
      options.onUsage?.({ ...usage, purpose: request.purpose });
      if (finishReason === "length" && request.schema !== undefined) {
        throw new MemoryError(
          "model_output_invalid",
          `The model's answer was cut off at ${request.maxTokens} tokens. A model that reasons needs more: turn its reasoning down, or raise extraTokens.`,
        );
      }
      if (finishReason === "content_filter") {
        throw new MemoryError("model_failed", "The provider held the answer back.", { retryable: false, details: { reason: "content_filter" } });
      }
      return text;
    },
  };
}

/** The model's name for a purpose. */
export function modelFor(model: MemoryModelOptions["model"], purpose: ModelPurpose): string {
  return typeof model === "function" ? model(purpose) : model;
}
