// The Next example, built and run end to end with a scripted model: over PGlite, as it comes, and over a real PostgreSQL server.
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { makeApp, pack, withServer } from "../packaging/apps.mjs";
import { sendAll, sendPiece, startModel } from "./model-server.mjs";
import { startServer } from "./server.mjs";

const EXAMPLE = fileURLToPath(new URL("../../examples/next", import.meta.url));
const SYSTEM = "You are a helpful assistant. Be brief.";
let app;
before(async () => {
  const folder = mkdtempSync(join(tmpdir(), "throughline-tarball-"));
  try {
    app = await makeApp(await pack(folder), { template: "next-chat", shared: "shared" });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  rmSync(join(app.folder, "shared"), { recursive: true });
  cpSync(EXAMPLE, app.folder, { recursive: true, filter: (path) => !/package\.json$|node_modules|\.next/.test(path.slice(EXAMPLE.length)) });
  await app.bin("next", ["build"]);
});
after(() => app?.remove());

const run = (env, use) => withServer(app, "next", (port) => ["start", "-p", port], use, env);
const history = async (url) => (await (await fetch(`${url}api/chat?conversationId=c1`)).json()).map(({ status, message }) => [status, message.role, message.content]);
const ask = (url, question, signal) => fetch(`${url}api/chat`, { method: "POST", body: JSON.stringify({ conversationId: "c1", question }), signal });

test("the example's packages are those that it is tested with", () => {
  const [example, tested] = [join(EXAMPLE, "package.json"), new URL("../packaging/next-chat/package.json", import.meta.url)].map((file) => JSON.parse(readFileSync(file, "utf8")));
  const { throughline, ...others } = { ...example.dependencies, ...example.devDependencies };
  assert.equal(throughline, `^${app.version("throughline")}`);
  assert.deepEqual(others, Object.fromEntries(Object.entries({ ...tested.dependencies, ...tested.devDependencies }).map(([name, version]) => [name, `^${version}`])));
});

async function until(holds, what) {
  for (let tries = 0; !(await holds()); tries += 1) {
    assert.ok(tries < 200, what);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** A turn in one process, `isWorkedOff` thereafter, more in the next one, and answers that break off. */
async function chats(env, isWorkedOff = () => true) {
  let hold;
  const model = await startModel(SYSTEM, (response, count) => {
    if (count === 2) return response.destroy();
    if (count === 4) {
      sendPiece(response, "It is ");
      hold = response;
      return undefined;
    }
    return sendAll(response, ["Port ", "8471", "."]);
  });
  const given = { MODEL_URL: model.url, MODEL: "scripted", ...env };
  await run(given, async (url) => {
    const page = await (await fetch(url)).text();
    assert.match(page, /A chat that remembers/);
    assert.deepEqual(await history(url), []);
    const response = await ask(url, "Which port did we pick?");
    assert.equal(await response.text(), "Port 8471.");
    assert.deepEqual(await history(url), [["complete", "user", "Which port did we pick?"], ["complete", "assistant", "Port 8471."]]);
    await until(isWorkedOff, "the work behind the response was not done");
  });
  await run(given, async (url) => {
    // The model's server fails before it answers: the question is kept all the same. The library asks it again.
    assert.equal(await (await ask(url, "And again?")).text(), "Port 8471.");
    // The user leaves in the middle of an answer: what arrived is kept.
    const leaving = new AbortController();
    const response = await ask(url, "Sure?", leaving.signal);
    const reader = response.body.getReader();
    assert.equal(new TextDecoder().decode((await reader.read()).value), "It is ");
    leaving.abort();
    await until(async () => (await history(url)).at(-1)[0] === "aborted", "the answer was not ended");
    hold.destroy();
    const refused = await fetch(`${url}api/chat`, { method: "POST", body: JSON.stringify({ conversationId: "", question: "x" }) });
    assert.deepEqual([refused.status, (await refused.json()).code], [400, "invalid_argument"]);
  });
  const stored = await run(given, (url) => history(url));
  model.close();
  return { asked: model.asked.map((messages) => messages.map(({ role, content }) => [role, content])), stored };
}

test("over PGlite, as it comes, and over PostgreSQL: questions and answers are stored as they pass, and known to the next process", { timeout: 300_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "throughline-pglite-"));
  const pglite = await chats({ PGLITE_FOLDER: folder });
  rmSync(folder, { recursive: true, force: true });
  assert.deepEqual(pglite.stored, [
    ["complete", "user", "Which port did we pick?"], ["complete", "assistant", "Port 8471."],
    ["complete", "user", "And again?"], ["complete", "assistant", "Port 8471."],
    ["complete", "user", "Sure?"], ["aborted", "assistant", "It is "],
  ]);
  assert.deepEqual(pglite.asked[2].slice(-3), [["user", "Which port did we pick?"], ["assistant", "Port 8471."], ["user", "And again?"]]);
  const server = await startServer();
  try {
    const vectors = async () => (await server.asOwner("SELECT count(*)::int AS count FROM throughline.message_embeddings"))[0].count;
    const postgres = await chats({ DATABASE_URL: server.address() }, async () => (await vectors()) === 2);
    assert.deepEqual(postgres, pglite);
    const rows = await server.asOwner("SELECT count(*)::int AS messages, count(DISTINCT user_id)::int AS users, min(user_id) AS user FROM throughline.conversation_messages");
    assert.deepEqual(rows, [{ messages: 6, users: 1, user: "demo" }]);
  } finally {
    await server.stop();
  }
});

test("next dev, which evaluates files anew when they change, opens no second storage", { timeout: 300_000 }, async () => {
  const counts = "const counts = ((globalThis as { counts?: { evaluated: number; opened: number } }).counts ??= { evaluated: 0, opened: 0 });\ncounts.evaluated += 1;\n";
  const storage = `${app.read("lib/storage.ts").replace("Promise<PostgresStorage> {\n", "$&  counts.opened += 1;\n")}\n${counts}`;
  assert.match(storage, /opened \+= 1/);
  app.write("lib/storage.ts", storage);
  app.write("app/api/counts/route.ts", `export const dynamic = "force-dynamic";\nexport const GET = () => Response.json((globalThis as { counts?: object }).counts ?? null);\n`);
  const folder = mkdtempSync(join(tmpdir(), "throughline-pglite-"));
  await withServer(app, "next", (port) => ["dev", "-p", port], async (url) => {
    const seen = async () => {
      assert.deepEqual(await history(url), []);
      return (await fetch(`${url}api/counts`)).json();
    };
    const before = await seen();
    assert.equal(before.opened, 1);
    app.write("lib/storage.ts", `${storage}// Changed.\n`);
    let now;
    await until(async () => (now = await seen()).evaluated > before.evaluated, "the file was not evaluated anew");
    assert.equal(now.opened, 1);
  }, { PGLITE_FOLDER: folder });
  rmSync(folder, { recursive: true, force: true });
});
