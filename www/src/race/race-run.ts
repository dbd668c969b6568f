/**
 * The sample as it goes, turn by turn: what the engine builds for each turn, and what it builds when the race's question is
 * asked there. Everything is counted and built here and now, in a memory of its own that ends with the run.
 */

import { countTokens, memoryStorage, type BuildContextRequest, type Context, type Memory, type RawMessage } from "throughline";
import { createMemoryClient } from "throughline/client";
import type { Block, CachedRequest } from "../../../bench/cost/prompt-cache.mjs";
import { engineRequest, plainStrategies, systemPieces, tokensOf } from "../../../bench/cost/strategies.mjs";
import { SYSTEM } from "../system-prompt.ts";
import { startWorker } from "../workers.ts";
import type { RaceSample } from "./race-sample.ts";

/** Windows of models: Chrome's built-in one and small local ones, local ones with more room, and those of the large providers. */
export const WINDOWS = [4_000, 10_000, 128_000] as const;

/** One of them. */
export type Window = (typeof WINDOWS)[number];

/** Tokens kept for the answer, in every window. */
export const RESERVE = 1_000;

const ENCODING = "o200k_base";
/** What a message costs beside its text, as in OpenAI's chat format. */
const MESSAGE_TOKENS = 4;
const CONVERSATION = "race";

/** The race's question, asked after a turn. */
export interface Asked {
  request: CachedRequest;
  /** The section that holds the answer; null: it is not in the prompt. */
  answerIn: string | null;
}

/** What the engine sends with one window. */
export interface EngineTurns {
  /** Each turn's own request. */
  sent: CachedRequest[];
  /** The race's question after each turn. */
  asked: Asked[];
}

/** Everything that would be sent. Turns are counted from 0 here. */
export interface RaceRun {
  replay: (turn: number, question?: string) => CachedRequest;
  cached: (turn: number, question?: string) => CachedRequest;
  /** By window; each grows while it is run, one window after the other. */
  engine: Readonly<Record<Window, EngineTurns>>;
  /** Tokens of the answers of each turn. */
  answers: readonly number[];
  /** Tokens of everything from the turn of the answer on, to the question asked after this turn. */
  sinceAnswer: (turn: number) => number;
}

/** Runs over all turns, with each window. `onTurn` is called after each turn; the run grows in place. */
export async function runRace(sample: RaceSample, onTurn: (run: RaceRun, window: Window) => void): Promise<void> {
  const counter = new BlockCounter();
  const texts = sample.turns.map((turn) => turn.map(textOf));
  await counter.count([SYSTEM, sample.question, ...texts.flat()]);
  const plain = plainStrategies(texts, SYSTEM, counter.block);
  const sizes = texts.map((turn) => tokensOf(turn.map(counter.block)));
  const asked = counter.block(SYSTEM).tokens + counter.block(sample.question).tokens;
  const run: RaceRun = {
    replay: plain["full replay, no cache"],
    cached: plain["full replay, cached"],
    engine: { 4_000: { sent: [], asked: [] }, 10_000: { sent: [], asked: [] }, 128_000: { sent: [], asked: [] } },
    answers: texts.map((turn) => tokensOf(turn.slice(1).map(counter.block))),
    sinceAnswer: (turn) => sizes.slice(sample.answerTurn - 1, turn + 1).reduce((sum, size) => sum + size, asked),
  };
  for (const window of WINDOWS) await runWindow(sample, window, run, counter, () => onTurn(run, window));
}

async function runWindow(sample: RaceSample, window: Window, run: RaceRun, counter: BlockCounter, onTurn: () => void): Promise<void> {
  const memory = await openMemory();
  const { asked, sent } = run.engine[window];
  const build = async (question?: string): Promise<Asked> => {
    const built = await memory.buildContext(requestOf(window, question));
    await counter.count([...systemPieces(built), ...built.messages.map(textOf)]);
    return { request: engineRequest(built, counter.block, textOf), answerIn: sectionOf(built, sample.evidence) };
  };
  try {
    for (const [first, ...others] of sample.turns) {
      if (first === undefined) continue;
      await memory.append(CONVERSATION, first, { format: "openai" });
      sent.push((await build()).request);
      if (others.length > 0) await memory.append(CONVERSATION, others, { format: "openai" });
      asked.push(await build(sample.question));
      onTurn();
    }
  } finally {
    await memory.close();
  }
}

/** The messages of two prompts as a model takes them: everything, and what the engine sends. `turn` is counted from 1. */
export async function promptsAt(sample: RaceSample, turn: number, window: Window): Promise<{ replay: RawMessage[]; engine: RawMessage[] }> {
  const messages = sample.turns.slice(0, turn).flat();
  const memory = await openMemory();
  try {
    await memory.append(CONVERSATION, messages, { format: "openai" });
    const { system, messages: built } = await memory.buildContext(requestOf(window, sample.question));
    return {
      replay: [{ role: "system", content: SYSTEM }, ...messages, { role: "user", content: sample.question }],
      engine: [{ role: "system", content: system }, ...built],
    };
  } finally {
    await memory.close();
  }
}

async function openMemory(): Promise<Memory> {
  const memory = await createMemoryClient(() => startWorker("engine"), { storage: memoryStorage(), tokenizer: ENCODING });
  await memory.conversations.create({ id: CONVERSATION });
  return memory;
}

function requestOf(window: number, question: string | undefined): BuildContextRequest {
  return { conversationId: CONVERSATION, window, reserve: RESERVE, system: SYSTEM, format: "openai", ...(question === undefined ? {} : { question }) };
}

/** The section that holds one of these messages. */
function sectionOf({ receipt }: Context, ids: readonly string[]): string | null {
  return receipt.sections.find(({ items }) => items.some(({ id }) => ids.includes(id)))?.name ?? null;
}

/** What of a message is counted: its text, names and arguments of its calls. Ids are in what each message costs besides. */
function textOf(message: unknown): string {
  const { content, tool_calls: calls } = message as { content?: unknown; tool_calls?: { function: { name: string; arguments: string } }[] };
  return [typeof content === "string" ? content : "", ...(calls ?? []).map(({ function: { name, arguments: given } }) => name + given)].join("");
}

/** Counts each text once. */
class BlockCounter {
  readonly #known = new Map<string, Block>();

  async count(texts: readonly string[]): Promise<void> {
    for (const text of texts) {
      if (this.#known.has(text)) continue;
      const { tokens } = await countTokens(text, ENCODING);
      this.#known.set(text, { text, tokens: tokens + MESSAGE_TOKENS });
    }
  }

  /** A text that was counted. */
  readonly block = (text: string): Block => this.#known.get(text) ?? { text, tokens: 0 };
}
