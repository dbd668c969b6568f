// ChatGPT's exports: the quirks Q1 to Q14 of the files that people have, a test for each.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, memoryStorage } from "throughline";
import { chatGpt, imported, importInto, node, RecordingEngine, shown, smallChat, zipOf } from "./import-support.mjs";

const texts = (engine, id) => engine.active(id).map(shown);

test("Q1 shards: a zip without conversations.json, a folder of files, several files, an object with conversations", async () => {
  const shards = {
    "export_manifest.json": JSON.stringify({ export_files: [{ path: "conversations-000.json" }] }),
    "conversations-000.json": JSON.stringify([smallChat("a"), smallChat("b")]),
    "conversations-001.json": JSON.stringify([smallChat("c")]),
    "user.json": JSON.stringify({ id: "user-1", email: "x@example.org", chatgpt_plus_user: true }),
    "message_feedback.json": JSON.stringify([{ conversation_id: "a", rating: "thumbs_up", id: "f" }]),
    "chat.html": "<html><body>everything once more</body></html>",
    "file-abc.png": Buffer.from([0x89, 0x50, 0x4e, 0x47, 1, 2, 3]),
  };
  const zip = await imported(zipOf(shards));
  assert.deepEqual(zip.engine.ids(), ["chatgpt:a", "chatgpt:b", "chatgpt:c"]);
  assert.equal(zip.report.imported, 3);
  assert.equal(zip.report.source, "chatgpt");
  assert.deepEqual(zip.report.skipped.map(({ reason }) => reason).sort(), ["not_conversations", "not_conversations", "not_conversations", "not_conversations"]);
  const files = Object.entries(shards).map(([name, text]) => new File([text], name));
  assert.equal((await imported(files)).report.imported, 3);
  assert.equal((await imported({ conversations: [smallChat("a")] })).report.imported, 1);
  assert.equal((await imported(smallChat("a"))).report.imported, 1);
  assert.equal((await imported(new Blob([zipOf(shards, { store: true })]).stream())).report.imported, 3);
});

test("Q2 messages without metadata, the model only on the conversation", async () => {
  const chat = chatGpt("a", [node("m1", "root", "user", "hello"), node("m2", "m1", "assistant", "hi")]);
  for (const { message } of Object.values(chat.mapping)) if (message) delete message.metadata;
  const { engine } = await imported([chat]);
  assert.deepEqual(texts(engine, "chatgpt:a"), ["hello", "hi"]);
  assert.equal(engine.active("chatgpt:a")[1].metadata.model, "gpt-5");
});

test("Q3 hidden nodes are left out, what follows them follows what was before", async () => {
  const hidden = { metadata: { is_visually_hidden_from_conversation: true } };
  const { engine } = await imported([chatGpt("a", [
    node("n0", "root", "system", "", hidden),
    node("n1", "n0", "user", { content_type: "user_editable_context", user_profile: "SECRET PROFILE", user_instructions: "be brief" }),
    node("n2", "n1", "system", { content_type: "model_set_context", model_set_context: "SECRET MEMORY" }),
    node("n4", "n2", "system", "SECRET INSTRUCTIONS", { metadata: { is_user_system_message: true } }),
    node("m1", "n4", "user", "question"),
    node("n3", "m1", "assistant", "SECRET DRAFT", hidden),
    node("m2", "n3", "assistant", "answer"),
  ])]);
  assert.deepEqual(texts(engine, "chatgpt:a"), ["question", "answer"]);
  assert.equal(engine.all("chatgpt:a")[1].parentId, "m1");
  assert.doesNotMatch(JSON.stringify(engine.all("chatgpt:a")), /SECRET/);
});

test("Q4 title, times and current node null or absent; times as float, whole number and text", async () => {
  const chat = smallChat("a");
  Object.assign(chat, { title: null, create_time: null, current_node: null });
  delete chat.update_time;
  chat.mapping.m1.message.create_time = "1700000001.25";
  chat.mapping.m2.message.create_time = 1700000002;
  const { engine } = await imported([chat]);
  assert.deepEqual(texts(engine, "chatgpt:a"), ["What is the port?", "You asked: What is the port?"]);
  assert.deepEqual(engine.active("chatgpt:a").map((raw) => raw.created_at), [1700000001250, 1700000002000]);
  assert.equal("title" in engine.conversations.get("chatgpt:a"), false);
  for (const { message } of Object.values(chat.mapping)) if (message) message.create_time = null;
  assert.equal((await imported([chat])).report.imported, 1);
});

