/**
 * What the hooks and parts use of React, so that the package is compiled without it. Apps compile against React's own types:
 * the declarations that are shipped name the module "react", and this file stays here.
 */
declare module "react" {
  export type ReactNode = ReactElement | string | number | boolean | null | undefined | Iterable<ReactNode>;
  export interface ReactElement {
    readonly type: unknown;
    readonly props: unknown;
    readonly key: string | null;
  }
  export interface Context<T> {
    readonly Provider: (props: { value: T; children?: ReactNode }) => ReactElement;
  }
  type Component<Props> = (props: Props) => ReactElement | null;
  type Attributes = Readonly<Record<string, unknown>>;

  export function createElement<Props extends object>(type: Component<Props>, props: Props & { key?: string | number }, ...children: ReactNode[]): ReactElement;
  export function createElement(type: string, props: Attributes | null, ...children: ReactNode[]): ReactElement;
  export function createContext<T>(value: T): Context<T>;
  export function useContext<T>(context: Context<T>): T;
  export function useState<T>(initial: T | (() => T)): [T, (value: T) => void];
  export function useEffect(effect: () => unknown, dependencies: readonly unknown[]): void;
  export function useMemo<T>(make: () => T, dependencies: readonly unknown[]): T;
  export function useId(): string;
  export function useSyncExternalStore<T>(subscribe: (listener: () => void) => () => void, snapshot: () => T, serverSnapshot: () => T): T;
}
