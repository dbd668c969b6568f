//! One test per rule: what the checker refuses, and what repair makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use throughline::formats::{
    GroupInput, Parsed, Rendered, STUB_OUTPUT, Source, lift_system, parse, render_repaired, shrink_tool_results,
    turn_groups, validate,
};
use throughline::message::Format;

/// Reads messages in a format and renders them, repaired, in another.
fn repaired(messages: &[Value], format: Format, target: Format) -> (Vec<Value>, Rendered) {
    let read: Vec<(String, Parsed)> = messages
        .iter()
        .map(|message| {
            let raw = message.to_string();
            let parsed = parse(&raw, format).unwrap();
            (raw, parsed)
        })
        .collect();
    let sources: Vec<Source<'_>> = read
        .iter()
        .enumerate()
        .map(|(index, (raw, parsed))| Source {
            seq: Some(index as u32 + 1),
            format: parsed.format,
            raw,
            message: &parsed.message,
        })
        .collect();
    let rendered = render_repaired(&sources, target);
    let values: Vec<Value> =
        rendered.messages.iter().map(|message| serde_json::from_str(&message.json).unwrap()).collect();
    assert_eq!(validate(&values, target), [], "{values:#?}");
    (values, rendered)
}

fn rules(messages: &[Value], format: Format) -> Vec<&'static str> {
    validate(messages, format).iter().map(|violation| violation.rule).collect()
}

fn repair_rules(rendered: &Rendered) -> Vec<(&'static str, u32)> {
    rendered.repairs.iter().map(|repair| (repair.rule, repair.seq.unwrap())).collect()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn openai_calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> = ids
        .iter()
        .map(|id| json!({"id": id, "type": "function", "function": {"name": "look_up", "arguments": "{\"q\": 1}"}}))
        .collect();
    json!({"role": "assistant", "content": null, "tool_calls": calls})
}

fn openai_result(id: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": format!("result of {id}")})
}

fn anthropic_calls(ids: &[&str]) -> Value {
    let calls: Vec<Value> =
        ids.iter().map(|id| json!({"type": "tool_use", "id": id, "name": "look_up", "input": {"q": 1}})).collect();
    json!({"role": "assistant", "content": calls})
}

fn anthropic_result(id: &str) -> Value {
    json!({"type": "tool_result", "tool_use_id": id, "content": format!("result of {id}")})
}

fn ui_tool(id: &str, state: &str) -> Value {
    json!({"type": "tool-look_up", "toolCallId": id, "state": state, "input": {"q": 1}, "output": "42"})
}

#[test]
fn r1_every_openai_call_is_answered_directly_and_every_answer_has_its_call() {
    let orphan = [user("a"), openai_result("x"), user("b")];
    assert_eq!(rules(&orphan, Format::OpenAi), ["R1"]);
    let (out, rendered) = repaired(&orphan, Format::OpenAi, Format::OpenAi);
    assert_eq!(out, [user("a"), user("b")]);
    assert_eq!(repair_rules(&rendered), [("R1", 2)]);

    let late = [user("a"), openai_calls(&["x"]), user("b"), openai_result("x"), user("c")];
    assert_eq!(rules(&late, Format::OpenAi), ["R1", "R1"]);
    let (out, rendered) = repaired(&late, Format::OpenAi, Format::OpenAi);
    assert_eq!(out, [user("a"), openai_calls(&["x"]), openai_result("x"), user("b"), user("c")]);
    assert_eq!(repair_rules(&rendered), [("R1", 4)]);

    let twice = [user("a"), openai_calls(&["x"]), openai_result("x"), openai_result("x"), user("b")];
    assert_eq!(rules(&twice, Format::OpenAi), ["R1"]);
    let (out, _) = repaired(&twice, Format::OpenAi, Format::OpenAi);
    assert_eq!(out, [user("a"), openai_calls(&["x"]), openai_result("x"), user("b")]);
}

#[test]
fn r1_deprecated_function_calls_are_answered_by_function_messages() {
    let call = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let answered = [user("a"), call.clone(), json!({"role": "function", "name": "f", "content": "1"}), user("b")];
    let (out, rendered) = repaired(&answered, Format::OpenAi, Format::OpenAi);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&answered[..], 0));
    let (out, _) = repaired(&[user("a"), call, user("b")], Format::OpenAi, Format::OpenAi);
    assert_eq!(out[2], json!({"role": "function", "name": "f", "content": STUB_OUTPUT}));
}

