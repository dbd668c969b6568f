import { Document } from "@langchain/core/documents";
import { BaseRetriever, type BaseRetrieverInput } from "@langchain/core/retrievers";
import type { Memory, RecallFilter } from "../../index.js";
import { aborted } from "../../errors.js";
import { spokenMessage } from "../message-text.js";
import { visibleEntries } from "../visible-entries.js";

/** What a document was made of. */
export interface RecalledMetadata {
  /** The conversation. */
  conversationId: string;
  /** First position, inclusive. */
  from: number;
  /** Last position, inclusive. */
  to: number;
  /** Ids of the messages that were found; the others stand beside them. */
  hits: string[];
  /** 0 to 1, best first. */
  score: number;
  [further: string]: unknown;
}

/** What a `ThroughlineRetriever` is made of. */
export interface ThroughlineRetrieverFields extends BaseRetrieverInput {
  /** The memory; the app closes it. */
  memory: Pick<Memory, "recall" | "history">;
  /** Only this conversation. Default: every remembered one. */
  conversationId?: string;
  /** Most hits. Default 10. */
  topK?: number;
  /** Hits below this score are left out, 0 to 1. Default 0. */
  threshold?: number;
  /** Limits what can be a hit. */
  filter?: RecallFilter;
  /** Where the documents go: for a model elsewhere what was marked `localOnly` is left out. Default `"remote"`. */
  destination?: "remote" | "local";
}

/** A LangChain retriever over old messages: each found message with its neighbours is a document, as `role: text` lines. */
export class ThroughlineRetriever extends BaseRetriever<RecalledMetadata> {
  /** LangChain's name for where this class is from. */
  lc_namespace = ["throughline", "langchain"];
  readonly #fields: ThroughlineRetrieverFields;

  constructor(fields: ThroughlineRetrieverFields) {
    const { tags, metadata, verbose } = fields;
    super({ ...(tags !== undefined && { tags }), ...(metadata !== undefined && { metadata }), ...(verbose !== undefined && { verbose }) });
    this.#fields = fields;
  }

  /** @internal Called by `invoke`. */
  override async _getRelevantDocuments(query: string): Promise<Document<RecalledMetadata>[]> {
    const { memory, conversationId, topK, threshold, filter, destination = "remote" } = this.#fields;
    const groups = await memory.recall(query, {
      explain: false, ...(conversationId !== undefined && { conversationId }), ...(topK !== undefined && { topK }),
      ...(threshold !== undefined && { threshold }), ...(filter !== undefined && { filter }),
    });
    const documents: Document<RecalledMetadata>[] = [];
    for (const group of groups) {
      const [from, to] = group.range;
      const entries = await visibleEntries(memory, { conversationId: group.conversationId, from, to }, destination, undefined);
      const ids = new Set(entries.map(({ id }) => id));
      const hits = group.hits.map(({ id }) => id).filter((id) => ids.has(id));
      if (hits.length === 0) continue;
      const lines = entries.map(({ message }) => spokenMessage(message)).filter(({ text }) => text !== "").map(({ role, text }) => `${role}: ${text}`);
      const metadata = { conversationId: group.conversationId, from, to, hits, score: group.score };
      documents.push(new Document({ id: `${group.conversationId}:${from}-${to}`, pageContent: lines.join("\n"), metadata }));
    }
    return documents;
  }

  /**
   * The documents for a question, best first.
   *
   * @throws What `memory.recall` rejects with, and `aborted` where `options.signal` is.
   */
  override invoke(input: string, options?: { signal?: AbortSignal }): Promise<Document<RecalledMetadata>[]> {
    const signal = options?.signal;
    if (signal === undefined) return super.invoke(input, options);
    return new Promise((resolve, reject) => {
      const abort = (): void => reject(aborted(signal));
      if (signal.aborted) {
        abort();
        return;
      }
      signal.addEventListener("abort", abort, { once: true });
      super.invoke(input, options).then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    });
  }
}
