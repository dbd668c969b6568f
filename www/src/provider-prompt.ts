/** The body of a request for a context, in the words of each provider, as the package's adapters write it. */

import type { BuildContextRequest, Context, Memory, MessageFormat } from "throughline";

/** A format that can be copied. */
export interface PromptFormat {
  id: string;
  label: string;
  format: MessageFormat;
  /** The body; fields that the app chooses (model, longest answer) are named. */
  write: (context: Context) => Promise<object> | object;
}

/** What stands for the model's name, which the app chooses. */
const MODEL = "your-model";

/** The formats, the page's own first. */
export const PROMPT_FORMATS: readonly PromptFormat[] = [
  {
    id: "openai", label: "OpenAI", format: "openai",
    write: async (context) => (await import("throughline/openai")).openAiRequest(context, { model: MODEL }),
  },
  {
    id: "openai-responses", label: "OpenAI Responses", format: "openai-responses",
    write: ({ system, messages }) => ({ model: MODEL, ...(system === "" ? {} : { instructions: system }), input: messages }),
  },
  {
    id: "anthropic", label: "Anthropic", format: "anthropic",
    write: async (context) => (await import("throughline/anthropic")).anthropicRequest(context, { model: MODEL }),
  },
  {
    id: "gemini", label: "Gemini", format: "gemini",
    write: async (context) => (await import("throughline/gemini")).geminiRequest(context),
  },
  {
    id: "ai-sdk", label: "AI SDK", format: "ai-sdk-model",
    write: ({ system, messages }) => ({ system, messages }),
  },
  {
    id: "langchain", label: "LangChain", format: "langchain",
    write: ({ system, messages }) => ({ system, messages }),
  },
];

/** The body as text. `context` is the page's own; others are built for their format from the same request. */
export async function promptText(memory: Memory, request: BuildContextRequest, context: Context, chosen: PromptFormat): Promise<string> {
  const isOwn = chosen.format === (request.format ?? "openai");
  // The rules of the model that is on are not those of another format.
  const { profile: _profile, ...plain } = request;
  const built = isOwn ? context : await memory.buildContext({ ...plain, format: chosen.format });
  return JSON.stringify(await chosen.write(built), null, 2);
}
