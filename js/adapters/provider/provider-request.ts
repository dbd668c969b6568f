/** One request to a provider: key, time limits, retries, and failures that tell what to do. */

import { MemoryError, isMemoryError } from "../../errors.js";
import { Deadline } from "./deadline.js";
import { brokenAnswer, refusal, type ProviderFailure } from "./provider-error.js";
import { readEvents } from "./server-sent-events.js";

/** How a provider is reached. */
export interface ProviderOptions {
  /** Where the API is. */
  baseUrl?: string;
  /** The key, or what gives it: asked before each request. A page shows its keys to whoever uses it: send users' own only. */
  apiKey?: string | (() => string | Promise<string>);
  /** Further headers; they win over the adapter's own. */
  headers?: Readonly<Record<string, string>>;
  /** In place of the platform's `fetch`. */
  fetch?: typeof globalThis.fetch;
  /** Longest silence, until the answer begins and between two pieces of it. 1 to 86,400,000, default 120,000. */
  timeoutMs?: number;
  /**
   * How often a request is sent again that failed before its answer began: the network, statuses 408, 409, 425, 429 and 5xx.
   * Waits as long as `Retry-After` says, up to a minute (else it fails, with `details.retryAfterMs`), or half a second and then
   * twice as long each time. 0 to 10, default 2.
   */
  maxRetries?: number;
}

/** A request. */
export interface ProviderRequest {
  options: ProviderOptions;
  url: string;
  headers: Readonly<Record<string, string>>;
  /** Name of the header that carries the key, and what stands in front of it. */
  keyHeader: readonly [name: string, prefix: string];
  body: object;
  failure: ProviderFailure;
  signal: AbortSignal | undefined;
  /** What to do where the address cannot be reached at all. */
  unreachable: (url: URL) => string;
}

/** OpenAI's word that an answer is whole. */
export const DONE = "[DONE]";
/** Longest wait between two tries. */
const MAX_WAIT_MS = 60_000;
const FIRST_WAIT_MS = 500;
/** So much of a refusal is read. */
const MAX_REFUSAL_CHARACTERS = 65_536;

/** An address below `baseUrl`, whether or not that ends in a slash. */
export function addressBelow(baseUrl: string, path: string): string {
  return `${baseUrl.replace(/\/+$/, "")}/${path}`;
}

/** The answer, as JSON. */
export function postJson(request: ProviderRequest): Promise<unknown> {
  return withResponse(request, async (response, deadline) => parse(request, await deadline.race(response.text())));
}

/**
 * The answer as a stream of events: the parsed data of each, and {@link DONE} where the server says it. A server that does not
 * stream answers with one JSON text: then that is the only one.
 */
export function postStream<T>(request: ProviderRequest, read: (events: AsyncIterable<unknown>) => Promise<T>): Promise<T> {
  return withResponse(request, (response, deadline) => read(eventsOf(request, response, deadline)));
}

async function* eventsOf(request: ProviderRequest, response: Response, deadline: Deadline): AsyncGenerator {
  const type = response.headers.get("content-type") ?? "";
  if (type.includes("json") || response.body === null) {
    yield parse(request, await deadline.race(response.text()));
    return;
  }
  for await (const text of readEvents(response.body, deadline)) {
    yield text === DONE ? DONE : parse(request, text);
    if (text === DONE) return;
  }
}

/** Retries until an answer begins; what happens while it is read is final. */
async function withResponse<T>(request: ProviderRequest, read: (response: Response, deadline: Deadline) => Promise<T>): Promise<T> {
  const { options, signal } = request;
  const tries = options.maxRetries ?? 2;
  for (let tried = 0; ; tried += 1) {
    const deadline = new Deadline(options.timeoutMs ?? 120_000, signal);
    try {
      const response = await begin(request, deadline);
      if (response.ok) return await settled(request, deadline, () => read(response, deadline));
      const failure = await refusalOf(request, response, deadline);
      const waitMs = tried < tries && failure.retryable ? waitOf(failure, tried) : Infinity;
      if (waitMs > MAX_WAIT_MS) throw failure;
      await pause(waitMs, signal);
    } catch (error) {
      if (!(error instanceof Unreachable)) throw error;
      if (tried >= tries) throw error.failure;
      await pause(waitOf(error.failure, tried), signal);
    } finally {
      deadline.end();
    }
  }
}

