// How the engine is found and compiled.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { gunzipSync } from "node:zlib";
import { after, afterEach, before, test } from "node:test";
import { compileEngine } from "../../dist/wasm-loader.js";

const bytes = readFileSync(new URL("../../dist/engine.wasm", import.meta.url));
const isModule = (module) => assert.ok(module instanceof WebAssembly.Module);
const original = { compile: WebAssembly.compile, compileStreaming: WebAssembly.compileStreaming };
let server;
let base;
let requests;

before(async () => {
  server = createServer((request, response) => {
    requests.push(request.url);
    const type = { "/typed": "application/wasm", "/typed-html": "application/wasm", "/page": "text/html" }[request.url];
    response.writeHead(request.url === "/missing" ? 404 : 200, type === undefined ? {} : { "Content-Type": type });
    response.end(request.url === "/page" || request.url === "/typed-html" ? "<!doctype html>" : bytes);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());
afterEach(() => Object.assign(WebAssembly, original));

test("a module, bytes, a buffer and a file address are taken as they are given", async () => {
  const module = await WebAssembly.compile(bytes);
  assert.equal(await compileEngine(module), module);
  isModule(await compileEngine(new Uint8Array(bytes)));
  isModule(await compileEngine(new Uint8Array(bytes).buffer));
  isModule(await compileEngine(new URL("../../dist/engine.wasm", import.meta.url)));
  isModule(await compileEngine());
});

test("a server with the right type is streamed, one without is read", async () => {
  requests = [];
  let streamed = 0;
  const { fetch } = globalThis;
  const answers = [];
  globalThis.fetch = async (...given) => (answers.push(await fetch(...given)), answers.at(-1));
  // A clone would not do: browsers keep compiled code for the response that they fetched.
  WebAssembly.compileStreaming = (response) => { streamed += Number(response === answers.at(-1)); return original.compileStreaming.call(WebAssembly, response); };
  isModule(await compileEngine(`${base}/typed`));
  assert.equal(streamed, 1);
  isModule(await compileEngine(`${base}/untyped`));
  assert.equal(streamed, 1);
  assert.deepEqual(requests, ["/typed", "/untyped"]);
  globalThis.fetch = fetch;
});

test("what is not the engine is told as wasm_load_failed, and can be tried again", async () => {
  requests = [];
  for (const path of ["/page", "/typed-html", "/missing"]) {
    await assert.rejects(compileEngine(`${base}${path}`), (error) => error.code === "wasm_load_failed" && error.retryable);
  }
  await assert.rejects(compileEngine(new Uint8Array([1, 2, 3, 4])), (error) => error.code === "invalid_config");
  await assert.rejects(compileEngine({}), (error) => error.code === "invalid_config");
});

test("the fallback chunk holds the same bytes, and is used when the file cannot be compiled", async () => {
  const { base64 } = await import("../../dist/wasm-inline.js");
  assert.ok(gunzipSync(Buffer.from(base64, "base64")).equals(bytes));
  let calls = 0;
  WebAssembly.compile = (source) => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error("cut short")) : original.compile.call(WebAssembly, source);
  };
  isModule(await compileEngine());
  assert.equal(calls, 2);
});

test("a Content-Security-Policy that forbids WebAssembly is told, and nothing is tried again", async () => {
  let calls = 0;
  WebAssembly.compile = () => {
    calls += 1;
    return Promise.reject(new WebAssembly.CompileError("WebAssembly.compile(): Refused to compile or instantiate WebAssembly module because 'unsafe-eval' is not an allowed source of script in the following Content Security Policy directive: \"script-src 'self'\""));
  };
  await assert.rejects(compileEngine(), (error) => {
    assert.equal(error.code, "wasm_blocked_by_csp");
    assert.match(error.message, /'wasm-unsafe-eval'/);
    return !error.retryable;
  });
  assert.equal(calls, 1);
});

test("a platform without a needed feature is told", async () => {
  WebAssembly.compile = () => Promise.reject(new WebAssembly.CompileError("invalid opcode 0xfd (enable with --experimental-wasm-simd)"));
  await assert.rejects(compileEngine(), (error) => error.code === "wasm_unsupported");
});
