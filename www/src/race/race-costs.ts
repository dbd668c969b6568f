/** What each way of sending costs: tokens by how they are charged, by one provider's rules, and their price in money. */

import { PromptCache, type CachedRequest, type Charge, type PriceRule } from "../../../bench/cost/prompt-cache.mjs";
import type { RaceRun, Window } from "./race-run.ts";

/** The ways that race. */
export type LaneName = "replay" | "cached" | "engine";

/** In the order in which they are shown. */
export const LANES: readonly LaneName[] = ["replay", "cached", "engine"];

/** Prices in dollars per million tokens. */
export interface Prices {
  /** Of a plain input token. */
  input: number;
  /** Of one that is read from the cache. */
  read: number;
  /** Of one that is written to it. */
  written: number;
  /** Of one of the answer. */
  output: number;
}

/** The race's question on one lane, after one turn. */
export interface LaneTurn {
  /** Tokens of the whole prompt. */
  tokens: number;
  /** How they are charged, after everything that was sent before. */
  asked: Charge;
  /** How the turn's own request was charged. */
  sent: Charge;
}

/** One way of sending, over all turns that were run. */
export type Lane = readonly LaneTurn[];

/** All three lanes by a provider's rules, with the engine's window, as far as it was run. */
export function lanesOf(run: RaceRun, rule: PriceRule, window: Window, question: string): Record<LaneName, Lane> {
  const { sent, asked } = run.engine[window];
  const turns = asked.length;
  return {
    replay: lane(turns, rule, (turn) => run.replay(turn), (turn) => run.replay(turn + 1, question)),
    cached: lane(turns, rule, (turn) => run.cached(turn), (turn) => run.cached(turn + 1, question)),
    engine: lane(turns, rule, (turn) => sent[turn], (turn) => asked[turn]?.request),
  };
}

function lane(
  turns: number,
  rule: PriceRule,
  sentAt: (turn: number) => CachedRequest | undefined,
  askedAt: (turn: number) => CachedRequest | undefined,
): Lane {
  const cache = new PromptCache(rule);
  const all: LaneTurn[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const [request, question] = [sentAt(turn), askedAt(turn)];
    if (!request || !question) break;
    const sent = cache.send(request);
    const asked = cache.quote(question);
    all.push({ sent, asked, tokens: asked.read + asked.written + asked.plain });
  }
  return all;
}

/** Dollars of one request, without its answer. */
export function dollars({ plain, read, written }: Charge, prices: Prices): number {
  return (plain * prices.input + read * prices.read + written * prices.written) / 1e6;
}

/** Dollars of the whole conversation up to each turn, answers with it. */
export function sumsOf(turns: Lane, answers: readonly number[], prices: Prices): number[] {
  let sum = 0;
  return turns.map(({ sent }, turn) => (sum += dollars(sent, prices) + ((answers[turn] ?? 0) * prices.output) / 1e6));
}

/** How fast a model begins to answer, where it is not measured. */
export interface Pace {
  /** Seconds before anything is read. */
  start: number;
  /** Tokens read per second; what is in the cache is not read. */
  tokensPerSecond: number;
}

/** Seconds to the first token of the answer. */
export function firstToken({ plain, written }: Charge, pace: Pace): number {
  return pace.start + (plain + written) / pace.tokensPerSecond;
}