#[test]
fn r2_anthropic_results_stand_first_in_the_next_user_message() {
    let text_first = json!({"role": "user", "content": [{"type": "text", "text": "and?"}, anthropic_result("x")]});
    let messages = [user("a"), anthropic_calls(&["x"]), text_first];
    assert_eq!(rules(&messages, Format::Anthropic), ["R2"]);
    let (out, rendered) = repaired(&messages, Format::Anthropic, Format::Anthropic);
    assert_eq!(out[2]["content"], json!([anthropic_result("x"), {"type": "text", "text": "and?"}]));
    assert_eq!(repair_rules(&rendered), [("R2", 3)]);

    let orphan = [json!({"role": "user", "content": [anthropic_result("x"), {"type": "text", "text": "and?"}]})];
    assert_eq!(rules(&orphan, Format::Anthropic), ["R2"]);
    let (out, _) = repaired(&orphan, Format::Anthropic, Format::Anthropic);
    assert_eq!(out, [json!({"role": "user", "content": [{"type": "text", "text": "and?"}]})]);
}

#[test]
fn r2_results_in_two_messages_become_one() {
    let one = |id| json!({"role": "user", "content": [anthropic_result(id)]});
    let messages = [user("a"), anthropic_calls(&["x", "y"]), one("x"), one("y")];
    assert_eq!(rules(&messages, Format::Anthropic), ["R5", "R2"]);
    let (out, rendered) = repaired(&messages, Format::Anthropic, Format::Anthropic);
    assert_eq!(out[2], json!({"role": "user", "content": [anthropic_result("x"), anthropic_result("y")]}));
    assert_eq!(rendered.messages[2].seqs, [3, 4]);
}

#[test]
fn r2_the_providers_own_calls_keep_their_results() {
    let call = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let result = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    let text = json!({"type": "text", "text": "found"});
    let whole = json!({"role": "assistant", "content": [call, result, text]});
    let (out, rendered) = repaired(&[user("a"), whole.clone(), user("b")], Format::Anthropic, Format::Anthropic);
    assert_eq!((&out[1], rendered.messages[1].exact), (&whole, true));
    for half in [&call, &result] {
        let torn = [user("a"), json!({"role": "assistant", "content": [half, text]}), user("b")];
        assert_eq!(rules(&torn, Format::Anthropic), ["R2"]);
        let (out, _) = repaired(&torn, Format::Anthropic, Format::Anthropic);
        assert_eq!(out[1]["content"], json!([text]));
    }
}

#[test]
fn r5_parallel_calls_are_all_answered() {
    let partial = [user("a"), openai_calls(&["x", "y"]), openai_result("x"), user("b")];
    assert_eq!(rules(&partial, Format::OpenAi), ["R5"]);
    let (out, rendered) = repaired(&partial, Format::OpenAi, Format::OpenAi);
    assert_eq!(out[3], json!({"role": "tool", "tool_call_id": "y", "content": STUB_OUTPUT}));
    assert!(rendered.messages[2].exact);
    assert_eq!(repair_rules(&rendered), [("R7", 2)]);

    let result = json!({"role": "user", "content": [anthropic_result("x"), {"type": "text", "text": "b"}]});
    let partial = [user("a"), anthropic_calls(&["x", "y"]), result];
    assert_eq!(rules(&partial, Format::Anthropic), ["R5"]);
    let (out, _) = repaired(&partial, Format::Anthropic, Format::Anthropic);
    let stub = json!({"type": "tool_result", "tool_use_id": "y", "content": STUB_OUTPUT});
    assert_eq!(out[2]["content"], json!([anthropic_result("x"), stub, {"type": "text", "text": "b"}]));
}

#[test]
fn r5_a_cut_between_calls_and_results_leaves_no_orphan() {
    let history = [user("a"), openai_calls(&["x", "y"]), openai_result("x"), openai_result("y"), user("b")];
    for cut in 1..5 {
        let (out, _) = repaired(&history[cut..], Format::OpenAi, Format::OpenAi);
        assert_eq!(out, [user("b")]);
    }
}

