import { requireOptions, requireText } from "./arguments.js";
import type { Session } from "./session.js";
import type { AddFact, CallOptions, Fact, FactEvent, FactHit, ListFacts, SearchFacts, UpdateFact } from "./types.js";

/** What is remembered about the user: to be seen, changed, approved and forgotten. */
export class Facts {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /** Writes a fact down on the user's word. A fact with a `key` replaces the one that has it. */
  async add(fact: AddFact): Promise<Fact> {
    const request = requireOptions(fact, "fact");
    requireText(fact.fact, "fact.fact");
    return (await this.#session.call("addFact", request, { idempotent: false, signal: fact.signal })) as Fact;
  }

  /** The facts, oldest first. */
  async list(options: ListFacts = {}): Promise<Fact[]> {
    const request = requireOptions(options, "options");
    return (await this.#session.call("listFacts", request, { idempotent: true, signal: options.signal })) as Fact[];
  }

  /** One fact. Rejects with `not_found` where there is none of this id. */
  async get(id: string, options: CallOptions = {}): Promise<Fact> {
    return (await this.#one("getFact", id, options, true)) as Fact;
  }

  /** Facts in use that fit a text, best first. */
  async search(query: string, options: SearchFacts = {}): Promise<FactHit[]> {
    const request = { query: requireText(query, "query"), ...requireOptions(options, "options") };
    return (await this.#session.call("searchFacts", request, { idempotent: true, signal: options.signal })) as FactHit[];
  }

  /** Changes a fact on the user's word; the old text stays in its history. */
  async update(id: string, changes: UpdateFact): Promise<Fact> {
    return (await this.#one("updateFact", id, changes, false)) as Fact;
  }

  /** Forgets a fact: its text is removed everywhere, and it is not learned again. */
  async forget(id: string, options: CallOptions = {}): Promise<void> {
    await this.#one("forgetFact", id, options, true);
  }

  /** Puts a proposed fact into use. */
  async approve(id: string, options: CallOptions = {}): Promise<Fact> {
    return (await this.#one("approveFact", id, options, true)) as Fact;
  }

  /** Every decision about a fact, oldest first, with the text before and after. */
  async history(id: string, options: CallOptions = {}): Promise<FactEvent[]> {
    return (await this.#one("factHistory", id, options, true)) as FactEvent[];
  }

  #one(
    method: "getFact" | "updateFact" | "forgetFact" | "approveFact" | "factHistory",
    id: string,
    options: CallOptions,
    idempotent: boolean,
  ): Promise<unknown> {
    const request = { id: requireText(id, "id"), ...requireOptions(options, "options") };
    return this.#session.call(method, request, { idempotent, signal: options.signal });
  }
}