/** The address could not be reached: nothing was answered, so the request can be sent again. */
class Unreachable extends Error {
  constructor(readonly failure: MemoryError) {
    super();
  }
}

async function begin(request: ProviderRequest, deadline: Deadline): Promise<Response> {
  const { options, failure } = request;
  const url = addressOf(request);
  return settled(request, deadline, async () => {
    const key = await keyOf(request, deadline);
    const [keyName, prefix] = request.keyHeader;
    const headers = { "content-type": "application/json", ...(key === "" ? {} : { [keyName]: prefix + key }), ...request.headers, ...options.headers };
    const init = { method: "POST", headers, body: JSON.stringify(request.body), signal: deadline.signal };
    try {
      return await deadline.race((options.fetch ?? globalThis.fetch)(url, init));
    } catch (error) {
      if (deadline.signal.aborted) throw error;
      const message = `${url.origin} could not be reached. ${request.unreachable(url)}`;
      throw new Unreachable(new MemoryError(failure, message, { cause: error, retryable: true }));
    }
  });
}

/** Names an abort and a timeout as what they are. A failure while reading is a cut connection. */
async function settled<T>(request: ProviderRequest, deadline: Deadline, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (request.signal?.aborted) throw new MemoryError("aborted", "The call was aborted.", { cause: request.signal.reason });
    const { origin } = addressOf(request);
    if (deadline.hasPassed) throw new MemoryError("timeout", `${origin} was silent for longer than timeoutMs. Try again, or allow more time.`);
    if (error instanceof Unreachable || isMemoryError(error)) throw error;
    throw brokenAnswer(request.failure, origin, "was cut off");
  }
}

async function keyOf({ options, failure }: ProviderRequest, deadline: Deadline): Promise<string> {
  const { apiKey = "" } = options;
  if (typeof apiKey === "string") return apiKey;
  try {
    return await deadline.race(Promise.resolve(apiKey()));
  } catch (cause) {
    if (deadline.signal.aborted) throw cause;
    throw new MemoryError(failure, "The function apiKey failed; see the error's cause.", { cause });
  }
}

function addressOf({ url }: ProviderRequest): URL {
  try {
    return new URL(url, globalThis.location?.href);
  } catch {
    throw new MemoryError("invalid_config", "Option baseUrl is no address. Give a whole one, e.g. http://localhost:11434/v1.");
  }
}

async function refusalOf(request: ProviderRequest, response: Response, deadline: Deadline): Promise<MemoryError> {
  const text = await settled(request, deadline, () => deadline.race(response.text()).catch((error: unknown) => {
    if (deadline.signal.aborted) throw error;
    return "";
  }));
  let body: unknown;
  try {
    body = JSON.parse(text.slice(0, MAX_REFUSAL_CHARACTERS));
  } catch {
    // A page of a gateway: the status says enough.
  }
  const { headers, status } = response;
  const said = headers.get("x-should-retry");
  const retryable = said === "true" || said === "false" ? said === "true" : undefined;
  return refusal(request.failure, addressOf(request).origin, { status, body, retryAfterMs: retryAfterOf(headers), retryable });
}

/** `retry-after-ms`, or `Retry-After` in seconds or as a date. */
function retryAfterOf(headers: Headers): number | undefined {
  const ms = Number.parseFloat(headers.get("retry-after-ms") ?? "");
  if (Number.isFinite(ms)) return Math.max(0, ms);
  const text = headers.get("retry-after") ?? "";
  const after = /^\d+(\.\d+)?$/.test(text.trim()) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isFinite(after) ? Math.max(0, after) : undefined;
}

function waitOf(failure: MemoryError, tried: number): number {
  const asked = failure.details?.["retryAfterMs"];
  // Spread, so that those who were refused together do not come back together.
  return typeof asked === "number" ? asked : FIRST_WAIT_MS * 2 ** tried * (0.75 + Math.random() / 2);
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(new MemoryError("aborted", "The call was aborted.", { cause: signal?.reason }));
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    if (signal?.aborted) onAbort();
    else signal?.addEventListener("abort", onAbort, { once: true });
  });
}

/** Without the parser's own error, which quotes the text. */
function parse(request: ProviderRequest, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw brokenAnswer(request.failure, addressOf(request).origin, "is not JSON");
  }
}
