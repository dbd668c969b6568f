/** Typed access to parsed JSON of unknown shape. Nothing here copies keys: `__proto__` is data like any other. */

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** The value where it is an object, not an array. */
export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** The value where it is an array, else none at all. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The objects of an array. */
export function asObjects(value: unknown): JsonObject[] {
  return asList(value)
    .map(asObject)
    .filter((item) => item !== undefined);
}

/** The value where it is text, else no text. */
export function asText(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** A field of the object's own: names like `constructor` are not found on its prototype. */
export function field(object: JsonObject | undefined, name: string): unknown {
  return object !== undefined && Object.hasOwn(object, name) ? object[name] : undefined;
}

/** Whether the object has all of these fields itself. */
export function has(object: JsonObject | undefined, ...names: string[]): object is JsonObject {
  return object !== undefined && names.every((name) => Object.hasOwn(object, name));
}

/** An object of the fields that say something: those that are undefined, null, empty text or an empty list are left out. */
export function withoutBlanks(fields: Record<string, unknown>): Record<string, unknown> {
  const says = (value: unknown): boolean =>
    value !== undefined && value !== null && value !== "" && !(Array.isArray(value) && value.length === 0);
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => says(value)));
}
