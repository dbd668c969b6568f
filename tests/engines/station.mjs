// The server that a browser under test takes its jobs from: the page asks what to do, tells what was acknowledged while it
// does it, and what came of it.

import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
const OWN = fileURLToPath(new URL(".", import.meta.url));
const OWN_FILES = ["/page.js", "/payload.js", "/markers.js"];
const TYPES = { ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json" };
/** How long a job may take, in milliseconds; a busy machine starts browsers slowly. */
const JOB_LIMIT_MS = 120_000;

/**
 * Starts the station on a free port of this machine.
 *
 * @returns `url` of the page; `give(job, onWord)` hands the next page that asks a job and resolves with its result, telling
 * `onWord` what the page says meanwhile; `forget()` gives up the job in hand, since its browser is gone; `close()`.
 */
export async function openStation() {
  /** Pages that wait for a job, and the job that waits for a page. */
  const waiting = [];
  let offered;
  let inHand;
  const hand = () => {
    const response = offered === undefined ? undefined : waiting.pop();
    if (response === undefined) return;
    response.setHeader("content-type", "application/json").end(JSON.stringify(offered.job));
    inHand = offered;
    offered = undefined;
  };
  const server = createServer(async (request, response) => {
    const path = new URL(request.url, "http://localhost").pathname;
    if (path === "/job") {
      waiting.push(response);
      response.on("close", () => { if (waiting.includes(response)) waiting.splice(waiting.indexOf(response), 1); });
      return hand();
    }
    if (request.method === "POST") {
      const said = JSON.parse(await textOf(request));
      if (path === "/word") inHand?.onWord(said);
      else if (path === "/failure") inHand?.reject(new Error(`In the page: ${said}`));
      else inHand?.resolve(said);
      return response.end();
    }
    return file(path, response);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    give: (job, onWord = () => undefined) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`The page did not finish "${job.kind}" in ${JOB_LIMIT_MS / 1000} s.`)), JOB_LIMIT_MS);
        const end = (settle) => (value) => {
          clearTimeout(late);
          settle(value);
        };
        offered = { job, onWord, resolve: end(resolve), reject: end(reject) };
        hand();
      }),
    forget: () => {
      (inHand ?? offered)?.resolve(undefined);
      inHand = offered = undefined;
      for (const response of waiting.splice(0)) response.destroy();
    },
    close: () => {
      server.closeAllConnections();
      return new Promise((resolve) => { server.close(resolve); });
    },
  };
}

async function textOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}

function file(path, response) {
  if (path === "/") return response.setHeader("content-type", "text/html").end(`<!doctype html><title>t</title><script type="module" src="/page.js"></script>`);
  const found = OWN_FILES.includes(path) ? join(OWN, path) : join(DIST, normalize(path.replace(/^\/throughline\//, "/")));
  if (!existsSync(found)) return response.writeHead(404).end();
  response.setHeader("content-type", TYPES[extname(found)] ?? "application/octet-stream");
  return createReadStream(found).pipe(response);
}