test("Q5 tree faults: no root, lost parents, children that disagree, nodes with neither, circles, depth", async () => {
  const nodes = (links) => links.map(([id, parent, extra]) => node(id, parent, id.endsWith("u") ? "user" : "assistant", `text ${id}`, extra));
  const all = ["1u", "2a", "3u", "4a"];
  const expected = all.map((id) => `text ${id}`);
  const faults = {
    "a root that is a message": [["1u", null], ["2a", "1u"], ["3u", "2a"], ["4a", "3u"]],
    "a parent that is not there": [["1u", "gone"], ["2a", "1u"], ["3u", "lost"], ["4a", "3u"]],
    "links only by children": [["1u", null, { children: ["2a"] }], ["2a", null, { children: ["3u"] }], ["3u", "", { children: ["4a"] }], ["4a", null]],
    "children that disagree": [["1u", "root", { children: ["4a"] }], ["2a", "1u", { children: [] }], ["3u", "2a"], ["4a", "3u"]],
    "nodes with neither": [["1u", null], ["2a", null], ["3u", null], ["4a", null]],
    "a message that follows itself": [["1u", "1u"], ["2a", "1u"], ["3u", "2a"], ["4a", "3u"]],
  };
  for (const [name, links] of Object.entries(faults)) {
    const { engine } = await imported([chatGpt("a", nodes(links))]);
    assert.deepEqual(texts(engine, "chatgpt:a"), expected, name);
  }
  const circle = await imported([chatGpt("a", nodes([["1u", "4a"], ["2a", "1u"], ["3u", "2a"], ["4a", "3u"]]))]);
  assert.equal(circle.engine.all("chatgpt:a").length, 4, "a circle is cut once");
  const withoutChildren = chatGpt("a", nodes([["1u", "root"], ["2a", "1u"], ["3u", "2a"], ["4a", "3u"]]));
  for (const each of Object.values(withoutChildren.mapping)) delete each.children;
  assert.deepEqual(texts((await imported([withoutChildren])).engine, "chatgpt:a"), expected);
  const deep = Array.from({ length: 20_000 }, (_, index) => node(`m${index}`, index === 0 ? "root" : `m${index - 1}`, index % 2 ? "assistant" : "user", `text ${index}`));
  assert.equal((await imported([chatGpt("deep", deep)])).engine.active("chatgpt:deep").length, 20_000);
});

test("Q6 branches: all are kept, the one that was shown last is active", async () => {
  const nodes = [
    node("m1", "root", "user", "first try"), node("m2", "m1", "assistant", "first answer"),
    node("m3", "root", "user", "edited"), node("m4", "m3", "assistant", "second answer"), node("m5", "m3", "assistant", "regenerated"),
  ];
  const { engine } = await imported([chatGpt("a", nodes, { current_node: "m4" })]);
  assert.deepEqual(texts(engine, "chatgpt:a"), ["edited", "second answer"]);
  assert.deepEqual(engine.all("chatgpt:a").map(({ raw, parentId }) => [raw.id, parentId]), [["m3", null], ["m4", "m3"], ["m1", null], ["m2", "m1"], ["m5", "m3"]]);
  const newest = await imported([chatGpt("a", nodes, { current_node: undefined })]);
  assert.deepEqual(texts(newest.engine, "chatgpt:a"), ["edited", "regenerated"]);
});

