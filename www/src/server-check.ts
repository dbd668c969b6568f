/** Looks why a model server does not answer, step by step, and says what to do about the first thing that is wrong. */

import { isMemoryError } from "throughline";
import { openAiChat } from "throughline/openai";
import { isOnThisDevice, SERVER_KINDS, serverOptions, type ServerSettings } from "./model-server.ts";
import { isAnswering, outsideFetch } from "./outside.ts";

/** What was looked at, and how it is. */
export interface CheckedStep {
  isWell: boolean;
  words: string;
  /** What to do, where it is not well. */
  advice?: string;
  /** The same as a line for a terminal. */
  command?: string;
}

/** What a check found. */
export interface ServerCheck {
  isWell: boolean;
  steps: CheckedStep[];
  /** Names of the models that the server has, where it tells. */
  models: string[];
}

/** Longest wait for any one step. */
const STEP_MS = 30_000;
const TRIAL = { system: "", messages: [{ role: "user", content: "Answer with OK." }] };
/** Models that think first need some room before they say anything. */
const TRIAL_TOKENS = 256;

/** The first thing that is wrong ends a check. */
class Wrong extends Error {
  constructor(readonly step: Omit<CheckedStep, "isWell">) {
    super(step.words);
  }
}

/** Checks address, server, permission, key and model, in this order. */
export async function checkServer(settings: ServerSettings, signal: AbortSignal): Promise<ServerCheck> {
  const steps: CheckedStep[] = [];
  let models: string[] = [];
  try {
    checkAddress(settings.baseUrl);
    const listing = await reach(settings, signal);
    steps.push({ isWell: true, words: `${hostOf(settings)} answers, and lets this page in.` });
    models = await namesOf(listing);
    checkName(settings, models);
    steps.push({ isWell: true, words: await tryOut(settings, signal) });
    return { isWell: true, steps, models };
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    return { isWell: false, steps: [...steps, { isWell: false, ...error.step }], models };
  }
}

function checkAddress(baseUrl: string): void {
  if (!URL.canParse(baseUrl)) throw new Wrong({ words: "This is no whole address.", advice: "It begins with http:// or https://, and mostly ends with /v1." });
  const { protocol } = new URL(baseUrl);
  if (protocol !== "http:" && protocol !== "https:") throw new Wrong({ words: `An address of ${protocol} cannot be called.`, advice: "Give one of http or https." });
  if (protocol === "http:" && !isOnThisDevice(baseUrl)) {
    throw new Wrong({ words: "Over plain http only this device can be called.", advice: "Use the server's https address, or localhost." });
  }
}

/** Asks for the list of models, which costs nothing. */
async function reach(settings: ServerSettings, signal: AbortSignal): Promise<Response> {
  const address = `${settings.baseUrl.replace(/\/+$/, "")}/models`;
  const headers: Record<string, string> = settings.apiKey === "" ? {} : { authorization: `Bearer ${settings.apiKey}` };
  const limited = AbortSignal.any([signal, AbortSignal.timeout(STEP_MS)]);
  let response: Response;
  try {
    response = await outsideFetch(address, { headers, signal: limited });
  } catch {
    if (limited.aborted) throw stopped(signal, settings);
    throw (await isAnswering(address, limited)) ? notAllowed(settings) : notThere(settings);
  }
  if (response.status === 401 || response.status === 403) {
    throw new Wrong({ words: `${hostOf(settings)} refuses the key (${response.status}).`, advice: settings.apiKey === "" ? "It wants one: type it in below." : "Check the key, and what it may be used for." });
  }
  return response;
}

function notAllowed(settings: ServerSettings): Wrong {
  return new Wrong({
    words: `${hostOf(settings)} is running, but does not allow this page (CORS).`,
    advice: `Start it so that it allows the origin ${location.origin}:`,
    ...commandOf(settings),
  });
}

function notThere(settings: ServerSettings): Wrong {
  const isHere = isOnThisDevice(settings.baseUrl);
  return new Wrong({
    words: `Nothing answers at ${hostOf(settings)}.`,
    advice: isHere ? "Is the server running, and is this its port?" : "Is the address right, and is this device online?",
    ...(isHere ? commandOf(settings) : {}),
  });
}

function stopped(signal: AbortSignal, settings: ServerSettings): unknown {
  return signal.aborted ? signal.reason : new Wrong({ words: `${hostOf(settings)} did not answer within ${STEP_MS / 1_000} seconds.`, advice: "Is it still loading a model? Try again." });
}

function commandOf({ baseUrl }: ServerSettings): { command?: string } {
  const { port } = new URL(baseUrl);
  const kind = SERVER_KINDS.find((candidate) => candidate.command !== null && new URL(candidate.baseUrl).port === port);
  return kind?.command ? { command: kind.command(location.origin) } : {};
}

/** The models of the list; none where the server has no such list. */
async function namesOf(response: Response): Promise<string[]> {
  const body = (await response.json().catch(() => null)) as { data?: { id?: unknown }[] } | null;
  const entries = response.ok && Array.isArray(body?.data) ? body.data : [];
  return entries.map(({ id }) => id).filter((id): id is string => typeof id === "string");
}

function checkName({ model }: ServerSettings, models: readonly string[]): void {
  // llama.cpp serves one model, under any name.
  if (models.length < 2 || models.some((name) => name === model || name === `${model}:latest`)) return;
  throw new Wrong({ words: `The server has no model “${model}”.`, advice: `It has ${models.slice(0, 12).join(", ")}${models.length > 12 ? " and others" : ""}.` });
}

/** A short answer, with how long it took. */
async function tryOut(settings: ServerSettings, signal: AbortSignal): Promise<string> {
  const begin = performance.now();
  let firstMs = 0;
  try {
    const chat = openAiChat({ ...serverOptions(settings), model: settings.model, maxRetries: 0, timeoutMs: STEP_MS });
    const answer = chat.send(TRIAL, { signal, maxTokens: TRIAL_TOKENS });
    for await (const piece of answer) if (firstMs === 0 && piece !== "") firstMs = performance.now() - begin;
    await answer.finished;
  } catch (error) {
    if (signal.aborted) throw error;
    throw refusedTrial(error, settings);
  }
  const allMs = performance.now() - begin;
  return `${settings.model} answered: first word after ${seconds(firstMs || allMs)}, all of it after ${seconds(allMs)}.`;
}

function refusedTrial(error: unknown, { baseUrl }: ServerSettings): Wrong {
  if (isMemoryError(error, "timeout")) return new Wrong({ words: "The model did not answer in time.", advice: "Is it still being loaded? Try again in a moment." });
  if (!isMemoryError(error)) return new Wrong({ words: "The model could not be asked.", advice: String(error) });
  const status = error.details?.["status"];
  if (status === 404 && !/\/v\d+\/?$/.test(baseUrl)) return new Wrong({ words: "The server knows no such address.", advice: "It mostly ends with /v1." });
  return new Wrong({ words: "The model refused to answer.", advice: error.message });
}

function hostOf({ baseUrl }: ServerSettings): string {
  return new URL(baseUrl).host;
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
