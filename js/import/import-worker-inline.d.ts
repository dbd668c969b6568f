/** The worker of an import as one script; made by `scripts/build.mjs`. */
export const code: string;
