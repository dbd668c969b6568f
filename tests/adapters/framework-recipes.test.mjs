// The examples of docs/react.md and docs/integrations.md, run as they stand there: a `js` block in Node, where it prints what the
// `text` block behind it says; a `jsx` block as a component that a server draws.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { test } from "node:test";
import { transform } from "esbuild";
import { createElement as h } from "react";
import { renderToString } from "react-dom/server";
import { createMemory, memoryStorage } from "throughline";
import { MemoryProvider } from "throughline/react";

const here = fileURLToPath(new URL("./node_modules/", import.meta.url));

for (const name of ["integrations", "react"]) {
  const page = readFileSync(new URL(`../../docs/${name}.md`, import.meta.url), "utf8");
  const blocks = [...page.matchAll(/^```(jsx?)\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?/gms)].map(([, kind, code, printed]) => ({ kind, code, printed }));
  test(`docs/${name}.md has examples`, () => assert.ok(blocks.length >= 2, String(blocks.length)));
  for (const [index, { kind, code, printed }] of blocks.entries()) {
    const file = `${here}.recipe-${name}-${index}.mjs`;
    test(`docs/${name}.md, example ${index + 1}`, async () => {
      const text = kind === "js" ? code : (await transform(code, { loader: "jsx", jsx: "automatic" })).code;
      writeFileSync(file, text);
      try {
        if (kind === "js") {
          const { stdout } = await promisify(execFile)(process.execPath, [file], { cwd: here, timeout: 60_000 });
          assert.equal(stdout, printed ?? "");
        } else {
          const { default: Example } = await import(file);
          const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
          const props = { id: "c", conversationId: "c", question: "Which port?", memory };
          assert.equal(typeof renderToString(h(MemoryProvider, { memory }, h(Example, props))), "string");
          await memory.close();
        }
      } finally {
        rmSync(file, { force: true });
      }
    });
  }
}
