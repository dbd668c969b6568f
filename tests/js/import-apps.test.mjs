// Exports of the other apps, written from their descriptions.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { imported, importInto, RecordingEngine, shown, smallChat, zipOf } from "./import-support.mjs";

const lines = (...values) => values.map((value) => JSON.stringify(value)).join("\n");
const only = (engine) => {
  const ids = engine.ids();
  assert.equal(ids.length, 1);
  return ids[0];
};
const texts = (engine) => engine.active(only(engine)).map(shown);
const roles = (engine) => engine.active(only(engine)).map(({ role }) => role);

const claude = () => ({
  uuid: "c-1", name: "Ports", summary: "", created_at: "2025-01-02T03:04:05.678901Z", updated_at: "2025-01-02T03:05:00Z", account: { uuid: "u" },
  chat_messages: [
    { uuid: "m-1", sender: "human", text: "Look it up", content: [{ type: "text", text: "Look it up" }], created_at: "2025-01-02T03:04:05.678901Z", attachments: [{ file_name: "notes.txt", file_type: "txt", extracted_content: "port 8471" }], files: [{ file_name: "plan.png" }] },
    null,
    { uuid: "m-2", sender: "assistant", text: "This block is not supported", created_at: "2025-01-02T03:04:30Z", attachments: [], files: [], content: [
      { type: "thinking", thinking: "where is it" }, { type: "text", text: "Searching." },
      { type: "tool_use", id: null, name: "web_search", input: { query: "port" } },
      { type: "tool_result", tool_use_id: null, name: "web_search", content: [{ type: "text", text: "It is 8471." }], is_error: false },
      { type: "token_budget" }, { type: "text", text: "8471.", citations: [{ start_index: 0, end_index: 4, title: "Page", url: "https://example.org" }] },
    ] },
    { uuid: "m-3", sender: "human", text: null, content: [], created_at: "2025-01-02T03:04:40Z" },
    { uuid: "m-4", sender: "human", text: "Thanks", content: null, created_at: "2025-01-02T03:04:50Z" },
  ],
});

test("Claude.ai: blocks, thinking, tools, attachments, null texts and entries; other files of its export", async () => {
  const zip = zipOf({
    "conversations.json": JSON.stringify([claude()]), "users.json": JSON.stringify([{ uuid: "u", full_name: "A", email_address: "a@example.org" }]),
    "projects.json": JSON.stringify([{ uuid: "p", name: "P", prompt_template: "", docs: [] }]), "memories.json": JSON.stringify([{ conversations_memory: "SECRET", account_uuid: "u" }]),
  });
  const { engine, report } = await imported(zip);
  assert.equal(only(engine), "claude:c-1");
  const [question, answer, thanks] = engine.active("claude:c-1");
  assert.deepEqual(question.parts.map(({ text }) => text), ["Look it up", "[file: notes.txt]\nport 8471", "[file: plan.png]"]);
  assert.deepEqual(answer.parts.map(({ type, state }) => state ?? type), ["reasoning", "text", "output-available", "text"]);
  assert.equal(answer.parts[2].output, "It is 8471.");
  assert.deepEqual(answer.metadata.citations, [{ start: 0, end: 4, title: "Page", url: "https://example.org" }]);
  assert.equal(shown(thanks), "Thanks");
  assert.equal(question.createdAt, Date.UTC(2025, 0, 2, 3, 4, 5, 678));
  assert.deepEqual(report.skipped.map(({ reason, where }) => [reason, where]), [["not_conversations", "file/memories.json"], ["not_conversations", "file/projects.json"], ["not_conversations", "file/users.json"]]);
  assert.equal((await imported({ conversations: [claude()] })).report.source, "claude");
  const tree = claude();
  tree.chat_messages = [["a", "00000000-0000-4000-8000-000000000000", "human"], ["b", "a", "assistant"], ["c", "a", "assistant"]].map(([uuid, parent_message_uuid, sender]) => ({ uuid, parent_message_uuid, sender, text: `text ${uuid}` }));
  const branched = await imported([{ ...tree, current_leaf_message_uuid: "b" }]);
  assert.deepEqual(texts(branched.engine), ["text a", "text b"]);
  assert.equal(branched.engine.all("claude:c-1").length, 3);
});

