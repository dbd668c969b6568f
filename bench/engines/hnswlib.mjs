import { loadHnswlib } from "hnswlib-wasm";

export const settings = "M 16, efConstruction 200, ef 64";

export async function open({ dimensions, total }) {
  const library = await loadHnswlib();
  const index = new library.HierarchicalNSW("ip", dimensions, "");
  index.initIndex(Math.ceil(total * 1.1) + 1_000, 16, 200, 100);
  index.setEfSearch(64);
  return {
    add: (first, rows) => {
      for (let at = 0; at < rows.length; at += dimensions) index.addPoint(rows.subarray(at, at + dimensions), first + at / dimensions, false);
    },
    search: (query, limit, step) => index.searchKnn(query, limit, step > 1 ? (label) => label % step === 0 : undefined).neighbors,
  };
}
