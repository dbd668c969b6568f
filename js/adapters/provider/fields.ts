/** What a provider answers with, as far as it is what it should be. */

/** An object whose fields are not known. */
export type Fields = Record<string, unknown>;

/** The value where it is an object, else one without fields. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The value where it is text, else none. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
