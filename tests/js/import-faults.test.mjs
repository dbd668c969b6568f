// What goes wrong in an import: limits and damage (nothing is imported), cancelling, an engine that refuses, crashes.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { createMemory, isMemoryError, memoryStorage, MemoryError } from "throughline";
import { chatGpt, gzipOf, imported, importInto, node, RecordingEngine, smallChat, zipOf } from "./import-support.mjs";

const JSON_CHAT = JSON.stringify(smallChat("a"));

/** The import is refused with a place, and the engine was never asked for anything. */
async function refused(input, pattern, { position = true, options } = {}) {
  const engine = new RecordingEngine();
  await assert.rejects(importInto(engine, input, options), (error) => {
    assert.ok(isMemoryError(error, "invalid_argument"), String(error.stack));
    assert.match(error.message, pattern);
    assert.match(error.message, /Nothing was imported/);
    if (position) assert.ok(Number.isInteger(error.details.position), "a position");
    assert.doesNotMatch(error.message + JSON.stringify(error.details), /SECRET/);
    return true;
  });
  assert.deepEqual(engine.calls, []);
}

test("row 56: a gzip of 1,029:1 stops at the ratio, not at its end", async () => {
  const bomb = gzipOf(`[${JSON_CHAT},"${"0".repeat(30 << 20)}"]`);
  assert.ok((30 << 20) / bomb.length > 900);
  await refused(bomb, /more than 200 times its size/);
});

test("row 56: a zip that unpacks too far, one that declares 1 GB, one that lies about its size", async () => {
  await refused(zipOf({ "conversations.json": `[${JSON_CHAT},"${"0".repeat(30 << 20)}"]` }), /more than 200 times its size/);
  const text = `[${JSON_CHAT},${JSON.stringify(randomBytes(400_000).toString("hex"))}]`;
  await refused(zipOf({ "conversations.json": text }, { lie: () => 1 << 30 }), /have 1073741824 bytes unpacked, more than 268435456/, { position: false });
  await refused(zipOf({ "conversations.json": text }, { lie: () => 500_000 }), /damaged/);
  const withPicture = zipOf({ "conversations.json": `[${JSON_CHAT}]`, "picture.png": randomBytes(400_000) }, { store: true });
  withPicture[withPicture.length - 1000] ^= 0x55;
  assert.equal((await imported(withPicture)).report.imported, 1, "a damaged picture costs nothing");
});

test("row 56: more than maxBytes unpacked, all files together", async () => {
  const text = `[${JSON_CHAT},${JSON.stringify(randomBytes(300_000).toString("hex"))}]`;
  await refused(gzipOf(text), /larger than 400000 bytes/, { options: { maxBytes: 400_000 } });
  await refused([new File([text], "1"), new File([text], "2")], /more than 700000/, { position: false, options: { maxBytes: 700_000 } });
});

test("row 56: a depth of 1,000,000", async () => {
  await refused(`[${JSON_CHAT},${"[".repeat(1e6)}${"]".repeat(1e6)}]`, /nested deeper than 64/);
  await refused(`[${JSON_CHAT},${'{"a":'.repeat(1e6)}1${"}".repeat(1e6)}]`, /nested deeper than 64/);
  await refused(`${"[".repeat(1e6)}`, /none of the files/, { position: false });
  await refused(`{"conversationId":"x","recursive":true,"messages":[${'{"messageId":"m","children":['.repeat(5000)}`, /nested deeper than 4096/);
});

test("row 56: 1,000,000 keys in one object", async () => {
  const keys = Array.from({ length: 1_000_001 }, (_, index) => `"k${index}":0`).join(",");
  await refused(`[${JSON_CHAT},{"mapping":{${keys}}}]`, /more than 1000000/);
});

test("row 56: truncated anywhere", async () => {
  const whole = JSON.stringify([smallChat("a"), smallChat("b")]);
  for (const length of [whole.length - 1, whole.length - 2, whole.length >> 1, 400]) await refused(whole.slice(0, length), /ends in the middle/);
  await refused(gzipOf(whole).slice(0, -12), /damaged/);
  const zip = zipOf({ "conversations.json": whole });
  await refused(zip.slice(0, -30), /damaged zip/, { position: false });
  zip[60] ^= 0x55;
  await refused(zip, /damaged|none of the files/, { position: false });
});

test("row 56: 1e999 and numbers like it", async () => {
  for (const number of ["1e999", "-1E+400", "9".repeat(400)]) await refused(`[${JSON_CHAT},{"SECRET":${number}}]`, /out of range/);
  const fine = await imported(`[${JSON_CHAT.replace('"weight":1', '"weight":1e-999')}]`);
  assert.equal(fine.report.imported, 1);
});

