/**
 * What the adapter uses of LangChain, so that the package is compiled without it. Apps compile against LangChain's own types:
 * the declarations that are shipped name its modules, and this file stays here.
 */
declare module "@langchain/core/messages" {
  export interface StoredMessage {
    type: string;
    data: object;
  }
  export interface BaseMessage {
    readonly id?: string | undefined;
    toDict(): StoredMessage;
  }
  export function mapStoredMessagesToChatMessages(messages: StoredMessage[]): BaseMessage[];
}

declare module "@langchain/core/chat_history" {
  import type { BaseMessage } from "@langchain/core/messages";
  export abstract class BaseListChatMessageHistory {
    abstract lc_namespace: string[];
    abstract getMessages(): Promise<BaseMessage[]>;
    abstract addMessage(message: BaseMessage): Promise<void>;
    addMessages(messages: BaseMessage[]): Promise<void>;
    clear(): Promise<void>;
  }
}

declare module "@langchain/core/documents" {
  export class Document<Metadata extends Record<string, unknown>> {
    pageContent: string;
    metadata: Metadata;
    id?: string;
    constructor(fields: { pageContent: string; metadata: Metadata; id?: string });
  }
}

declare module "@langchain/core/retrievers" {
  import type { Document } from "@langchain/core/documents";
  export interface BaseRetrieverInput {
    tags?: string[];
    metadata?: Record<string, unknown>;
    verbose?: boolean;
  }
  export abstract class BaseRetriever<Metadata extends Record<string, unknown>> {
    abstract lc_namespace: string[];
    constructor(fields?: BaseRetrieverInput);
    _getRelevantDocuments(query: string): Promise<Document<Metadata>[]>;
    invoke(input: string, options?: { signal?: AbortSignal }): Promise<Document<Metadata>[]>;
  }
}
