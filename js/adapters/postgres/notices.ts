/** What memories tell each other across processes, by LISTEN and NOTIFY on one connection. Nothing depends on it. */

import { contentHash } from "../../content-hash.js";
import type { StorageChannel } from "../../types.js";
import type { Database } from "./database.js";
import type { PostgresClient } from "./pool.js";

/** PostgreSQL takes payloads of less than 8,000 bytes. */
const MOST_BYTES = 7_900;
/** Between two tries to listen again, in milliseconds. */
const PAUSE_MS = 1_000;
/** What is told in place of what is too long, or was missed: read everything again. */
const ALL = { kind: "storage", state: "resumed" };

/** One notification. */
interface Notification {
  channel: string;
  payload?: string;
}

/** The channels of a database, on a connection that is held while there is one. */
export class Notices {
  readonly #database: Database;
  readonly #channels = new Map<string, Set<Channel>>();
  #client: Promise<PostgresClient> | undefined;
  #listening = new Map<string, Promise<unknown>>();

  constructor(database: Database) {
    this.#database = database;
  }

  /** Opens a channel. */
  open(name: string): StorageChannel {
    // Names of channels are identifiers; those of ours hold a user's hash and nothing that must be quoted.
    const channel = new Channel(`throughline_${contentHash(name)}`, this);
    const beside = this.#channels.get(channel.name) ?? new Set();
    this.#channels.set(channel.name, beside.add(channel));
    void this.#listen();
    return channel;
  }

  /** @internal */
  tell(channel: Channel, message: unknown): void {
    const text = JSON.stringify({ from: channel.id, message });
    const payload = new TextEncoder().encode(text).length > MOST_BYTES ? JSON.stringify({ from: channel.id, message: ALL }) : text;
    this.#database.run("SELECT pg_notify($1, $2)", [channel.name, payload]).catch(() => undefined);
  }

  /** @internal */
  leave(channel: Channel): void {
    const beside = this.#channels.get(channel.name);
    beside?.delete(channel);
    if (beside?.size !== 0) return;
    this.#channels.delete(channel.name);
    void this.#listen();
  }

  /** Ends listening, so that the pool can end. */
  close(): void {
    this.#channels.clear();
    void this.#listen();
  }

  /** Brings what is listened to in line with the channels that there are. */
  async #listen(): Promise<void> {
    if (this.#channels.size === 0) {
      const client = this.#client;
      this.#client = undefined;
      this.#listening.clear();
      await client?.then((held) => held.release(true), () => undefined);
      return;
    }
    const connecting = (this.#client ??= this.#connect());
    try {
      const client = await connecting;
      if (this.#client !== connecting) return;
      for (const name of this.#listening.keys()) {
        if (this.#channels.has(name)) continue;
        this.#listening.delete(name);
        await client.query(`UNLISTEN ${name}`);
      }
      for (const name of this.#channels.keys()) {
        if (!this.#listening.has(name)) this.#listening.set(name, client.query(`LISTEN ${name}`));
      }
      await Promise.all(this.#listening.values());
    } catch {
      if (this.#client === connecting) this.#lost();
    }
  }

  async #connect(): Promise<PostgresClient> {
    const client = await this.#database.connect();
    client.on?.("notification", ({ channel, payload }: Notification) => this.#hear(channel, payload));
    client.on?.("end", () => void this.#client?.then((current) => current === client && this.#lost()));
    return client;
  }

  /** Listens again after a while; what was told meanwhile is not known, so everything is read again. */
  #lost(): void {
    void this.#client?.then((client) => client.release(true), () => undefined);
    this.#client = undefined;
    this.#listening.clear();
    const timer = setTimeout(() => {
      void this.#listen().then(() => {
        for (const channels of this.#channels.values()) for (const channel of channels) channel.onmessage?.({ data: ALL });
      });
    }, PAUSE_MS);
    (timer as { unref?: () => void }).unref?.();
  }

  #hear(name: string, payload: string | undefined): void {
    const { from, message } = JSON.parse(payload ?? "{}") as { from?: string; message?: unknown };
    for (const channel of this.#channels.get(name) ?? []) if (channel.id !== from) channel.onmessage?.({ data: message });
  }
}

/** One memory's channel. */
class Channel implements StorageChannel {
  readonly name: string;
  readonly id = crypto.randomUUID();
  readonly #notices: Notices;
  onmessage: StorageChannel["onmessage"] = null;

  constructor(name: string, notices: Notices) {
    this.name = name;
    this.#notices = notices;
  }

  postMessage(message: unknown): void {
    this.#notices.tell(this, message);
  }

  close(): void {
    this.onmessage = null;
    this.#notices.leave(this);
  }
}
