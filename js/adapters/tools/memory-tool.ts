import type { AddFact, Fact, Memory, Tokenizer } from "../../index.js";

/** A JSON Schema (draft 2020-12) of a tool's arguments: an object without further properties. */
export interface ToolSchema {
  readonly type: "object";
  readonly properties: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly required: readonly string[];
  readonly additionalProperties: false;
}

/** Options of a tool's call. */
export interface ToolCallOptions {
  /** Rejects the call with `aborted`. */
  signal?: AbortSignal | undefined;
}

/** A tool that a model can call. */
export interface MemoryTool {
  /** `search_memory`, `add_memory` or `recall_range`. */
  readonly name: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: ToolSchema;
  /** Whether it changes nothing. */
  readonly readOnly: boolean;
  /**
   * Carries it out.
   *
   * @param input What the model gave as arguments, of any type.
   * @returns JSON text for the model, of `maxResultTokens` at most.
   * @throws `invalid_argument` for arguments that do not fit the schema, and what the memory's calls reject with.
   */
  execute(input: unknown, options?: ToolCallOptions): Promise<string>;
}

/** The part of a memory that the tools use. */
export interface ToolMemory {
  readonly recall: Memory["recall"];
  readonly history: Memory["history"];
  readonly conversations: Pick<Memory["conversations"], "get">;
  readonly facts: Pick<Memory["facts"], "add" | "search">;
}

/** Options of `memoryTools`. */
export interface MemoryToolsOptions {
  /**
   * Where the results go: to a model elsewhere, or on this device. For one elsewhere what was marked `localOnly` is left
   * out. Default `"remote"`.
   */
  destination?: "remote" | "local";
  /** The conversation that the model is in: it may be read even where it is not remembered. Default none. */
  conversationId?: string;
  /** Only conversations of this project are searched and read. Default: all that are remembered. */
  projectId?: string;
  /** Most tokens of one result, from 200. Default 2,000. */
  maxResultTokens?: number;
  /** How results are counted; give what the memory was opened with. Default `"o200k_base"`. */
  tokenizer?: Tokenizer;
  /**
   * Asks the user whether a fact that the model wants to add may be remembered. True: it counts as confirmed by them.
   * Without it, what a model adds waits for `facts.approve`, and is in no context until then.
   */
  confirm?: (fact: Pick<AddFact, "fact" | "category">, options: ToolCallOptions) => boolean | Promise<boolean>;
  /** Told of each fact that was added or waits for approval. */
  onFact?: (fact: Fact) => void;
}

/** Options with their defaults. */
export type CheckedToolsOptions = MemoryToolsOptions & Required<Pick<MemoryToolsOptions, "destination" | "maxResultTokens" | "tokenizer">>;
