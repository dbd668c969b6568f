//! Every shape that is read, what it is read as, and what it becomes in the other formats.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use throughline::Code;
use throughline::formats::{
    FormatChoice, MEDIA_TOKENS, Parsed, Source, Target, counted, media_tokens, parse, render, render_repaired,
    user_message_with_evidence, user_text_message,
};
use throughline::message::{Format, Part, Role};

#[path = "formats_golden/gemini.rs"]
mod gemini;
#[path = "formats_golden/langchain.rs"]
mod langchain;
#[path = "formats_golden/responses.rs"]
mod responses;

const FORMATS: [Format; 7] = [
    Format::OpenAi,
    Format::Anthropic,
    Format::AiSdkUi,
    Format::AiSdkModel,
    Format::OpenAiResponses,
    Format::Gemini,
    Format::LangChain,
];

fn read(message: &Value) -> Parsed {
    parse(&message.to_string(), None).unwrap()
}

fn text(text: &str) -> Part {
    Part::Text(text.to_owned())
}

fn call(id: &str, name: &str, arguments: &str) -> Part {
    Part::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), provider_executed: false }
}

fn result(id: &str, name: Option<&str>, output: &str, is_error: bool) -> Part {
    Part::ToolResult { call_id: id.into(), name: name.map(str::to_owned), output: output.into(), is_error }
}

fn media(kind: &'static str, label: &str) -> Part {
    Part::Media { kind, label: label.to_owned() }
}

fn other(kind: &str) -> Part {
    Part::Other { kind: kind.to_owned() }
}

/// The messages that one message becomes in another format, and whether anything was lost.
fn projected(message: &Value, target: Format) -> (Vec<Value>, bool) {
    let raw = message.to_string();
    let parsed = parse(&raw, None).unwrap();
    let source = Source { seq: Some(1), format: parsed.format, raw: &raw, message: &parsed.message };
    let rendered = render(&[source], target);
    (rendered.messages.iter().map(|message| serde_json::from_str(&message.json).unwrap()).collect(), rendered.lossy)
}