test("a number that is no usable time is no time", async () => {
  for (const number of ["1e308", "1E+308", "-1e308", `1${"0".repeat(308)}`, "9e15"]) {
    const { engine, report } = await imported(`[${JSON_CHAT.replaceAll(/"create_time":[0-9.]+/g, `"create_time":${number}`)}]`);
    assert.deepEqual([report.imported, report.skipped], [1, []], number);
    assert.equal(engine.conversations.get("chatgpt:a").createdAt, undefined, number);
    assert.equal(engine.active("chatgpt:a").length, 2);
  }
});

test("row 56: of two equal keys the last one counts, and __proto__ is a key like any other", async () => {
  const text = JSON_CHAT.replace('"title":', '"title":"first","title":').replace('"metadata":{}', '"metadata":{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
  const { engine } = await imported(`[${text.replace('"mapping":{', '"mapping":{"__proto__":{"polluted":1},')}]`);
  assert.equal(engine.conversations.get("chatgpt:a").title, "Title of a");
  assert.equal({}.polluted, undefined);
});

test("text after the end, brackets that do not fit, what is no export", async () => {
  await refused(`[${JSON_CHAT}] SECRET`, /text after its end/);
  await refused(`[${JSON_CHAT}}`, /closed that was not opened/);
  for (const input of ["", "SECRET", "<p>SECRET</p>", '{"SECRET":1}', "[1,2]", new Uint8Array([0xff, 0xd8, 1])]) await refused(input, /none of the files/, { position: false });
  const empty = await imported("[]");
  assert.deepEqual([empty.report.imported, empty.report.source], [0, null]);
});

test("one damaged shard: nothing of the others is imported", async () => {
  await refused([new File([JSON.stringify([smallChat("a")])], "1.json"), new File([JSON.stringify([smallChat("b")]).slice(0, -5)], "2.json")], /2\.json cannot be read at byte/);
});

test("a line that is no JSON costs only itself", async () => {
  const good = (text) => JSON.stringify({ messages: [{ role: "user", content: text }] });
  const { report } = await imported([good("1"), '{"messages": [', '}]"', '"never ends', good("2")].join("\n"));
  assert.equal(report.imported, 2);
  assert.deepEqual(report.skipped.map(({ reason }) => reason), ["invalid_json", "invalid_json", "invalid_json"]);
});

test("elements that begin and end anywhere: any size of chunk gives the same", async () => {
  const text = JSON.stringify([smallChat("a", 'quote " \\ brace } 東京'), smallChat("b", "\\\\"), smallChat("c")], undefined, 1);
  const bytes = new TextEncoder().encode(text);
  const whole = await imported(text);
  for (const size of [1, 2, 3, 7, 64]) {
    // A Blob that streams in chunks of this size.
    const file = new File([bytes], "export");
    file.stream = () => new ReadableStream({ start(controller) {
      for (let at = 0; at < bytes.length; at += size) controller.enqueue(bytes.slice(at, at + size));
      controller.close();
    } });
    const { engine } = await imported(file);
    assert.deepEqual(engine.conversations, whole.engine.conversations, `chunks of ${size}`);
  }
});

/** A file that streams in chunks of 64 KB. */
function inChunks(text, name = "export") {
  const bytes = new TextEncoder().encode(text);
  const file = new File([bytes], name);
  file.stream = () => new ReadableStream({ start(controller) {
    for (let at = 0; at < bytes.length; at += 65_536) controller.enqueue(bytes.slice(at, at + 65_536));
    controller.close();
  } });
  return file;
}

test("a first message of any size does not hide what a file is", async () => {
  const long = (length) => "word ".repeat(length / 5);
  const chat = (text) => [{ role: "user", content: text }, { role: "assistant", content: "Yes." }];
  const picture = { role: "user", content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${"A".repeat(400_000)}` } }, { type: "text", text: "What is this?" }] };
  const inputs = {
    "a picture in the first line": ["messages", [picture, chat("")[1]].map((message) => JSON.stringify(message)).join("\n")],
    "lines, the text before the role": ["messages", [{ content: long(600_000), role: "user" }, chat("")[1]].map((message) => JSON.stringify(message)).join("\n")],
    "conversations in lines": ["messages", [chat(long(360_000)), chat("Two")].map((messages) => JSON.stringify({ messages })).join("\n")],
    "a list": ["messages", JSON.stringify(chat(long(360_000)))],
    "a list, 5 MB": ["messages", JSON.stringify(chat(long(5_000_000)))],
    "an object with messages": ["messages", JSON.stringify({ messages: chat(long(360_000)) })],
    "ShareGPT": ["sharegpt", JSON.stringify([{ conversations: [{ from: "human", value: long(360_000) }, { from: "gpt", value: "Yes." }] }])],
    "ShareGPT, one list": ["sharegpt", JSON.stringify([{ from: "human", value: long(360_000) }, { from: "gpt", value: "Yes." }])],
  };
  for (const [name, [source, text]] of Object.entries(inputs)) {
    for (const input of [inChunks(text), zipOf({ "export.json": text }, { store: true })]) {
      const { engine, report } = await imported(input);
      assert.deepEqual([report.source, report.skipped], [source, []], name);
      assert.equal(engine.active(engine.ids()[0]).length, 2, name);
    }
  }
  await refused(JSON.stringify([{ SECRET: long(18_000_000) }]), /none of the files/, { position: false });
});

test("a zip with names that no folder takes, and with pictures that are not unpacked", async () => {
  const names = ["a:b.bin", "C:.bin", "C:/x.bin", "x/../y.bin", "//x.bin", "\\\\x.bin", "../../etc.bin"];
  const odd = Object.fromEntries(names.map((name) => [name, "bytes"]));
  assert.equal((await imported(zipOf({ "conversations.json": `[${JSON_CHAT}]`, ...odd }))).report.imported, 1);
  for (const name of names) assert.equal((await imported(zipOf({ [name]: `[${JSON_CHAT}]` }))).report.imported, 1, name);
  // What begins as JSON is read and named in the report, unless its name says that it is a picture.
  const media = ["png", "jpg", "JPEG", "gif", "webp", "heic", "svg", "wav", "mp3", "m4a", "ogg", "mp4", "webm", "mov", "pdf"];
  const pictures = Object.fromEntries(media.map((extension) => [`user-1/file.${extension}`, "{]"]));
  const { report } = await imported(zipOf({ "conversations.json": `[${JSON_CHAT}]`, ...pictures, "other.bin": "{]" }));
  assert.equal(report.imported, 1);
  assert.deepEqual(report.skipped.map(({ where, reason }) => [where, reason]), [["file/other.bin", "unknown_format"]]);
});

test("a zip with a password says so", async () => {
  const files = { "conversations.json": `[${JSON_CHAT}]`, "picture.png": "x", "notes.txt": "plain" };
  await refused(zipOf(files, { isLocked: () => true }), /encrypted; unpack it with its password/, { position: false });
  await refused(zipOf(files, { isLocked: (name) => name === "conversations.json" }), /encrypted/, { position: false });
  const { report } = await imported(zipOf({ ...files, "2.json": `[${JSON.stringify(smallChat("b"))}]` }, { isLocked: (name) => name === "2.json" }));
  assert.equal(report.imported, 1);
  assert.match(report.skipped[0].message, /locked by a password/);
});

test("work grows with the size of a file, not with its square", { timeout: 240_000 }, async () => {
  const many = (count, make) => Array.from({ length: count }, (_, index) => make(index));
  const count = 50_000;
  const chat = (nodes) => [chatGpt("a", nodes)];
  const thought = { content_type: "thoughts", thoughts: [{ content: "t" }] };
  const block = (index) => [{ type: "tool_use", id: `t${index}`, name: "f", input: {} }, { type: "tool_result", tool_use_id: `t${index}`, content: "x" }];
  const inputs = {
    "parents that are lost": chat(many(count, (index) => node(`m${index}`, `lost${index}`, "user", `${index}`))),
    "one id for all": chat(many(count, (index) => node(`m${index}`, "root", "user", "same", { id: "same" }))),
    "results below one long way": chat([...many(count / 2, (index) => node(`h${index}`, index === 0 ? "root" : `h${index - 1}`, "assistant", thought)), ...many(count / 2, (index) => node(`t${index}`, `h${count / 2 - 1}`, "tool", "out"))]),
    "answers below one long way": chat([...many(count / 2, (index) => node(`h${index}`, index === 0 ? "root" : `h${index - 1}`, "assistant", thought)), ...many(count / 2, (index) => node(`a${index}`, `h${count / 2 - 1}`, "assistant", "out"))]),
    "pictures and their names": chat([node("m1", "root", "user", { content_type: "multimodal_text", parts: many(count, (index) => ({ content_type: "image_asset_pointer", asset_pointer: `file-service://${index}` })) }, { metadata: { attachments: many(count, (index) => ({ id: `${index}`, name: "n" })) } })]),
    "calls in one message": [{ uuid: "c", chat_messages: [{ uuid: "m", sender: "assistant", content: many(count, block).flat() }] }],
    "details that do not end": [{ id: "w", chat: { messages: [{ role: "assistant", content: "<details ".repeat(count) }, { role: "assistant", content: `<details ${"a".repeat(count * 4)}>` }] } }],
    "blanks in HTML": [{ header: "Gemini Apps", title: "Prompted x", time: "2025-01-01T00:00:00Z", products: [], safeHtmlItem: [{ html: `<pre>${" ".repeat(count * 8)}x</pre>${"<script".repeat(count)}` }] }],
    "one cell of HTML": `<div class="outer-cell x"><p class="mdl-typography--title">Gemini Apps</p><div class="content-cell mdl-typography--body-1">Prompted x<br>Dec 3, 2024, 10:31:12 AM<br>y</div><div class="content-cell"></div>${"<div>".repeat(count * 40)}`,
  };
  for (const [name, input] of Object.entries(inputs)) {
    const { report } = await imported(input);
    assert.equal(report.imported, 1, name);
  }
});

test("wrong arguments are named, and nothing is read", async () => {
  const engine = new RecordingEngine();
  for (const [input, options, pattern] of [
    [5, {}, /give a File/], [[], {}, /no file/], [["x"], {}, /give a File/], [new Blob(["[]"]), { source: "icq" }, /options\.source/],
    [new Blob(["[]"]), { maxBytes: 0 }, /maxBytes/], [new Blob(["[]"]), { onProgress: 1 }, /onProgress/], [new Blob(["[]"]), { projectId: "" }, /projectId/], [new Blob(["[]"]), { worker: 1 }, /worker/],
    [new ReadableStream({ start: (controller) => controller.enqueue("text") }), {}, /must give bytes/],
  ]) {
    const { importFiles } = await import("../../dist/import/importer.js");
    await assert.rejects(importFiles(engine, input, options), (error) => isMemoryError(error, "invalid_argument") && pattern.test(error.message));
  }
});

test("cancelled: what is whole stays, the new one that is not goes", async () => {
  const chats = Array.from({ length: 6 }, (_, index) => chatGpt(`c${index}`, Array.from({ length: 100 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", `text ${at}`))));
  for (const stopAt of [1, 5, 13, 22]) {
    const abort = new AbortController();
    const engine = new RecordingEngine();
    let appends = 0;
    const append = engine.append.bind(engine);
    engine.append = (request) => {
      appends += 1;
      if (appends === stopAt) abort.abort(new Error("enough"));
      return append(request);
    };
    await assert.rejects(importInto(engine, chats, { signal: abort.signal }), (error) => isMemoryError(error, "aborted") && error.cause.message === "enough");
    assert.equal(engine.conversations.size, Math.floor((stopAt - 1) / 4));
    for (const { messages, importHash } of engine.conversations.values()) assert.deepEqual([messages.size, typeof importHash], [100, "string"]);
  }
  const before = new RecordingEngine();
  await assert.rejects(importInto(before, chats, { signal: AbortSignal.abort() }), (error) => isMemoryError(error, "aborted"));
  assert.deepEqual(before.calls, []);
  const scanning = new AbortController();
  await assert.rejects(importInto(before, chats, { signal: scanning.signal, onProgress: () => scanning.abort() }), (error) => isMemoryError(error, "aborted"));
  assert.deepEqual(before.calls, []);
});

test("a refused message costs its conversation; a full disk ends the import; both leave no half conversation", async () => {
  const engine = new RecordingEngine();
  const append = engine.append.bind(engine);
  let failure = new MemoryError("invalid_argument", "a message is too large");
  engine.append = (request) => {
    if (request.conversationId === "chatgpt:b") throw failure;
    return append(request);
  };
  const report = await importInto(engine, [smallChat("a"), smallChat("b"), smallChat("c")]);
  assert.deepEqual([report.imported, report.skipped[0].reason], [2, "rejected"]);
  assert.deepEqual(engine.ids(), ["chatgpt:a", "chatgpt:c"]);
  failure = new MemoryError("storage_quota_exceeded", "full");
  await assert.rejects(importInto(engine, [smallChat("b"), smallChat("d")]), (error) => isMemoryError(error, "storage_quota_exceeded"));
  assert.deepEqual(engine.ids(), ["chatgpt:a", "chatgpt:c"]);
});

test("a conversation that is deleted while it is imported costs only itself", async () => {
  const long = (id) => chatGpt(id, Array.from({ length: 100 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", `text ${at}`)));
  const short = (id) => ({ ...long(id), mapping: Object.fromEntries(Object.entries(long(id).mapping).slice(0, 41)), current_node: "m39" });
  for (const isKnown of [false, true]) {
    // Before the first messages, among them, before the end, and where a branch is looked at.
    for (const method of ["append:1", "append:2", "updateConversation:1", ...(isKnown ? ["tree:1", "setActiveLeaf:1"] : [])]) {
      const engine = new RecordingEngine();
      if (isKnown) await importInto(engine, [short("b")]);
      const [name, count] = method.split(":");
      const original = engine[name].bind(engine);
      let calls = 0;
      engine[name] = (request) => {
        if ((request.conversationId ?? request.id) === "chatgpt:b" && ++calls === Number(count)) engine.conversations.delete("chatgpt:b");
        return original(request);
      };
      const report = await importInto(engine, [smallChat("a"), long("b"), smallChat("c")]);
      assert.deepEqual([report.imported, report.updated, report.messages], [2, 0, 4], method);
      assert.deepEqual(report.conversations, ["chatgpt:a", "chatgpt:c"], method);
      assert.deepEqual(report.skipped.map(({ reason, message }) => [reason, /deleted while/.test(message)]), [["rejected", true]], method);
      assert.deepEqual(engine.ids().sort(), ["chatgpt:a", "chatgpt:c"], method);
      engine[name] = original;
      assert.equal((await importInto(engine, [long("b")])).imported, 1, "it can be had back");
    }
  }
});

test("deleted in the app during the import: through the engine itself", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const long = chatGpt("b", Array.from({ length: 100 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", `text ${at}`)));
  let deleting;
  memory.on("append", ({ conversationId }) => {
    if (conversationId === "chatgpt:b") deleting ??= memory.conversations.delete("chatgpt:b");
  });
  const report = await memory.import(new File([JSON.stringify([smallChat("a"), long, smallChat("c")])], "x"));
  await deleting;
  assert.deepEqual([report.imported, report.skipped.map(({ reason }) => reason)], [2, ["rejected"]]);
  assert.deepEqual((await memory.conversations.list()).items.map(({ id }) => id).sort(), ["chatgpt:a", "chatgpt:c"]);
  await memory.close();
});

test("an import that the page did not survive is completed by the next one", async () => {
  const chat = chatGpt("a", Array.from({ length: 100 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", `text ${at}`)));
  const engine = new RecordingEngine();
  const append = engine.append.bind(engine);
  let isAlive = true;
  let calls = 0;
  engine.append = (request) => {
    calls += 1;
    isAlive &&= calls < 3;
    if (!isAlive) throw new MemoryError("closed", "the page is gone");
    return append(request);
  };
  engine.deleteConversation = () => {
    throw new MemoryError("closed", "the page is gone");
  };
  await assert.rejects(importInto(engine, [chat]), (error) => isMemoryError(error, "closed"));
  assert.equal(engine.all("chatgpt:a").length, 64);
  engine.append = append;
  const report = await importInto(engine, [chat]);
  assert.deepEqual([report.updated, report.messages, engine.active("chatgpt:a").length], [1, 36, 100]);
});

test("through the engine itself: imported, found, unchanged, and the batches stay small", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const events = [];
  memory.on("append", ({ count }) => events.push(count));
  const long = chatGpt("long", Array.from({ length: 200 }, (_, at) => node(`m${at}`, at === 0 ? "root" : `m${at - 1}`, at % 2 ? "assistant" : "user", at === 77 ? "The port is 8471." : `text ${at}`)));
  const progress = [];
  const report = await memory.import(zipOf({ "conversations.json": JSON.stringify([long, smallChat("b")]) }), { projectId: "old chats", onProgress: (each) => progress.push(each) });
  assert.deepEqual([report.imported, report.messages, report.source], [2, 202, "chatgpt"]);
  assert.ok(Math.max(...events) <= 32, "at most 32 messages at once");
  assert.deepEqual(progress.at(-1).conversations, 2);
  assert.deepEqual(new Set(progress.map(({ phase }) => phase)), new Set(["scan", "import"]));
  assert.ok(progress.every(({ bytes, totalBytes }) => bytes <= totalBytes));
  assert.equal((await memory.conversations.get("chatgpt:long")).projectId, "old chats");
  const [group] = await memory.recall("8471", { topK: 1 });
  assert.equal(group.conversationId, "chatgpt:long");
  const again = await memory.import(new File([JSON.stringify([long, smallChat("b")])], "x"));
  assert.deepEqual([again.imported, again.updated, again.unchanged, again.messages], [0, 0, 2, 0]);
  await memory.close();
  await assert.rejects(memory.import(new File([JSON.stringify([long])], "x")), (error) => isMemoryError(error, "closed"));
});
