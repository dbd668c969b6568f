//! OpenAI Responses.

use super::{call, check, media, other, projected, read, result, text};
use serde_json::{Value, json};
use throughline::formats::{FormatChoice, Source, parse, render_repaired};
use throughline::message::{Format, Part, Role};

fn hosted(id: &str, name: &str, arguments: &str, output: &str, is_error: bool) -> Vec<Part> {
    let call =
        Part::ToolCall { id: id.into(), name: name.into(), arguments: arguments.into(), provider_executed: true };
    vec![call, result(id, Some(name), output, is_error)]
}

#[test]
fn messages() {
    let cases = [
        (
            json!({"role": "user", "content": [
                {"type": "input_text", "text": "see"},
                {"type": "input_image", "image_url": "data:image/png;base64,QUJD", "detail": "auto"},
                {"type": "input_image", "file_id": "file-1"},
                {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
                {"type": "input_hologram"}, "bare", null]}),
            Role::User,
            vec![
                text("see"),
                media("image", "image/png"),
                media("image", "file-1"),
                media("file", "a.pdf"),
                other("input_hologram"),
                text("bare"),
                other("null"),
            ],
        ),
        (json!({"type": "message", "role": "user", "content": "hi"}), Role::User, vec![text("hi")]),
        (
            json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "rules"}]}),
            Role::System,
            vec![text("rules")],
        ),
        (
            json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [
                {"type": "output_text", "text": "hi", "annotations": [{"type": "file_citation", "file_id": "file-1"}]},
                {"type": "refusal", "refusal": "No."}]}),
            Role::Assistant,
            vec![text("hi"), text("No.")],
        ),
    ];
    check(Format::OpenAiResponses, cases);
}

#[test]
fn calls_and_outputs() {
    let item = |kind: &str, fields: Value| {
        let mut item = json!({"type": kind, "call_id": "a"});
        item.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        item
    };
    let said = Role::Assistant;
    let cases = [
        (
            item("function_call", json!({"id": "fc_1", "name": "f", "arguments": "{ \"x\" : 1.0 }"})),
            said,
            vec![call("a", "f", "{ \"x\" : 1.0 }")],
        ),
        (item("custom_tool_call", json!({"name": "g", "input": "free text"})), said, vec![call("a", "g", "free text")]),
        (
            item("computer_call", json!({"action": {"type": "click", "x": 1}})),
            said,
            vec![call("a", "computer", "{\"type\":\"click\",\"x\":1}")],
        ),
        (
            item("shell_call", json!({"action": {"commands": ["ls"]}})),
            said,
            vec![call("a", "shell", "{\"commands\":[\"ls\"]}")],
        ),
        (
            item("local_shell_call", json!({"action": {"command": ["ls"]}})),
            said,
            vec![call("a", "local_shell", "{\"command\":[\"ls\"]}")],
        ),
        (
            item("apply_patch_call", json!({"operation": {"type": "delete_file"}})),
            said,
            vec![call("a", "apply_patch", "{\"type\":\"delete_file\"}")],
        ),
        (item("function_call_output", json!({"output": "42"})), Role::Tool, vec![result("a", None, "42", false)]),
        (
            item(
                "function_call_output",
                json!({"output": [{"type": "input_text", "text": "4"}, {"type": "input_image", "image_url": "data:image/png;base64,QUJD"}]}),
            ),
            Role::Tool,
            vec![result("a", None, "4\n[input_image]", false)],
        ),
        (item("custom_tool_call_output", json!({"output": "42"})), Role::Tool, vec![result("a", None, "42", false)]),
        (
            item(
                "computer_call_output",
                json!({"output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,QUJD"}}),
            ),
            Role::Tool,
            vec![result("a", None, "[computer_screenshot]", false)],
        ),
        (
            item(
                "shell_call_output",
                json!({"output": [{"stdout": "one", "stderr": "two", "outcome": {"type": "exit", "exit_code": 0}}]}),
            ),
            Role::Tool,
            vec![result("a", None, "one\ntwo", false)],
        ),
        (
            json!({"type": "local_shell_call_output", "id": "a", "output": "42"}),
            Role::Tool,
            vec![result("a", None, "42", false)],
        ),
        (
            item("apply_patch_call_output", json!({"status": "failed", "output": "no such file"})),
            Role::Tool,
            vec![result("a", None, "no such file", true)],
        ),
        (
            json!({"type": "mcp_approval_request", "id": "mcpr_1", "name": "f", "server_label": "s", "arguments": "{}"}),
            said,
            vec![call("mcpr_1", "f", "{}")],
        ),
        (
            json!({"type": "mcp_approval_response", "approval_request_id": "mcpr_1", "approve": false}),
            Role::Tool,
            vec![result("mcpr_1", None, "denied", true)],
        ),
    ];
    check(Format::OpenAiResponses, cases);
}

