/** A model as a provider names it. */
export interface ModelName {
  /** Who runs it, e.g. `"anthropic"`. 1 to 512 bytes. */
  provider: string;
  /** Its name there. 1 to 512 bytes. */
  model: string;
}

/**
 * What a provider billed for one call: `usage` of every chat adapter's answer. Numbers are whole, from 0; leave out what the
 * provider does not tell.
 */
export interface ReportedUsage extends ModelName {
  /** Tokens of the request, those from the cache included. */
  inputTokens?: number | undefined;
  /** Tokens of the answer. */
  outputTokens?: number | undefined;
  /** Of `inputTokens`, those read from the provider's cache. */
  cachedTokens?: number | undefined;
}

/** What became of a report. It is added up in any case. */
export interface UsageTaken {
  /**
   * What it taught about how the model counts.
   *
   * - `learned`: it was compared with the count of the conversation's last context.
   * - `exact`: the model counts as this memory's tokenizer does, so there is nothing to correct.
   * - `no_input_tokens`: it does not say what the request took.
   * - `no_context`: this memory has built no context of the conversation since the last report, or since it was opened. So the
   *   second call of a turn, which has results of tools behind the context, is only added up.
   * - `too_short`: fewer than 500 tokens were counted, where the frame of a request weighs more than the tokenizer.
   * - `implausible`: it is less than half or more than twice what was counted, so it is for something else.
   */
  lesson: "learned" | "exact" | "no_input_tokens" | "no_context" | "too_short" | "implausible";
  /** What is counted for this model is multiplied by this from now on: 0.5 to 2, in steps of 1/128; 1: as it is counted. */
  correction: number;
}

/** The sums of what was reported for one model. */
export interface ModelUsage extends ModelName {
  /** When it was reported first, milliseconds since 1970. */
  since: number;
  /** When it was reported last. */
  lastAt: number;
  /** Reports. */
  calls: number;
  /** Tokens of their requests, those from the cache included. */
  inputTokens: number;
  /** Tokens of their answers. */
  outputTokens: number;
  /** Tokens of their requests that came from the provider's cache. */
  cachedTokens: number;
  /** What is counted for it is multiplied by this; 1: as it is counted. */
  correction: number;
  /** What counted the contexts that the correction comes from, e.g. `o200k_base/1`; empty: nothing was learned yet. */
  countedWith: string;
  /** Thousandths of their count that the last contexts were billed as, oldest first; fifteen at most. */
  billedPerThousand: number[];
}