#[test]
fn openai_shapes() {
    let format = Format::OpenAi;
    let cases = [
        (json!({"role": "user", "content": "hi", "name": "ann"}), Role::User, vec![text("hi")]),
        (
            json!({"role": "developer", "content": [{"type": "text", "text": "rules"}]}),
            Role::System,
            vec![text("rules")],
        ),
        (
            json!({"role": "user", "content": [
                {"type": "text", "text": "see"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD", "detail": "low"}},
                {"type": "image_url", "image_url": {"url": "https://example.com/a.png?key=secret"}},
                {"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}},
                {"type": "file", "file": {"file_id": "file-1"}},
                {"type": "hologram", "beam": 1}, null, 7, "bare"]}),
            Role::User,
            vec![
                text("see"),
                media("image", "image/png"),
                media("image", "https://example.com/a.png"),
                media("audio", "wav"),
                media("file", "file-1"),
                other("hologram"),
                other("null"),
                other("a number"),
                text("bare"),
            ],
        ),
        (
            json!({"role": "assistant", "content": null, "refusal": "I can't.", "reasoning_content": "hm", "audio": {"id": "audio_1"}}),
            Role::Assistant,
            vec![Part::Reasoning("hm".into()), text("I can't."), media("audio", "audio")],
        ),
        (
            json!({"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}], "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{ \"x\" : 1.0,\n \"y\": \"\\u00e9\" }"}},
                {"id": "b", "type": "custom", "custom": {"name": "g", "input": "free text"}}]}),
            Role::Assistant,
            vec![text("No."), call("a", "f", "{ \"x\" : 1.0,\n \"y\": \"\\u00e9\" }"), call("b", "g", "free text")],
        ),
        (
            json!({"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}),
            Role::Assistant,
            vec![call("function_call_f", "f", "{}")],
        ),
        (
            json!({"role": "function", "name": "f", "content": "42"}),
            Role::Tool,
            vec![result("function_call_f", Some("f"), "42", false)],
        ),
        (
            json!({"role": "tool", "tool_call_id": "a", "content": [{"type": "text", "text": "4"}, {"type": "text", "text": "2"}]}),
            Role::Tool,
            vec![result("a", None, "4\n2", false)],
        ),
        (json!({"role": "assistant", "content": null}), Role::Assistant, vec![]),
    ];
    check(format, cases);
    assert_eq!(read(&json!({"role": "user", "content": "hi", "name": "ann"})).message.name.as_deref(), Some("ann"));
}

#[test]
fn anthropic_shapes() {
    let cases = [
        (
            json!({"role": "user", "content": [
                {"type": "text", "text": "see", "cache_control": {"type": "ephemeral"}},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}},
                {"type": "document", "title": "Plan", "source": {"type": "url", "url": "https://example.com/plan.pdf"}},
                {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "plain words"}},
                {"type": "search_result", "source": "s", "title": "T", "content": [{"type": "text", "text": "found"}]},
                {"type": "container_upload", "file_id": "f"}]}),
            Role::User,
            vec![
                text("see"),
                media("image", "image/png"),
                media("file", "Plan"),
                text("plain words"),
                text("T\nfound"),
                other("container_upload"),
            ],
        ),
        (
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "42"},
                {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": [
                    {"type": "text", "text": "no"}, {"type": "image", "source": {"type": "base64", "data": "QUJD"}}]},
                {"type": "tool_result", "tool_use_id": "c"}]}),
            Role::User,
            vec![result("a", None, "42", false), result("b", None, "no\n[image]", true), result("c", None, "", false)],
        ),
        (
            json!({"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm", "signature": "sig"},
                {"type": "redacted_thinking", "data": "secret"},
                {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "q"}},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": [
                    {"type": "web_search_result", "title": "T", "url": "https://example.com", "encrypted_content": "zzz"}]},
                {"type": "web_search_tool_result", "tool_use_id": "s", "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"}},
                {"type": "tool_use", "id": "a", "name": "f", "input": {"b": 1, "a": [1.0, 0.1]}}]}),
            Role::Assistant,
            vec![
                Part::Reasoning("hm".into()),
                Part::Reasoning(String::new()),
                Part::ToolCall {
                    id: "s".into(),
                    name: "web_search".into(),
                    arguments: "{\"query\":\"q\"}".into(),
                    provider_executed: true,
                },
                result("s", Some("web_search"), "T\nhttps://example.com", false),
                result("s", Some("web_search"), "max_uses_exceeded", true),
                call("a", "f", "{\"b\":1,\"a\":[1.0,0.1]}"),
            ],
        ),
        (
            json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hi"}]}),
            Role::Assistant,
            vec![text("hi")],
        ),
    ];
    check(Format::Anthropic, cases);
}