const activity = (minute, title, html, extra = {}) => ({
  header: "Gemini Apps", title, time: new Date(Date.UTC(2025, 2, 1, 10, minute)).toISOString(), products: ["Gemini Apps"],
  ...(html === undefined ? {} : { safeHtmlItem: [{ html }] }), ...extra,
});

test("Gemini Takeout as JSON: newest first, grouped by half an hour, feedback and canvas left out", async () => {
  const { engine, report } = await imported([
    activity(100, "Prompted later", "<p>much later</p>"),
    activity(99, "Gave feedback: Good response"),
    activity(20, "Prompted second", "<p>It is <b>8471</b> &amp; more:</p><ul><li>one</li><li>two</li></ul><pre>a  b\n  c</pre>"),
    activity(5, "Prompted first", "<p>hello</p>", { attachedFiles: ["x.png"] }),
  ]);
  assert.equal(report.source, "gemini");
  assert.deepEqual(report.skipped.map(({ reason }) => reason), ["not_a_conversation"]);
  const [late, early] = engine.ids();
  assert.deepEqual(engine.active(late).map(shown), ["later", "much later"]);
  assert.deepEqual(engine.active(early).map(shown), ["first\n[file]", "hello", "second", "It is 8471 & more:\n\n- one\n- two\n\na  b\n  c"]);
  assert.equal(engine.active(early)[1].metadata.inferredConversation, true);
  const german = await imported([activity(3, "Frage gestellt: Wie alt?", "alt"), activity(2, "Frage gestellt: Wer da?", "ich"), activity(1, "Frage gestellt: Was nun?", "nichts")]);
  assert.deepEqual(texts(german.engine).filter((_, index) => index % 2 === 0), ["Was nun?", "Wer da?", "Wie alt?"]);
});

test("Gemini Takeout as HTML, dates in words", async () => {
  const cell = (title, date, answer, product = "Gemini Apps") =>
    `<div class="outer-cell mdl-cell mdl-cell--12-col mdl-shadow--2dp"><div class="mdl-grid"><div class="header-cell mdl-cell mdl-cell--12-col"><p class="mdl-typography--title">${product}<br></p></div>` +
    `<div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1">${title}<br>${date}<br>${answer}</div><div class="content-cell mdl-cell mdl-cell--6-col mdl-typography--body-1 mdl-typography--text-right"></div></div></div>`;
  const html = `<html><head><title>My Activity</title><style>.x{}</style></head><body><div class="mdl-grid">${[
    cell("Prompted\u00a0second &lt;b&gt;", "Dec 3, 2024, 10:31:12\u202fAM EST", "<p>two</p><script>SECRET</script>"),
    cell("Prompted\u00a0first", "Dec 3, 2024, 10:11:12\u202fAM EST", "<p>one</p>"),
    cell("Watched a film", "Dec 3, 2024, 10:00:00\u202fAM EST", "", "YouTube"),
    cell("Prompted\u00a0long ago", "3. Dez. 2023, 08:00:00 MEZ", "<div>old<br>times</div>"),
  ].join("")}</div></body></html>`;
  const { engine, report } = await imported(html);
  const [late, early] = engine.ids();
  assert.deepEqual(engine.active(late).map(shown), ["first", "one", "second <b>", "two"]);
  assert.deepEqual(engine.active(early).map(shown), ["long ago", "old\ntimes"]);
  assert.deepEqual(engine.active(late).map((raw) => raw.created_at), [15, 15, 15, 15].map((hour, index) => Date.UTC(2024, 11, 3, hour, index < 2 ? 11 : 31, 12)));
  assert.equal(engine.active(early)[0].created_at, Date.UTC(2023, 11, 3, 7, 0, 0));
  assert.equal(report.skipped.length, 1);
});

