import { withChoice } from "./throughline-vectors.mjs";

export const settings = "rows in int8, every row compared";
export const open = withChoice("exact");
