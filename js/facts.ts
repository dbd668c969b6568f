import { requireGiven, requireOptions, requireText } from "./arguments.js";
import type { Session } from "./session.js";
import type {
  AddFact, CallOptions, Fact, FactCheck, FactConsent, FactEvent, FactHit, FactLogOptions, FactPlace, ListFacts, SearchFacts,
  SpecialCategory, UpdateFact,
} from "./types.js";

/** What is remembered about the user: to be seen, changed, approved and forgotten. */
export class Facts {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /**
   * Writes a fact down on the user's word. A fact with a `key` replaces the one that has it.
   *
   * @throws `invalid_argument`, also for a fact that holds a secret (a password, a key, a card number), which is never
   * remembered, and for one of a special category that the user did not agree to ({@link Facts.optIn}).
   */
  async add(fact: AddFact): Promise<Fact> {
    const request = requireGiven(fact, "fact");
    requireText(fact.fact, "fact.fact");
    return (await this.#session.call("addFact", request, { idempotent: false, signal: fact.signal })) as Fact;
  }

  /** The facts, oldest first. */
  async list(options: ListFacts = {}): Promise<Fact[]> {
    const request = requireOptions(options, "options", ["category", "status"]);
    return (await this.#session.call("listFacts", request, { idempotent: true, signal: options.signal })) as Fact[];
  }

  /** One fact. Rejects with `not_found` where there is none of this id. */
  async get(id: string, options: CallOptions = {}): Promise<Fact> {
    return (await this.#one("getFact", id, options, true)) as Fact;
  }

  /** Facts in use that have to do with a text, best first: by words, by vectors where there is an embedder, and by age. */
  async search(query: string, options: SearchFacts = {}): Promise<FactHit[]> {
    const request = { query: requireText(query, "query"), ...requireOptions(options, "options", ["topK"]) };
    return (await this.#session.call("searchFacts", request, { idempotent: true, signal: options.signal })) as FactHit[];
  }

  /** Changes a fact on the user's word; the old text stays in its history. */
  async update(id: string, changes: UpdateFact): Promise<Fact> {
    return (await this.#one("updateFact", id, changes, false)) as Fact;
  }

  /**
   * Forgets a fact: its text is removed from what is remembered, and it is not learned again. The messages that it was learned
   * from stay, and a context can quote them; `erase({ conversationId, messageId })` removes such a message.
   */
  async forget(id: string, options: CallOptions = {}): Promise<void> {
    await this.#one("forgetFact", id, options, true);
  }

  /** Puts a proposed fact into use. */
  async approve(id: string, options: CallOptions = {}): Promise<Fact> {
    return (await this.#one("approveFact", id, options, true)) as Fact;
  }

  /** Every decision about a fact and those that it replaced, oldest first, with the text before and after. */
  async history(id: string, options: CallOptions = {}): Promise<FactEvent[]> {
    return (await this.#one("factHistory", id, options, true)) as FactEvent[];
  }

  /** The messages that show a fact: the first hundred or so, however often it was said. */
  async sources(id: string, options: CallOptions = {}): Promise<FactPlace[]> {
    return (await this.#one("factSources", id, options, true)) as FactPlace[];
  }

  /** The log of all decisions, newest first. */
  async log(options: FactLogOptions = {}): Promise<FactEvent[]> {
    const request = requireOptions(options, "options", ["limit", "before"]);
    return (await this.#session.call("factLog", request, { idempotent: true, signal: options.signal })) as FactEvent[];
  }

  /**
   * Looks through what is remembered: by rules, and with the model (purpose `"audit"`) where there is one. It also happens by
   * itself (`policy.facts.auditDays`). Nothing is deleted: what rules find to be an instruction, a secret, of a special
   * category or without its quote waits for approval (`status: "proposed"`), unless the user confirmed it. Each finding is an
   * event `fact` with the operation `FINDING`.
   */
  check(options: CallOptions = {}): Promise<FactCheck> {
    return this.#check(true, options);
  }

  /** What the last look found. */
  findings(options: CallOptions = {}): Promise<FactCheck> {
    return this.#check(false, options);
  }

  /** The user agrees that facts of a special category are remembered from now on. */
  optIn(category: SpecialCategory, options: CallOptions = {}): Promise<FactConsent> {
    return this.#consent({ category: requireText(category, "category"), allow: true }, options);
  }

  /** The user no longer agrees: facts of the category are removed with their history, and none is remembered from now on. */
  optOut(category: SpecialCategory, options: CallOptions = {}): Promise<FactConsent> {
    return this.#consent({ category: requireText(category, "category"), allow: false }, options);
  }

  /** The special categories that the user agreed to. */
  consent(options: CallOptions = {}): Promise<FactConsent> {
    return this.#consent({}, options);
  }

  async #check(now: boolean, options: CallOptions): Promise<FactCheck> {
    const request = { now, ...requireOptions(options, "options", []) };
    return (await this.#session.call("checkFacts", request, { idempotent: true, signal: options.signal })) as FactCheck;
  }

  async #consent(decision: object, options: CallOptions): Promise<FactConsent> {
    const request = { ...decision, ...requireOptions(options, "options", []) };
    return (await this.#session.call("factConsent", request, { idempotent: true, signal: options.signal })) as FactConsent;
  }

  #one(
    method: "getFact" | "updateFact" | "forgetFact" | "approveFact" | "factHistory" | "factSources",
    id: string,
    options: CallOptions,
    idempotent: boolean,
  ): Promise<unknown> {
    const given = method === "updateFact" ? requireGiven(options, "changes") : requireOptions(options, "options", []);
    const request = { id: requireText(id, "id"), ...given };
    return this.#session.call(method, request, { idempotent, signal: options.signal });
  }
}
