/** From a question to its context and, where a model is on, to its answer. */

import type { MessageStream } from "throughline";
import { streamAnswer } from "./openai-model.ts";
import { readSections } from "./receipt-view.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

let answering: AbortController | null = null;

/** Builds the context of a question and, with a model, answers it. True when the question was dealt with. */
export async function ask(workspace: Workspace, question: string, evidence: readonly string[] = []): Promise<boolean> {
  if (workspace.isAsking || question.trim() === "") return false;
  workspace.isAsking = true;
  workspace.changed("inquiry");
  const before = workspace.status;
  const done = await workspace.attempt(async () => {
    await build(workspace, question, evidence);
    if (workspace.model) await answer(workspace);
  });
  workspace.isAsking = false;
  const isFailureTold = workspace.status !== before && workspace.status.kind === "error";
  if (done && !isFailureTold) workspace.say({ kind: "ready", words: "Ready" });
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

/** Stops the answer that is being written; what is there is kept, and marked as stopped. */
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
  workspace.inquiry = { conversationId: conversation.id, question, evidence, request, context, sections, answer: null };
  workspace.changed("inquiry");
}

/** With its first word the question is stored and the answer behind it, which grows in the conversation from then on. */
async function answer(workspace: Workspace): Promise<void> {
  const { inquiry, model } = workspace;
  if (!inquiry || !model) return;
  answering = new AbortController();
  const { signal } = answering;
  const { context, conversationId } = inquiry;
  const asked = new Date().toISOString();
  const message = { id: crypto.randomUUID(), role: "assistant", content: "", createdAt: asked };
  let stream: MessageStream | undefined;
  inquiry.answer = "awaited";
  try {
    const system = context.system === "" ? [] : [{ role: "system", content: context.system }];
    for await (const piece of streamAnswer(model, [...system, ...context.messages], workspace.settings.reserve, signal)) {
      if (stream === undefined) {
        message.createdAt = new Date().toISOString();
        stream = await begin(workspace, inquiry, asked, message, signal);
      }
      stream.write(piece);
      message.content += piece;
      workspace.wrote(conversationId, stream.seq, { ...message });
    }
    await stream?.complete();
  } catch (error) {
    if (stream === undefined) {
      inquiry.answer = null;
      throw error;
    }
    inquiry.answer = "done";
    await stream.abort();
    // Question and half an answer are stored: there is nothing to be asked again, only something to be told.
    if (!signal.aborted) workspace.fail(error);
  } finally {
    answering = null;
  }
  if (stream === undefined) {
    inquiry.answer = null;
    throw new Error("The model answered with nothing. The question was not stored.");
  }
  inquiry.answer = "done";
}

async function begin(workspace: Workspace, inquiry: Inquiry, asked: string, message: object, signal: AbortSignal): Promise<MessageStream> {
  const { conversationId, question } = inquiry;
  const memory = workspace.opened();
  const format = "openai";
  await memory.append(conversationId, { id: crypto.randomUUID(), role: "user", content: question, createdAt: asked }, { format });
  const stream = await memory.stream(conversationId, message, { format, signal });
  inquiry.answer = "writing";
  workspace.changed("inquiry");
  return stream;
}
