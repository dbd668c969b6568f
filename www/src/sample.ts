/** The conversation that ships with the page, and the questions that go with it. */

import type { RawMessage } from "throughline";
import type { Suggestion, Workspace } from "./workspace.ts";

/** Its id, the same for everyone, so that a second click opens what is there. */
export const SAMPLE_ID = "sample-probenraum";

interface SampleQuestions {
  questions: { question: string; evidence: string[] }[];
}

/** Brings the sample conversation in and opens it. */
export async function loadSample(workspace: Workspace): Promise<void> {
  workspace.say({ kind: "busy", words: "Loading the sample conversation" });
  const sample = (await json("sample/conversation.json")) as { title: string; messages: RawMessage[] };
  await workspace.bringIn({ id: SAMPLE_ID, title: sample.title }, sample.messages);
}

/** Its questions, the headline first. */
export async function sampleSuggestions(): Promise<readonly Suggestion[]> {
  const { questions } = (await json("sample/questions.json")) as SampleQuestions;
  return questions.map(({ question, evidence }) => ({ question, evidence }));
}

async function json(path: string): Promise<unknown> {
  const response = await fetch(new URL(path, document.baseURI));
  if (!response.ok) throw new Error(`The sample conversation could not be loaded (${response.status}).`);
  return response.json();
}
