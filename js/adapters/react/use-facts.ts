import { useMemo } from "react";
import type { AddFact, Fact, FactEvent, FactPlace, ListFacts, Memory, UpdateFact } from "../../index.js";
import type { LiveQueryOptions } from "./live-query.js";
import { useMemory } from "./memory-provider.js";
import { onEvents, openMemory, useLive, useLiveQuery, useStatus, type LiveStatus } from "./use-live.js";

/** What is remembered about the user, as a component sees it, with what it can do. */
export type LiveFacts = LiveStatus & {
  /** The facts, oldest first; empty until they were read. */
  readonly facts: readonly Fact[];
  /** As `memory.facts.add`: on the user's word. */
  add(fact: AddFact): Promise<Fact>;
  /** As `memory.facts.update`. */
  update(id: string, changes: UpdateFact): Promise<Fact>;
  /** As `memory.facts.approve`. */
  approve(id: string): Promise<Fact>;
  /** As `memory.facts.forget`. */
  forget(id: string): Promise<void>;
  /** As `memory.facts.history`. */
  history(id: string): Promise<FactEvent[]>;
  /** As `memory.facts.sources`: all messages that show it. */
  sources(id: string): Promise<FactPlace[]>;
};

const NONE: readonly Fact[] = [];

/** Facts, live: what is learned, approved or forgotten, in this tab or another, shows at once. Default: active and proposed. */
export function useFacts({ category, status: factStatus }: Pick<ListFacts, "category" | "status"> = {}): LiveFacts {
  const { memory } = useMemory();
  const query = useLiveQuery<Fact[]>((open) => factsQuery(open, { ...(category !== undefined && { category }), ...(factStatus !== undefined && { status: factStatus }) }), [category, factStatus]);
  const live = useLive(query);
  const status = useStatus(live, true);
  const actions = useMemo(() => factActions(memory), [memory]);
  const facts = live.data ?? NONE;
  return useMemo(() => ({ ...status, facts, ...actions }), [status.status, status.error, facts, actions]);
}

function factsQuery(memory: Memory, filter: ListFacts): LiveQueryOptions<Fact[]> {
  return {
    load: (signal) => memory.facts.list({ ...filter, signal }),
    watch: (changed) => onEvents(memory, ["fact", "storage"], changed),
  };
}

function factActions(memory: Memory | undefined): Pick<LiveFacts, "add" | "update" | "approve" | "forget" | "history" | "sources"> {
  return {
    add: async (fact) => openMemory(memory).facts.add(fact),
    update: async (id, changes) => openMemory(memory).facts.update(id, changes),
    approve: async (id) => openMemory(memory).facts.approve(id),
    forget: async (id) => openMemory(memory).facts.forget(id),
    history: async (id) => openMemory(memory).facts.history(id),
    sources: async (id) => openMemory(memory).facts.sources(id),
  };
}
