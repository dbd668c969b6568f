//! Gemini `contents`.

use super::{call, check, media, other, projected, read, result, text};
use serde_json::{Value, json};
use throughline::formats::parse;
use throughline::message::{Format, Part, Role};

fn content(role: &str, parts: &Value) -> Value {
    json!({"role": role, "parts": parts})
}

#[test]
fn parts() {
    let run = |arguments: &str| Part::ToolCall {
        id: "gemini_call_code_execution_0".into(),
        name: "code_execution".into(),
        arguments: arguments.into(),
        provider_executed: true,
    };
    let cases = [
        (
            content(
                "user",
                &json!([{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}},
                {"fileData": {"mimeType": "application/pdf", "fileUri": "https://example.com/a.pdf"}},
                {"inlineData": {"mimeType": "audio/mp3", "data": "QUJD"}}, {"hologram": {"beam": 1}, "thought": false}, "bare", 7]),
            ),
            Role::User,
            vec![
                text("see"),
                media("image", "image/png"),
                media("file", "https://example.com/a.pdf"),
                media("audio", "audio/mp3"),
                other("hologram"),
                text("bare"),
                other("a number"),
            ],
        ),
        (
            content(
                "model",
                &json!([{"text": "hm", "thought": true}, {"text": "hi", "thoughtSignature": "sig"},
                {"functionCall": {"id": "a", "name": "f", "args": {"x": 1.0}}, "thoughtSignature": "sig"},
                {"functionCall": {"name": "f"}}, {"functionCall": {"name": "g", "args": {}}}, {"functionCall": {"name": "f"}}]),
            ),
            Role::Assistant,
            vec![
                Part::Reasoning("hm".into()),
                text("hi"),
                call("a", "f", "{\"x\":1.0}"),
                call("gemini_call_f_1", "f", ""),
                call("gemini_call_g_0", "g", "{}"),
                call("gemini_call_f_2", "f", ""),
            ],
        ),
        (
            content(
                "user",
                &json!([{"functionResponse": {"id": "a", "name": "f", "response": {"output": "42"}}},
                {"functionResponse": {"name": "f", "response": {"error": "broken"}}},
                {"functionResponse": {"name": "g", "response": {"n": [1.0]}}}]),
            ),
            Role::User,
            vec![
                result("a", Some("f"), "42", false),
                result("gemini_call_f_1", Some("f"), "broken", true),
                result("gemini_call_g_0", Some("g"), "{\"n\":[1.0]}", false),
            ],
        ),
        (
            content(
                "model",
                &json!([{"executableCode": {"language": "PYTHON", "code": "print(1)"}},
                {"codeExecutionResult": {"outcome": "OUTCOME_FAILED", "output": "no"}}]),
            ),
            Role::Assistant,
            vec![run("print(1)"), result("gemini_call_code_execution_0", Some("code_execution"), "no", true)],
        ),
        (
            content(
                "model",
                &json!([{"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "t", "args": {}}},
                {"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": "t", "response": {"output": "found"}}}]),
            ),
            Role::Assistant,
            vec![
                Part::ToolCall {
                    id: "t".into(),
                    name: "GOOGLE_SEARCH".into(),
                    arguments: "{}".into(),
                    provider_executed: true,
                },
                result("t", Some("GOOGLE_SEARCH"), "found", false),
            ],
        ),
        (
            content("function", &json!([{"functionResponse": {"name": "f", "response": {}}}])),
            Role::User,
            vec![result("gemini_call_f_0", Some("f"), "{}", false)],
        ),
        // As the Python SDK spells it.
        (
            content(
                "user",
                &json!([{"inline_data": {"mime_type": "image/png", "data": "QUJD"}},
                {"file_data": {"mime_type": "image/jpeg", "file_uri": "gs://bucket/a.jpg"}},
                {"function_response": {"name": "f", "response": {"result": "42"}}}]),
            ),
            Role::User,
            vec![
                media("image", "image/png"),
                media("image", "gs://bucket/a.jpg"),
                result("gemini_call_f_0", Some("f"), "42", false),
            ],
        ),
        (
            content("model", &json!([{"function_call": {"name": "f", "args": {}}, "thought_signature": "sig"}])),
            Role::Assistant,
            vec![call("gemini_call_f_0", "f", "{}")],
        ),
        (json!({"parts": [{"text": "hi"}]}), Role::User, vec![text("hi")]),
    ];
    check(Format::Gemini, cases);
    assert_eq!(read(&content("model", &json!([]))).format, Format::Gemini);
    assert_eq!(read(&content("user", &json!([]))).format, Format::AiSdkUi);
    assert_eq!(read(&content("user", &json!([{"type": "text", "text": "hi"}]))).format, Format::AiSdkUi);
}

#[test]
fn contents_become_messages_and_messages_contents() {
    let said = content(
        "model",
        &json!([{"text": "hm", "thought": true}, {"text": "Looking."},
        {"functionCall": {"name": "f", "args": {"x": 1}}, "thoughtSignature": "sig"}]),
    );
    let openai = json!({"role": "assistant", "content": "Looking.", "tool_calls": [
        {"id": "gemini_call_f_0", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}}]});
    assert_eq!(projected(&said, Format::OpenAi), (vec![openai], true));
    let openai = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "[1]"}}]});
    let back = content("model", &json!([{"functionCall": {"id": "a", "name": "f", "args": {"arguments": "[1]"}}}]));
    assert_eq!(projected(&openai, Format::Gemini), (vec![back], false));
    let results = json!({"role": "user", "content": [
        {"type": "tool_result", "tool_use_id": "a", "content": "1"}, {"type": "tool_result", "tool_use_id": "b", "content": "no", "is_error": true}]});
    let contents = content(
        "user",
        &json!([{"functionResponse": {"id": "a", "name": "tool", "response": {"output": "1"}}},
        {"functionResponse": {"id": "b", "name": "tool", "response": {"error": "no"}}}]),
    );
    assert_eq!(projected(&results, Format::Gemini), (vec![contents], false));
}

#[test]
fn media_go_both_ways() {
    let gemini = content("user", &json!([{"text": "see"}, {"inlineData": {"mimeType": "image/png", "data": "QUJD"}}]));
    let openai = json!({"role": "user", "content": [{"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]});
    assert_eq!(projected(&gemini, Format::OpenAi), (vec![openai.clone()], false));
    assert_eq!(projected(&openai, Format::Gemini), (vec![gemini], false));
    let url =
        json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]});
    let file = content("user", &json!([{"fileData": {"fileUri": "https://example.com/a.png"}}]));
    assert_eq!(projected(&url, Format::Gemini), (vec![file], false));
}

#[test]
fn what_cannot_be_read_is_refused_by_field() {
    for (raw, field) in [
        (r#"{"role":"assistant","parts":[{"text":"secret"}]}"#, "`role`"),
        (r#"{"role":"model","parts":"secret"}"#, "`parts`"),
        (r#"{"role":"model","parts":[{"text":7}]}"#, "`parts[0].text`"),
        (r#"{"role":"model","parts":[{"functionCall":"secret"}]}"#, "`parts[0].functionCall`"),
        (r#"{"role":"model","parts":[{"function_call":{"args":{}}}]}"#, "`parts[0].functionCall.name`"),
    ] {
        let error = parse(raw, Format::Gemini).unwrap_err();
        assert!(error.message.contains(field) && !error.message.contains("secret"), "{raw}: {error}");
    }
}
