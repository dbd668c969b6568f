import { create, insert, searchVector } from "@orama/orama";

export const settings = "vector[384], similarity 0 (every row may be found)";

export async function open({ dimensions }) {
  const database = create({ schema: { vector: `vector[${dimensions}]` } });
  return {
    add: async (first, rows) => {
      for (let at = 0; at < rows.length; at += dimensions) await insert(database, { id: String(first + at / dimensions), vector: Array.from(rows.subarray(at, at + dimensions)) });
    },
    search: async (query, limit) => {
      const found = await searchVector(database, { mode: "vector", vector: { value: Array.from(query), property: "vector" }, similarity: 0, limit });
      return found.hits.map((hit) => Number(hit.id));
    },
    canFilter: false,
  };
}
