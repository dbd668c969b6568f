/** Times as apps write them, as milliseconds since 1970. */

import { asObject, field } from "./json-value.js";

/** Numbers below this are seconds: as milliseconds it is March 1973, as seconds the year 5138. */
const SECONDS_BELOW = 1e11;
const GREATEST_MS = 8.64e15;

/**
 * Reads a number (seconds or milliseconds), a number as text, ISO 8601 (UTC where it names no zone), a BSON date, or a
 * date in words such as SillyTavern and Google write. `undefined` for what is no usable time.
 */
export function timeMs(value: unknown): number | undefined {
  if (typeof value === "number") return fromNumber(value);
  if (typeof value === "string") return fromText(value.trim());
  const object = asObject(value);
  return timeOfBson(object);
}

function timeOfBson(object: ReturnType<typeof asObject>): number | undefined {
  const date = field(object, "$date");
  const long = field(asObject(date), "$numberLong");
  if (typeof long === "string") return fromNumber(Number(long), 0);
  return typeof date === "string" || typeof date === "number" ? timeMs(date) : undefined;
}

function fromNumber(number: number, secondsBelow = SECONDS_BELOW): number | undefined {
  const ms = Math.round(number < secondsBelow ? number * 1000 : number);
  return ms >= 0 && ms <= GREATEST_MS ? ms : undefined;
}

const ISO = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?(Z|[+-]\d\d:?\d\d)?$/i;
/** `2023-5-6 @14h 20m 22s 100ms`, as older SillyTavern writes. */
const AT_SIGN = /^(\d{4})-(\d{1,2})-(\d{1,2}) ?@ ?(\d{1,2})h ?(\d{1,2})m(?: ?(\d{1,2})s)?(?: ?(\d{1,3})ms)?$/;

function fromText(text: string): number | undefined {
  if (text === "" || text.length > 100) return undefined;
  if (/^\d+(\.\d+)?$/.test(text)) return fromNumber(Number(text));
  const iso = ISO.exec(text);
  if (iso !== null) {
    const plain = text.replace(" ", "T").replace(",", ".");
    const ms = Date.parse(iso[1] === undefined && plain.includes("T") ? `${plain}Z` : plain);
    return Number.isFinite(ms) && ms >= 0 ? ms : undefined;
  }
  const parts = AT_SIGN.exec(text)?.slice(1).map((part) => Number(part ?? 0));
  if (parts !== undefined) {
    const [year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0, ms = 0] = parts;
    return fromNumber(Date.UTC(year, month - 1, day, hour, minute, second, ms), 0);
  }
  return fromWords(text);
}

/** Offsets of zones by the names that Google's exports use, in minutes east of UTC. Others count as UTC. */
const ZONES: Readonly<Record<string, number>> = {
  EST: -300, EDT: -240, CST: -360, CDT: -300, MST: -420, MDT: -360, PST: -480, PDT: -420, BST: 60, CET: 60, MEZ: 60,
  CEST: 120, MESZ: 120, EET: 120, EEST: 180, MSK: 180, IST: 330, JST: 540, KST: 540, AEST: 600, AEDT: 660, BRT: -180,
};
const LANGUAGES = ["en", "de", "fr", "es", "it", "pt", "nl", "pl", "ru", "uk", "cs", "sv", "da", "nb", "fi", "tr", "id"];
let months: Map<string, number> | undefined;

/** The first three letters of each month's names, in the languages above. */
function monthNames(): Map<string, number> {
  if (months !== undefined) return months;
  months = new Map();
  for (const language of LANGUAGES) {
    for (const style of ["short", "long"] as const) {
      const format = new Intl.DateTimeFormat(language, { month: style, day: "numeric", timeZone: "UTC" });
      for (let month = 0; month < 12; month += 1) {
        const name = format.formatToParts(Date.UTC(2024, month, 2)).find(({ type }) => type === "month")?.value ?? "";
        const key = name.toLowerCase().replaceAll(".", "");
        if (/^\p{L}/u.test(key) && !months.has(key)) months.set(key, month);
      }
    }
  }
  return months;
}

/** A date with a four-digit year and a time of day, in many orders and languages. Day before month where both are numbers. */
function fromWords(text: string): number | undefined {
  const clock = /(\d{1,2})[:.h](\d{2})(?:[:.](\d{2}))?\s*([ap])?\.?m?/iu.exec(text.replace(/\d{4}/, "    "));
  const date = clock === null ? text : text.slice(0, clock.index) + " " + text.slice(clock.index + clock[0].length);
  const numbers = [...date.matchAll(/\d+/g)].map(([digits]) => digits);
  const yearAt = numbers.findIndex((digits) => digits.length === 4);
  if (yearAt < 0) return undefined;
  const others = numbers.filter((_, index) => index !== yearAt).map(Number);
  const names = [...date.toLowerCase().matchAll(/\p{L}+/gu)].map(([word]) => monthNames().get(word));
  const named = names.find((month) => month !== undefined);
  const [first = 1, second = 1] = others;
  const isYearFirst = yearAt === 0;
  const day = named !== undefined ? first : isYearFirst ? second : first;
  const month = named ?? (isYearFirst ? first : second) - 1;
  let hour = Number(clock?.[1] ?? 0);
  const half = clock?.[4]?.toLowerCase();
  if (half === "p" && hour < 12) hour += 12;
  if (half === "a" && hour === 12) hour = 0;
  if (month < 0 || month > 11 || day < 1 || day > 31 || hour > 23) return undefined;
  const zone = [...text.matchAll(/\b[A-Z]{3,4}\b/g)].map(([name]) => ZONES[name]).find((offset) => offset !== undefined) ?? 0;
  return fromNumber(Date.UTC(Number(numbers[yearAt]), month, day, hour, Number(clock?.[2] ?? 0), Number(clock?.[3] ?? 0)) - zone * 60_000, 0);
}
