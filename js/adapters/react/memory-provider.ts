import { createContext, createElement, useContext, useMemo, useState, useSyncExternalStore, type ReactElement, type ReactNode } from "react";
import { MemoryError } from "../../errors.js";
import type { Memory } from "../../index.js";
import { MemoryHolder, OPENING, type MemoryState } from "./memory-holder.js";

const MemoryContext = createContext<MemoryState | undefined>(undefined);

/** A memory that the app opened itself, or how it is opened. */
export type MemoryProviderProps =
  | {
      /** An open memory. The app closes it. */
      memory: Memory;
      open?: undefined;
      children?: ReactNode;
    }
  | {
      /**
       * Opens the memory, in the browser, when the provider is first shown: `() => createMemory({ userId })`. It is closed when
       * the provider goes. A new function is not looked at: for another user give the provider another `key`.
       */
      open: () => Promise<Memory>;
      memory?: undefined;
      children?: ReactNode;
    };

/** Gives a memory to the hooks below it. */
export function MemoryProvider({ memory, open, children }: MemoryProviderProps): ReactElement {
  const [holder] = useState(() => new MemoryHolder(open ?? never));
  const isGiven = memory !== undefined;
  const held = useSyncExternalStore(isGiven ? nothing : holder.hold, holder.state, opening);
  const given = useMemo((): MemoryState | undefined => (memory === undefined ? undefined : { status: "ready", memory, error: undefined }), [memory]);
  return createElement(MemoryContext.Provider, { value: given ?? held }, children);
}

/**
 * The memory of the nearest provider: opening, ready, or failed with a way to try again. On a server it is always opening,
 * unless the provider was given an open one.
 *
 * @throws `invalid_config` where there is no provider.
 */
export function useMemory(): MemoryState {
  const state = useContext(MemoryContext);
  if (state === undefined) throw new MemoryError("invalid_config", "useMemory and the hooks that use it need a <MemoryProvider> above them.");
  return state;
}

const opening = (): MemoryState => OPENING;
const nothing = (): (() => void) => () => undefined;
const never = (): Promise<Memory> => Promise.reject(new MemoryError("invalid_config", "MemoryProvider: give `memory` or `open`."));