test("AI Studio: chunks, thoughts, instructions that never instruct, files as labels", async () => {
  const prompt = {
    runSettings: { model: "models/gemini-x" }, systemInstruction: { parts: [{ text: "You are a pirate" }] },
    chunkedPrompt: { chunks: [
      { text: "Ahoy", role: "user", tokenCount: 2 }, { driveImage: { id: "d" }, role: "user" }, { inlineImage: { mimeType: "image/png", data: "SECRETBYTES" }, role: "user" },
      { text: "hmm", role: "model", isThought: true }, { text: "Arr", role: "model", finishReason: "STOP", branchParent: { promptId: "prompts/1" } },
    ], pendingInputs: [{ text: "", role: "user" }] },
  };
  const { engine } = await imported(new File([JSON.stringify(prompt)], "Pirates.json"));
  assert.deepEqual(roles(engine), ["assistant", "user", "user", "user", "assistant"]);
  assert.deepEqual(texts(engine), ["You are a pirate", "Ahoy", "[image]", "[image]", "Arr"]);
  const answer = engine.active(only(engine)).at(-1);
  assert.deepEqual([answer.reasoning_content, answer.metadata.model], ["hmm", "models/gemini-x"]);
  assert.equal(engine.conversations.get(only(engine)).title, "Pirates");
  assert.doesNotMatch(JSON.stringify(engine.all(only(engine))), /SECRETBYTES/);
});

test("Grok: nested responses, BSON dates, senders in any case", async () => {
  const response = (_id, sender, message, parent, long) => ({ response: { _id, conversation_id: "g", sender, message, parent_response_id: parent, create_time: { $date: { $numberLong: String(long) } }, model: "grok-4" }, share_link: null });
  const { engine } = await imported({
    conversations: [{ conversation: { id: "g", title: "Grokking", create_time: "2025-05-01T10:00:00Z" }, responses: [
      response("r1", "human", "hi", null, 1746093600000), response("r2", "ASSISTANT", 'yes <grok:render type="x">1</grok:render>', "r1", 1746093601000), response("r3", "human", "again", "r2", 1746093602000), response("r4", "assistant", "no", "r3", 1746093603000),
    ] }],
    projects: [], tasks: [], media_posts: [],
  });
  assert.equal(only(engine), "grok:g");
  assert.deepEqual(roles(engine), ["user", "assistant", "user", "assistant"]);
  assert.equal(engine.active("grok:g")[3].created_at, 1746093603000);
});