#[test]
fn r6_ai_sdk_calls_have_results_before_the_next_user_message() {
    let call = json!({"role": "assistant", "content": [{"type": "tool-call", "toolCallId": "x", "toolName": "f", "input": {}}]});
    let messages = [user("a"), call, user("b")];
    assert_eq!(rules(&messages, Format::AiSdkModel), ["R6"]);
    let (out, _) = repaired(&messages, Format::AiSdkModel, Format::AiSdkModel);
    assert_eq!(out[2]["content"][0]["toolCallId"], "x");
    assert_eq!(out[2]["content"][0]["toolName"], "f");
    assert_eq!(out[2]["content"][0]["output"], json!({"type": "error-text", "value": STUB_OUTPUT}));

    let provider = json!({"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "x", "toolName": "f", "input": {}, "providerExecuted": true},
        {"type": "tool-result", "toolCallId": "x", "toolName": "f", "output": {"type": "text", "value": "1"}}]});
    let (_, rendered) = repaired(&[user("a"), provider, user("b")], Format::AiSdkModel, Format::AiSdkModel);
    assert!(rendered.repairs.is_empty() && rendered.messages.iter().all(|message| message.exact));
}

#[test]
fn r6_an_answered_approval_at_the_end_is_sent_for_the_sdk_to_run() {
    let request = json!({"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "x", "toolName": "f", "input": {}},
        {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "x"}]});
    let response =
        json!({"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "p", "approved": true}]});
    let (out, rendered) =
        repaired(&[user("a"), request.clone(), response.clone()], Format::AiSdkModel, Format::AiSdkModel);
    assert_eq!((out.len(), rendered.repairs.len()), (3, 0));
    // Not yet answered: held back. Overtaken by a question: stubbed.
    assert_eq!(repaired(&[user("a"), request.clone()], Format::AiSdkModel, Format::AiSdkModel).0.len(), 1);
    let (out, _) = repaired(&[user("a"), request, response, user("b")], Format::AiSdkModel, Format::AiSdkModel);
    assert_eq!(out[3]["content"][0]["output"]["value"], STUB_OUTPUT);

    let parts =
        |state: &str| json!({"id": "2", "role": "assistant", "parts": [{"type": "step-start"}, ui_tool("x", state)]});
    let question = json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "a"}]});
    let send = |state| repaired(&[question.clone(), parts(state)], Format::AiSdkUi, Format::AiSdkUi).0.len();
    assert_eq!((send("approval-responded"), send("approval-requested"), send("input-available")), (2, 1, 1));
}

#[test]
fn r7_interrupted_calls_are_stubbed_and_the_trailing_one_is_held_back() {
    for format in [Format::OpenAi, Format::Anthropic, Format::AiSdkUi, Format::AiSdkModel] {
        let interrupted = [user("a"), openai_calls(&["x"]), user("b"), openai_calls(&["y"])];
        let (out, rendered) = repaired(&interrupted, Format::OpenAi, format);
        let text = Value::from(out.clone()).to_string();
        assert_eq!(text.matches(STUB_OUTPUT).count(), 1, "{text}");
        assert!(!text.contains("\"y\""), "{text}");
        assert_eq!(repair_rules(&rendered), [("R7", 2), ("R7", 4)]);
    }
}

#[test]
fn r7_a_ui_message_is_healed_inside_its_part() {
    let question = |id: &str| json!({"id": id, "role": "user", "parts": [{"type": "text", "text": "a"}]});
    let message = json!({"id": "2", "role": "assistant", "metadata": {"k": 1}, "parts": [
        {"type": "step-start"}, ui_tool("x", "output-available"), ui_tool("y", "input-available"), {"type": "step-start"},
        {"type": "text", "text": "so"}]});
    let messages = [question("1"), message, question("3")];
    assert_eq!(rules(&messages, Format::AiSdkUi), ["R6"]);
    let (out, _) = repaired(&messages, Format::AiSdkUi, Format::AiSdkUi);
    let mut healed = messages[1].clone();
    healed["parts"][2]["state"] = json!("output-error");
    healed["parts"][2]["errorText"] = json!(STUB_OUTPUT);
    assert_eq!(out[1], healed);
}

