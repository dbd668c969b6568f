// Backups through the package: the same again, encrypted, refused where anything is wrong, and never in part.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { WritableStream } from "node:stream/web";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { isMemoryError } from "throughline";
import { ODD, bytesOf, fileOf, filled, linesOf, open, seen } from "./backup-support.mjs";

const nothing = { conversations: 0, facts: 0 };
const refusedWith = (code, pattern = /./) => (error) => {
  assert.equal(error.code, code, error.message);
  assert.match(error.message, pattern);
  return isMemoryError(error);
};

/** Into an empty memory, which stays empty. */
async function refused(file, pattern, { code = "invalid_argument", options } = {}) {
  const memory = await open();
  await assert.rejects(memory.import(typeof file === "string" ? Buffer.from(file) : file, options), refusedWith(code, pattern));
  assert.deepEqual(await seen(memory), nothing);
  await memory.close();
}

test("exported, imported and exported again is the same file, byte for byte", async () => {
  const memory = await filled();
  const file = await memory.export();
  assert.equal(file.type, "application/gzip");
  assert.deepEqual(file.report, { conversations: 2, messages: 8, facts: 3, skipped: [] });
  const other = await open();
  const report = await other.import(file, { trusted: true });
  const { conversations, ...counts } = report;
  assert.deepEqual(counts, { source: "throughline", imported: 2, updated: 0, unchanged: 0, messages: 7, facts: 3, skipped: [] });
  assert.deepEqual(conversations, ["a", "b"]);
  assert.deepEqual(await bytesOf(await other.export()), await bytesOf(file));
  for (const id of ["a", "b"]) {
    assert.deepEqual(await other.history(id, { all: true, withStatus: true }), await memory.history(id, { all: true, withStatus: true }));
    assert.deepEqual(await other.conversations.tree(id), await memory.conversations.tree(id));
    assert.deepEqual(await other.conversations.get(id), await memory.conversations.get(id));
  }
  assert.deepEqual(await other.facts.list({}), await memory.facts.list({}));
  assert.deepEqual(await other.facts.history("f3"), await memory.facts.history("f3"));
  // A second time nothing happens.
  const again = await other.import(file, { trusted: true });
  assert.deepEqual([again.imported, again.updated, again.unchanged, again.messages, again.facts], [0, 0, 2, 0, 0]);
  assert.deepEqual(await bytesOf(await other.export()), await bytesOf(file));
  // What was imported is found, and goes on.
  assert.ok((await other.recall("9000")).length > 0);
  await other.append("a", { role: "user", content: "And now?" });
  await Promise.all([memory.close(), other.close()]);
});

test("a person can read the file, and its hashes are SHA-256 of all before them", async () => {
  const memory = await filled();
  await memory.append("b", Array.from({ length: 3 }, (_, at) => ({ role: "user", content: `${at} `.repeat(300_000) })));
  const lines = await linesOf(await memory.export());
  assert.equal(lines[0], '{"format":"throughline-backup","version":1}');
  const odd = lines.find((line) => line.includes('"id":"odd"'));
  assert.equal(JSON.parse(odd).message.raw, JSON.stringify(ODD));
  const hash = createHash("sha256");
  const hashed = [];
  for (const line of lines) {
    const { check, end } = JSON.parse(line);
    if (check ?? end) {
      assert.equal((check ?? end).sha256, hash.copy().digest("hex"));
      hashed.push(check === undefined ? "end" : "check");
    }
    hash.update(`${line}\n`);
  }
  assert.equal(hashed.at(-1), "end");
  assert.ok(hashed.length >= 2, "also within the file");
  await memory.close();
});

test("a file made by its description alone is imported, plain or packed", async () => {
  const lines = fileOf([
    { conversation: { id: "c", title: "By hand", remember: true, createdAt: 1, updatedAt: 2, lastSeq: 2 } },
    { message: { seq: 1, format: "openai", raw: '{"role":"user","content":"Written with an editor"}', createdAt: 1 } },
    { message: { seq: 2, format: "openai", raw: '{"role":"assistant","content":"So it seems"}', createdAt: 2 } },
  ]);
  for (const file of [new Blob([lines]), gzipSync(lines), new Blob([gzipSync(lines)]).stream()]) {
    const memory = await open();
    const { imported, messages } = await memory.import(file);
    assert.deepEqual([imported, messages], [1, 2]);
    assert.deepEqual((await memory.history("c")).map(({ content }) => content), ["Written with an editor", "So it seems"]);
    assert.ok((await memory.recall("editor")).length > 0);
    await memory.close();
  }
});

