import type { PromptMessage } from "./plain-message.js";
import { TurnStore, type AdapterMemory, type ContextOptions } from "./turn-store.js";

/** Options of {@link memorySteps}. */
export interface MemoryStepsOptions extends ContextOptions {
  /** The memory. */
  memory: AdapterMemory;
  /** The conversation; made where it is not there yet. */
  conversationId: string;
  /** The tools that the call is given: counted. */
  tools?: Readonly<Record<string, object>>;
  /** Aborts building a context. */
  signal?: AbortSignal;
}

/** A step that is over, as far as it is read. */
interface Step {
  readonly response: { readonly messages: readonly object[] };
}

/** What `generateText`, `streamText` and agents take. */
export interface MemorySteps {
  /** Sends, at each step, the context that the memory builds. */
  prepareStep<Message extends object>(options: {
    stepNumber: number;
    steps: readonly Step[];
    messages: Message[];
  }): Promise<{ system: string; instructions: string; messages: Message[] }>;
  /** Stores what the step said. Give it as `onStepFinish`, and with AI SDK 7 as `onStepEnd`. */
  onStepFinish(step: Step): Promise<void>;
}

/**
 * Memory for a call with tools, step by step, so that a long loop of tools stays within the window:
 *
 * ```ts
 * const { prepareStep, onStepFinish } = memorySteps({ memory, conversationId, system });
 * await generateText({ model, tools, prompt, stopWhen: stepCountIs(20), prepareStep, onStepFinish });
 * ```
 *
 * The last message that the call is given is stored and is the question; everything before it comes from the memory. One
 * call at a time.
 */
export function memorySteps(options: MemoryStepsOptions): MemorySteps {
  const store = new TurnStore(options.memory, options.conversationId);
  const add = ({ response }: Step): Promise<void> => store.add(response.messages as PromptMessage[]);
  return {
    async prepareStep<Message extends object>({ stepNumber, steps, messages }: { stepNumber: number; steps: readonly Step[]; messages: Message[] }) {
      const last = messages.at(-1);
      if (stepNumber === 0 && last !== undefined) await store.begin(last as unknown as PromptMessage);
      // A step may begin before it is told that the one before has ended.
      const before = steps.at(-1);
      if (before !== undefined) await add(before);
      const context = await store.context(options, options.tools, options.signal);
      return { system: context.system, instructions: context.system, messages: context.messages as unknown as Message[] };
    },
    onStepFinish: add,
  };
}