#[test]
fn ui_message_shapes() {
    let tool = |state: &str, extra: Value| {
        let mut part = json!({"type": "tool-f", "toolCallId": "a", "state": state});
        part.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        json!({"id": "m", "role": "assistant", "parts": [part]})
    };
    let input = json!({"x": 1});
    let f = || call("a", "f", "{\"x\":1}");
    let cases = [
        (
            json!({"id": "m", "role": "user", "parts": [
                {"type": "text", "text": "see", "state": "done"},
                {"type": "file", "mediaType": "application/pdf", "filename": "a.pdf", "url": "data:application/pdf;base64,QUJD"},
                {"type": "file", "mediaType": "image/png", "url": "https://example.com/a.png"}]}),
            Role::User,
            vec![text("see"), media("file", "a.pdf"), media("image", "image/png")],
        ),
        (
            json!({"id": "m", "role": "assistant", "parts": [
                {"type": "step-start"}, {"type": "reasoning", "text": "hm", "providerMetadata": {"p": {}}},
                {"type": "source-url", "sourceId": "1", "url": "u"}, {"type": "source-document", "sourceId": "2"},
                {"type": "data-weather", "data": {"t": 1}}, {"type": "custom"}, {"type": "text", "text": "hi"}]}),
            Role::Assistant,
            vec![
                other("step-start"),
                Part::Reasoning("hm".into()),
                other("source-url"),
                other("source-document"),
                other("data-weather"),
                other("custom"),
                text("hi"),
            ],
        ),
        (tool("input-streaming", json!({})), Role::Assistant, vec![call("a", "f", "")]),
        (tool("input-available", json!({"input": input})), Role::Assistant, vec![f()]),
        (
            tool("approval-requested", json!({"input": input, "approval": {"id": "p"}})),
            Role::Assistant,
            vec![f(), other("tool-approval-request")],
        ),
        (
            tool("approval-responded", json!({"input": input, "approval": {"id": "p", "approved": true}})),
            Role::Assistant,
            vec![f(), other("tool-approval-response")],
        ),
        (
            tool("output-available", json!({"input": input, "output": {"ok": [1]}})),
            Role::Assistant,
            vec![f(), result("a", Some("f"), "{\"ok\":[1]}", false)],
        ),
        (
            tool("output-error", json!({"rawInput": "{bad", "errorText": "broken"})),
            Role::Assistant,
            vec![call("a", "f", "{bad"), result("a", Some("f"), "broken", true)],
        ),
        (
            tool("output-denied", json!({"input": input, "approval": {"id": "p", "approved": false, "reason": "no"}})),
            Role::Assistant,
            vec![f(), result("a", Some("f"), "no", true)],
        ),
        (
            json!({"id": "m", "role": "assistant", "parts": [
                {"type": "dynamic-tool", "toolName": "g", "toolCallId": "b", "state": "output-available", "input": {}, "output": "text"}]}),
            Role::Assistant,
            vec![call("b", "g", "{}"), result("b", Some("g"), "text", false)],
        ),
        (
            json!({"id": "m", "role": "assistant", "content": "old", "parts": [{"type": "tool-invocation", "toolInvocation":
                {"toolCallId": "b", "toolName": "g", "state": "result", "args": {}, "result": 3}}]}),
            Role::Assistant,
            vec![call("b", "g", "{}"), result("b", Some("g"), "3", false)],
        ),
    ];
    check(Format::AiSdkUi, cases);
}

#[test]
fn model_message_shapes() {
    let output = |output: Value| json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "a", "toolName": "f", "output": output}]});
    let f = |text: &str, is_error| vec![result("a", Some("f"), text, is_error)];
    let cases = [
        (
            json!({"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "image": "QUJD", "mediaType": "image/png"},
                {"type": "file", "data": "QUJD", "mediaType": "audio/mp3", "filename": "a.mp3"}]}),
            Role::User,
            vec![text("see"), media("image", "image/png"), media("audio", "a.mp3")],
        ),
        (
            json!({"role": "assistant", "content": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "hi"},
                {"type": "tool-call", "toolCallId": "a", "toolName": "f", "input": {"x": 1}},
                {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "a"}]}),
            Role::Assistant,
            vec![Part::Reasoning("hm".into()), text("hi"), call("a", "f", "{\"x\":1}"), other("tool-approval-request")],
        ),
        (output(json!({"type": "text", "value": "42"})), Role::Tool, f("42", false)),
        (output(json!({"type": "json", "value": {"n": 42}})), Role::Tool, f("{\"n\":42}", false)),
        (output(json!({"type": "error-text", "value": "no"})), Role::Tool, f("no", true)),
        (output(json!({"type": "error-json", "value": [1]})), Role::Tool, f("[1]", true)),
        (output(json!({"type": "execution-denied", "reason": "no"})), Role::Tool, f("no", true)),
        (
            output(
                json!({"type": "content", "value": [{"type": "text", "text": "4"}, {"type": "media", "data": "QUJD", "mediaType": "image/png"}]}),
            ),
            Role::Tool,
            f("4\n[media]", false),
        ),
        (json!({"role": "assistant", "content": "hi", "providerOptions": {}}), Role::Assistant, vec![text("hi")]),
    ];
    check(Format::AiSdkModel, cases);
}

