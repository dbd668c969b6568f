import MiniSearch from "minisearch";

const OPTIONS = { fields: ["text"] };

export const settings = "defaults (OR, BM25+)";

export function open() {
  return engine(new MiniSearch(OPTIONS));
}

function engine(index) {
  return {
    add: (id, text) => index.add({ id, text }),
    search: (text, limit) => index.search(text).slice(0, limit).map((hit) => hit.id),
    save: () => JSON.stringify(index),
    load: (saved) => engine(MiniSearch.loadJSON(saved, OPTIONS)),
  };
}
