// What the types promise, compiled by tests/js/types.test.mjs and never run. Each `@ts-expect-error` fails where its line is
// accepted.
import {
  countTokens, createMemory, indexedDbStorage, isMemoryError, memoryStorage, validateContext,
  type Context, type Embedder, type Erasure, type Memory, type MemoryErrorCode, type MemoryEvents, type MemoryOptions, type Receipt, type Storage,
} from "throughline";
import { createMemoryClient } from "throughline/client";
import { changeStorageKey } from "throughline/encryption";
import { createStaticEmbedder } from "throughline/static-embedder";

/** Compiles only where the two are the same type. */
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const holds = <T extends true>(...proofs: T[]): number => proofs.length;

export async function mainJob(): Promise<void> {
  const embedder: Embedder = await createStaticEmbedder();
  const memory: Memory = await createMemory({ userId: "alex", embedder, storage: memoryStorage() });
  const { id } = await memory.conversations.create({ title: "Importer" });
  const [appended] = await memory.append(id, { role: "user", content: "hello" }, { format: "openai" });
  appended?.seq.toFixed();
  const context: Context = await memory.buildContext({ conversationId: id, question: "Which port?", window: 16_000, retrieval: "auto" });
  const shaped = await memory.buildContext<{ role: string; content: string }>({ conversationId: id });
  shaped.messages[0]?.content.toUpperCase();
  const { tokens, exact } = await countTokens("hello", "gpt-4o");
  holds<Same<typeof tokens, number>>(true);
  holds<Same<typeof exact, boolean>>(true);
  await validateContext(context, "mistral");
  await memory.close();

  // @ts-expect-error: a misspelt option.
  await createMemory({ userid: "alex" });
  // @ts-expect-error: an unknown format.
  await memory.append(id, {}, { format: "openia" });
  // @ts-expect-error: a question is no list.
  await memory.buildContext({ conversationId: id, question: ["Which port?"] });
  // @ts-expect-error: no conversation is named.
  await memory.buildContext({ question: "Which port?" });
  // @ts-expect-error: not a profile.
  await validateContext(context, "gpt");
  // @ts-expect-error: an embedder without its dimensions.
  await createMemory({ embedder: { id: "e", embed: () => [] } });
  // @ts-expect-error: a fact has a text.
  await memory.facts.add({ category: "style" });
  // @ts-expect-error: only an IndexedDB has a key.
  await changeStorageKey({ storage: memoryStorage(), key: new Uint8Array(32) });
}

/** The format that is asked for says what the messages are; parts are told apart by their tags. */
export async function formats(memory: Memory, id: string): Promise<string | undefined> {
  const { messages } = await memory.buildContext({ conversationId: id, format: "openai" });
  for (const message of messages) {
    if (message.role === "tool") return message.tool_call_id;
    // @ts-expect-error: only an assistant calls tools.
    if (message.role === "user") return message.tool_calls;
    if (message.role === "assistant" && message.tool_calls !== undefined) return message.tool_calls[0]?.function.name;
  }
  const anthropic = await memory.buildContext({ conversationId: id, format: "anthropic" });
  for (const { content } of anthropic.messages) {
    if (typeof content === "string") return content;
    for (const block of content) {
      if (block.type === "tool_use") return block.name;
      // @ts-expect-error: an image has no text.
      if (block.type === "image") return block.text;
    }
  }
  const gemini = await memory.buildContext({ conversationId: id, format: "gemini" });
  // @ts-expect-error: Gemini's other role is "model".
  if (gemini.messages[0]?.role === "assistant") return undefined;
  const raw = await memory.buildContext({ conversationId: id, format: "langchain" });
  holds<Same<(typeof raw.messages)[0], Record<string, unknown>>>(true);
  return gemini.messages[0]?.parts[0]?.text;
}

/** What was caught is unknown until it is asked; then the code narrows it, and what `details` are. */
export function errors(caught: unknown): number | undefined {
  // @ts-expect-error: not asked.
  caught.code;
  if (isMemoryError(caught, "storage_corrupt")) {
    holds<Same<typeof caught.code, "storage_corrupt">>(true);
    if (caught.details?.kind === undefined) return caught.details?.lost;
    if (caught.details.kind === "unreadable") return caught.details.expected.messages;
    return caught.details.missing;
  }
  if (!isMemoryError(caught)) return undefined;
  holds<Same<typeof caught.code, MemoryErrorCode>>(true);
  switch (caught.code) {
    case "storage_corrupt":
      return caught.details?.kind === "truncated" ? caught.details.unreadable.messages : 0;
    case "timeout":
      // @ts-expect-error: what another code tells.
      return caught.details?.missing;
    default:
      return caught.retryable ? 1 : 0;
  }
}

export function noSuchCode(caught: unknown): boolean {
  // @ts-expect-error: no such code.
  return isMemoryError(caught, "storage_full");
}

/** Every code has its case: a new one is an error here until it has. */
export function everyCode(code: "storage_blocked" | "storage_conflict"): string {
  switch (code) {
    case "storage_blocked":
      return "close other tabs";
    case "storage_conflict":
      return "again";
    default: {
      const none: never = code;
      return none;
    }
  }
}

/** The payload of an event is that of its name, told apart by `state` or `operation`. */
export function events(memory: Memory): () => void {
  memory.on("append", ({ conversationId, count, remote }) => holds<Same<[typeof conversationId, typeof count, typeof remote], [string, number, true | undefined]>>(true));
  memory.on("fact", (fact) => {
    if (fact.operation === "FINDING") return void fact.kind.length;
    // @ts-expect-error: only a finding has a kind.
    fact.kind.length;
  });
  memory.on("error", ({ code }) => {
    holds<Same<typeof code, MemoryErrorCode>>(true);
  });
  // @ts-expect-error: no such event.
  memory.on("appended", () => undefined);
  return memory.on("storage", (storage) => {
    switch (storage.state) {
      case "damaged":
        return void storage.damage.missing;
      case "conversation_deleted":
      case "message_removed":
        return void storage.conversationId.length;
      default:
        holds<Same<typeof storage.damage, undefined>>(true);
    }
  });
}

/** With the engine in a worker it is the same type. */
export async function client(): Promise<void> {
  const memory = await createMemoryClient(() => new Worker("memory-worker.js", { type: "module" }), { userId: "alex" });
  holds<Same<typeof memory, Memory>>(true);
  // @ts-expect-error: an address is no worker.
  await createMemoryClient("memory-worker.js");
}

/** Storage, erasures, receipts: by their tags. */
export function tagged(storage: Storage, erasure: Erasure, receipt: Receipt): number {
  if (storage.kind === "indexeddb") return storage.name.length;
  // @ts-expect-error: memory has no name.
  storage.name;
  for (const { place } of erasure.remains) if (place === "browser_files") return 0;
  for (const { name, items, dropped } of receipt.sections) {
    // @ts-expect-error: no such section.
    if (name === "history") return 1;
    if (items.some(({ kind, reason }) => kind === "message" && reason === "neighbour")) return 2;
    // @ts-expect-error: no such reason.
    if (dropped.some(({ reason }) => reason === "too_long")) return 3;
  }
  return receipt.retrieval.decision === "retrieve" ? receipt.retrieval.candidates : 0;
}

/** Options are plain data that can be made ahead, and what is exported can be named. */
export const options: MemoryOptions = { storage: indexedDbStorage({ name: "my-app" }), tokenizer: "o200k_base", onDataLoss: (damage) => (damage.lost === 0 ? "open" : "reject") };
export type Payload = MemoryEvents["compaction"];
