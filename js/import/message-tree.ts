/**
 * Messages as a tree: links that are missing, doubled or circular are mended, what is hidden is taken out. Everything is
 * done by iteration: a chat can be deeper than any call stack.
 */

/** One message of an app, or a place in its tree that shows nothing. */
export interface TreeNode {
  /** What other nodes name it by. */
  key: string;
  /** What it follows, by key; `undefined`: nothing. */
  parentKey: string | undefined;
  /** The app's own id; empty: none. */
  ownId: string;
  /** Milliseconds since 1970; `undefined`: unknown. */
  time: number | undefined;
  /** The message to store; `undefined`: not shown. */
  raw: Readonly<Record<string, unknown>> | undefined;
}

/** A node that is shown, with what it follows among those that are. */
export interface VisibleNode {
  node: TreeNode;
  parent: TreeNode | undefined;
  isActive: boolean;
}

/** The messages of one conversation. */
export class MessageTree {
  readonly #nodes: readonly TreeNode[];
  readonly #byKey = new Map<string, TreeNode>();
  readonly #parents = new Map<TreeNode, TreeNode>();
  readonly #currentKey: string | undefined;

  /** `currentKey`: the node that the app showed last. Of several nodes with one key the first is what others name. */
  constructor(nodes: readonly TreeNode[], currentKey: string | undefined) {
    for (const node of nodes) if (!this.#byKey.has(node.key)) this.#byKey.set(node.key, node);
    this.#nodes = nodes;
    this.#currentKey = currentKey;
    this.#link();
    this.#cutCycles();
    this.#adoptOrphans();
  }

  /** The nodes that are shown, parents before children, the active branch marked. */
  visible(): VisibleNode[] {
    const order = this.#parentsFirst();
    const shown = new Map<TreeNode, TreeNode | undefined>();
    for (const node of order) {
      const parent = this.#parents.get(node);
      const above = parent === undefined ? undefined : parent.raw === undefined ? shown.get(parent) : parent;
      shown.set(node, above);
    }
    const active = new Set<TreeNode>();
    let at = this.#current(shown);
    while (at !== undefined) {
      active.add(at);
      at = shown.get(at);
    }
    return order.flatMap((node) => (node.raw === undefined ? [] : [{ node, parent: shown.get(node), isActive: active.has(node) }]));
  }

  #link(): void {
    for (const node of this.#nodes) {
      const parent = node.parentKey === undefined ? undefined : this.#byKey.get(node.parentKey);
      if (parent !== undefined && parent !== node) this.#parents.set(node, parent);
    }
  }

  /** Whoever follows itself through others begins a branch of its own instead. */
  #cutCycles(): void {
    const safe = new Set<TreeNode>();
    for (const start of this.#nodes) {
      const path = new Set<TreeNode>();
      let node: TreeNode | undefined = start;
      while (node !== undefined && !safe.has(node)) {
        path.add(node);
        const parent: TreeNode | undefined = this.#parents.get(node);
        if (parent !== undefined && path.has(parent)) this.#parents.delete(node);
        node = this.#parents.get(node);
      }
      for (const each of path) safe.add(each);
    }
  }

  /**
   * A message whose parent is not there follows the one before it in time, then in the file: the export left links out.
   * One that says that it follows nothing begins the conversation anew only where the links of the others are whole.
   */
  #adoptOrphans(): void {
    const byTime = this.#byTime();
    const hasChildren = new Set(this.#parents.values());
    const rootOf = this.#rootFinder();
    let before: TreeNode | undefined;
    for (const node of byTime) {
      if (this.#parents.has(node)) {
        before = node;
        continue;
      }
      const isLost = node.parentKey !== undefined ? !this.#byKey.has(node.parentKey) : !hasChildren.has(node);
      if (isLost && before !== undefined && rootOf(before) !== node) this.#parents.set(node, before);
      before = node;
    }
  }

  /** Finds the node above all others of a branch. Ways that were gone are shortened: branches are long, and roots move. */
  #rootFinder(): (node: TreeNode) => TreeNode {
    const above = new Map<TreeNode, TreeNode>();
    return (node) => {
      const path: TreeNode[] = [];
      let at = node;
      for (let next = above.get(at) ?? this.#parents.get(at); next !== undefined; next = above.get(at) ?? this.#parents.get(at)) {
        path.push(at);
        at = next;
      }
      for (const each of path) above.set(each, at);
      return at;
    };
  }

  /** By time, those without one where they stand in the file. */
  #byTime(): TreeNode[] {
    let last = -Infinity;
    const timed = this.#nodes.map((node, index) => {
      last = node.time ?? last;
      return { node, index, time: last };
    });
    return timed.sort((a, b) => a.time - b.time || a.index - b.index).map(({ node }) => node);
  }

  #parentsFirst(): TreeNode[] {
    const placed = new Set<TreeNode>();
    for (const start of this.#nodes) {
      const path: TreeNode[] = [];
      let node: TreeNode | undefined = start;
      while (node !== undefined && !placed.has(node)) {
        path.push(node);
        node = this.#parents.get(node);
      }
      for (const each of path.reverse()) placed.add(each);
    }
    return [...placed];
  }

  /** What was shown last: the node that the app names, or what is shown above it, else the newest message without a child. */
  #current(shown: ReadonlyMap<TreeNode, TreeNode | undefined>): TreeNode | undefined {
    const named = this.#currentKey === undefined ? undefined : this.#byKey.get(this.#currentKey);
    if (named !== undefined) {
      const current = named.raw === undefined ? shown.get(named) : named;
      if (current !== undefined) return current;
    }
    const parents = new Set<TreeNode | undefined>([...shown].flatMap(([node, parent]) => (node.raw === undefined ? [] : [parent])));
    let newest: TreeNode | undefined;
    for (const node of shown.keys()) {
      if (node.raw === undefined || parents.has(node)) continue;
      if (newest === undefined || (node.time ?? -Infinity) >= (newest.time ?? -Infinity)) newest = node;
    }
    return newest;
  }
}
