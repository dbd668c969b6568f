import { indexes } from "../indexes.mjs";

const GROW_ROWS = 256;

/** The engine's vector index with one way of searching: `auto`, `exact`, `codes` or `hnsw`. */
export function withChoice(choice) {
  return async ({ dimensions }) => {
    const loaded = await indexes();
    return engine(loaded, new loaded.Vectors(dimensions, choice), dimensions, choice);
  };
}

function engine(loaded, index, dimensions, choice) {
  return {
    add: (first, rows) => index.insert(first, rows),
    finish: () => {
      while (index.grow(GROW_ROWS)) continue;
    },
    search: (query, limit, step) => index.search(query, limit, step),
    // As the engine stores them: sealed segments of rows as they come, never the whole index. The graph is grown again.
    save: (blocks) => Array.from(blocks, ([first, rows]) => ({ first, bytes: index.seal(rows) })),
    load: (segments) => {
      const restored = new loaded.Vectors(dimensions, choice);
      for (const { first, bytes } of segments) restored.attach(first, bytes);
      return engine(loaded, restored, dimensions, choice);
    },
    free: () => index.free(),
  };
}