#[test]
fn r8_a_shortened_result_keeps_its_envelope() {
    let cut = |text: &str, max: u32| match text.char_indices().nth(max as usize) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    };
    let long = "0123456789abcdef";
    for (format, message, path, kept) in [
        (Format::OpenAi, json!({"role": "tool", "tool_call_id": "x", "content": long}), "/content", "/tool_call_id"),
        (
            Format::Anthropic,
            json!({"role": "user", "content": [{"type": "text", "text": long}, {"type": "tool_result", "tool_use_id": "x", "is_error": true,
                "content": [{"type": "text", "text": long}, {"type": "image", "source": {}}]}]}),
            "/content/1/content/0/text",
            "/content/1/tool_use_id",
        ),
        (
            Format::AiSdkUi,
            json!({"role": "assistant", "id": "m", "parts": [{"type": "tool-f", "toolCallId": "x", "state": "output-available", "output": {"a": long}}]}),
            "/parts/0/output",
            "/parts/0/toolCallId",
        ),
        (
            Format::AiSdkModel,
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "x", "toolName": "f", "output": {"type": "json", "value": [long]}}]}),
            "/content/0/output/value",
            "/content/0/toolCallId",
        ),
    ] {
        let shrunk = shrink_tool_results(&message.to_string(), format, 10, &cut).unwrap().unwrap();
        let shrunk: Value = serde_json::from_str(&shrunk).unwrap();
        let output = shrunk.pointer(path).unwrap().as_str().unwrap();
        assert_eq!(output.chars().count(), 11, "{shrunk}");
        assert_eq!(shrunk.pointer(kept).unwrap(), "x");
        assert_eq!(shrink_tool_results(&message.to_string(), format, 1_000, &cut).unwrap(), None);
    }
    let text = json!({"role": "user", "content": long}).to_string();
    assert_eq!(shrink_tool_results(&text, Format::OpenAi, 1, &cut).unwrap(), None, "only tool outputs are cut");
}

#[test]
fn r9_a_window_starts_on_a_user_message() {
    let messages = [json!({"role": "assistant", "content": "hello, I am a bot"}), user("a")];
    assert_eq!(rules(&messages, Format::OpenAi), ["R9"]);
    let (out, rendered) = repaired(&messages, Format::OpenAi, Format::OpenAi);
    assert_eq!(out, [user("a")]);
    assert_eq!(repair_rules(&rendered), [("R9", 1)]);
    assert!(repaired(&messages[..1], Format::OpenAi, Format::OpenAi).0.is_empty());
}

#[test]
fn r10_a_window_ends_on_user_or_tool() {
    let messages = [user("a"), json!({"role": "assistant", "content": "b"})];
    for format in [Format::OpenAi, Format::Anthropic, Format::AiSdkModel] {
        assert_eq!(rules(&messages, format), ["R10"]);
        let (out, rendered) = repaired(&messages, format, format);
        assert_eq!(out, [user("a")]);
        assert_eq!(repair_rules(&rendered), [("R10", 2)]);
    }
    let on_tool = [user("a"), openai_calls(&["x"]), openai_result("x")];
    for target in [Format::OpenAi, Format::Anthropic, Format::AiSdkUi, Format::AiSdkModel] {
        assert!(repaired(&on_tool, Format::OpenAi, target).1.repairs.is_empty());
    }
}

#[test]
fn r12_system_messages_are_lifted_never_rendered() {
    let raws = [
        json!({"role": "system", "content": "Be brief."}),
        user("a"),
        json!({"role": "developer", "content": [{"type": "text", "text": "Be kind."}]}),
        json!({"role": "system", "content": " "}),
        user("b"),
    ];
    assert_eq!(rules(&raws[..1], Format::OpenAi), ["R12", "R9", "R10"]);
    let texts: Vec<String> = raws.iter().map(Value::to_string).collect();
    let read: Vec<Parsed> = texts.iter().map(|raw| parse(raw, None).unwrap()).collect();
    let sources: Vec<Source<'_>> = (0..5)
        .map(|at| Source {
            seq: Some(at as u32 + 1),
            format: read[at].format,
            raw: &texts[at],
            message: &read[at].message,
        })
        .collect();
    let lifted = lift_system(&sources);
    assert_eq!((lifted.text.as_str(), lifted.seqs.as_slice()), ("Be brief.\n\nBe kind.", &[1, 3][..]));
    for target in [Format::OpenAi, Format::Anthropic, Format::AiSdkUi, Format::AiSdkModel] {
        for rendered in [render_repaired(&sources, target), throughline::formats::render(&sources, target)] {
            assert_eq!(rendered.messages.len(), 2);
            assert!(rendered.messages.iter().all(|message| !message.json.contains("Be ")));
        }
    }
}

