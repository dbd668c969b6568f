import { withChoice } from "./throughline-vectors.mjs";

export const settings = "the way that the policy `auto` takes";
export const open = withChoice("auto");