test("encrypted: nothing of it can be read, changed, cut or opened with another passphrase", async () => {
  const memory = await filled();
  const plain = await bytesOf(await memory.export());
  const file = await memory.export({ encrypt: { passphrase: "correct horse" } });
  const bytes = await bytesOf(file);
  assert.ok(!bytes.includes("8471") && !bytes.includes(plain.subarray(20, 60)));
  const other = await open();
  const report = await other.import(file, { passphrase: "correct horse" });
  assert.equal(report.imported, 2);
  assert.equal((await other.facts.list({}))[0].trust, "user_confirmed", "who has the passphrase made it");
  assert.deepEqual(await bytesOf(await other.export()), plain);
  for (const [options, reason] of [[{}, "passphrase_needed"], [{ passphrase: "wrong" }, "wrong_passphrase"]]) {
    const empty = await open();
    await assert.rejects(empty.import(file, options), (error) => error.code === "invalid_argument" && error.details.reason === reason);
    assert.deepEqual(await seen(empty), nothing);
  }
  const header = bytes.indexOf(0x0a) + 1;
  const changed = (at) => Buffer.concat([bytes.subarray(0, at), Buffer.of(bytes[at] ^ 1), bytes.subarray(at + 1)]);
  const options = { passphrase: "correct horse" };
  for (const at of [header, header + 40, bytes.length - 1]) await refused(changed(at), /damaged|cut|changed/, { options });
  await refused(bytes.subarray(0, bytes.length - 20), /damaged|cut/, { options });
  await refused(bytes.subarray(0, header), /damaged|cut/, { options });
  await refused(Buffer.from(bytes.toString("latin1").replace('"iterations":600000', '"iterations":600001'), "latin1"), /passphrase|damaged/, { options });
  await assert.rejects(memory.export({ encrypt: { passphrase: "" } }), refusedWith("invalid_argument", /passphrase/));
  await Promise.all([memory.close(), other.close()]);
});

test("encrypted files of several frames come back, and no frame can be left out", async () => {
  const memory = await open();
  const { id } = await memory.conversations.create({});
  const noise = (at) => createHash("sha512").update(String(at)).digest("base64");
  await memory.append(id, Array.from({ length: 40 }, (_, at) => ({ role: "user", content: Array.from({ length: 60 }, (_each, part) => noise(at * 100 + part)).join(" ") })));
  const file = await memory.export({ encrypt: { passphrase: "p" } });
  const bytes = await bytesOf(file);
  const header = bytes.indexOf(0x0a) + 1;
  const frame = 64 * 1024 + 16;
  assert.ok(bytes.length > header + 2 * frame, "it has more than two frames");
  const options = { passphrase: "p" };
  await refused(Buffer.concat([bytes.subarray(0, header), bytes.subarray(header + frame)]), /damaged|changed/, { options });
  await refused(bytes.subarray(0, header + frame), /damaged|cut/, { options });
  const other = await open();
  assert.equal((await other.import(file, options)).messages, 40);
  await Promise.all([memory.close(), other.close()]);
});

test("cut anywhere or changed anywhere, nothing is imported", async () => {
  const memory = await filled();
  const packed = await bytesOf(await memory.export());
  const plain = Buffer.from(`${(await linesOf(await memory.export())).join("\n")}\n`);
  const target = await open();
  for (let at = 1; at < 60; at += 1) {
    for (const bytes of [packed, plain]) {
      const place = 40 + Math.floor(((bytes.length - 41) * at) / 60);
      const changed = Buffer.from(bytes);
      changed[place] ^= 1 << at % 8;
      for (const file of [bytes.subarray(0, place), changed]) {
        await assert.rejects(target.import(file, { trusted: true }), (error) => isMemoryError(error, "invalid_argument"), `byte ${place}`);
      }
    }
  }
  assert.deepEqual(await seen(target), nothing);
  assert.equal((await target.import(packed, { trusted: true })).imported, 2, "and the file itself is fine");
  await Promise.all([memory.close(), target.close()]);
});

