/**
 * Tools with which a model looks into a memory itself: `search_memory`, `recall_range`, `add_memory`.
 *
 * ```ts
 * import { memoryTools, openAiTools, runMemoryTool } from "throughline/tools";
 *
 * const tools = memoryTools(memory);
 * const request = { model, messages, tools: openAiTools(tools) };
 * // For each call that the model makes:
 * const { content } = await runMemoryTool(tools, call.function.name, call.function.arguments, { signal });
 * ```
 */

import { isMemoryError, MemoryError } from "../errors.js";
import { requireId, requireOptions } from "../arguments.js";
import { addMemoryTool } from "./tools/add-memory.js";
import type { MemoryTool, MemoryToolsOptions, ToolCallOptions, ToolMemory } from "./tools/memory-tool.js";
import { recallRangeTool } from "./tools/recall-range.js";
import { searchMemoryTool } from "./tools/search-memory.js";

export type { MemoryTool, MemoryToolsOptions, ToolCallOptions, ToolMemory, ToolSchema } from "./tools/memory-tool.js";
export { aiSdkTools, anthropicTools, openAiResponsesTools, openAiTools } from "./tools/tool-shapes.js";
export type { AiSdkTool, AnthropicTool, OpenAiResponsesTool, OpenAiTool, ToolParameters } from "./tools/tool-shapes.js";

/** Less than this says nothing. */
const LEAST_RESULT_TOKENS = 200;

/**
 * The tools over a memory, as plain data and functions: `search_memory`, `recall_range`, `add_memory`. Each can be left
 * out (`tools.filter(({ readOnly }) => readOnly)` cannot change anything).
 *
 * Results are old text: data for the model, never instructions, and they say so. What a model adds is not the user's word;
 * see {@link MemoryToolsOptions.confirm}.
 *
 * @throws `invalid_argument` for options that cannot be used.
 */
export function memoryTools(memory: ToolMemory, options: MemoryToolsOptions = {}): MemoryTool[] {
  requireOptions(options, "options", ["destination", "maxResultTokens", "tokenizer", "conversationId", "projectId", "confirm", "onFact"]);
  const { destination = "remote", maxResultTokens = 2_000, tokenizer = "o200k_base", conversationId, projectId, confirm } = options;
  if (destination !== "remote" && destination !== "local") throw refuse("destination must be \"remote\" or \"local\"");
  if (!Number.isInteger(maxResultTokens) || maxResultTokens < LEAST_RESULT_TOKENS) throw refuse(`maxResultTokens must be a whole number from ${LEAST_RESULT_TOKENS}`);
  if (confirm !== undefined && typeof confirm !== "function") throw refuse("confirm must be a function");
  if (conversationId !== undefined) requireId(conversationId, "options.conversationId");
  if (projectId !== undefined) requireId(projectId, "options.projectId");
  const checked = { ...options, destination, maxResultTokens, tokenizer };
  return [searchMemoryTool(memory, checked), recallRangeTool(memory, checked), addMemoryTool(memory, checked)];
}

/** What is sent back to the model for a call. */
export interface MemoryToolResult {
  /** JSON text of the answer, or what was wrong with the call. */
  content: string;
  /** The call failed in a way that the model can mend, or must be told. */
  isError: boolean;
}

/**
 * Carries out one call of a model. What the model got wrong (an unknown tool or conversation, arguments that do not fit, a
 * fact that may not be remembered) is an answer for it, with `isError`; everything else rejects.
 *
 * @param input The arguments: an object, or its JSON text as OpenAI gives it.
 * @throws `aborted`, `closed` and failures of storage.
 */
export async function runMemoryTool(tools: readonly MemoryTool[], name: string, input: unknown, options: ToolCallOptions = {}): Promise<MemoryToolResult> {
  try {
    const tool = tools.find((each) => each.name === name);
    if (tool === undefined) throw new MemoryError("not_found", `There is no such tool; the tools are ${tools.map((each) => each.name).join(", ")}.`);
    return { content: await tool.execute(parsed(input), options), isError: false };
  } catch (error) {
    if (isMemoryError(error, "invalid_argument") || isMemoryError(error, "not_found")) return { content: JSON.stringify({ error: error.message }), isError: true };
    throw error;
  }
}

function parsed(input: unknown): unknown {
  if (typeof input !== "string") return input;
  try {
    return JSON.parse(input === "" ? "{}" : input);
  } catch {
    throw new MemoryError("invalid_argument", "The arguments are not JSON.");
  }
}

function refuse(what: string): MemoryError {
  return new MemoryError("invalid_argument", `memoryTools: ${what}.`);
}
