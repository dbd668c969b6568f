// Files of the package, and the chunks that take their place where a bundler or a server has lost them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { gzipSync } from "node:zlib";
import { beginsWith, readPackageFile } from "../../dist/package-file.js";

const whole = Buffer.from("TEST and the rest of the file".repeat(1_000));
const answers = {
  "/plain": [200, whole], "/packed": [200, gzipSync(whole)], "/missing": [404, whole], "/page": [200, Buffer.from("<!doctype html>")],
  "/cut": [200, gzipSync(whole).subarray(0, 60)], "/empty": [200, Buffer.alloc(0)],
};
let server;
let base;

before(async () => {
  server = createServer((request, response) => {
    const [status, body] = answers[request.url];
    response.writeHead(status);
    response.end(body);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

function file(address) {
  const taken = { chunks: 0 };
  const chunk = async () => {
    taken.chunks += 1;
    return { base64: gzipSync(whole).toString("base64") };
  };
  return { taken, address, chunk, isRight: (bytes) => beginsWith(bytes, "TEST") };
}

test("a file that is there is read, packed or not, and its chunk is not loaded", async () => {
  for (const path of ["/plain", "/packed"]) {
    const given = file(() => new URL(path, base));
    assert.deepEqual(Buffer.from(await readPackageFile(given)), whole);
    assert.equal(given.taken.chunks, 0);
  }
});

test("where the file is missing, another, cut, or has no address, the chunk takes its place", async () => {
  const lost = ["/missing", "/page", "/cut", "/empty"].map((path) => () => new URL(path, base));
  const nowhere = [() => new URL("./file", undefined), () => new URL("http://127.0.0.1:1/"), () => new URL("./nothing.bin", import.meta.url)];
  for (const address of [...lost, ...nowhere]) {
    const given = file(address);
    assert.deepEqual(Buffer.from(await readPackageFile(given)), whole);
    assert.equal(given.taken.chunks, 1);
  }
});

test("a download that was given up is not begun again with the chunk", async () => {
  const given = file(() => new URL("/plain", base));
  await assert.rejects(readPackageFile(given, AbortSignal.abort()));
  assert.equal(given.taken.chunks, 0);
});

test("the chunks of the package hold its files to the byte", async () => {
  for (const [chunk, path] of [["o200k_base", "vocabularies/o200k_base.bin.gz"], ["cl100k_base", "vocabularies/cl100k_base.bin.gz"], ["static-minilm-256", "static-minilm-256.bin"]]) {
    const { base64 } = await import(`../../dist/inline/${chunk}.js`);
    assert.ok(Buffer.from(base64, "base64").equals(readFileSync(new URL(`../../dist/${path}`, import.meta.url))), chunk);
  }
});