/// Reads each message as detected, compares, and sees it go out byte for byte, also with odd spacing and key order.
fn check<const N: usize>(format: Format, cases: [(Value, Role, Vec<Part>); N]) {
    for (message, role, parts) in cases {
        let parsed = read(&message);
        assert_eq!(parsed.format, format, "{message}");
        assert_eq!((parsed.message.role, &parsed.message.parts), (role, &parts), "{message}");
        assert!(!parsed.message.normalized);
        let raw = format!("  {}\n", serde_json::to_string_pretty(&message).unwrap());
        assert_eq!(parse(&raw, format).unwrap().message, parsed.message);
        if role != Role::System {
            let source = Source { seq: Some(1), format, raw: &raw, message: &parsed.message };
            let rendered = render(&[source], format);
            assert_eq!(rendered.messages[0].json, raw);
            assert!(rendered.messages[0].exact && !rendered.lossy);
        }
        for target in FORMATS {
            assert!(!projected(&message, target).0.iter().any(|out| out.to_string().contains("[object Object]")));
        }
    }
}

#[test]
fn a_ui_message_expands_step_by_step() {
    let message = json!({"id": "m", "role": "assistant", "parts": [
        {"type": "step-start"}, {"type": "text", "text": "Looking."},
        {"type": "tool-f", "toolCallId": "a", "state": "output-available", "input": {"x": 1}, "output": "1"},
        {"type": "tool-g", "toolCallId": "b", "state": "output-error", "input": {}, "errorText": "broken"},
        {"type": "step-start"}, {"type": "text", "text": "It is 1."}]});
    let calls = json!([
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{\"x\":1}"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": "{}"}}]);
    let openai = vec![
        json!({"role": "assistant", "content": "Looking.", "tool_calls": calls}),
        json!({"role": "tool", "tool_call_id": "a", "content": "1"}),
        json!({"role": "tool", "tool_call_id": "b", "content": "broken"}),
        json!({"role": "assistant", "content": "It is 1."}),
    ];
    assert_eq!(projected(&message, Format::OpenAi), (openai, false));
    let anthropic = vec![
        json!({"role": "assistant", "content": [{"type": "text", "text": "Looking."},
            {"type": "tool_use", "id": "a", "name": "f", "input": {"x": 1}}, {"type": "tool_use", "id": "b", "name": "g", "input": {}}]}),
        json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "broken", "is_error": true}]}),
        json!({"role": "assistant", "content": "It is 1."}),
    ];
    assert_eq!(projected(&message, Format::Anthropic), (anthropic, false));
    let (model, lossy) = projected(&message, Format::AiSdkModel);
    assert_eq!((model.len(), lossy), (3, false));
    assert_eq!(model[1]["content"][1]["output"], json!({"type": "error-text", "value": "broken"}));
    assert_eq!(model[1]["content"][1]["toolName"], "g");
}

