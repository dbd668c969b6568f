/** The conversation that ships with the page, and the questions that go with it. */

import type { RawMessage } from "throughline";
import type { Suggestion, Workspace } from "./workspace.ts";

/** Its id, the same for everyone, so that a second click opens what is there. */
export const SAMPLE_ID = "sample-probenraum";

/** The sample as it is stored beside the page. */
export interface SampleConversation {
  title: string;
  messages: RawMessage[];
}

/** A question about it, with the ids of the messages that answer it. */
export interface SampleQuestion {
  kind: string;
  question: string;
  evidence: string[];
}

/** Brings the sample conversation in and opens it. */
export async function loadSample(workspace: Workspace): Promise<void> {
  workspace.say({ kind: "busy", words: "Loading the sample conversation" });
  const { messages, title } = await sampleConversation();
  await workspace.bringIn({ id: SAMPLE_ID, title }, messages);
}

/** The sample itself. */
export async function sampleConversation(): Promise<SampleConversation> {
  return (await json("sample/conversation.json")) as SampleConversation;
}

/** Its questions, the headline first. */
export async function sampleQuestions(): Promise<SampleQuestion[]> {
  return ((await json("sample/questions.json")) as { questions: SampleQuestion[] }).questions;
}

/** Its questions, to be asked with one click. */
export async function sampleSuggestions(): Promise<readonly Suggestion[]> {
  return (await sampleQuestions()).map(({ question, evidence }) => ({ question, evidence }));
}

async function json(path: string): Promise<unknown> {
  const response = await fetch(new URL(path, document.baseURI));
  if (!response.ok) throw new Error(`The sample conversation could not be loaded (${response.status}).`);
  return response.json();
}
