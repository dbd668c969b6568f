// The server that a browser under test takes its jobs from: the page asks what to do, tells what was acknowledged while it
// does it, and what came of it. Each tab takes its own jobs: it is named in the page's address (`?tab=`).

import { createReadStream, existsSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
const OWN = fileURLToPath(new URL(".", import.meta.url));
const OWN_FILES = ["/page.js", "/payload.js", "/markers.js", "/promises.js", "/records.js", "/release.js"];
const TYPES = { ".js": "text/javascript; charset=utf-8", ".wasm": "application/wasm", ".json": "application/json" };
/** How long a job may take, in milliseconds; a busy machine starts browsers slowly. */
const JOB_LIMIT_MS = 120_000;
/** The tab that the browser is started with. */
const FIRST_TAB = "first";

/** What one tab is asked to do, one job at a time. */
class Post {
  /** Pages that wait for a job, and the job that waits for a page. */
  #waiting = [];
  #offered;
  inHand;

  /** A page asks for its next job. */
  wait(response) {
    this.#waiting.push(response);
    response.on("close", () => { this.#waiting = this.#waiting.filter((one) => one !== response); });
    this.#hand();
  }

  offer(offered) {
    this.#offered = offered;
    this.#hand();
  }

  forget() {
    (this.inHand ?? this.#offered)?.resolve(undefined);
    this.inHand = this.#offered = undefined;
    for (const response of this.#waiting.splice(0)) response.destroy();
  }

  #hand() {
    const response = this.#offered === undefined ? undefined : this.#waiting.pop();
    if (response === undefined) return;
    response.setHeader("content-type", "application/json").end(JSON.stringify(this.#offered.job));
    this.inHand = this.#offered;
    this.#offered = undefined;
  }
}

/**
 * Starts the station on a free port of this machine.
 *
 * @returns `url` of the page; `give(job, onWord, tab)` hands the next page of that tab that asks a job and resolves with its
 * result, telling `onWord` what the page says meanwhile; `forget()` gives up what is in hand, since the browser is gone; `close()`.
 */
export async function openStation() {
  const posts = new Map();
  const post = (tab) => posts.get(tab) ?? posts.set(tab, new Post()).get(tab);
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url, "http://localhost");
    const own = post(searchParams.get("tab") ?? FIRST_TAB);
    if (pathname === "/job") return own.wait(response);
    if (request.method === "POST") {
      const said = JSON.parse(await textOf(request));
      if (pathname === "/word") own.inHand?.onWord(said);
      else if (pathname === "/failure") own.inHand?.reject(new Error(`In the page: ${said}`));
      else own.inHand?.resolve(said);
      return response.end();
    }
    return file(pathname, response);
  });
  await new Promise((resolve) => { server.listen(0, "127.0.0.1", resolve); });
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    give: (job, onWord = () => undefined, tab = FIRST_TAB) =>
      new Promise((resolve, reject) => {
        const late = setTimeout(() => reject(new Error(`The page did not finish "${job.kind}" in ${JOB_LIMIT_MS / 1000} s.`)), JOB_LIMIT_MS);
        const end = (settle) => (value) => {
          clearTimeout(late);
          settle(value);
        };
        post(tab).offer({ job, onWord, resolve: end(resolve), reject: end(reject) });
      }),
    forget: () => posts.forEach((one) => one.forget()),
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
