// A small static server for the demo: www/ at /, the built package at /throughline/, and a folder of conversations, where
// there is one, read-only at /data/. It listens on this machine only.

import { createReadStream, existsSync, realpathSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { policyOf as demoPolicyOf } from "./demo-policy.mjs";
import { ROOT, Stop, main } from "./toolchain.mjs";

const TYPES = {
  ".bin": "application/octet-stream",
  ".css": "text/css; charset=utf-8",
  ".gz": "application/gzip",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".json": "application/json; charset=utf-8",
  ".map": "application/json; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".txt": "text/plain; charset=utf-8",
  ".wasm": "application/wasm",
  ".webp": "image/webp",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};

/**
 * Of pages that are served from other folders than the demo's: a page like that of an app which calls models by itself.
 * Nothing from elsewhere runs or loads. The demo's own policies are in demo-policy.mjs.
 */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self' https: http://localhost:* http://127.0.0.1:*",
  "worker-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join("; ");

/**
 * Starts the server.
 *
 * @param {{ port?: number, tries?: number, data?: string, headers?: Record<string, string>, mounts?: Record<string, string>, policyOf?: (path: string) => string }} options
 * `port` 0: any. `tries`: how many ports from `port` on are tried. `headers` replace the usual ones (a test without a
 * policy, say) and the caching; `mounts` replace the folders by path; `policyOf` gives the policy of each path.
 * @returns {Promise<{ url: string, close: () => Promise<void> }>}
 */
export async function serve({ port = 8080, tries = 20, data, headers, mounts, policyOf = mounts ? () => CONTENT_SECURITY_POLICY : demoPolicyOf } = {}) {
  const folders = mounts ?? {
    "/throughline/": join(ROOT, "dist"),
    ...(data === undefined ? {} : { "/data/": data }),
    "/": join(ROOT, "www"),
  };
  const headersOf = (path) => headers ?? {
    "Content-Security-Policy": policyOf(path),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
  };
  const server = createServer((request, response) => answer(request, response, folders, headersOf(pathOf(request.url ?? "/"))));
  const bound = await listen(server, port, port === 0 ? 1 : tries);
  return {
    url: `http://127.0.0.1:${bound}`,
    close: () =>
      new Promise((done) => {
        server.close(() => done());
        server.closeAllConnections();
      }),
  };
}

function answer(request, response, folders, headers) {
  if (request.method !== "GET" && request.method !== "HEAD") return void end(response, 405, headers);
  const file = locate(request.url ?? "/", folders);
  if (file === undefined) return void end(response, 404, headers);
  // Asked again each time, sent again only when changed: browsers keep the engine's compiled code beside the cached file.
  const { mtimeMs, size } = statSync(file);
  const tag = `"${size.toString(36)}-${Math.round(mtimeMs).toString(36)}"`;
  const head = { "Cache-Control": "no-cache", ETag: tag, ...headers };
  if (request.headers["if-none-match"] === tag) {
    response.writeHead(304, head);
    return void response.end();
  }
  response.writeHead(200, { ...head, "Content-Length": size, "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" });
  if (request.method === "HEAD") return void response.end();
  createReadStream(file).on("error", () => response.destroy()).pipe(response);
}

function end(response, status, headers) {
  response.writeHead(status, { ...headers, "Content-Type": "text/plain; charset=utf-8" });
  response.end(`${status}\n`);
}

/** The path of an address; undefined where it cannot be read. */
function pathOf(address) {
  try {
    return decodeURIComponent(new URL(address, "http://host").pathname);
  } catch {
    return undefined;
  }
}

/** The file that an address stands for; undefined where there is none, or where it would lead out of its folder. */
function locate(address, folders) {
  const path = pathOf(address);
  if (path === undefined) return undefined;
  const mount = Object.keys(folders).sort((a, b) => b.length - a.length).find((each) => path.startsWith(each));
  if (mount === undefined || path.includes("\0")) return undefined;
  const folder = resolve(folders[mount]);
  let file = join(folder, path.slice(mount.length));
  if (!existsSync(file)) return undefined;
  if (statSync(file).isDirectory()) file = join(file, "index.html");
  if (!existsSync(file) || !statSync(file).isFile()) return undefined;
  return realpathSync(file).startsWith(realpathSync(folder) + sep) ? file : undefined;
}

async function listen(server, first, tries) {
  for (let port = first; port < first + tries; port += 1) {
    const error = await new Promise((done) => {
      server.once("error", done);
      server.listen(port, "127.0.0.1", () => {
        server.off("error", done);
        done(undefined);
      });
    });
    if (error === undefined) return server.address().port;
    if (error.code !== "EADDRINUSE" && error.code !== "EACCES") throw error;
    if (tries > 1) console.log(`Port ${port} is taken, trying the next. (A browser keeps the demo's data per port.)`);
  }
  throw new Stop(`Ports ${first} to ${first + tries - 1} are taken. Choose another: PORT=9000 npm start`);
}

/** The folder of conversations: `--data DIR`, THROUGHLINE_DATA, or ../shared/data where it is there. */
export function dataFolder(args = process.argv) {
  const at = args.indexOf("--data");
  const named = at >= 0 ? args[at + 1] : process.env.THROUGHLINE_DATA;
  if (named !== undefined && named !== "") {
    if (!existsSync(named)) throw new Stop(`There is no folder ${named}. Give one that is there after --data, or leave it out.`);
    return resolve(named);
  }
  const usual = join(ROOT, "../shared/data");
  return existsSync(usual) ? resolve(usual) : undefined;
}

/** The port of the environment variable PORT, or 8080. */
export function portFromEnvironment() {
  const port = Number(process.env.PORT ?? 8080);
  if (Number.isInteger(port) && port >= 0 && port < 65_536) return port;
  throw new Stop("PORT must be a number from 0 to 65535.");
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await main(async () => {
    const { url } = await serve({ port: portFromEnvironment(), data: dataFolder() });
    console.log(`Serving the demo at ${url} (stop with Ctrl+C).`);
  });
}
