// A power cut, as a model: every file of the store keeps what was written before its last fsync, and nothing after. What the
// browser wrote and synced is read from a trace of its system calls.

import { existsSync, readFileSync, readdirSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { BROWSERS } from "./browsers.mjs";

const CALLS = "openat,write,pwrite64,writev,pwritev,ftruncate,fsync,fdatasync,rename,renameat,renameat2";

/** The command that traces what is written and synced into `log`. */
export function tracer(log) {
  return ["strace", "--follow-forks", "--seccomp-bpf", "--decode-fds=path", "--string-limit=0", "--quiet=all", `--trace=${CALLS}`, `--output=${log}`];
}

/** The files of a profile that hold IndexedDB, with their sizes. */
export function storeFiles(name, profile) {
  if (!existsSync(profile)) return new Map();
  const paths = readdirSync(profile, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
  return new Map(paths.filter((path) => BROWSERS[name].holdsStore(path)).map((path) => [path, statSync(path).size]));
}

/**
 * Cuts the files of a killed browser's store to what was on disk.
 *
 * @param {Map<string, number>} before Their sizes when the trace began.
 * @returns The bytes that were cut.
 */
export function cutPower(name, profile, log, before) {
  const synced = syncedLengths(readFileSync(log, "utf8"), before);
  let cut = 0;
  for (const [path, size] of storeFiles(name, profile)) {
    // An index of the log in shared memory: it is never on disk.
    if (path.endsWith("-shm")) rmSync(path);
    const length = synced.get(path) ?? before.get(path) ?? 0;
    if (path.endsWith("-shm") || size <= length) continue;
    truncateSync(path, length);
    cut += size - length;
  }
  return cut;
}

/** By path: the length up to which a file was on disk when the trace ended. */
function syncedLengths(log, before) {
  const written = new Map(before);
  const synced = new Map(before);
  for (const { call, args, result } of calls(log)) {
    if (result < 0) continue;
    const path = /<([^>]*)>/.exec(args)?.[1] ?? "";
    const numbers = args.split(",").map((part) => Number(part.trim()));
    if (call === "openat") {
      if (args.includes("O_TRUNC")) written.set(pathOpened(args), 0);
    } else if (call === "write" || call === "writev") {
      written.set(path, (written.get(path) ?? 0) + result);
    } else if (call === "pwrite64" || call === "pwritev") {
      written.set(path, Math.max(written.get(path) ?? 0, numbers.at(-1) + result));
    } else if (call === "ftruncate") {
      written.set(path, numbers.at(-1));
      synced.set(path, Math.min(synced.get(path) ?? 0, numbers.at(-1)));
    } else if (call.startsWith("rename")) {
      const [from, to] = [...args.matchAll(/"([^"]*)"/g)].map(([, name]) => name);
      for (const lengths of [written, synced]) {
        if (lengths.has(from)) lengths.set(to, lengths.get(from));
        lengths.delete(from);
      }
    } else {
      synced.set(path, written.get(path) ?? 0);
    }
  }
  return synced;
}

function pathOpened(args) {
  const name = /"([^"]*)"/.exec(args)?.[1] ?? "";
  return name.startsWith("/") ? name : join(/<([^>]*)>/.exec(args)?.[1] ?? "", name);
}

/** The calls of a trace, in the order in which they ended. */
function* calls(log) {
  /** By thread: the beginning of a call that another thread's line has interrupted. */
  const open = new Map();
  for (const line of log.split("\n")) {
    const [, thread, rest] = /^(\d+)\s+(.*)$/.exec(line) ?? [];
    if (rest === undefined) continue;
    if (rest.endsWith("<unfinished ...>")) {
      open.set(thread, rest.slice(0, -"<unfinished ...>".length));
      continue;
    }
    const resumed = /^<\.\.\. \w+ resumed>(.*)$/.exec(rest);
    const whole = resumed === null ? rest : `${open.get(thread) ?? ""}${resumed[1]}`;
    const [, call, args, result] = /^(\w+)\((.*)\)\s+= (-?\d+)/.exec(whole) ?? [];
    if (call !== undefined) yield { call, args, result: Number(result) };
  }
}
