import MiniSearch from "minisearch";

export const settings = "prefix: true, fuzzy: 0.2 (the README's suggestion for search fields)";

export function open() {
  const index = new MiniSearch({ fields: ["text"], searchOptions: { prefix: true, fuzzy: 0.2 } });
  return {
    add: (id, text) => index.add({ id, text }),
    search: (text, limit) => index.search(text).slice(0, limit).map((hit) => hit.id),
  };
}
