// The page of error codes, made from the table and the @throws of the source: it cannot be out of date.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ROOT } from "../../scripts/toolchain.mjs";

/** The rows of the table above `MemoryErrorCode`. */
export function errorCodes(text = readFileSync(join(ROOT, "js/errors.ts"), "utf8")) {
  const rows = [...text.matchAll(/^ \* \| `([a-z_]+)` \| (.+) \| (.+) \| (yes|no) \|$/gm)];
  return rows.map(([, code, meaning, advice, retry]) => ({ code, meaning, advice, isRetryable: retry === "yes" }));
}

/**
 * @param {{ name: string, address: string, throws: string }[]} calls What the API's comments say about rejections.
 * @returns {string} Markdown.
 */
export function errorPage(calls, codes = errorCodes()) {
  const sections = codes.map(({ code, meaning, advice, isRetryable }) => {
    const named = calls.filter(({ throws }) => throws.includes(`\`${code}\``)).map(({ name }) => `[\`${name}\`](api:${encodeURIComponent(name)})`);
    const list = named.length === 0 ? "" : `\n\nNamed by ${named.join(", ")}.`;
    return `## ${code}\n\n${sentence(meaning)} ${isRetryable ? "**The same call can succeed later.**" : "The same call would fail again."}\n\n**What to do:** ${sentence(advice)}${list}`;
  });
  return `# Error codes

Every call rejects with a [\`MemoryError\`](api:MemoryError): a stable \`code\`, \`retryable\`, and a message that says what failed and never holds what a user wrote. Branch on the code with [\`isMemoryError\`](api:isMemoryError), which also knows errors of another copy of the package.

\`\`\`ts
try {
  await memory.append(chat.id, message);
} catch (error) {
  if (isMemoryError(error, "storage_quota_exceeded")) showThatTheDiskIsFull();
  else if (isMemoryError(error) && error.retryable) tryAgainLater();
  else throw error;
}
\`\`\`

Failures of background work (a summary, an extraction, vectors) reach no caller: they arrive at \`memory.on("error", ...)\` with the same codes, and are tried again with longer and longer pauses.

${sections.join("\n\n")}
`;
}

function sentence(text) {
  const trimmed = text.trim();
  return `${trimmed[0].toUpperCase()}${trimmed.slice(1)}${/[.!?]$/.test(trimmed) ? "" : "."}`;
}
