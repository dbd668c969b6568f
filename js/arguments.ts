/** Checks of call arguments that only JavaScript can make; the engine checks what the values mean. */

import { MemoryError } from "./errors.js";
import type { ContextDocument } from "./types.js";

/** `value` where it is text with something in it, else `invalid_argument` naming it. */
export function requireText(value: unknown, name: string): string {
  if (typeof value === "string" && value !== "") return value;
  throw new MemoryError("invalid_argument", `${name} must be a text that is not empty.`);
}

/** As {@link requireText}, and well-formed: half of a surrogate pair cannot be told from another in storage. */
export function requireId(value: unknown, name: string): string {
  const id = requireText(value, name);
  if (isWellFormed(id)) return id;
  throw new MemoryError("invalid_argument", `${name} holds half of a surrogate pair; ids must be well-formed text.`);
}

/** Whether a text has no half of a surrogate pair. */
export function isWellFormed(text: string): boolean {
  // A lone surrogate is a code point of its own to a Unicode pattern; a pair never is.
  return !/\p{Surrogate}/u.test(text);
}

/**
 * `value` where it is an object or absent, without `signal`, which stays in JavaScript; else `invalid_argument`.
 *
 * @param known Names of its fields beside `signal`. Left out, the engine refuses those that it does not know.
 */
export function requireOptions<Options extends object>(
  value: Options | undefined,
  name: string,
  known?: readonly (keyof Options & string)[],
): Omit<Options, "signal"> {
  return value === undefined ? ({} as Omit<Options, "signal">) : requireGiven(value, name, known);
}

/** As {@link requireOptions}, for what may not be absent. */
export function requireGiven<Options extends object>(value: Options, name: string, known?: readonly (keyof Options & string)[]): Omit<Options, "signal"> {
  if (!isPlain(value)) throw new MemoryError("invalid_argument", `${name} must be an object.`);
  const { signal, ...rest } = value as Options & { signal?: unknown };
  const unknown = known && Object.keys(rest).find((field) => !(known as readonly string[]).includes(field));
  if (unknown !== undefined) {
    const fields = [...(known as readonly string[]), "signal"].join(", ");
    throw new MemoryError("invalid_argument", `${name}: unknown field ${JSON.stringify(unknown.slice(0, 40))}; known are ${fields}.`);
  }
  if (signal !== undefined && !(typeof signal === "object" && signal !== null && "aborted" in signal && "addEventListener" in signal)) {
    throw new MemoryError("invalid_argument", `${name}.signal must be an AbortSignal.`);
  }
  // A field given as undefined is a field left out.
  return Object.fromEntries(Object.entries(rest).filter(([, field]) => field !== undefined)) as Omit<Options, "signal">;
}

/** The documents of a context, without fields that are the app's own. */
export function requireDocuments(value: unknown): object[] {
  if (Array.isArray(value) && value.every(isPlain)) return value.map(({ id, text, source }: Partial<ContextDocument>) => ({ id, text, source }));
  throw new MemoryError("invalid_argument", "buildContext: documents must be an array of { id, text, source? }.");
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
