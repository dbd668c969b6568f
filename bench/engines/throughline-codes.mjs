import { withChoice } from "./throughline-vectors.mjs";

export const settings = "candidates by 1-bit codes, compared in int8";
export const open = withChoice("codes");
