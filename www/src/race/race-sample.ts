/** The conversation of the race: the sample in turns, and a question whose answer lies far back. */

import type { RawMessage } from "throughline";
import { sampleConversation, sampleQuestions } from "../sample.ts";

/** What is raced over. */
export interface RaceSample {
  /** The messages of each turn, what the user said first. */
  turns: RawMessage[][];
  /** What is asked again after every turn. */
  question: string;
  /** Ids of the messages that answer it. */
  evidence: readonly string[];
  /** The first of them. */
  answer: string;
  /** The turn that they are in, counted from 1. */
  answerTurn: number;
}

/** Reads the sample. */
export async function loadRaceSample(): Promise<RaceSample> {
  const [{ messages }, questions] = await Promise.all([sampleConversation(), sampleQuestions()]);
  const turns = inTurns(messages);
  const race = questions.find(({ kind }) => kind === "race");
  if (!race) throw new Error("The sample has no question for the race.");
  const isAnswer = ({ id }: RawMessage): boolean => race.evidence.includes(String(id));
  const content = messages.find(isAnswer)?.["content"];
  const answer = typeof content === "string" ? content : "";
  return { turns, question: race.question, evidence: race.evidence, answer, answerTurn: turns.findIndex((turn) => turn.some(isAnswer)) + 1 };
}

/** A turn begins with what the user says. */
function inTurns(messages: readonly RawMessage[]): RawMessage[][] {
  const turns: RawMessage[][] = [];
  for (const message of messages) {
    const turn = turns.at(-1);
    if (message["role"] === "user" || !turn) turns.push([message]);
    else turn.push(message);
  }
  return turns;
}
