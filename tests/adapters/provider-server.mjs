// A server on this machine that answers as a test says, request by request, and remembers what it was asked.
import { createServer } from "node:http";
import { setTimeout as wait } from "node:timers/promises";

/**
 * Starts one. Each answer of `script` is for one request, the last one for all that follow: `{ status, headers, json }`,
 * `{ events, pauseMs, cut }` as server-sent events (texts as they are, anything else as JSON; `cut` breaks the connection, `hang`
 * leaves it open), `{ pieces }` as raw bytes, or a function of the request that gives one.
 */
export async function startServer(...script) {
  const requests = [];
  const open = new Set();
  const server = createServer(async (request, response) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const seen = { path: request.url, headers: request.headers, body: text === "" ? undefined : JSON.parse(text), isClosed: false };
    response.on("close", () => (seen.isClosed = true));
    requests.push(seen);
    const planned = script[Math.min(requests.length, script.length) - 1];
    await answer(response, typeof planned === "function" ? await planned(seen) : planned).catch(() => response.destroy());
  });
  server.on("connection", (socket) => {
    open.add(socket);
    socket.on("close", () => open.delete(socket));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const stop = () => {
    for (const socket of open) socket.destroy();
    return new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${server.address().port}`, requests, stop };
}

async function answer(response, { status = 200, headers = {}, json, body, events, pieces, pauseMs = 0, cut = false, hang = false }) {
  if (json !== undefined || body !== undefined) {
    response.writeHead(status, { "content-type": body === undefined ? "application/json" : "text/html", ...headers });
    response.end(body ?? JSON.stringify(json));
    return;
  }
  response.writeHead(status, { "content-type": "text/event-stream", ...headers });
  response.flushHeaders();
  for (const piece of pieces ?? events.map(eventText)) {
    if (pauseMs > 0) await wait(pauseMs);
    await new Promise((resolve) => response.write(piece, resolve));
  }
  if (cut) response.destroy();
  else if (!hang) response.end();
}

function eventText(event) {
  return typeof event === "string" ? `data: ${event}\n\n` : `${event.type === undefined ? "" : `event: ${event.type}\n`}data: ${JSON.stringify(event)}\n\n`;
}

/** A chat completions answer in pieces. */
export function completion(pieces, { reason = "stop", usage, model = "m" } = {}) {
  const chunk = (delta, finish = null) => ({ object: "chat.completion.chunk", model, choices: [{ index: 0, delta, finish_reason: finish }] });
  return [
    chunk({ role: "assistant", content: "" }),
    ...pieces.map((piece) => chunk(typeof piece === "string" ? { content: piece } : piece)),
    chunk({}, reason),
    ...(usage === undefined ? [] : [{ object: "chat.completion.chunk", model, choices: [], usage }]),
    "[DONE]",
  ];
}
