import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { serve } from "../../scripts/serve.mjs";

let folder;
let server;
before(async () => {
  folder = mkdtempSync(join(tmpdir(), "throughline-serve-"));
  mkdirSync(join(folder, "site"));
  writeFileSync(join(folder, "secret.txt"), "secret");
  writeFileSync(join(folder, "site/index.html"), "<!doctype html>");
  writeFileSync(join(folder, "site/app.js"), "0");
  writeFileSync(join(folder, "site/engine.wasm"), Buffer.from([0, 0x61, 0x73, 0x6d]));
  writeFileSync(join(folder, "site/words.bin.gz"), "x");
  symlinkSync(join(folder, "secret.txt"), join(folder, "site/link.txt"));
  server = await serve({ port: 0, mounts: { "/": join(folder, "site") } });
});
after(async () => {
  await server.close();
  rmSync(folder, { recursive: true });
});

test("files are served with their types", async () => {
  const types = {
    "/": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8", "/engine.wasm": "application/wasm", "/words.bin.gz": "application/gzip",
  };
  for (const [path, type] of Object.entries(types)) {
    const response = await fetch(server.url + path);
    assert.equal(response.status, 200, path);
    assert.equal(response.headers.get("content-type"), type);
    // A vocabulary must arrive as it is: the package unpacks it itself.
    assert.equal(response.headers.get("content-encoding"), null);
  }
});

test("every answer carries the policy that keeps everything else out", async () => {
  for (const path of ["/", "/missing"]) {
    const policy = (await fetch(server.url + path)).headers.get("content-security-policy");
    for (const part of ["default-src 'none'", "script-src 'self' 'wasm-unsafe-eval'", "frame-ancestors 'none'", "require-trusted-types-for 'script'"]) {
      assert.ok(policy.includes(part), part);
    }
    assert.ok(!policy.includes("unsafe-inline") && !policy.includes("'unsafe-eval'"));
  }
});

test("a file that is the same still is not sent again", async () => {
  const tag = (await fetch(`${server.url}/engine.wasm`)).headers.get("etag");
  assert.ok(tag);
  const ask = (value) => raw("/engine.wasm", "GET", { "If-None-Match": value });
  assert.deepEqual([(await ask(tag)).status, (await ask('"another"')).status], [304, 200]);
});

/** `fetch` tidies addresses; here they go out as they are. */
function raw(path, method = "GET", headers = {}) {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(server.url);
    request({ hostname, port, path, method, headers }, (response) => {
      let text = "";
      response.on("data", (chunk) => (text += chunk)).on("end", () => resolve({ status: response.statusCode, text }));
    }).on("error", reject).end();
  });
}

test("nothing outside the folder can be read", async () => {
  for (const path of ["/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "/link.txt", "/%00", "/%zz", "//", "/app.js/x"]) {
    const { status, text } = await raw(path);
    assert.ok(status === 404 || !text.includes("secret"), path);
    assert.ok(!text.includes("secret"), path);
  }
});

test("only reading is answered", async () => {
  for (const method of ["POST", "PUT", "DELETE"]) assert.equal((await raw("/app.js", method)).status, 405);
  assert.equal((await raw("/app.js", "HEAD")).text, "");
});

test("a taken port is passed over", async () => {
  const port = Number(new URL(server.url).port);
  const second = await serve({ port, tries: 5, mounts: { "/": join(folder, "site") } });
  assert.notEqual(new URL(second.url).port, `${port}`);
  await second.close();
});