#[test]
fn hosted_calls_carry_their_output() {
    let cases = [
        (
            json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}),
            Role::Assistant,
            hosted("ws_1", "web_search", "{\"type\":\"search\",\"query\":\"q\"}", "", false),
        ),
        (
            json!({"type": "file_search_call", "id": "fs_1", "queries": ["q"], "results": [{"file_id": "file-1", "filename": "a", "text": "found"}]}),
            Role::Assistant,
            hosted("fs_1", "file_search", "[\"q\"]", "found", false),
        ),
        (
            json!({"type": "code_interpreter_call", "id": "ci_1", "container_id": "cntr_1", "code": "print(1)", "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "u"}]}),
            Role::Assistant,
            hosted("ci_1", "code_interpreter", "print(1)", "1\n[image]", false),
        ),
        (
            json!({"type": "image_generation_call", "id": "ig_1", "status": "completed", "result": "QUJD".repeat(1000)}),
            Role::Assistant,
            hosted("ig_1", "image_generation", "", "", false),
        ),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "name": "f", "server_label": "s", "arguments": "{}", "output": "42", "error": null}),
            Role::Assistant,
            hosted("mcp_1", "f", "{}", "42", false),
        ),
        (
            json!({"type": "mcp_call", "id": "mcp_1", "name": "f", "server_label": "s", "arguments": "{}", "error": "broken"}),
            Role::Assistant,
            hosted("mcp_1", "f", "{}", "broken", true),
        ),
    ];
    check(Format::OpenAiResponses, cases);
}

#[test]
fn reasoning_and_other_items() {
    let summary = json!([{"type": "summary_text", "text": "one"}, {"type": "summary_text", "text": "two"}]);
    let cases = [
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "gAAA"}),
            Role::Assistant,
            vec![Part::Reasoning("one\ntwo".into())],
        ),
        (
            json!({"type": "reasoning", "id": "rs_1", "summary": [], "content": [{"type": "reasoning_text", "text": "hm"}]}),
            Role::Assistant,
            vec![Part::Reasoning("hm".into())],
        ),
        (
            json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "gAAA"}),
            Role::Assistant,
            vec![other("compaction")],
        ),
        (json!({"type": "item_reference", "id": "msg_1"}), Role::Assistant, vec![other("item_reference")]),
        (
            json!({"type": "mcp_list_tools", "id": "mcpl_1", "server_label": "s", "tools": []}),
            Role::Assistant,
            vec![other("mcp_list_tools")],
        ),
        // Of a later version: kept, and named.
        (json!({"type": "hologram_call", "id": "h_1", "beam": 1}), Role::Assistant, vec![other("hologram_call")]),
    ];
    check(Format::OpenAiResponses, cases);
    let unknown = r#"{"type":"hologram","beam":1}"#;
    assert!(parse(unknown, None).is_err());
    assert_eq!(parse(unknown, Format::OpenAiResponses).unwrap().message.parts, [other("hologram")]);
    // A reference has the id of another item; it is not its own.
    assert_eq!(read(&json!({"type": "item_reference", "id": "msg_1"})).message.id, None);
    assert_eq!(read(&json!({"type": "compaction", "id": "cmp_1"})).message.id.as_deref(), Some("cmp_1"));
}

