// The majors of the AI SDK with models that answer from a script, and a chat client without a framework.
import * as ai5 from "ai-5";
import * as test5 from "ai-5/test";
import * as ai6 from "ai";
import * as test6 from "ai/test";
import * as ai7 from "ai-7";
import * as test7 from "ai-7/test";

export const MAJORS = [
  { major: 5, ai: ai5, version: "v2", Model: test5.MockLanguageModelV2, EmbeddingModel: test5.MockEmbeddingModelV2 },
  { major: 6, ai: ai6, version: "v3", Model: test6.MockLanguageModelV3, EmbeddingModel: test6.MockEmbeddingModelV3 },
  { major: 7, ai: ai7, version: "v4", Model: test7.MockLanguageModelV4, EmbeddingModel: test7.MockEmbeddingModelV4 },
];

/**
 * A model that answers with one list of content after the other, the last one again from then on. A text is an answer of one text; an
 * error is thrown. `prompts` has what it was asked.
 */
export function modelOf({ version, Model }, ...answers) {
  const prompts = [];
  const next = ({ prompt }) => {
    const answer = answers[Math.min(prompts.length, answers.length - 1)];
    prompts.push(structuredClone(prompt));
    if (answer instanceof Error) throw answer;
    return typeof answer === "string" ? [{ type: "text", text: answer }] : answer;
  };
  const ending = (content) => {
    const reason = content.some(({ type }) => type === "tool-call") ? "tool-calls" : "stop";
    const old = version === "v2";
    return {
      finishReason: old ? reason : { unified: reason, raw: reason },
      usage: old ? { inputTokens: 1, outputTokens: 1, totalTokens: 2 } : { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    };
  };
  const model = new Model({
    doGenerate: async (options) => {
      const content = next(options);
      return { content, ...ending(content), warnings: [] };
    },
    doStream: async (options) => {
      const content = next(options);
      const parts = content.flatMap((part, id) => (part.type === "text" || part.type === "reasoning" ? streamed(part, String(id)) : [part]));
      return { stream: slowly([{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", ...ending(content) }], options.abortSignal) };
    },
  });
  return { model, prompts, calls: model.doGenerateCalls };
}

function streamed({ type, text, providerMetadata }, id) {
  const half = Math.ceil(text.length / 2);
  const deltas = [text.slice(0, half), text.slice(half)].filter((delta) => delta !== "");
  const more = providerMetadata === undefined ? {} : { providerMetadata };
  return [{ type: `${type}-start`, id }, ...deltas.map((delta) => ({ type: `${type}-delta`, id, delta })), { type: `${type}-end`, id, ...more }];
}

/** Parts that come one by one, until the caller aborts. A part "..." never comes. */
function slowly(parts, signal) {
  let index = 0;
  return new ReadableStream({
    async pull(controller) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (parts[index]?.delta?.includes("...") && !signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      if (signal?.aborted) controller.error(signal.reason);
      else if (index < parts.length) controller.enqueue(parts[index++]);
      else controller.close();
    },
  });
}

/** A chat as `useChat` has it, with plain fields for its state. */
export function chatOf({ ai }, options) {
  const state = {
    status: "ready",
    error: undefined,
    messages: [],
    pushMessage: (message) => void state.messages.push(message),
    popMessage: () => void state.messages.pop(),
    replaceMessage: (index, message) => void (state.messages[index] = structuredClone(message)),
    snapshot: (value) => structuredClone(value),
  };
  return new (class extends ai.AbstractChat {})({ ...options, state });
}
