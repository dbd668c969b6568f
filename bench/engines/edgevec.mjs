import init, { EdgeVec, EdgeVecConfig } from "edgevec/edgevec.js";

export const settings = "defaults (HNSW over f32); by distance, since its cosine gives the farthest";

export async function open({ dimensions }) {
  await init({ module_or_path: "/bench/peers/edgevec_bg.wasm" });
  const index = new EdgeVec(new EdgeVecConfig(dimensions));
  const numbers = new Map();
  return {
    add: (first, rows) => {
      for (let at = 0; at < rows.length; at += dimensions) numbers.set(index.insert(rows.subarray(at, at + dimensions)), first + at / dimensions);
    },
    search: (query, limit) => index.search(query, limit).map((hit) => numbers.get(hit.id)),
    canFilter: false,
  };
}