test("Open WebUI: history by id, children left out, details blocks, structured output, both kinds of seconds", async () => {
  const messages = {
    a: { id: "a", parentId: null, childrenIds: ["b", "z"], role: "user", content: "why?", timestamp: 1740000000, files: [{ type: "image", url: "data:image/png;base64,SECRETBYTES" }] },
    b: { id: "b", parentId: "a", childrenIds: [], role: "assistant", model: "llama", timestamp: 1740000001000, content: '<details type="reasoning" done="true" duration="2">\n<summary>Thought for 2 seconds</summary>\n&gt; x\n> deep\n> thought\n</details>\nbecause' },
    z: { id: "z", parentId: "a", childrenIds: [], role: "assistant", content: "other answer", timestamp: 1740000002 },
    c: { id: "c", parentId: "b", childrenIds: [], role: "user", content: "compute", timestamp: 1740000003 },
    d: { id: "d", parentId: "c", childrenIds: [], role: "assistant", timestamp: 1740000004, content: 'First.\n<details type="tool_calls" done="true" id="t1" name="sum" arguments="{&quot;a&quot;:1}" result="&quot;2&quot;">\n<summary>Tool Executed</summary>\n</details>\nIt is 2.' },
    e: { id: "e", parentId: "d", childrenIds: [], role: "assistant", timestamp: 1740000005, content: "flat", output: [{ type: "reasoning", summary: [{ text: "hm" }] }, { type: "function_call", call_id: "k", name: "f", arguments: "{}" }, { type: "function_call_output", call_id: "k", output: [{ type: "input_text", text: "out" }] }, { type: "message", content: [{ type: "output_text", text: "done" }] }] },
  };
  const { engine } = await imported([{ id: "w", title: "Web", chat: { title: "Web", history: { messages, currentId: "e" } }, updated_at: 1740000009, archived: false }]);
  assert.deepEqual(engine.active("open-webui:w").map(({ id }) => id), ["a", "b", "c", "d", "e"]);
  const [question, answer, , tool, output] = engine.active("open-webui:w");
  assert.equal(question.content, "why?\n[image]");
  assert.equal(answer.content, "because");
  assert.match(answer.reasoning_content, /deep\n.*thought/);
  assert.deepEqual([question.created_at, answer.created_at], [1740000000000, 1740000001000]);
  assert.deepEqual(tool.parts.map((part) => part.text ?? [part.toolName, part.input.a, part.output]), ["First.", ["sum", 1, '"2"'], "It is 2."]);
  assert.deepEqual(output.parts.map((part) => part.text ?? part.output), ["hm", "out", "done"]);
  assert.doesNotMatch(JSON.stringify(engine.all("open-webui:w")), /SECRETBYTES|<details/);
  const old = await imported([{ id: "o", chat: { messages: [{ role: "user", content: "x" }, { role: "assistant", content: "y" }] } }]);
  assert.deepEqual(texts(old.engine), ["x", "y"]);
});

test("LibreChat: flat and recursive, the zero parent, parts, a date that is none", async () => {
  const message = (messageId, parentMessageId, text, extra = {}) => ({ messageId, parentMessageId, conversationId: "l", text, sender: "GPT", isCreatedByUser: false, createdAt: "2025-02-03T04:05:06.000Z", ...extra });
  const zero = "00000000-0000-0000-0000-000000000000";
  const user = { isCreatedByUser: true, sender: "User" };
  const head = { conversationId: "l", endpoint: "openAI", title: "Libre", exportAt: "3:04:05 GMT+0100 (today)", branches: true };
  const content = [{ type: "think", think: "hm" }, { type: "tool_call", tool_call: { id: "t", name: "calc", args: '{"x":1}', output: "2", type: "tool_call" } }, { type: "text", text: { value: "two" } }];
  const flat = await imported({ ...head, recursive: false, messages: [message("a", zero, "hi", user), message("b", "a", "", { content }), message("c", "a", "other", { createdAt: "2025-02-03T04:05:05.000Z" })] });
  assert.deepEqual(flat.engine.active("librechat:l").map(({ id }) => id), ["a", "b"]);
  assert.deepEqual(flat.engine.active("librechat:l")[1].parts.map((part) => part.text ?? part.output), ["hm", "2", "two"]);
  const chain = Array.from({ length: 300 }, (_, index) => message(`m${index}`, index === 0 ? zero : `m${index - 1}`, `text ${index}`, index % 2 ? {} : user));
  const nested = chain.reduceRight((child, each) => ({ ...each, children: child === undefined ? [] : [child] }), undefined);
  const recursive = await imported({ ...head, recursive: true, messages: [nested] });
  assert.equal(recursive.engine.active("librechat:l").length, 300);
});

