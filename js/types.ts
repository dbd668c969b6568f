/** Every public type. */
export type * from "./types/context.js";
export type * from "./types/conversations.js";
export type * from "./types/facts.js";
export type * from "./types/import.js";
export type * from "./types/lifecycle.js";
export type * from "./types/options.js";
export type * from "./types/policy.js";