test("what a hostile file says is refused, with the place", async () => {
  const head = { conversation: { id: "c", remember: true, createdAt: 1, updatedAt: 1, lastSeq: 1 } };
  const message = { message: { seq: 1, format: "openai", raw: '{"role":"user","content":"a"}', createdAt: 1 } };
  const deep = `{"conversation":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  await refused(fileOf([head, message], { version: 2 }), /newer/, { code: "schema_too_new" });
  await refused(`\ufeff${fileOf([head, message])}`, /./);
  await refused(fileOf([head, message], { end: { message: 2 } }), /as many records/);
  await refused(`${fileOf([head, message])}{}\n`, /follows its end/);
  await refused(fileOf([deep]), /nested deeper/);
  await refused(fileOf([head, '{"message":{"seq":1,"format":"openai","raw":"{}","createdAt":1e999}}']), /not finite/);
  await refused(fileOf([head, message, { __proto__: null, wisdom: {} }]), /kind/);
  await refused(fileOf([head, '{"__proto__":{"seq":1}}']), /kind|record/);
  await refused(fileOf([message]), /no conversation/);
  await refused(fileOf([head]), /fewer messages/);
  await refused(fileOf([head, message, head, message]), /order/);
  await refused(fileOf([head, message]), /larger than 100/, { options: { maxBytes: 100 } });
  await refused(gzipSync(fileOf([head, { message: { ...message.message, raw: JSON.stringify({ role: "user", content: "a".repeat(3_000_000) }) } }])), /larger than/, { options: { maxBytes: 1_000_000 } });
  const memory = await open();
  await assert.rejects(memory.import(Buffer.from(fileOf([deep]))), ({ details }) => typeof details.position === "number");
  // One that says the same thing twice says what JSON says of it: the last word.
  await memory.import(Buffer.from(fileOf([head, '{"message":{"seq":9,"seq":1,"format":"openai","raw":"{\\"role\\":\\"user\\",\\"content\\":\\"a\\"}","createdAt":1}}'])));
  assert.equal((await memory.history("c")).length, 1);
  await memory.close();
});

test("a file that is not the user's own is believed nothing about the user", async () => {
  const memory = await filled();
  const file = await memory.export();
  const other = await open();
  await other.import(file);
  const facts = await other.facts.list({});
  assert.deepEqual(facts.map(({ fact, trust, status, pinned }) => [fact, trust, status, pinned]), [["Likes coffee", "imported", "proposed", false]]);
  const { system } = await other.buildContext({ conversationId: "a", question: "What do I drink?", window: 8000, reserve: 500 });
  assert.ok(!JSON.stringify(system).includes("coffee"), "nothing of it is told to the model");
  await other.facts.approve(facts[0].id);
  assert.equal((await other.facts.get(facts[0].id)).status, "active");
  await Promise.all([memory.close(), other.close()]);
});

test("aborted, nothing is imported; progress is told", async () => {
  const memory = await open();
  const { id } = await memory.conversations.create({});
  await memory.append(id, Array.from({ length: 2_000 }, (_, at) => ({ id: `m${at}`, role: "user", content: `message ${at} ${"word ".repeat(20)}` })));
  const told = [];
  const file = await memory.export({ onProgress: (progress) => told.push(progress) });
  assert.deepEqual(told.at(-1), { conversations: 1, messages: 2_000, totalMessages: 2_000 });
  for (const phase of ["scan", "import"]) {
    const other = await open();
    const abort = new AbortController();
    const importing = other.import(file, { signal: abort.signal, onProgress: (progress) => progress.phase === phase && abort.abort() });
    await assert.rejects(importing, refusedWith("aborted"));
    assert.deepEqual(await seen(other), nothing);
    assert.equal((await other.import(file)).messages, 2_000, "and it can be imported afterwards");
    await other.close();
  }
  const abort = new AbortController();
  abort.abort();
  await assert.rejects(memory.export({ signal: abort.signal }), refusedWith("aborted"));
  await memory.close();
});

test("an export goes into a stream too, and what that fails with is told", async () => {
  const memory = await filled();
  const chunks = [];
  let isClosed = false;
  const to = new WritableStream({ write: (chunk) => void chunks.push(chunk), close: () => void (isClosed = true) });
  const report = await memory.export({ to });
  assert.equal(report.messages, 8);
  assert.ok(isClosed);
  assert.deepEqual(Buffer.concat(chunks), await bytesOf(await memory.export()));
  const full = new Error("the disk is full");
  await assert.rejects(memory.export({ to: new WritableStream({ write: () => Promise.reject(full) }) }), (error) => error === full);
  await assert.rejects(memory.export({ to: {} }), refusedWith("invalid_argument", /to/));
  await memory.close();
  await assert.rejects(memory.export(), refusedWith("closed"));
});

test("what is erased while an export runs is not in it", async () => {
  const memory = await filled();
  const { id } = await memory.conversations.create({ id: "z" });
  await memory.append(id, Array.from({ length: 1_200 }, (_, at) => ({ role: "user", content: `SECRET-${at}` })));
  let isErased = false;
  const erase = () => {
    if (!isErased) void memory.erase({ conversationId: "a" });
    isErased = true;
  };
  const file = await memory.export({ onProgress: erase });
  assert.equal(file.report.conversations, 2);
  assert.ok(!(await linesOf(file)).some((line) => line.includes("8471")));
  // A stream cannot take back what it was given.
  isErased = false;
  const eraseAgain = () => {
    if (!isErased) void memory.erase({ conversationId: "z" });
    isErased = true;
  };
  await assert.rejects(memory.export({ to: new WritableStream(), onProgress: eraseAgain }), refusedWith("storage_conflict"));
  await memory.close();
});

test("a backup is imported alone, and under its own name", async () => {
  const memory = await filled();
  const file = await memory.export();
  const other = await open();
  await assert.rejects(other.import([file, file]), refusedWith("invalid_argument", /alone/));
  await assert.rejects(other.import(file, { source: "chatgpt" }), refusedWith("invalid_argument", /not of chatgpt/));
  await assert.rejects(other.import(new Blob(["[]"]), { source: "throughline" }), refusedWith("invalid_argument", /no backup/));
  for (const options of [{ passphrase: 5 }, { trusted: "yes" }]) await assert.rejects(other.import(file, options), refusedWith("invalid_argument"));
  assert.deepEqual(await seen(other), nothing);
  await Promise.all([memory.close(), other.close()]);
});
