import { requireId, requireOptions } from "./arguments.js";
import type { Session } from "./session.js";
import type { CallOptions, Episode, ListEpisodes } from "./types.js";

/** What happened in each session: made when one is over, shown at the start of later conversations. */
export class Episodes {
  readonly #session: Session;

  /** @internal */
  constructor(session: Session) {
    this.#session = session;
  }

  /** Episodes, the one that ended last first. Rejects with `not_found` for a conversation that is not there. */
  async list(options: ListEpisodes = {}): Promise<Episode[]> {
    const request = requireOptions(options, "options");
    return (await this.#session.call("listEpisodes", request, { idempotent: true, signal: options.signal })) as Episode[];
  }

  /**
   * Ends the session of a conversation now, without waiting for `policy.episodes.idleMs`.
   *
   * @returns Its episode; `null` where nothing was said since the last one.
   * @throws `invalid_config` without a language model; `not_found`; `model_failed`, `model_output_invalid`, `timeout`:
   * nothing was changed then.
   */
  async end(conversationId: string, options: CallOptions = {}): Promise<Episode | null> {
    const request = { conversationId: requireId(conversationId, "conversationId"), ...requireOptions(options, "options", []) };
    return (await this.#session.call("endEpisode", request, { idempotent: true, counts: true, signal: options.signal })) as Episode | null;
  }
}