#[test]
fn r14_empty_messages_are_dropped_unless_they_bear_tools() {
    let empty = [
        json!({"role": "assistant", "content": " \n"}),
        json!({"role": "assistant", "content": null}),
        json!({"role": "user", "content": []}),
    ];
    for message in &empty {
        let messages = [user("a"), message.clone(), user("b")];
        assert_eq!(rules(&messages, Format::OpenAi), ["R14"], "{message}");
        let (out, rendered) = repaired(&messages, Format::OpenAi, Format::OpenAi);
        assert_eq!(out, [user("a"), user("b")]);
        assert_eq!(repair_rules(&rendered), [("R14", 2)]);
    }
    let mut bearing = openai_calls(&["x"]);
    bearing["content"] = json!("");
    let blank = json!({"role": "tool", "tool_call_id": "x", "content": ""});
    let messages = [user("a"), bearing, blank, user("b")];
    let (out, rendered) = repaired(&messages, Format::OpenAi, Format::OpenAi);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&messages[..], 0));

    let block = json!({"role": "assistant", "content": [{"type": "text", "text": ""}, {"type": "text", "text": "b"}]});
    let messages = [user("a"), block, user("c")];
    assert_eq!(rules(&messages, Format::Anthropic), ["R14"]);
    let (out, _) = repaired(&messages, Format::Anthropic, Format::Anthropic);
    assert_eq!(out[1]["content"], json!([{"type": "text", "text": "b"}]));
}

#[test]
fn r16_one_message_never_calls_one_id_twice() {
    let messages = [user("a"), openai_calls(&["x", "x"]), openai_result("x"), user("b")];
    assert!(rules(&messages, Format::OpenAi).contains(&"R16"));
    let (out, rendered) = repaired(&messages, Format::OpenAi, Format::OpenAi);
    assert_eq!(out, [user("a"), openai_calls(&["x"]), openai_result("x"), user("b")]);
    assert_eq!(repair_rules(&rendered), [("R16", 2)]);
    // In another message the id may come again, each call with its own answer.
    let again =
        [user("a"), openai_calls(&["x"]), openai_result("x"), openai_calls(&["x"]), openai_result("x"), user("b")];
    assert!(repaired(&again, Format::OpenAi, Format::OpenAi).1.repairs.is_empty());
}

#[test]
fn r16_ids_that_anthropic_refuses_are_replaced_in_what_is_projected_only() {
    let round = |id: &str| [openai_calls(&[id]), openai_result(id)];
    let messages: Vec<Value> = [user("a")]
        .into_iter()
        .chain(round("functions.f:0"))
        .chain(round("functions.f:0"))
        .chain([openai_calls(&["functions_f_0_2"]), user("b")])
        .collect();
    let (out, _) = repaired(&messages, Format::OpenAi, Format::Anthropic);
    let ids: Vec<&str> =
        out.iter().filter_map(|message| message.pointer("/content/0/id").and_then(Value::as_str)).collect();
    assert_eq!(ids, ["functions_f_0", "functions_f_0_2", "functions_f_0_2_2"]);
    let same = [user("a"), anthropic_calls(&["x:1"]), json!({"role": "user", "content": [anthropic_result("x:1")]})];
    assert!(repaired(&same, Format::Anthropic, Format::Anthropic).1.messages.iter().all(|message| message.exact));
}

#[test]
fn r17_thinking_goes_back_untouched_and_is_never_made_adjacent() {
    let thinking = |text: &str| json!({"type": "thinking", "thinking": text, "signature": "s"});
    let call = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let message =
        json!({"role": "assistant", "content": [thinking("1"), call, thinking("2"), {"type": "text", "text": "so"}]});
    let (out, _) = repaired(&[user("a"), message, user("b")], Format::Anthropic, Format::Anthropic);
    assert_eq!(out[1]["content"], json!([{"type": "text", "text": "so"}]));
    // Another format's model gets none of it.
    let message = json!({"role": "assistant", "content": [thinking("1"), {"type": "text", "text": "so"}]});
    let (out, rendered) = repaired(&[user("a"), message.clone(), user("b")], Format::Anthropic, Format::OpenAi);
    assert_eq!(out[1], json!({"role": "assistant", "content": "so"}));
    assert!(rendered.lossy);
    let (_, rendered) = repaired(&[user("a"), message, user("b")], Format::Anthropic, Format::Anthropic);
    assert!(rendered.messages[1].exact && !rendered.lossy);
}

#[test]
fn groups_keep_a_round_together_even_where_the_user_speaks_with_the_result() {
    let messages = [
        user("a"),
        anthropic_calls(&["x"]),
        json!({"role": "user", "content": [anthropic_result("x"), {"type": "text", "text": "no, stop"}]}),
        user("b"),
    ];
    let inputs: Vec<GroupInput> = messages
        .iter()
        .map(|message| GroupInput::of(&parse(&message.to_string(), Format::Anthropic).unwrap().message))
        .collect();
    assert_eq!(turn_groups(&inputs), [0..3, 3..4]);
}