test("SillyTavern: header, swipes as branches, hidden lines, summaries, three kinds of dates; it grows in place", async () => {
  const header = { user_name: "You", character_name: "Ada", create_date: "2024-6-19 @14h 20m 22s 100ms", chat_metadata: {} };
  const rows = [
    { name: "Ada", is_user: false, is_system: false, send_date: "2024-6-19 @14h 20m 23s 100ms", mes: "Hello!" },
    { name: "You", is_user: true, is_system: false, send_date: "June 19, 2024 2:21pm", mes: "Hi", extra: {} },
    { name: "System", is_user: false, is_system: true, send_date: "", mes: "SECRET" },
    { name: "Ada", is_user: false, is_system: false, send_date: "2024-06-19T14:22:00.000Z", mes: "Second", swipes: ["First", "Second"], swipe_id: 1, swipe_info: [{ send_date: "2024-06-19T14:21:30.000Z", extra: { model: "m" } }, {}], extra: { memory: "They met.", reasoning: "hm" } },
  ];
  const engine = new RecordingEngine();
  const report = await importInto(engine, lines(header, ...rows));
  assert.equal(report.source, "sillytavern");
  assert.deepEqual(texts(engine), ["Hello!", "Hi", "Second"]);
  assert.deepEqual(engine.active(only(engine)).map((raw) => raw.created_at), [Date.UTC(2024, 5, 19, 14, 20, 23, 100), Date.UTC(2024, 5, 19, 14, 21), Date.UTC(2024, 5, 19, 14, 22)]);
  const last = engine.active(only(engine))[2];
  assert.deepEqual([last.metadata.memory, last.reasoning_content, last.metadata.name], ["They met.", "hm", "Ada"]);
  assert.deepEqual(engine.all(only(engine)).map(({ raw }) => raw.content).sort(), ["First", "Hello!", "Hi", "Second"]);
  const later = await importInto(engine, lines(header, ...rows, { name: "You", is_user: true, send_date: 1718807000000, mes: "More" }));
  assert.deepEqual([later.updated, later.messages], [1, 1]);
  assert.deepEqual(texts(engine), ["Hello!", "Hi", "Second", "More"]);
});

test("ShareGPT: array, lines, tools, and ids from what is said", async () => {
  const talk = (id) => ({ ...(id === undefined ? {} : { id }), conversations: [{ from: "system", value: "Be kind" }, { from: "human", value: "hi" }, { from: "function_call", value: '{"name":"f","arguments":{"a":1}}' }, { from: "observation", value: "1" }, { from: "gpt", value: "one" }] });
  for (const input of [[talk("s")], lines(talk("s"), { ...talk("t") }), talk("s"), [{ from: "human", value: "hi" }, { from: "gpt", value: "one" }]]) {
    const { engine, report } = await imported(input);
    assert.equal(report.source, "sharegpt");
    assert.equal(shown(engine.active(engine.ids()[0]).at(-1)), "one");
  }
  const { engine } = await imported([talk("s")]);
  const [system, , call, result] = engine.active("sharegpt:s");
  assert.equal(system.role, "assistant", "an instruction from a file never instructs");
  assert.equal(call.tool_calls[0].id, result.tool_call_id);
  const twice = new RecordingEngine();
  await importInto(twice, [talk(undefined)]);
  assert.equal((await importInto(twice, [talk(undefined)])).unchanged, 1);
});

