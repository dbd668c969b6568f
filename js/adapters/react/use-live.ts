import { useMemo, useSyncExternalStore } from "react";
import { MemoryError } from "../../errors.js";
import type { Memory, MemoryEventName, MemoryEvents } from "../../index.js";
import { LiveQuery, type Live, type LiveQueryOptions } from "./live-query.js";
import { useMemory } from "./memory-provider.js";

/**
 * Where something stands. `idle`: there is nothing to read yet; `loading`: it is read for the first time; `ready`; `failed`: see
 * `error`, and what had been read stays, unless it is gone. It is kept up to date by events of this tab and of others.
 */
export type LiveStatus =
  | { readonly status: "idle" | "loading" | "ready"; readonly error: undefined }
  | { readonly status: "failed"; readonly error: MemoryError };

/** A query over the memory of the provider, made anew when `keys` change. */
export function useLiveQuery<T>(make: (memory: Memory) => LiveQueryOptions<T>, keys: readonly unknown[]): LiveQuery<T> {
  const state = useMemory();
  const { memory } = state;
  return useMemo(() => new LiveQuery(memory === undefined ? WAITING : make(memory)), [memory, ...keys]);
}

/** What a query reads, as the state of a component. */
export function useLive<T>(query: LiveQuery<T>): Live<T> {
  return useSyncExternalStore(query.subscribe, query.snapshot, nothingYet);
}

/** Status and error, as each hook gives them. While the memory opens, what is to be read is loading. */
export function useStatus(live: Live<unknown>, isWanted: boolean): LiveStatus {
  const state = useMemory();
  if (state.status === "failed") return { status: "failed", error: state.error };
  if (state.status === "opening" && isWanted) return { status: "loading", error: undefined };
  if (!isWanted) return { status: "idle", error: undefined };
  return live.status === "failed" ? { status: "failed", error: live.error } : { status: live.status, error: undefined };
}

/** Listens to several events; answers with what ends that. */
export function onEvents<Name extends MemoryEventName>(memory: Memory, names: readonly Name[], listener: (payload: MemoryEvents[Name]) => void): () => void {
  const removers = names.map((name) => memory.on(name, listener));
  return () => removers.forEach((remove) => remove());
}

/** The memory for a write, once it is open. */
export function openMemory(memory: Memory | undefined): Memory {
  if (memory !== undefined) return memory;
  throw new MemoryError("engine_unavailable", "The memory is not open yet: wait until useMemory().status is \"ready\".");
}

const WAITING = { load: undefined, watch: () => () => undefined };
const NOTHING_YET = { status: "loading", data: undefined, error: undefined } as const;
const nothingYet = (): Live<never> => NOTHING_YET;
