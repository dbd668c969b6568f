/** From a question to its context and, where a model is on, to its answer. */

import { streamAnswer } from "./openai-model.ts";
import { readSections } from "./receipt-view.ts";
import type { Workspace } from "./workspace.ts";

let answering: AbortController | null = null;

/** Builds the context of a question and, with a model, answers it. True when the question was dealt with. */
export async function ask(workspace: Workspace, question: string, evidence: readonly string[] = []): Promise<boolean> {
  if (workspace.isAsking || question.trim() === "") return false;
  workspace.isAsking = true;
  workspace.changed("inquiry");
  const done = await workspace.attempt(async () => {
    await build(workspace, question, evidence);
    if (workspace.model) await answer(workspace);
  });
  workspace.isAsking = false;
  if (done) workspace.say({ kind: "ready", words: "Ready" });
  workspace.changed("inquiry");
  workspace.watchJobs();
  return done;
}

/** Builds the context of the question in hand again, after a setting has changed. */
export async function rebuild(workspace: Workspace): Promise<void> {
  const { inquiry } = workspace;
  if (!inquiry || inquiry.answer) return;
  await workspace.attempt(() => build(workspace, inquiry.question, inquiry.evidence));
}

/** Stops the answer that is being written; what is there is kept. */
export function stopAnswering(): void {
  answering?.abort();
}

async function build(workspace: Workspace, question: string, evidence: readonly string[]): Promise<void> {
  const memory = workspace.opened();
  const conversation = await workspace.currentOrNew();
  const { window, reserve, retrieval, system } = workspace.settings;
  const request = { conversationId: conversation.id, question, window, reserve, retrieval, system, format: "openai" as const };
  const context = await memory.buildContext(request);
  const sections = readSections(context.receipt);
  workspace.inquiry = { conversationId: conversation.id, question, evidence, context, sections, answer: null };
  workspace.changed("inquiry");
}

async function answer(workspace: Workspace): Promise<void> {
  const { inquiry, model } = workspace;
  if (!inquiry || !model) return;
  answering = new AbortController();
  const asked = new Date().toISOString();
  const reply: NonNullable<typeof inquiry.answer> = { text: "", state: "writing" };
  inquiry.answer = reply;
  try {
    const { context } = inquiry;
    const system = context.system === "" ? [] : [{ role: "system", content: context.system }];
    for await (const piece of streamAnswer(model, [...system, ...context.messages], workspace.settings.reserve, answering.signal)) {
      reply.text += piece;
      workspace.changed("inquiry");
    }
    reply.state = "done";
  } catch (error) {
    if (!answering.signal.aborted || reply.text === "") {
      inquiry.answer = null;
      throw error;
    }
    reply.state = "stopped";
  } finally {
    answering = null;
  }
  if (reply.text === "") throw new Error("The model answered with nothing. The question was not stored.");
  await workspace.append(inquiry.conversationId, [
    { id: crypto.randomUUID(), role: "user", content: inquiry.question, createdAt: asked },
    { id: crypto.randomUUID(), role: "assistant", content: reply.text, createdAt: new Date().toISOString() },
  ]);
}
