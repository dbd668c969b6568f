import { withChoice } from "./throughline-vectors.mjs";

export const settings = "HNSW over int8 rows, M 16, efConstruction 100, ef 100";
export const open = withChoice("hnsw");
