import { MemoryError } from "../../errors.js";

/** Reads what a model gave as arguments. Errors name the argument and what it must be, never what was given. */
export class ToolArguments {
  readonly #tool: string;
  readonly #fields: Readonly<Record<string, unknown>>;

  /** @throws `invalid_argument` for what is no object, or has other fields than `names`. */
  constructor(tool: string, input: unknown, names: readonly string[]) {
    this.#tool = tool;
    if (typeof input !== "object" || input === null || Array.isArray(input)) throw this.#refuse("the arguments must be an object");
    this.#fields = input as Record<string, unknown>;
    if (Object.keys(input).some((name) => !names.includes(name))) throw this.#refuse(`there is an unknown argument; the arguments are ${names.join(", ")}`);
  }

  /** Text of 1 to `longest` characters. */
  text(name: string, longest: number): string {
    const value = this.#fields[name];
    if (typeof value !== "string" || value.trim() === "" || value.length > longest) {
      throw this.#refuse(`${name} must be a text of 1 to ${longest} characters`);
    }
    return value;
  }

  /** One of some names, or nothing. Models write `null` for what they leave out. */
  oneOf(name: string, names: readonly string[]): string | undefined {
    const value = this.#fields[name] ?? undefined;
    if (value === undefined || (typeof value === "string" && names.includes(value))) return value;
    throw this.#refuse(`${name} must be one of ${names.join(", ")}`);
  }

  /** A whole number in a range, or `fallback` where it is left out. */
  integer(name: string, least: number, most: number, fallback?: number): number {
    const value = this.#fields[name] ?? fallback;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    throw this.#refuse(`${name} must be a whole number from ${least} to ${most}`);
  }

  #refuse(what: string): MemoryError {
    return new MemoryError("invalid_argument", `${this.#tool}: ${what}.`);
  }
}
