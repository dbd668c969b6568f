/** From a question to its context and, where a model is on, to its answer. */

import type { MessageStream } from "throughline";
import type { ChatAnswer } from "throughline/openai";
import { asDocuments, contentWith, type Attachment } from "./attachments.ts";
import { messageLine, type ShownMessage } from "./message.ts";
import { readSections } from "./receipt-view.ts";
import type { Inquiry, Workspace } from "./workspace.ts";

let answering: AbortController | null = null;

/** The person stopped the answer that is, or was, asked for. */
let isStopped = false;

/** A question as it is asked. */
type Question = Pick<Inquiry, "question" | "evidence" | "attachments" | "storedAs">;

/** Builds the context of a question and, with a model, answers it. True when the question was dealt with. */
export async function ask(workspace: Workspace, question: string, evidence: readonly string[] = [], attachments: readonly Attachment[] = []): Promise<boolean> {
  if (question.trim() === "") return false;
  return whileAsking(workspace, async () => {
    await build(workspace, { question, evidence, attachments, storedAs: null });
    if (workspace.model) await answer(workspace);
  });
}

/**
 * Answers a message of the conversation; what was answered before stays as a version. Where no word comes, the
 * conversation shows `former` again.
 */
export async function answerAnew(workspace: Workspace, question: ShownMessage, former: string | null): Promise<boolean> {
  const conversationId = workspace.current?.id;
  if (!workspace.model || conversationId === undefined) return false;
  const { id, attachments } = question;
  return whileAsking(workspace, async () => {
    const memory = workspace.opened();
    await memory.setActiveLeaf(conversationId, id);
    await workspace.select(conversationId);
    try {
      await build(workspace, { question: messageLine(question), evidence: [], attachments, storedAs: id });
      await answer(workspace);
    } catch (error) {
      if (former !== null) {
        await memory.setActiveLeaf(conversationId, former, { descend: true });
        await workspace.select(conversationId);
      }
      throw error;
    }
  });
}

/** Builds the context of the question in hand again, after a setting has changed. */
export async function rebuild(workspace: Workspace): Promise<void> {
  const { inquiry } = workspace;
  if (!inquiry || inquiry.answer) return;
  await workspace.attempt(() => build(workspace, inquiry));
}

/** Stops the answer that is being written; what is there is kept, and marked as stopped. */
export function stopAnswering(): void {
  isStopped = true;
  answering?.abort();
}

/** One question at a time. */
async function whileAsking(workspace: Workspace, action: () => Promise<void>): Promise<boolean> {
  if (workspace.isAsking) return false;
  workspace.isAsking = true;
  isStopped = false;
  workspace.changed("inquiry");
  const before = workspace.status;
  const done = await workspace.attempt(action);
  workspace.isAsking = false;
  const isFailureTold = workspace.status !== before && workspace.status.kind === "error";
  // What was stopped before its first word did not fail.
  if (isStopped && !done) workspace.say({ kind: "ready", words: "Stopped" });
  else if (done && !isFailureTold) workspace.say({ kind: "ready", words: "Ready" });
  workspace.changed("inquiry");
  workspace.watchJobs();
  return done;
}

async function build(workspace: Workspace, asked: Question): Promise<void> {
  const { attachments, evidence, question, storedAs } = asked;
  const memory = workspace.opened();
  const { id: conversationId } = await workspace.currentOrNew();
  const { model } = workspace;
  const { retrieval, system } = workspace.settings;
  const window = Math.min(workspace.settings.window, model?.contextWindow ?? Infinity);
  const reserve = Math.min(workspace.settings.reserve, Math.floor(window / 2));
  const request = {
    conversationId, window, reserve, retrieval, system, format: "openai" as const,
    ...(model ? { destination: model.destination, profile: model.profile } : {}),
    // A question that is stored is the conversation's newest turn, and has its files in itself.
    ...(storedAs === null ? { question, documents: asDocuments(attachments) } : {}),
  };
  const context = await memory.buildContext(request);
  const sections = readSections(context.receipt);
  const before = questionBefore(workspace.inquiry, question);
  workspace.inquiry = { conversationId, question, evidence, attachments, storedAs, request, context, sections, before, answer: null };
  workspace.changed("inquiry");
}

/** The same question with another setting is compared with the question before, too. One step back is kept, no more. */
function questionBefore(former: Inquiry | null, question: string): Inquiry | null {
  return former && former.question !== question ? { ...former, before: null } : former?.before ?? null;
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
  workspace.changed("inquiry");
  try {
    const system = context.system === "" ? [] : [{ role: "system", content: context.system }];
    const pieces = model.stream([...system, ...context.messages], workspace.settings.reserve, signal);
    for await (const piece of pieces) {
      if (stream === undefined) {
        message.createdAt = new Date().toISOString();
        stream = await begin(workspace, inquiry, asked, message, signal);
      }
      stream.write(piece);
      message.content += piece;
      workspace.wrote(conversationId, stream.seq, { ...message });
    }
    await stream?.complete();
    if (stream) report(workspace, conversationId, pieces);
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
    throw new Error("The model answered with nothing. Nothing was stored.");
  }
  inquiry.answer = "done";
  // Who is told that it is ready finds the answer whole.
  await workspace.catchUp();
}

/** What was billed is added up, and corrects how contexts for this model are counted. Nobody waits for it. */
function report(workspace: Workspace, conversationId: string, { finished }: ChatAnswer): void {
  void workspace.inBackground(async () => {
    const { usage } = await finished;
    await workspace.opened().reportUsage(conversationId, usage);
    await workspace.refreshStats();
  });
}

async function begin(workspace: Workspace, inquiry: Inquiry, asked: string, message: object, signal: AbortSignal): Promise<MessageStream> {
  const { attachments, conversationId, question, storedAs } = inquiry;
  const memory = workspace.opened();
  const format = "openai";
  const said = { id: storedAs ?? crypto.randomUUID(), role: "user", ...contentWith(question, attachments), createdAt: asked };
  if (storedAs === null) await memory.append(conversationId, said, { format });
  const stream = await memory.stream(conversationId, message, { format, signal, parentId: said.id });
  inquiry.answer = "writing";
  workspace.changed("inquiry");
  return stream;
}
