// How providers charge for prompts whose start they have in their cache. A price is a factor on that of a plain input token.

/**
 * `how`: `marks`, the request says where the cache may stop; `automatic`, whatever start it shares with the request before is
 * read; `whole`, only where the whole request before is its start; `none`. `from`: shorter starts are not kept, in tokens.
 * `lookBack`: so many blocks in front of a mark are looked at for what is kept. `written`, `read`: prices. Lifetimes are five
 * minutes or about that: a conversation that goes on keeps its cache, one with a longer pause loses it.
 *
 * Sources: the providers' documentation as of 2026 (Anthropic "Prompt caching", OpenAI "Prompt caching", Google "Context
 * caching"); of WebLLM its source. The discount of reading is a tenth with the models meant here; older ones have others.
 *
 * @type {readonly import("./prompt-cache.mjs").PriceRule[]}
 */
export const PRICE_RULES = [
  { name: "Anthropic, models that keep 1,024", how: "marks", from: 1_024, lookBack: 20, written: 1.25, read: 0.1 },
  { name: "Anthropic, models that keep 4,096", how: "marks", from: 4_096, lookBack: 20, written: 1.25, read: 0.1 },
  { name: "OpenAI up to GPT-5.5", how: "automatic", from: 1_024, written: 1, read: 0.1 },
  { name: "OpenAI from GPT-5.6", how: "marks", from: 1_024, lookBack: 80, written: 1.25, read: 0.1 },
  { name: "Gemini 2.5", how: "automatic", from: 2_048, written: 1, read: 0.1 },
  { name: "Gemini 3", how: "automatic", from: 4_096, written: 1, read: 0.1 },
  { name: "no cache", how: "none", from: 0, written: 1, read: 1 },
  { name: "llama.cpp, Ollama: tokens to be read anew", how: "automatic", from: 0, written: 1, read: 0, isTime: true },
  { name: "WebLLM: tokens to be read anew", how: "whole", from: 0, written: 1, read: 0, isTime: true },
];

/** What an output token costs, in input tokens: what most models of these providers ask, and an assumption all the same. */
export const OUTPUT_PRICE = 5;
