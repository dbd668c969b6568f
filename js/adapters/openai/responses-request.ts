import type { SendableContext } from "../provider/chat-answer.js";

/** A request of its own. */
export interface OpenAiResponsesRequestOptions<Tool extends object = object> {
  /** The model. */
  model: string;
  /** Tool definitions: `{ type: "function", name, parameters, strict }`, or tools of the provider's own. */
  tools?: readonly Tool[];
  /** Longest answer, reasoning included, in tokens. Default: the model's own. */
  maxTokens?: number;
  /**
   * True asks for a reasoning model's reasoning in a sealed form, which is stored with the answer and goes along in the next turn.
   * Models that do not reason refuse it. Default false: reasoning is left out of the answer's items, since what is not stored at
   * the provider cannot be referred to.
   */
  sealedReasoning?: boolean;
}

/** The body of a request. */
export interface OpenAiResponsesRequest<Item extends object, Tool extends object> {
  model: string;
  instructions?: string;
  input: Item[];
  tools?: Tool[];
  max_output_tokens?: number;
  /** False: the provider keeps no copy of the conversation; everything that it needs is in the request. */
  store: false;
  include?: ["reasoning.encrypted_content"];
}

/**
 * The body of a Responses request for a context, for apps that send it themselves. The provider is asked to store nothing.
 *
 * @param context Built with `format: "openai-responses"`.
 */
export function openAiResponsesRequest<Item extends object, Tool extends object = object>(
  context: SendableContext<Item>,
  options: OpenAiResponsesRequestOptions<Tool>,
): OpenAiResponsesRequest<Item, Tool> {
  const { model, tools, maxTokens, sealedReasoning = false } = options;
  return {
    model,
    ...(context.system === "" ? {} : { instructions: context.system }),
    input: [...context.messages],
    ...(tools === undefined || tools.length === 0 ? {} : { tools: [...tools] }),
    ...(maxTokens === undefined ? {} : { max_output_tokens: maxTokens }),
    store: false,
    ...(sealedReasoning ? { include: ["reasoning.encrypted_content"] } : {}),
  };
}
