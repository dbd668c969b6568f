//! LangChain messages.

use super::{call, check, media, other, projected, read, result, text};
use serde_json::{Value, json};
use throughline::formats::parse;
use throughline::message::{Format, Part, Role};

fn stored(kind: &str, data: &Value) -> Value {
    json!({"type": kind, "data": data})
}

fn class(name: &str, kwargs: &Value) -> Value {
    json!({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", name], "kwargs": kwargs})
}

#[test]
fn all_three_shapes() {
    let tool_call = json!({"name": "f", "args": {"x": 1}, "id": "a", "type": "tool_call"});
    let fields = json!({"content": "Looking.", "id": "run-1", "tool_calls": [tool_call], "invalid_tool_calls": [],
        "additional_kwargs": {"tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]},
        "response_metadata": {"model": "m"}});
    let mut plain = fields.clone();
    plain["type"] = json!("ai");
    let parts = || vec![text("Looking."), call("a", "f", "{\"x\":1}")];
    let cases = [
        (stored("ai", &fields), Role::Assistant, parts()),
        (plain, Role::Assistant, parts()),
        (class("AIMessage", &fields), Role::Assistant, parts()),
        (class("AIMessageChunk", &fields), Role::Assistant, parts()),
    ];
    for (message, ..) in &cases {
        assert_eq!(read(message).message.id.as_deref(), Some("run-1"));
    }
    check(Format::LangChain, cases);
}

#[test]
fn roles() {
    let said = |kind: &str| stored(kind, &json!({"content": "hi"}));
    let cases = [
        (said("human"), Role::User, vec![text("hi")]),
        (said("ai"), Role::Assistant, vec![text("hi")]),
        (said("system"), Role::System, vec![text("hi")]),
        (said("developer"), Role::System, vec![text("hi")]),
        (class("SystemMessage", &json!({"content": "hi"})), Role::System, vec![text("hi")]),
        (stored("generic", &json!({"content": "hi", "role": "assistant"})), Role::Assistant, vec![text("hi")]),
        (stored("chat", &json!({"content": "hi", "role": "critic"})), Role::User, vec![text("hi")]),
        (
            stored(
                "tool",
                &json!({"content": "42", "tool_call_id": "a", "name": "f", "artifact": {"rows": [1]}, "status": "success"}),
            ),
            Role::Tool,
            vec![result("a", Some("f"), "42", false)],
        ),
        (
            json!({"type": "tool", "content": [{"type": "text", "text": "no"}], "tool_call_id": "a", "status": "error"}),
            Role::Tool,
            vec![result("a", None, "no", true)],
        ),
        (
            stored("function", &json!({"content": "42", "name": "f"})),
            Role::Tool,
            vec![result("langchain_function_call_f", Some("f"), "42", false)],
        ),
    ];
    check(Format::LangChain, cases);
    let named = stored("human", &json!({"content": "hi", "name": "ann"}));
    assert_eq!(read(&named).message.name.as_deref(), Some("ann"));
    assert_eq!(
        projected(&named, Format::OpenAi),
        (vec![json!({"role": "user", "content": "hi", "name": "ann"})], false)
    );
}

#[test]
fn blocks_and_calls() {
    let ai = |data: Value| (stored("ai", &data), Role::Assistant);
    let human = |blocks: Value| (stored("human", &json!({"content": blocks})), Role::User);
    let case = |(message, role): (Value, Role), parts: Vec<Part>| (message, role, parts);
    let openai_call = json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{ \"x\":1 }"}});
    let server =
        Part::ToolCall { id: "s".into(), name: "web_search".into(), arguments: "{}".into(), provider_executed: true };
    let cases = [
        case(
            human(
                json!([{"type": "text", "text": "see"}, {"type": "image_url", "image_url": "https://example.com/a.png"},
                {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "QUJD"},
                {"type": "file", "mimeType": "application/pdf", "data": "QUJD", "metadata": {"filename": "a.pdf"}},
                {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
                {"type": "media", "mimeType": "audio/mp3", "data": "QUJD"}, {"type": "hologram"}, "bare"]),
            ),
            vec![
                text("see"),
                media("image", "https://example.com/a.png"),
                media("image", "image/png"),
                media("file", "a.pdf"),
                media("audio", "wav"),
                media("audio", "audio/mp3"),
                other("hologram"),
                text("bare"),
            ],
        ),
        // A block of the provider's that is a copy of a call is read once.
        case(
            ai(
                json!({"content": [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "reasoning", "reasoning": "hm"},
                {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "a", "name": "f", "input": {}}, {"type": "tool_use", "id": "b", "name": "g", "input": {}}],
                "tool_calls": [{"name": "f", "args": {"x": 1}, "id": "a"}]}),
            ),
            vec![
                Part::Reasoning("hm".into()),
                Part::Reasoning("hm".into()),
                text("hi"),
                call("b", "g", "{}"),
                call("a", "f", "{\"x\":1}"),
            ],
        ),
        case(
            ai(json!({"content": "", "additional_kwargs": {"reasoning_content": "hm", "tool_calls": [openai_call]}})),
            vec![Part::Reasoning("hm".into()), call("a", "f", "{ \"x\":1 }")],
        ),
        case(
            ai(json!({"content": "", "additional_kwargs": {"function_call": {"name": "f", "arguments": "{}"}}})),
            vec![call("langchain_function_call_f", "f", "{}")],
        ),
        // What was no JSON stays what it was; a call without an id can have no answer.
        case(
            ai(json!({"content": "", "tool_calls": [{"name": "g", "args": {}}],
                "invalid_tool_calls": [{"name": "f", "args": "{broken", "id": "a", "error": "e", "type": "invalid_tool_call"}]})),
            vec![other("tool_call"), call("a", "f", "{broken")],
        ),
        case(
            ai(json!({"content": [{"type": "server_tool_call", "id": "s", "name": "web_search", "args": {}},
                {"type": "server_tool_call_result", "toolCallId": "s", "status": "error", "output": "no"}]})),
            vec![server, result("s", None, "no", true)],
        ),
    ];
    check(Format::LangChain, cases);
}

#[test]
fn they_are_written_in_the_stored_form() {
    let round = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]});
    let ai = stored(
        "ai",
        &json!({"content": "", "tool_calls": [{"name": "f", "args": {"x": 1}, "id": "a", "type": "tool_call"}]}),
    );
    assert_eq!(projected(&round, Format::LangChain), (vec![ai.clone()], false));
    assert_eq!(projected(&ai, Format::OpenAi), (vec![round], false));
    let answer = json!({"role": "tool", "tool_call_id": "a", "name": "f", "content": "1"});
    let tool = stored("tool", &json!({"content": "1", "tool_call_id": "a", "name": "f", "status": "success"}));
    assert_eq!(projected(&answer, Format::LangChain), (vec![tool], false));
    let seen = json!({"role": "user", "content": [{"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]});
    let human = stored("human", &json!({"content": seen["content"]}));
    assert_eq!(projected(&seen, Format::LangChain), (vec![human.clone()], false));
    assert_eq!(projected(&human, Format::OpenAi), (vec![seen], false));
    let pdf = json!({"role": "user", "content": [{"type": "file", "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"}}]});
    let file = stored(
        "human",
        &json!({"content": [{"type": "file", "source_type": "base64", "mime_type": "application/pdf",
        "data": "QUJD", "metadata": {"filename": "a.pdf"}}]}),
    );
    assert_eq!(projected(&pdf, Format::LangChain), (vec![file.clone()], false));
    assert_eq!(projected(&file, Format::OpenAi), (vec![pdf], false));
}

#[test]
fn what_cannot_be_read_is_refused_by_field() {
    for (raw, field) in [
        (r#"{"type":"secret","data":{"content":"secret"}}"#, "`type`"),
        (r#"{"type":"human","data":{"content":7}}"#, "`content`"),
        (r#"{"type":"tool","data":{"content":"secret"}}"#, "`tool_call_id`"),
        (r#"{"type":"ai","data":{"content":"","tool_calls":[{"id":"secret"}]}}"#, "`tool_calls[0].name`"),
        (r#"{"type":"ai","data":{"content":"","tool_calls":"secret"}}"#, "`tool_calls`"),
    ] {
        let error = parse(raw, Format::LangChain).unwrap_err();
        assert!(error.message.contains(field) && !error.message.contains("secret"), "{raw}: {error}");
    }
}
