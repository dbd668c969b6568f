import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { test } from "node:test";

const root = fileURLToPath(new URL("../..", import.meta.url));

function node(type, code) {
  return execFileSync(process.execPath, [`--input-type=${type}`, "--eval", code], { cwd: root, encoding: "utf8" }).trim();
}

const USE = `
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const { id } = await memory.conversations.create({});
  await memory.append(id, { role: "user", content: "hello" });
  console.log((await memory.history(id))[0].content);
  await memory.close();
`;

test("import works in Node and the process ends by itself", () => {
  assert.equal(node("module", `import { createMemory, memoryStorage } from "throughline"; ${USE}`), "hello");
});

test("require works in Node", () => {
  assert.equal(
    node("commonjs", `const { createMemory, memoryStorage } = require("throughline"); (async () => { ${USE} })();`),
    "hello",
  );
});

test("importing has no effect: no global is touched, nothing is fetched, compiled or scheduled", () => {
  const code = `
    const touched = [];
    for (const name of ["fetch", "indexedDB", "navigator", "window", "document", "setTimeout", "setInterval", "queueMicrotask"]) {
      Object.defineProperty(globalThis, name, { configurable: true, get() { touched.push(name); return undefined; } });
    }
    for (const name of ["compile", "instantiate", "compileStreaming", "instantiateStreaming"]) {
      WebAssembly[name] = () => { touched.push("WebAssembly." + name); };
    }
    const before = Object.getOwnPropertyNames(globalThis).length;
    await import("throughline");
    if (Object.getOwnPropertyNames(globalThis).length !== before) touched.push("a new global");
    process.stdout.write(JSON.stringify(touched));
  `;
  assert.equal(node("module", code), "[]");
});
