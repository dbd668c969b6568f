/** What the page's state is made of. */

import type { BuildContextRequest, Context } from "throughline";
import type { Attachment } from "./attachments.ts";
import type { ShownSection } from "./receipt-view.ts";
import type { ToldError } from "./wording.ts";

export type { ChatModel } from "./chat-model.ts";

/** What a change is about. */
export type Topic = "conversations" | "messages" | "growth" | "inquiry" | "facts" | "stats" | "model" | "status" | "suggestions" | "folds" | "marks" | "wiped";

/** How a context is built. */
export interface ContextSettings {
  window: number;
  reserve: number;
  retrieval: "auto" | "always" | "never";
  system: string;
}

/** A question that can be asked with one click, with the ids of the messages that answer it. */
export interface Suggestion {
  question: string;
  evidence: readonly string[];
}

/** The question in hand, its context and, with a model, its answer. */
export interface Inquiry {
  conversationId: string;
  question: string;
  evidence: readonly string[];
  /** What the context was built from. */
  request: BuildContextRequest;
  /** Id of the message that it is already, where it was said in another way or is answered anew. */
  storedAs: string | null;
  /** Files that it comes with. */
  attachments: readonly Attachment[];
  context: Context;
  sections: ShownSection[];
  /** The question before it in this conversation, to be compared with. */
  before: Inquiry | null;
  /** Its answer: waited for, being written into the conversation, or there. */
  answer: "awaited" | "writing" | "done" | null;
}

/** What the status line says. */
export interface Status {
  kind: "busy" | "ready" | "error";
  words: string;
  error?: ToldError;
  /** Work done so far, where it can be told. */
  progress?: { done: number; total: number };
}

/** A message that was said in several ways: which one is shown, and their ids in the order in which they came. */
export interface Versions {
  shown: number;
  ids: readonly string[];
}
