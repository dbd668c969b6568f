import { AnswerParts, answerMessage } from "./answer-parts.js";
import { promptMessage, type PromptMessage } from "./plain-message.js";
import { TurnStore, type AdapterMemory, type ContextOptions } from "./turn-store.js";

/** Options of {@link memoryMiddleware}. */
export interface MemoryMiddlewareOptions<Version extends string = "v4"> extends Omit<ContextOptions, "system"> {
  /** The memory. */
  memory: AdapterMemory;
  /** The conversation; made where it is not there yet. */
  conversationId: string;
  /** The version that `wrapLanguageModel` wants: `"v4"` for AI SDK 7 (the default), `"v3"` for 6, `"v2"` for 5. */
  specificationVersion?: Version;
  /** Told where an answer could not be stored; the answer itself is given all the same. Default: the call fails. */
  onError?: (error: unknown) => void;
}

/** The parameters of a call, as far as they are read. */
interface CallParameters {
  prompt: readonly unknown[];
  tools?: readonly object[] | undefined;
  abortSignal?: AbortSignal | undefined;
}

/** What `wrapLanguageModel` takes. */
export interface MemoryMiddleware<Version extends string = "v4"> {
  readonly specificationVersion: Version;
  transformParams<Parameters extends CallParameters>(options: { params: Parameters; model: { specificationVersion: string } }): Promise<Parameters>;
  wrapGenerate<Result extends { content: readonly unknown[] }>(options: { doGenerate: () => PromiseLike<Result> }): Promise<Result>;
  wrapStream<Part, Result extends { stream: ReadableStream<Part> }>(options: { doStream: () => PromiseLike<Result> }): Promise<Result>;
}

/**
 * A middleware that gives a model this conversation's memory: `wrapLanguageModel({ model, middleware: memoryMiddleware(...) })`.
 * Of each prompt its system text and its last message count; the last message is stored, what is sent is the context that the
 * memory builds, and the answer is stored. One middleware is for one conversation, and one call at a time.
 *
 * A streamed answer that is aborted or fails is stored as far as it came, with the status `"aborted"`.
 */
export function memoryMiddleware<Version extends string = "v4">(options: MemoryMiddlewareOptions<Version>): MemoryMiddleware<Version> {
  const store = new TurnStore(options.memory, options.conversationId);
  const guarded = async (work: () => Promise<void>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      if (options.onError === undefined) throw error;
      options.onError(error);
    }
  };
  const keep = (message: PromptMessage | undefined, isWhole: boolean): Promise<void> =>
    guarded(async () => {
      if (message !== undefined) await (isWhole ? store.begin(message) : store.addPart(message));
    });
  return {
    specificationVersion: options.specificationVersion ?? ("v4" as Version),
    async transformParams({ params, model }) {
      const messages = params.prompt as readonly PromptMessage[];
      const last = messages.at(-1);
      if (last === undefined || (last.role !== "user" && last.role !== "tool")) return params;
      await store.begin(last);
      const system = messages.filter(({ role }) => role === "system").map(({ content }) => content as string).join("\n\n");
      const context = await store.context({ ...options, system }, params.tools, params.abortSignal);
      const sent = context.messages.map((message) => promptMessage(message, model.specificationVersion));
      const prompt = context.system === "" ? sent : [{ role: "system", content: context.system }, ...sent];
      return { ...params, prompt };
    },
    async wrapGenerate({ doGenerate }) {
      const result = await doGenerate();
      await keep(answerMessage(result.content), true);
      return result;
    },
    async wrapStream<Part, Result extends { stream: ReadableStream<Part> }>({ doStream }: { doStream: () => PromiseLike<Result> }): Promise<Result> {
      const result = await doStream();
      const parts = new AnswerParts();
      // Before the stream ends: what comes next is answered with this in the history.
      const watched = watch(result.stream, (part) => parts.add(part as Record<string, unknown>), (isWhole) => keep(parts.message(), isWhole && parts.isFinished));
      return { ...result, stream: watched };
    },
  };
}

/** The same stream; `see` is shown each part, and `end` is told once how it ended and waited for. */
function watch<Part>(source: ReadableStream<Part>, see: (part: Part) => void, end: (isWhole: boolean) => Promise<void>): ReadableStream<Part> {
  const reader = source.getReader();
  // A stream that fails may be cancelled as well.
  let ended: Promise<void> | undefined;
  const endOnce = (isWhole: boolean): Promise<void> => (ended ??= end(isWhole));
  return new ReadableStream<Part>({
    async pull(controller) {
      const next = await reader.read().catch(async (error: unknown) => {
        await endOnce(false);
        throw error;
      });
      if (next.done) {
        await endOnce(true);
        controller.close();
      } else {
        see(next.value);
        controller.enqueue(next.value);
      }
    },
    async cancel(reason) {
      await Promise.all([endOnce(false), reader.cancel(reason)]);
    },
  });
}
