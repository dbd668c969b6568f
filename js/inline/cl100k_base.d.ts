/** A file of the package as text, for bundlers that lose files. Written by scripts/build.mjs. */
export const base64: string;