#[test]
fn items_become_messages_and_messages_items() {
    let round = json!({"role": "assistant", "content": "Looking.", "tool_calls": [
        {"id": "a", "type": "function", "function": {"name": "f", "arguments": "{ \"x\": 1.0 }"}},
        {"id": "b", "type": "function", "function": {"name": "g", "arguments": ""}}]});
    let items = vec![
        json!({"role": "assistant", "content": "Looking."}),
        json!({"type": "function_call", "call_id": "a", "name": "f", "arguments": "{ \"x\": 1.0 }"}),
        json!({"type": "function_call", "call_id": "b", "name": "g", "arguments": "{}"}),
    ];
    assert_eq!(projected(&round, Format::OpenAiResponses), (items, false));
    let answer = json!({"role": "tool", "tool_call_id": "a", "content": "1"});
    let output = json!({"type": "function_call_output", "call_id": "a", "output": "1"});
    assert_eq!(projected(&answer, Format::OpenAiResponses), (vec![output.clone()], false));
    assert_eq!(projected(&output, Format::OpenAi), (vec![answer], false));
    let image = json!({"role": "user", "content": [{"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}]});
    let item = json!({"role": "user", "content": [{"type": "input_text", "text": "see"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"}]});
    assert_eq!(projected(&image, Format::OpenAiResponses), (vec![item.clone()], false));
    assert_eq!(projected(&item, Format::OpenAi), (vec![image], false));
    let search = json!({"type": "web_search_call", "id": "ws_1", "action": {}});
    let note = json!({"role": "assistant", "content": "[web_search was run by the provider]"});
    assert_eq!(projected(&search, Format::OpenAi), (vec![note], true));
}

#[test]
fn detection_tells_items_from_what_is_like_them() {
    let anthropic = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "hi"}]});
    assert_eq!(read(&anthropic).format, Format::Anthropic);
    assert_eq!(read(&json!({"role": "user", "content": "hi"})).format, Format::OpenAi);
    assert_eq!(read(&json!({"type": "tool", "content": "1", "tool_call_id": "a"})).format, Format::LangChain);
    let choice = FormatChoice::from_name("openai-responses").unwrap();
    assert_eq!(choice, FormatChoice::Exact(Format::OpenAiResponses));
    for (raw, field) in [
        (r#"{"type":"function_call","name":"secret"}"#, "`call_id`"),
        (r#"{"type":"function_call","call_id":"secret"}"#, "`name`"),
        (r#"{"type":"message","content":"secret"}"#, "`role`"),
        (r#"{"content":"secret"}"#, "`type`"),
        (r#"{"role":"secret","content":"secret"}"#, "`role`"),
        (r#"{"role":"user","content":[{"type":"input_text","text":7}]}"#, "`content[0].text`"),
        (r#"{"type":"mcp_approval_response","approve":true}"#, "`approval_request_id`"),
    ] {
        let error = parse(raw, choice).unwrap_err();
        assert!(error.message.contains(field) && !error.message.contains("secret"), "{raw}: {error}");
    }
}

#[test]
fn long_lists_of_items_are_repaired_in_linear_time() {
    let mut raws = vec![r#"{"role":"user","content":"a"}"#.to_owned()];
    raws.extend(
        (0..20_000).map(|at| json!({"type": "reasoning", "id": format!("rs_{at}"), "summary": []}).to_string()),
    );
    let call =
        |at: usize| json!({"type": "function_call", "call_id": format!("c{at}"), "name": "f", "arguments": "{}"});
    raws.extend((0..20_000).map(|at| call(at).to_string()));
    raws.push(r#"{"role":"user","content":"b"}"#.to_owned());
    let read: Vec<_> = raws.iter().map(|raw| parse(raw, Format::OpenAiResponses).unwrap()).collect();
    let sources: Vec<Source<'_>> = raws
        .iter()
        .zip(&read)
        .map(|(raw, parsed)| Source { seq: None, format: parsed.format, raw, message: &parsed.message })
        .collect();
    assert_eq!(render_repaired(&sources, Format::OpenAiResponses).messages.len(), 2 + 3 * 20_000);
    assert_eq!(render_repaired(&sources, Format::Gemini).messages.len(), 4);
}
