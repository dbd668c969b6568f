import { create, insert, load, save, search } from "@orama/orama";

export const settings = "defaults (English, stemming, threshold 1: OR)";

export async function open() {
  return engine(create({ schema: { text: "string" } }));
}

function engine(database) {
  return {
    add: (number, text) => insert(database, { id: String(number), text }),
    search: async (term, limit) => (await search(database, { term, limit })).hits.map((hit) => Number(hit.id)),
    save: () => JSON.stringify(save(database)),
    load: (saved) => {
      const restored = create({ schema: { text: "string" } });
      load(restored, JSON.parse(saved));
      return engine(restored);
    },
  };
}
