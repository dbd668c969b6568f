import type { MemoryTool, ToolCallOptions, ToolSchema } from "./memory-tool.js";

/** A tool as OpenAI's chat completions, and what is compatible with them, take it. */
export interface OpenAiTool {
  type: "function";
  function: { name: string; description: string; parameters: ToolParameters };
}

/** A tool as OpenAI's Responses take it. */
export interface OpenAiResponsesTool {
  type: "function";
  name: string;
  description: string;
  parameters: ToolParameters;
  strict: false;
}

/** A tool as Anthropic's Messages take it. */
export interface AnthropicTool {
  name: string;
  description: string;
  input_schema: ToolParameters;
}

/** A JSON Schema of arguments, as providers' types want it: open and changeable. */
export type ToolParameters = Record<string, unknown> & { type: "object"; required: string[]; additionalProperties: false };

/** The tools for `tools` of OpenAI's chat completions. */
export function openAiTools(tools: readonly MemoryTool[]): OpenAiTool[] {
  return tools.map(({ name, description, inputSchema }) => ({ type: "function", function: { name, description, parameters: copyOf(inputSchema) } }));
}

/** The tools for `tools` of OpenAI's Responses. */
export function openAiResponsesTools(tools: readonly MemoryTool[]): OpenAiResponsesTool[] {
  return tools.map(({ name, description, inputSchema }) => ({ type: "function", name, description, parameters: copyOf(inputSchema), strict: false }));
}

/** The tools for `tools` of Anthropic's Messages. */
export function anthropicTools(tools: readonly MemoryTool[]): AnthropicTool[] {
  return tools.map(({ name, description, inputSchema }) => ({ name, description, input_schema: copyOf(inputSchema) }));
}

/** A tool as the AI SDK takes it; `Schema` is its own type of schemas. */
export interface AiSdkTool<Schema> {
  description: string;
  inputSchema: Schema;
  execute: (input: unknown, options: { abortSignal?: AbortSignal | undefined }) => Promise<string>;
}

/**
 * The tools for `tools` of the AI SDK's `generateText`, `streamText` and agents, by their names.
 *
 * ```ts
 * import { jsonSchema } from "ai";
 * const tools = aiSdkTools(memoryTools(memory), jsonSchema);
 * ```
 *
 * @param jsonSchema The AI SDK's own function of this name.
 */
export function aiSdkTools<Schema>(tools: readonly MemoryTool[], jsonSchema: (schema: ToolParameters) => Schema): Record<string, AiSdkTool<Schema>> {
  const entries = tools.map((tool): [string, AiSdkTool<Schema>] => [
    tool.name,
    {
      description: tool.description,
      inputSchema: jsonSchema(copyOf(tool.inputSchema)),
      execute: (input, { abortSignal }) => tool.execute(input, callOptions(abortSignal)),
    },
  ]);
  return Object.fromEntries(entries);
}

function callOptions(signal: AbortSignal | undefined): ToolCallOptions {
  return signal === undefined ? {} : { signal };
}

function copyOf({ type, properties, required }: ToolSchema): ToolParameters {
  return { type, properties: structuredClone(properties), required: [...required], additionalProperties: false };
}
