import { currentGeneration, guarded, loadEngine } from "./engine-instance.js";
import { MemoryError, toMemoryError } from "./errors.js";
import { toJsonText } from "./messages.js";
import type { ContextViolation, MessageFormat, Profile, WasmSource } from "./types.js";

/** What {@link validateContext} checks: a built context, or what the app put together itself. */
export interface ContextToValidate {
  /** The system text that is sent beside the messages. Default none. */
  system?: string;
  /** The messages of the request, in order. System messages may be among them where the profile takes them. */
  messages: readonly object[];
  /**
   * Their format. Default: the one that goes with the profile; where several do, the one that the messages' shapes tell of.
   */
  format?: MessageFormat;
}

/** Options of {@link validateContext}. */
export interface ValidateContextOptions {
  /** The engine from elsewhere. */
  wasm?: WasmSource;
}

/**
 * What a provider would refuse of a request, outside any memory: unpaired calls, empty messages, roles out of turn, system
 * text in the wrong place, ids, media and tools that are not taken. Beyond what each provider asks, every request is to start
 * on a user message and to end on a user message or tool results, since histories outlive the model they were made with.
 *
 * @param context The system text and the messages.
 * @param profile Who is to take it.
 * @returns What is wrong, by message; empty when the provider would take it.
 * @throws `invalid_argument` for an unknown profile or format, or where they do not go together.
 */
export async function validateContext(
  context: ContextToValidate,
  profile: Profile,
  options: ValidateContextOptions = {},
): Promise<ContextViolation[]> {
  if (typeof context !== "object" || context === null || !Array.isArray(context.messages)) {
    throw new MemoryError("invalid_argument", "validateContext: the context must be an object with messages.");
  }
  if (typeof profile !== "string") throw new MemoryError("invalid_argument", "validateContext: name a profile.");
  const { system = "", messages, format } = context;
  const request = toJsonText({ system, messages, profile, ...(format === undefined ? {} : { format }) }, "the context");
  const glue = await loadEngine(options.wasm);
  currentGeneration();
  try {
    const violations = (await guarded(() => glue.validateContext(request))) as ContextViolation[];
    return messages.length === 0 ? [...violations, { rule: "R10", index: 0, message: "there is no message to answer" }] : violations;
  } catch (error) {
    throw toMemoryError(error, "engine_unavailable", "The engine could not check this context.");
  }
}