test("Q7 every kind of content says what it says; unknown kinds too; pictures are labels", async () => {
  const kinds = [
    [{ content_type: "multimodal_text", parts: ["look", { content_type: "image_asset_pointer", asset_pointer: "file-service://file-1", width: 1 }] }, "look\n[image: cat.png]"],
    [{ content_type: "multimodal_text", parts: [{ content_type: "audio_transcription", text: "spoken" }, { content_type: "audio_asset_pointer", asset_pointer: "sediment://x" }] }, "spoken\n[audio]"],
    [{ content_type: "code", language: "python", text: "print(1)" }, "print(1)"],
    [{ content_type: "execution_output", text: "1" }, "1"],
    [{ content_type: "tether_quote", title: "Page", url: "https://example.org", text: "quoted" }, "Page\nhttps://example.org\nquoted"],
    [{ content_type: "tether_browsing_display", result: "found", summary: "in short" }, "in short\nfound"],
    [{ content_type: "sonic_webpage", title: "Site", url: "https://example.org", text: "body" }, "Site\nhttps://example.org\nbody"],
    [{ content_type: "system_error", name: "Timeout", text: "took too long" }, "Timeout\ntook too long"],
    [{ content_type: "citable_code_output", output_str: "42" }, "42"],
    [{ content_type: "computer_output", screenshot: { asset_pointer: "sediment://y" } }, "[screenshot]"],
    [{ content_type: "hologram", parts: ["future"] }, "future"],
    [{ content_type: "hologram", text: "later" }, "later"],
  ];
  const metadata = { attachments: [{ id: "file-1", name: "cat.png", mime_type: "image/png", size: 3 }] };
  const nodes = kinds.map(([content], index) => node(`m${index}`, index === 0 ? "root" : `m${index - 1}`, "assistant", content, { metadata }));
  const { engine } = await imported([chatGpt("a", nodes)]);
  assert.deepEqual(texts(engine, "chatgpt:a"), kinds.map(([, text]) => text));
  assert.doesNotMatch(JSON.stringify(engine.all("chatgpt:a")), /sediment:|file-service:|\[object/);
  const thinking = await imported([chatGpt("a", [
    node("m1", "root", "user", "why?"),
    node("m2", "m1", "assistant", { content_type: "thoughts", thoughts: [{ summary: "Pondering", content: "deep inside" }] }),
    node("m3", "m2", "assistant", { content_type: "reasoning_recap", content: "Thought for 3 seconds" }),
    node("m4", "m3", "assistant", "because"),
  ])]);
  const [, answer] = thinking.engine.active("chatgpt:a");
  assert.deepEqual([answer.content, answer.reasoning_content], ["because", "Pondering\ndeep inside"]);
  const alone = await imported([chatGpt("a", [node("m1", "root", "user", "why?"), node("m2", "m1", "assistant", { content_type: "thoughts", thoughts: [{ content: "unfinished" }] })])]);
  assert.equal(alone.engine.active("chatgpt:a")[1].reasoning_content, "unfinished");
});

test("Q8 a call is an assistant message to a tool, its result the tool's message below", async () => {
  const { engine } = await imported([chatGpt("a", [
    node("m1", "root", "user", "compute"),
    node("m2", "m1", "assistant", { content_type: "code", text: "print(6*7)" }, { recipient: "python" }),
    node("m3", "m2", "tool", { content_type: "execution_output", text: "42" }, { author: { role: "tool", name: "python" } }),
    node("m4", "m3", "tool", "a second result", { author: { role: "tool", name: "python" } }),
    node("m5", "m4", "assistant", { content_type: "code", text: '{"query":"x",  "n":1}' }, { recipient: "browser.search" }),
    node("m6", "m5", "tool", { content_type: "tether_browsing_display", result: "" }, { author: { role: "tool", name: "browser" } }),
    node("m7", "m6", "assistant", "It is 42."),
  ])]);
  const [, call, result, second, search, found, answer] = engine.active("chatgpt:a");
  assert.deepEqual(call.tool_calls[0].function, { name: "python", arguments: '{"input":"print(6*7)"}' });
  assert.deepEqual([result.role, result.tool_call_id, result.content], ["tool", call.tool_calls[0].id, "42"]);
  assert.deepEqual([second.parts[0].state, second.parts[0].output], ["output-available", "a second result"]);
  assert.equal(search.tool_calls[0].function.arguments, '{"query":"x",  "n":1}', "JSON arguments stay verbatim");
  assert.equal(found.tool_call_id, search.tool_calls[0].id, "an empty result still answers its call");
  assert.equal(answer.content, "It is 42.");
});

test("Q9 status, weight and end_turn are kept, and cost no message", async () => {
  const { engine } = await imported([chatGpt("a", [
    node("m1", "root", "user", "go on"),
    node("m2", "m1", "assistant", "half of", { status: "in_progress", weight: 0, end_turn: null }),
    node("m3", "m2", "assistant", "the rest", { status: "finished_partial_completion", end_turn: false }),
  ])]);
  const [, half, rest] = engine.active("chatgpt:a");
  assert.deepEqual([half.content, half.metadata.status, half.metadata.weight], ["half of", "in_progress", 0]);
  assert.deepEqual([rest.metadata.status, rest.metadata.endTurn], ["finished_partial_completion", false]);
});

test("Q10 citation marks stay in the message, what they point to goes along", async () => {
  const text = "It rains\ue200cite\ue202turn0search1\ue201 a lot\u30104\u2020source\u3011.";
  const metadata = { content_references: [{ matched_text: "x", start_idx: 8, end_idx: 30, type: "webpage", items: [{ title: "Weather", url: "https://example.org/w" }] }], citations: [{ start_ix: 36, end_ix: 46, metadata: { title: "Old", url: "https://example.org/o" } }] };
  const { engine } = await imported([chatGpt("a", [node("m1", "root", "user", "rain?"), node("m2", "m1", "assistant", text, { metadata })])]);
  const [, answer] = engine.active("chatgpt:a");
  assert.equal(answer.content, text);
  assert.deepEqual(answer.metadata.citations, [
    { start: 36, end: 46, title: "Old", url: "https://example.org/o" },
    { start: 8, end: 30, type: "webpage", title: "Weather", url: "https://example.org/w" },
  ]);
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  await memory.import(new File([JSON.stringify([chatGpt("a", [node("m1", "root", "user", "rain?"), node("m2", "m1", "assistant", text)])])], "export"));
  assert.equal((await memory.history("chatgpt:a"))[1].content, text);
  assert.deepEqual(await memory.recall("turn0search1"), [], "they are no words");
  assert.equal((await memory.recall("rains"))[0].conversationId, "chatgpt:a");
  await memory.close();
});

test("Q6 through the engine: only the active branch is found and is history", async () => {
  const memory = await createMemory({ storage: memoryStorage(), tokenizer: "estimate" });
  const nodes = [
    node("m1", "root", "user", "pelican"), node("m2", "m1", "assistant", "albatross"),
    node("m3", "root", "user", "edited heron"), node("m4", "m3", "assistant", "stork"), node("m5", "m3", "assistant", "flamingo"),
  ];
  const report = await memory.import(new File([JSON.stringify([chatGpt("a", nodes, { current_node: "m4", title: null })])], "export"));
  assert.deepEqual([report.imported, report.messages], [1, 5]);
  assert.deepEqual((await memory.history("chatgpt:a")).map(({ content }) => content), ["edited heron", "stork"]);
  for (const word of ["pelican", "albatross", "flamingo"]) assert.deepEqual(await memory.recall(word), [], word);
  assert.equal((await memory.recall("stork")).length, 1);
  const { title, messageCount, createdAt } = await memory.conversations.get("chatgpt:a");
  assert.deepEqual([title, messageCount, createdAt], ["edited heron", 5, 1_700_000_000_500]);
  await memory.append("chatgpt:a", { role: "user", content: "said here" });
  const later = [...nodes, node("m6", "m4", "user", "said there")];
  assert.deepEqual((({ updated, messages }) => [updated, messages])(await memory.import(new File([JSON.stringify([chatGpt("a", later)])], "export"))), [1, 1]);
  assert.deepEqual((await memory.history("chatgpt:a")).at(-1).content, "said here", "what was continued here stays in front");
  await memory.close();
});

test("Q11 one corrupt conversation costs only itself, and is told with its place and no word of its text", async () => {
  const good = [smallChat("a"), smallChat("b"), smallChat("c")].map((chat) => JSON.stringify(chat));
  const bad = ['{"title":"SECRET","mapping":null,"conversation_id":"x"}', '{"title":"SECRET", "mapping": {"a": tru}}', "null", '"SECRET"', '{"SECRET":1}', '{"mapping":{},"conversation_id":"empty"}', '{"mapping":{"a":5,"b":null,"c":{"message":"SECRET"}},"id":"y"}'];
  const { engine, report } = await imported(`[${[good[0], ...bad, good[1], good[2]].join(",\n")}]`);
  assert.deepEqual(engine.ids(), ["chatgpt:a", "chatgpt:b", "chatgpt:c"]);
  assert.equal(report.imported, 3);
  assert.deepEqual(report.skipped.map(({ reason }) => reason), ["not_a_conversation", "invalid_json", "not_a_conversation", "not_a_conversation", "not_a_conversation", "empty", "empty"]);
  assert.match(report.skipped[0].where, /^export\[1\] at byte \d+$/);
  assert.doesNotMatch(JSON.stringify(report), /SECRET/);
});

test("Q12 the same again changes nothing; a later export adds what is new; an edit under the same id is a branch", async () => {
  const engine = new RecordingEngine();
  const nodes = [node("m1", "root", "user", "one"), node("m2", "m1", "assistant", "two")];
  assert.equal((await importInto(engine, [chatGpt("a", nodes), smallChat("b")])).imported, 2);
  engine.calls.length = 0;
  const again = await importInto(engine, [chatGpt("a", nodes), smallChat("b")]);
  assert.deepEqual([again.imported, again.updated, again.unchanged, again.messages], [0, 0, 2, 0]);
  assert.deepEqual(new Set(engine.calls.map(([method]) => method)), new Set(["getConversation"]), "no message is read again");

  const longer = [...nodes, node("m3", "m2", "user", "three")];
  longer[1] = node("m2", "m1", "assistant", "two", { metadata: { model_slug: "other" } });
  const later = await importInto(engine, [chatGpt("a", longer), smallChat("b")]);
  assert.deepEqual([later.imported, later.updated, later.unchanged, later.messages, later.conversations], [0, 1, 1, 1, ["chatgpt:a"]]);
  assert.deepEqual(texts(engine, "chatgpt:a"), ["one", "two", "three"], "what differs only in metadata is the same message");

  const edited = longer.map((each) => (each[0] === "m2" ? node("m2", "m1", "assistant", "zwei") : each)).concat([node("m4", "m3", "assistant", "four")]);
  for (let round = 0; round < 2; round += 1) {
    await importInto(engine, [chatGpt("a", edited, { title: `round ${round}` })]);
    assert.equal(engine.all("chatgpt:a").length, 5, "the changed one beside the old one, and the new one");
  }
  const changed = engine.all("chatgpt:a").find(({ raw }) => raw.content === "zwei");
  assert.match(changed.raw.id, /^m2~[0-9a-f]{8}$/);
  assert.equal(changed.parentId, "m1");
});

test("Q13 do-not-remember and temporary chats are not remembered; archive, GPT and memory scope are kept", async () => {
  const { engine } = await imported([
    { ...smallChat("a"), is_do_not_remember: true }, { ...smallChat("b"), is_temporary_chat: true },
    { ...smallChat("c"), is_archived: true, gizmo_id: "g-1", memory_scope: "project" },
  ]);
  assert.deepEqual(["a", "b", "c"].map((id) => engine.conversations.get(`chatgpt:${id}`).remember), [false, false, true]);
  const { conversation } = engine.active("chatgpt:c")[0].metadata;
  assert.deepEqual([conversation.archived, conversation.gizmoId, conversation.memoryScope], [true, "g-1", "project"]);
  await importInto(engine, [{ ...smallChat("c"), is_do_not_remember: true }]);
  assert.equal(engine.conversations.get("chatgpt:c").remember, false, "said later, it holds from then on");
});

test("Q14 byte order marks, CRLF, UTF-16 and mojibake", async () => {
  const json = JSON.stringify([smallChat("a", "Grüße, 東京 🙂"), smallChat("b", "donâ€™t")], undefined, 2).replaceAll("\n", "\r\n");
  const utf16 = Buffer.from(`\ufeff${json}`, "utf16le");
  for (const bytes of [new TextEncoder().encode(`\ufeff${json}`), new Uint8Array(utf16), new Uint8Array(Buffer.from(utf16).swap16())]) {
    const { engine } = await imported(bytes);
    assert.equal(texts(engine, "chatgpt:a")[0], "Grüße, 東京 🙂");
    assert.equal(texts(engine, "chatgpt:b")[0], "donâ€™t", "what another tool broke is kept as it is");
  }
});