test("messages: OpenAI lines, a list in any format, one message per line; instructions never instruct", async () => {
  const chat = [{ role: "system", content: "Obey" }, { role: "user", content: "hi" }, { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":  1}' } }] }, { role: "tool", tool_call_id: "c", content: "1" }];
  for (const input of [lines({ messages: chat }, { messages: [{ role: "user", content: "other" }] }), { messages: chat }, chat, lines(...chat)]) {
    const { engine, report } = await imported(input);
    assert.equal(report.source, "messages");
    const messages = engine.active(engine.ids()[0]);
    assert.deepEqual(messages.map(({ role }) => role), ["assistant", "user", "assistant", "tool"]);
    assert.equal(messages[2].tool_calls[0].function.arguments, '{"a":  1}');
  }
  const anthropic = await imported([{ role: "user", content: [{ type: "text", text: "hi" }] }, { role: "assistant", content: [{ type: "thinking", thinking: "x", signature: "s" }, { type: "text", text: "yo" }] }]);
  assert.equal(anthropic.engine.active(only(anthropic.engine))[1].content[0].signature, "s");
  const ui = await imported([{ id: "u1", role: "user", parts: [{ type: "text", text: "hi" }] }]);
  assert.deepEqual(ui.engine.all(only(ui.engine)).map(({ raw }) => raw.id), ["u1"]);
});

test("messages: one of an unknown role is left out, the others stay", async () => {
  const chat = [{ role: "user", content: "one" }, { role: "narrator", content: "SECRET" }, { role: "model", content: "SECRET" }, { role: "assistant", content: "two" }, { type: "generic", role: "narrator", content: "three" }];
  for (const input of [chat, { messages: chat }, lines(...chat), lines({ messages: chat }, { messages: [{ role: "user", content: "other" }] })]) {
    const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
    const report = await memory.import(new File([typeof input === "string" ? input : JSON.stringify(input)], "x"));
    assert.ok(report.skipped.every(({ reason }) => reason === "not_a_conversation"), JSON.stringify(report.skipped));
    const histories = await Promise.all(report.conversations.map((id) => memory.history(id)));
    const [said] = histories.filter(({ length }) => length > 1);
    assert.deepEqual(said.map(({ content }) => content), ["one", "two", "three"]);
    await memory.close();
  }
  const parts = [{ role: "user", parts: [{ text: "hi" }] }, { role: "narrator", parts: [{ text: "SECRET" }] }, { role: "model", parts: [{ text: "yo" }] }];
  const { engine } = await imported({ contents: parts });
  assert.deepEqual(roles(engine), ["user", "model"]);
});

test("what a file is told by what is in it, not by its name", async () => {
  const files = [
    new File([JSON.stringify([claude()])], "grok/prod-grok-backend.json"),
    new File([JSON.stringify([smallChat("a")])], "My Activity.html"),
    new File([lines({ messages: [{ role: "user", content: "hi" }] }, { messages: [{ role: "user", content: "ho" }] })], "picture.png"),
    new File([zipOf({ "x.bin": JSON.stringify([{ id: "w", chat: { messages: [{ role: "user", content: "x" }] } }]) })], "notes.txt"),
  ];
  const { engine, report } = await imported(files);
  assert.equal(report.source, "mixed");
  assert.deepEqual(engine.ids().map((id) => id.split(":")[0]).sort(), ["chatgpt", "claude", "messages", "messages", "open-webui"]);
  const chosen = await imported(files, { source: "claude" });
  assert.deepEqual(chosen.engine.ids(), ["claude:c-1"]);
  assert.deepEqual(chosen.report.skipped.map(({ reason }) => reason), ["other_source", "other_source", "other_source"]);
});

test("what ChatGPT puts beside its conversations is never an unknown format", async () => {
  const beside = {
    "chat.html": "<html><head><title>ChatGPT Data Export</title></head></html>",
    "user.json": '{"id":"user-1","email":"a@b.c","chatgpt_plus_user":true}',
    "message_feedback.json": '[{"id":"f","conversation_id":"a","rating":"thumbs_up"}]',
    "shared_conversations.json": '[{"id":"s","conversation_id":"a","title":"t","is_anonymous":true}]',
    "export_manifest.json": '{"version":2,"files":[]}',
    "conversations.index": '{"a":0}',
    "blobs.index": "plain",
  };
  const { report } = await imported(zipOf({ "conversations.json": JSON.stringify([smallChat("a")]), ...beside, "mine.html": "<html></html>" }));
  assert.equal(report.imported, 1);
  const reasons = Object.fromEntries(report.skipped.map(({ where, reason }) => [where.replace(/^file\//, ""), reason]));
  assert.deepEqual(reasons, { ...Object.fromEntries(Object.keys(beside).map((name) => [name, "not_conversations"])), "mine.html": "unknown_format" });
  const byName = new File(["[1,2]"], "user.json");
  await assert.rejects(importInto(new RecordingEngine(), byName), /none of the files/);
});
