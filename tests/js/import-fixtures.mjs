// A small export of every app, as values: for tests that change them.
import { chatGpt, node } from "./import-support.mjs";

const zero = "00000000-0000-0000-0000-000000000000";

/** By app: the value of a JSON file, or the values of the lines of one. */
export const FIXTURES = {
  chatgpt: [
    chatGpt("a", [
      node("m1", "root", "user", { content_type: "multimodal_text", parts: ["look", { content_type: "image_asset_pointer", asset_pointer: "file-service://f" }] }),
      node("m2", "m1", "assistant", { content_type: "thoughts", thoughts: [{ summary: "s", content: "c" }] }),
      node("m3", "m2", "assistant", { content_type: "code", text: "x = 1" }, { recipient: "python" }),
      node("m4", "m3", "tool", { content_type: "execution_output", text: "1" }, { author: { role: "tool", name: "python" } }),
      node("m5", "m4", "assistant", "one \ue200cite\ue202turn0\ue201", { metadata: { model_slug: "m", content_references: [{ start_idx: 4, end_idx: 9, items: [{ title: "T", url: "u" }] }] } }),
      node("m6", "m4", "assistant", "other"),
    ]),
    chatGpt("b", [node("m1", "root", "user", "hello"), node("m2", "m1", "assistant", "hi")], { is_do_not_remember: true }),
  ],
  claude: { conversations: [{ uuid: "c", name: "N", chat_messages: [
    { uuid: "m1", sender: "human", text: "hi", created_at: "2025-01-01T00:00:00Z", attachments: [{ file_name: "n", extracted_content: "x" }], files: [{ file_name: "f" }] },
    { uuid: "m2", sender: "assistant", text: "", parent_message_uuid: "m1", content: [{ type: "thinking", thinking: "t" }, { type: "tool_use", id: "u", name: "w", input: { q: 1 } }, { type: "tool_result", tool_use_id: "u", content: [{ type: "text", text: "r" }] }, { type: "text", text: "done", citations: [{ url: "u" }] }] },
  ] }] },
  gemini: [5, 4, 1].map((minute) => ({ header: "Gemini Apps", title: `Prompted ${minute}`, time: `2025-01-01T00:0${minute}:00Z`, products: ["Gemini Apps"], safeHtmlItem: [{ html: `<p>a <b>${minute}</b> &amp; b</p>` }] })),
  "ai-studio": { runSettings: { model: "m" }, systemInstruction: { text: "s" }, chunkedPrompt: { chunks: [{ role: "user", text: "hi" }, { role: "model", text: "t", isThought: true }, { role: "model", text: "yo", createTime: "2025-01-01T00:00:00Z" }, { role: "user", inlineImage: { data: "x" } }] } },
  grok: { conversations: [{ conversation: { id: "g", title: "T" }, responses: [{ response: { _id: "r1", sender: "human", message: "hi", create_time: { $date: { $numberLong: "1746093600000" } } } }, { response: { _id: "r2", sender: "ASSISTANT", message: "yo <grok:render>1</grok:render>", parent_response_id: "r1", web_search_results: [{ url: "u" }] } }] }] },
  "open-webui": [{ id: "w", title: "T", chat: { history: { currentId: "b", messages: {
    a: { id: "a", parentId: null, childrenIds: ["b"], role: "user", content: "hi", timestamp: 1740000000, files: [{ type: "image", url: "data:x" }] },
    b: { id: "b", parentId: "a", childrenIds: [], role: "assistant", content: '<details type="reasoning">\n<summary>x</summary>\n> t\n</details>\nA\n<details type="tool_calls" id="i" name="n" arguments="{}" result="r"></details> B', output: [] },
  } } } }],
  librechat: { conversationId: "l", title: "T", recursive: true, messages: [{ messageId: "a", parentMessageId: zero, text: "hi", isCreatedByUser: true, children: [{ messageId: "b", parentMessageId: "a", sender: "GPT", content: [{ type: "think", think: "t" }, { type: "tool_call", tool_call: { id: "i", name: "n", args: "{}", output: "o" } }, { type: "text", text: { value: "yo" } }], children: [] }] }] },
  sharegpt: [{ id: "s", conversations: [{ from: "system", value: "k" }, { from: "human", value: "hi" }, { from: "function_call", value: '{"name":"f","arguments":{}}' }, { from: "observation", value: "1" }, { from: "gpt", value: "yo" }] }],
  messages: { messages: [{ role: "system", content: "s" }, { role: "user", content: [{ type: "text", text: "hi" }] }, { role: "assistant", content: null, tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }] }, { role: "tool", tool_call_id: "c", content: "1" }] },
};

/** The same for files of lines. */
export const LINE_FIXTURES = {
  sillytavern: [{ user_name: "U", character_name: "C", create_date: "2024-6-19 @14h 20m 22s 100ms" }, { name: "C", is_user: false, mes: "hi", send_date: "June 19, 2024 2:20pm", swipes: ["ho", "hi"], swipe_id: 1 }, { name: "U", is_user: true, mes: "yo", extra: { memory: "m" } }],
  lines: [FIXTURES.messages, { messages: [{ role: "user", content: "other" }] }],
};
