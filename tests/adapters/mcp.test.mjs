// The MCP server: the real SDK's client over stdio, on a backup file.
import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, test } from "node:test";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { createMemory, isMemoryError, memoryStorage } from "throughline";
import { openBackupStore } from "throughline/mcp";

const command = fileURLToPath(new URL("./node_modules/throughline/dist/adapters/mcp/command.js", import.meta.url));
let folder;
let file;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "throughline-mcp-"));
  file = join(folder, "alex.throughline");
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A client of the command; `answers` is what the user says when asked, `undefined`: the client cannot ask. */
async function connected(args = [], { answers, env = {} } = {}) {
  const client = new Client({ name: "test", version: "1" }, { capabilities: answers === undefined ? {} : { elicitation: { form: {} } } });
  const asked = [];
  if (answers !== undefined) client.setRequestHandler(ElicitRequestSchema, ({ params }) => { asked.push(params.message); return answers.shift(); });
  const transport = new StdioClientTransport({ command: process.execPath, args: [command, "--file", file, ...args], env: { PATH: process.env.PATH, ...env }, stderr: "pipe" });
  let told = "";
  transport.stderr.on("data", (text) => (told += text));
  const ended = new Promise((resolve) => (transport.onclose = resolve));
  await client.connect(transport).catch((error) => { throw new Error(`${error.message}: ${told}`, { cause: error }); });
  const call = async (name, input) => {
    const { content, isError } = await client.callTool({ name, arguments: input });
    return { isError, answer: JSON.parse(content[0].text) };
  };
  return { client, call, asked, close: async () => { await client.close(); await ended; } };
}

async function writeBackup(options) {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await memory.conversations.create({ id: "c" });
  await memory.append("c", [{ role: "user", content: "Which port for the importer?" }, { role: "assistant", content: "The importer listens on 8471." }]);
  writeFileSync(file, Buffer.from(await (await memory.export(options)).arrayBuffer()));
  await memory.close();
}

async function factsInFile(passphrase) {
  const store = await openBackupStore({ file, writable: false, tokenizer: "estimate", ...(passphrase && { passphrase }) });
  const facts = await store.memory.facts.list();
  await store.close();
  return facts;
}

test("a client searches, reads on and adds; the file is written and stays whole", async () => {
  await writeBackup();
  const { client, call, close } = await connected();
  const { tools } = await client.listTools();
  assert.deepEqual(tools.map(({ name, annotations }) => [name, annotations.readOnlyHint]), [["search_memory", true], ["recall_range", true], ["add_memory", false]]);
  const { answer: { found } } = await call("search_memory", { query: "importer port" });
  assert.ok(found[0].messages.some(({ text }) => text.includes("8471")));
  assert.equal((await call("recall_range", { conversationId: "c", from: 1, to: 2 })).answer.messages.length, 2);
  assert.equal((await call("add_memory", { fact: "Prefers short answers" })).answer.status, "proposed");
  const wrong = await call("recall_range", { conversationId: "none", from: 1, to: 2 });
  assert.ok(wrong.isError && wrong.answer.error.length > 0);
  await close();
  assert.deepEqual((await factsInFile()).map(({ fact, status, trust }) => [fact, status, trust]), [["Prefers short answers", "proposed", "assistant_inferred"]]);
  assert.ok(!existsSync(`${file}.lock`) && !existsSync(`${file}.new`));
});

test("what was answered is on disk, whatever becomes of the server", async () => {
  const { client, call } = await connected();
  await call("add_memory", { fact: "Prefers tea" });
  process.kill(client.transport.pid, "SIGKILL");
  assert.equal((await factsInFile()).length, 1);
});

test("a client that can ask asks the user, and what they agree to is confirmed", async () => {
  const answers = [{ action: "accept", content: { remember: true } }, { action: "decline" }, { action: "cancel" }, { action: "accept", content: { remember: false } }];
  const { call, asked, close } = await connected([], { answers });
  assert.equal((await call("add_memory", { fact: "Prefers tea" })).answer.status, "active");
  assert.match(asked[0], /Prefers tea/);
  for (let time = 0; time < 3; time += 1) assert.equal((await call("add_memory", { fact: "Prefers coffee" })).answer.status, "declined");
  await close();
  assert.deepEqual((await factsInFile()).map(({ fact, trust }) => [fact, trust]), [["Prefers tea", "user_confirmed"]]);
});

test("read-only: nothing can be added and nothing is written", async () => {
  await writeBackup();
  const before = readFileSync(file);
  const { client, call, close } = await connected(["--read-only"]);
  assert.deepEqual((await client.listTools()).tools.map(({ name }) => name), ["search_memory", "recall_range"]);
  assert.ok((await call("add_memory", { fact: "x" })).isError);
  await close();
  assert.deepEqual(readFileSync(file), before);
});

test("an encrypted file is opened with its passphrase, stays encrypted, and is left alone without", async () => {
  await writeBackup({ encrypt: { passphrase: "correct horse" } });
  const before = readFileSync(file);
  await assert.rejects(connected(), /passphrase/);
  await assert.rejects(connected([], { env: { THROUGHLINE_PASSPHRASE: "wrong" } }));
  assert.deepEqual(readFileSync(file), before);
  assert.ok(!existsSync(`${file}.lock`));
  const { call, close } = await connected([], { env: { THROUGHLINE_PASSPHRASE: "correct horse" } });
  await call("add_memory", { fact: "Prefers tea" });
  await close();
  assert.ok(!readFileSync(file).includes("Prefers tea"));
  assert.equal((await factsInFile("correct horse")).length, 1);
});

test("one process writes at a time; a lock that a dead one left is taken over", async () => {
  const store = await openBackupStore({ file, tokenizer: "estimate" });
  await assert.rejects(connected(), /storage_blocked/);
  await assert.rejects(openBackupStore({ file, tokenizer: "estimate" }), (error) => isMemoryError(error, "storage_blocked"));
  await store.close();
  // A process that has ended for certain.
  writeFileSync(`${file}.lock`, "999999999");
  const again = await openBackupStore({ file, tokenizer: "estimate" });
  await again.close();
});

test("a file that cannot be read is refused and left as it is; what somebody put there meanwhile is kept", async () => {
  writeFileSync(file, "not a backup");
  await assert.rejects(openBackupStore({ file, tokenizer: "estimate" }), (error) => isMemoryError(error, "invalid_argument"));
  assert.equal(readFileSync(file, "utf8"), "not a backup");
  rmSync(file);
  const store = await openBackupStore({ file, tokenizer: "estimate" });
  await store.memory.facts.add({ fact: "Prefers tea" });
  await writeBackup();
  await store.save();
  await store.close();
  const read = await openBackupStore({ file, writable: false, tokenizer: "estimate" });
  assert.equal((await read.memory.facts.list()).length, 1);
  assert.equal((await read.memory.history("c")).length, 2);
  await read.close();
});

test("the command says what is wrong", async () => {
  file = join(folder, "missing", "x");
  await assert.rejects(connected(), /storage_unavailable/);
  await assert.rejects(connected(["--nonsense"]), /nonsense/);
});