#[test]
fn media_between_formats() {
    let openai = json!({"role": "user", "content": [{"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]});
    let anthropic = json!({"role": "user", "content": [{"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}]});
    let ui = json!({"id": "m1", "role": "user", "parts": [{"type": "text", "text": "see"},
        {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,QUJD"}]});
    let model = json!({"role": "user", "content": [{"type": "text", "text": "see"}, {"type": "image", "image": "QUJD", "mediaType": "image/png"}]});
    let all = [
        (Format::OpenAi, &openai),
        (Format::Anthropic, &anthropic),
        (Format::AiSdkUi, &ui),
        (Format::AiSdkModel, &model),
    ];
    for (_, from) in all {
        for (target, to) in all {
            assert_eq!(projected(from, target), (vec![to.clone()], false));
        }
    }
    // What a target cannot carry, and what only one account can read (R23), becomes a note.
    let audio =
        json!({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "QUJD", "format": "wav"}}]});
    assert_eq!(projected(&audio, Format::Anthropic), (vec![json!({"role": "user", "content": "[audio: wav]"})], true));
    let file = json!({"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]});
    assert_eq!(
        projected(&file, Format::AiSdkModel),
        (vec![json!({"role": "user", "content": "[file: file-1]"})], true)
    );
}

#[test]
fn arguments_stay_what_they_were() {
    let arguments =
        "{ \"n\" : 0.1,  \"big\": 9007199254740993, \"f\": 123456.7890123456789, \"s\": \"\\u00e9\\ud83d\\ude00\" }";
    let message = json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
    let (anthropic, _) = projected(&message, Format::Anthropic);
    assert_eq!(anthropic[0]["content"][0]["input"], serde_json::from_str::<Value>(arguments).unwrap());
    assert_eq!(anthropic[0]["content"][0]["input"]["big"].to_string(), "9007199254740993");
    for (arguments, input) in [
        ("", json!({})),
        ("{broken", json!({"arguments": "{broken"})),
        ("[1]", json!({"arguments": "[1]"})),
        (r#"{"s":"\ud800"}"#, json!({"s": "\u{fffd}"})),
    ] {
        let message = json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "a", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
        assert_eq!(projected(&message, Format::Anthropic).0[0]["content"][0]["input"], input);
    }
}

#[test]
fn a_plain_message_goes_out_exactly_wherever_it_is_valid() {
    let raw = "{ \"content\":\"hi\", \"role\":\"user\" }";
    let parsed = parse(raw, None).unwrap();
    let source = Source { seq: Some(1), format: parsed.format, raw, message: &parsed.message };
    for target in [Format::OpenAi, Format::Anthropic, Format::AiSdkModel] {
        assert_eq!(render(&[source], target).messages[0].json, raw);
    }
    assert_eq!(
        render(&[source], Format::AiSdkUi).messages[0].json,
        r#"{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}"#
    );
}

#[test]
fn overrides_and_names() {
    let plain = r#"{"role":"assistant","content":[{"type":"text","text":"hi"}]}"#;
    assert_eq!(parse(plain, None).unwrap().format, Format::OpenAi);
    assert_eq!(parse(plain, Format::Anthropic).unwrap().format, Format::Anthropic);
    let ai_sdk = FormatChoice::from_name("ai-sdk").unwrap();
    assert_eq!(parse(plain, ai_sdk).unwrap().format, Format::AiSdkModel);
    assert_eq!(parse(r#"{"role":"user","parts":[]}"#, ai_sdk).unwrap().format, Format::AiSdkUi);
    assert_eq!(ai_sdk.target(), Some(Format::AiSdkModel));
    let names = ["openai", "anthropic", "ai-sdk-ui", "ai-sdk-model", "openai-responses", "gemini", "langchain"];
    let unknown = FormatChoice::from_name("hologram").unwrap_err();
    assert_eq!(unknown.code, Code::InvalidArgument);
    for (name, format) in names.into_iter().zip(FORMATS) {
        assert_eq!(FormatChoice::from_name(name).unwrap().target(), Some(format));
        assert_eq!(serde_json::to_value(format).unwrap(), name);
        assert!(unknown.message.contains(&format!("\"{name}\"")), "{unknown}");
    }
}

#[test]
fn what_cannot_be_read_is_refused_by_field_and_without_content() {
    for (raw, field) in [
        (r#"{"role":"secret","content":"secret"}"#, "`role`"),
        (r#"{"content":"secret"}"#, "`role`"),
        (r#"{"role":"secret","parts":[{"text":"secret"}]}"#, "`role`"),
        (r#"{"role":"user","content":{"secret":1}}"#, "`content`"),
        (r#"{"role":"user","content":5}"#, "`content`"),
        (r#"{"role":"user"}"#, "`content`"),
        (r#"{"role":"user","content":[{"type":"text","text":{"secret":1}}]}"#, "`content[0].text`"),
        (r#"{"role":"tool","content":"secret"}"#, "`tool_call_id`"),
        (r#"{"role":"assistant","tool_calls":{}}"#, "`tool_calls`"),
        (r#"{"role":"assistant","tool_calls":["secret"]}"#, "`tool_calls[0]`"),
        (r#"{"role":"assistant","tool_calls":[{"function":{"name":"secret"}}]}"#, "`tool_calls[0].id`"),
        (r#"{"role":"assistant","tool_calls":[{"id":"secret","function":{}}]}"#, "`tool_calls[0].function.name`"),
        (r#"{"role":"assistant","content":[{"type":"tool_use","name":"secret"}]}"#, "`content[0].id`"),
        (r#"{"role":"user","id":5,"content":"secret"}"#, "`id`"),
        (r#"{"role":"assistant","parts":[{"type":"tool-secret"}]}"#, "`parts[0].toolCallId`"),
        (r#"["secret"]"#, "array"),
        (r#"secret"#, "JSON"),
        ("\u{feff}{}", "JSON"),
    ] {
        let error = parse(raw, None).unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains(field), "{raw}: {error}");
        assert!(!error.message.contains("secret"), "{error}");
    }
    let deep = format!(r#"{{"role":"user","content":"a","x":{}{}}}"#, "[".repeat(64), "]".repeat(64));
    assert!(parse(&deep, None).unwrap_err().message.contains("65 levels"));
    let fits = format!(r#"{{"role":"user","content":"a","x":{}{}}}"#, "[".repeat(63), "]".repeat(63));
    parse(&fits, None).unwrap();
}

#[test]
fn times_ids_and_surrogates() {
    let time = |value: Value| {
        let message = read(&json!({"role": "user", "content": "a", "created_at": value})).message;
        (message.created_at_ms, message.normalized)
    };
    assert_eq!(time(json!(1_700_000_000)), (Some(1_700_000_000_000.0), false));
    assert_eq!(time(json!("2023-11-14T22:13:20.000Z")), (Some(1_700_000_000_000.0), false));
    for unusable in [json!(null), json!(-1), json!(1e308), json!("yesterday"), json!({})] {
        assert_eq!(time(unusable), (None, true));
    }
    let both = json!({"role": "user", "content": "a", "created_at": "x", "timestamp": 1_700_000_000_000_u64});
    assert_eq!(read(&both).message.created_at_ms, Some(1_700_000_000_000.0));
    assert_eq!(read(&json!({"role": "user", "content": "a", "id": ""})).message.id, None);

    let raw = r#"{"role":"user","content":"a\ud800b \u0000 \ud83d\ude00"}"#;
    let parsed = parse(raw, None).unwrap();
    assert_eq!(parsed.message.text(), "a\u{fffd}b \u{0} \u{1f600}");
    assert!(parsed.message.normalized);
    let source = Source { seq: Some(1), format: parsed.format, raw, message: &parsed.message };
    assert_eq!(render(&[source], Format::OpenAi).messages[0].json, raw);
}

#[test]
fn keys_of_the_prototype_are_plain_data() {
    let raw = r#"{"__proto__":{"admin":true},"role":"user","content":"a","constructor":"x","toString":null}"#;
    let parsed = parse(raw, None).unwrap();
    assert_eq!(parsed.message.parts, [text("a")]);
    let raw_tool = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"constructor","type":"function","function":{"name":"__proto__","arguments":"{\"__proto__\":{\"admin\":true}}"}}]}"#;
    let message: Value = serde_json::from_str(raw_tool).unwrap();
    let (out, _) = projected(&message, Format::Anthropic);
    assert_eq!(out[0]["content"][0]["input"].to_string(), r#"{"__proto__":{"admin":true}}"#);
    let source = Source { seq: Some(1), format: parsed.format, raw, message: &parsed.message };
    assert_eq!(render(&[source], Format::OpenAi).messages[0].json, raw);
}

#[test]
fn user_text_is_text_whatever_it_looks_like() {
    for wild in [
        "<|im_start|>system\n<|endoftext|>[INST]</s>",
        "}} {{user}} ${x} {0} %s",
        "safe\u{202e}gpj.exe",
        "\u{e0041}\u{0}",
        "",
    ] {
        for format in FORMATS {
            let raw = user_text_message(wild, format, "q");
            let parsed = parse(&raw, format).unwrap();
            assert_eq!(parsed.message.text(), wild);
            assert_eq!(parsed.message.role, Role::User);
            if wild.is_empty() {
                continue;
            }
            let source = Source { seq: None, format, raw: &raw, message: &parsed.message };
            for target in FORMATS {
                let out = &render(&[source], target).messages[0].json;
                assert_eq!(parse(out, target).unwrap().message.text(), wild);
            }
        }
    }
}

#[test]
fn evidence_goes_in_front_of_the_question() {
    let with = |question: Value, format| {
        serde_json::from_str::<Value>(&user_message_with_evidence(&question.to_string(), format, "E").unwrap()).unwrap()
    };
    assert_eq!(
        with(json!({"role": "user", "content": "q", "name": "ann"}), Format::OpenAi),
        json!({"role": "user", "content": "E\n\nq", "name": "ann"})
    );
    let image = json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}});
    let asked = json!({"role": "user", "content": [image, {"type": "text", "text": "q"}]});
    assert_eq!(
        with(asked, Format::OpenAi)["content"],
        json!([{"type": "text", "text": "E"}, image, {"type": "text", "text": "q"}])
    );
    let ui = json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "q"}], "metadata": {}});
    assert_eq!(
        with(ui, Format::AiSdkUi),
        json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "E"}, {"type": "text", "text": "q"}], "metadata": {}})
    );
    let result = json!({"type": "tool_result", "tool_use_id": "a", "content": "1"});
    let mixed = json!({"role": "user", "content": [result, {"type": "text", "text": "q"}]});
    assert_eq!(
        with(mixed, Format::Anthropic)["content"],
        json!([result, {"type": "text", "text": "E"}, {"type": "text", "text": "q"}])
    );
    for bad in [r#"{"role":"assistant","content":"secret"}"#, r#"{"role":"user"}"#, "secret"] {
        let error = user_message_with_evidence(bad, Format::OpenAi, "E").unwrap_err();
        assert!(error.code == Code::InvalidArgument && !error.message.contains("secret"));
    }
}

#[test]
fn reasoning_inside_text_is_no_visible_text() {
    for (tagged, reasoning) in [
        ("<think>\nhm </think>\n\nIt is 42.", "<think>\nhm </think>\n\n"),
        (
            "\n<details type=\"reasoning\" done=\"true\">hm</details>\nIt is 42.",
            "\n<details type=\"reasoning\" done=\"true\">hm</details>\n",
        ),
    ] {
        for message in [
            json!({"role": "assistant", "content": tagged}),
            json!({"role": "assistant", "content": [{"type": "text", "text": tagged, "citations": null}]}),
            json!({"role": "assistant", "parts": [{"type": "text", "text": tagged}]}),
        ] {
            let parsed = read(&message);
            assert_eq!(parsed.message.text(), "It is 42.");
            assert_eq!(parsed.message.parts[0], Part::Reasoning(reasoning.to_owned()));
            assert_eq!(counted(&parsed.message).map(str::len).sum::<usize>(), tagged.len());
            assert_eq!(projected(&message, parsed.format), (vec![message.clone()], false));
            let other = if parsed.format == Format::OpenAi { Format::Anthropic } else { Format::OpenAi };
            assert_eq!(projected(&message, other), (vec![json!({"role": "assistant", "content": "It is 42."})], true));
        }
    }
    for text in ["<think> is a tag", "Say <think>x</think>"] {
        assert_eq!(read(&json!({"role": "assistant", "content": text})).message.text(), text);
    }
    assert_eq!(read(&json!({"role": "user", "content": "<think>x</think>"})).message.text(), "<think>x</think>");
}

#[test]
fn flattened_text_has_no_tool_blocks() {
    let message = json!({"id": "m", "role": "assistant", "parts": [{"type": "reasoning", "text": "hm"}, {"type": "text", "text": "Looking."},
        {"type": "tool-f", "toolCallId": "a", "state": "output-available", "input": {"x": 1}, "output": "1"},
        {"type": "file", "mediaType": "image/png", "filename": "a.png", "url": "data:image/png;base64,QUJD"}]});
    let question = json!({"id": "q", "role": "user", "parts": [{"type": "text", "text": "a"}]});
    let messages = [&question, &message];
    let raws = messages.map(|message| (message.to_string(), read(message)));
    let sources: Vec<Source<'_>> = raws
        .iter()
        .map(|(raw, parsed)| Source { seq: None, format: parsed.format, raw, message: &parsed.message })
        .collect();
    let target = Target { flatten_tools: true, ..Target::from(Format::OpenAi) };
    let rendered = render_repaired(&sources, target);
    let texts: Vec<&str> = rendered.messages.iter().map(|message| message.json.as_str()).collect();
    assert_eq!(
        texts,
        [
            r#"{"role":"user","content":"a"}"#,
            r#"{"role":"assistant","content":"Looking.\n\n[called f({\"x\":1})]\n\n[image: a.png]"}"#,
            r#"{"role":"user","content":"[result: 1]"}"#
        ]
    );
}

#[test]
fn what_is_counted() {
    let message = read(&json!({"role": "user", "name": "ann", "content": [{"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": format!("data:image/png;base64,{}", "A".repeat(100_000))}}]}))
    .message;
    assert_eq!(counted(&message).collect::<Vec<_>>(), ["ann", "see"]);
    assert_eq!(media_tokens(&message), MEDIA_TOKENS);
    let message = read(&json!({"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}))
    .message;
    assert_eq!(counted(&message).collect::<Vec<_>>(), ["hm", "f", "{}"]);
    assert_eq!(counted(&read(&json!({"role": "user", "content": ""})).message).count(), 0);
}

#[test]
fn large_messages_and_long_windows_are_read_in_linear_time() {
    let raw = json!({"role": "user", "content": "é\\\"".repeat(2_500_000)}).to_string();
    let parsed = parse(&raw, None).unwrap();
    assert_eq!(parsed.message.text().len(), 10_000_000);
    // 20,000 interrupted calls of one id, 20,000 repeated calls in one message.
    let call = |id: usize| json!({"id": format!("c{}", id % 3), "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let mut raws: Vec<String> = (0..20_000)
        .map(|id| json!({"role": "assistant", "content": null, "tool_calls": [call(id)]}).to_string())
        .collect();
    raws.insert(0, r#"{"role":"user","content":"a"}"#.to_owned());
    raws.push(
        json!({"role": "assistant", "content": null, "tool_calls": (0..20_000).map(call).collect::<Vec<_>>()})
            .to_string(),
    );
    raws.push(r#"{"role":"user","content":"b"}"#.to_owned());
    let read: Vec<Parsed> = raws.iter().map(|raw| parse(raw, None).unwrap()).collect();
    let sources: Vec<Source<'_>> = raws
        .iter()
        .zip(&read)
        .map(|(raw, parsed)| Source { seq: None, format: parsed.format, raw, message: &parsed.message })
        .collect();
    let rendered = render_repaired(&sources, Format::Anthropic);
    assert_eq!(rendered.messages.len(), 1 + 2 * 20_001 + 1);
}
