//! One test per rule: what the checker refuses, and what repair makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use throughline::formats::{
    GroupInput, MEDIA_TOKENS, Parsed, Profile, Rendered, STUB_OUTPUT, Source, Target, counted, media_tokens, parse,
    references, render, render_repaired, sent_media_tokens, shrink_tool_results, turn_groups, validate,
    validate_context,
};
use throughline::message::{Format, Part};

/// Reads messages in a format and renders them, repaired, in another.
fn repaired(messages: &[Value], format: Format, target: Format) -> (Vec<Value>, Rendered) {
    repaired_for(messages, format, Target::from(target))
}

/// The format of these tests' messages for a profile: OpenAI's where it takes that.
fn spoken(profile: Profile) -> Format {
    if profile.takes(Format::OpenAi) { Format::OpenAi } else { profile.usual_format() }
}

/// The same for a profile.
fn repaired_as(messages: &[Value], profile: Profile) -> (Vec<Value>, Rendered) {
    let format = spoken(profile);
    repaired_for(messages, format, Target { format, profile, flatten_tools: false })
}

fn repaired_for(messages: &[Value], format: Format, target: Target) -> (Vec<Value>, Rendered) {
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
    assert_eq!(validate_context("", &values, target.format, target.profile), [], "{values:#?}");
    (values, rendered)
}

fn rules_of(system: &str, messages: &[Value], profile: Profile) -> Vec<&'static str> {
    let violations = validate_context(system, messages, spoken(profile), profile);
    violations.iter().map(|violation| violation.rule).collect()
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
fn r01_every_openai_call_is_answered_directly_and_every_answer_has_its_call() {
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
fn r01_deprecated_function_calls_are_answered_by_function_messages() {
    let call = json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}});
    let answered = [user("a"), call.clone(), json!({"role": "function", "name": "f", "content": "1"}), user("b")];
    let (out, rendered) = repaired(&answered, Format::OpenAi, Format::OpenAi);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&answered[..], 0));
    let (out, _) = repaired(&[user("a"), call, user("b")], Format::OpenAi, Format::OpenAi);
    assert_eq!(out[2], json!({"role": "function", "name": "f", "content": STUB_OUTPUT}));
}

#[test]
fn r02_anthropic_results_stand_first_in_the_next_user_message() {
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
fn r02_results_in_two_messages_become_one() {
    let one = |id| json!({"role": "user", "content": [anthropic_result(id)]});
    let messages = [user("a"), anthropic_calls(&["x", "y"]), one("x"), one("y")];
    assert_eq!(rules(&messages, Format::Anthropic), ["R5", "R2"]);
    let (out, rendered) = repaired(&messages, Format::Anthropic, Format::Anthropic);
    assert_eq!(out[2], json!({"role": "user", "content": [anthropic_result("x"), anthropic_result("y")]}));
    assert_eq!(rendered.messages[2].seqs, [3, 4]);
}

#[test]
fn r02_the_providers_own_calls_keep_their_results() {
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
fn r02_what_answers_a_clients_call_is_a_clients_result() {
    let of_provider = json!({"type": "web_search_tool_result", "tool_use_id": "x", "content": [{"title": "found"}]});
    let of_client = json!({"type": "tool_result", "tool_use_id": "x", "content": "found"});
    let text = json!({"type": "text", "text": "so?"});
    for rest in [vec![], vec![text]] {
        let answer = |result: &Value| {
            let content = [std::slice::from_ref(result), rest.as_slice()].concat();
            json!({"role": "user", "content": content})
        };
        let messages = [user("a"), anthropic_calls(&["x"]), answer(&of_provider)];
        assert!(rules(&messages, Format::Anthropic).contains(&"R2"));
        let (out, _) = repaired(&messages, Format::Anthropic, Format::Anthropic);
        assert_eq!(out[2], answer(&of_client));
    }
}

#[test]
fn r05_parallel_calls_are_all_answered() {
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
fn r05_a_cut_between_calls_and_results_leaves_no_orphan() {
    let history = [user("a"), openai_calls(&["x", "y"]), openai_result("x"), openai_result("y"), user("b")];
    for cut in 1..5 {
        let (out, _) = repaired(&history[cut..], Format::OpenAi, Format::OpenAi);
        assert_eq!(out, [user("b")]);
    }
}

#[test]
fn r06_ai_sdk_calls_have_results_before_the_next_user_message() {
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
fn r06_an_answered_approval_at_the_end_is_sent_for_the_sdk_to_run() {
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
fn r06_each_call_waits_for_its_own_approval() {
    let call = |id: &str| json!({"type": "tool-call", "toolCallId": id, "toolName": "f", "input": {}});
    let request = |id: &str, call: &str| json!({"type": "tool-approval-request", "approvalId": id, "toolCallId": call});
    let response = |id: &str| json!({"type": "tool-approval-response", "approvalId": id, "approved": false});
    let result =
        json!({"type": "tool-result", "toolCallId": "x", "toolName": "f", "output": {"type": "text", "value": "1"}});
    let format = Format::AiSdkModel;
    let said = json!({"role": "assistant", "content": [call("x"), call("y"), request("p", "x"), request("q", "y")]});
    let window = |answers: &[Value]| [user("a"), said.clone(), json!({"role": "tool", "content": answers})];
    for (answers, is_sent) in [
        (vec![response("p"), response("q")], true),
        (vec![response("q"), result.clone()], true),
        // The one that was approved has its result, the other was not approved.
        (vec![response("p"), result.clone()], false),
        (vec![response("p"), response("p")], false),
        (vec![response("p"), response("other")], false),
    ] {
        let messages = window(&answers);
        assert_eq!(rules(&messages, format).is_empty(), is_sent, "{answers:?}");
        let (out, rendered) = repaired(&messages, format, format);
        assert_eq!(out.len(), if is_sent { 3 } else { 1 }, "{answers:?}");
        assert_eq!(rendered.repairs.is_empty(), is_sent);
    }
    // The SDK throws at an answer to what was not asked.
    let messages = window(&[response("q"), result, response("other")]);
    assert_eq!(rules(&messages, format), ["R6"]);
    let (out, rendered) = repaired(&messages, format, format);
    assert_eq!(out[2]["content"].as_array().unwrap().len(), 2);
    assert_eq!(repair_rules(&rendered), [("R6", 3)]);

    let question = json!({"id": "1", "role": "user", "parts": [{"type": "text", "text": "a"}]});
    let tools = [("x", "output-available"), ("y", "approval-responded"), ("z", "approval-responded")];
    let mut parts: Vec<Value> = tools.iter().map(|(id, state)| ui_tool(id, state)).collect();
    let send = |parts: &[Value]| {
        let message = json!({"id": "2", "role": "assistant", "parts": parts});
        repaired(&[question.clone(), message], Format::AiSdkUi, Format::AiSdkUi).0.len()
    };
    assert_eq!(send(&parts), 2);
    parts[1]["state"] = json!("input-available");
    assert_eq!(send(&parts), 1);
}

#[test]
fn r07_interrupted_calls_are_stubbed_and_the_trailing_one_is_held_back() {
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
fn r07_a_ui_message_is_healed_inside_its_part() {
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
fn r08_a_shortened_result_keeps_its_envelope() {
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
fn r09_a_window_starts_on_a_user_message() {
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
fn r12_stored_system_messages_are_never_sent_among_the_messages() {
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
    for target in [Format::OpenAi, Format::Anthropic, Format::AiSdkUi, Format::AiSdkModel] {
        for rendered in [render_repaired(&sources, target), render(&sources, target)] {
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
fn r16_a_second_call_of_a_ui_message_without_steps_is_left_out_and_told() {
    let asked = json!({"id": "u", "role": "user", "parts": [{"type": "text", "text": "a"}]});
    // The SDK runs it next, so nothing else has to be done about it.
    let call = json!({"type": "tool-f", "toolCallId": "x", "state": "approval-responded", "input": {}});
    let twice = json!({"id": "m", "role": "assistant", "parts": [call, call]});
    let (out, rendered) = repaired(&[asked.clone(), twice], Format::AiSdkUi, Format::AiSdkUi);
    assert_eq!(out, [asked, json!({"id": "m", "role": "assistant", "parts": [call]})]);
    assert_eq!(repair_rules(&rendered), [("R16", 2)]);
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

#[test]
fn r11_user_and_assistant_take_turns_where_templates_want_it() {
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    let messages = [user("a"), user("b"), assistant("c"), assistant("d"), user("e")];
    for profile in [Profile::Mistral, Profile::WebLlm, Profile::Strict] {
        assert_eq!(rules_of("", &messages, profile), ["R11", "R11"]);
        let (out, rendered) = repaired_as(&messages, profile);
        assert_eq!(out, [user("a\n\nb"), assistant("c\n\nd"), user("e")]);
        assert_eq!(repair_rules(&rendered), [("R11", 2), ("R11", 4)]);
        assert_eq!(rendered.messages[0].seqs, [1, 2]);
    }
    for profile in [Profile::OpenAi, Profile::Anthropic, Profile::Gemini] {
        assert_eq!(rules_of("", &messages, profile), [""; 0]);
        assert!(repaired_as(&messages, profile).1.repairs.is_empty());
    }
}

#[test]
fn r11_results_are_never_joined_and_a_round_without_an_answer_is_told_in_words() {
    let (call, result) = (openai_calls(&["abcdefghi"]), openai_result("abcdefghi"));
    let answer = json!({"role": "assistant", "content": "42"});
    let whole = [user("a"), call.clone(), result.clone(), answer.clone(), user("b")];
    assert!(repaired_as(&whole, Profile::Strict).1.messages.iter().all(|message| message.exact));
    // What is said right before a call goes into the message of the call.
    let said = json!({"role": "assistant", "content": "Looking."});
    let (out, _) = repaired_as(&[user("a"), said, call.clone(), result.clone(), answer, user("b")], Profile::Strict);
    assert_eq!(out.len(), 5);
    assert_eq!((&out[1]["content"], &out[1]["tool_calls"]), (&json!("Looking."), &call["tool_calls"]));

    let cut_short = [user("a"), call, result, user("stop")];
    assert_eq!(rules_of("", &cut_short, Profile::Mistral), ["R11"]);
    let (out, rendered) = repaired_as(&cut_short, Profile::Mistral);
    let called = json!({"role": "assistant", "content": "[called look_up({\"q\": 1})]"});
    assert_eq!(out, [user("a"), called, user("[result: result of abcdefghi]\n\nstop")]);
    assert_eq!(repair_rules(&rendered), [("R15", 2), ("R11", 4)]);
}

#[test]
fn r11_r15_answers_to_requests_for_approval_go_with_a_round_that_is_told_in_words() {
    let call = json!({"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "abcdefghi", "toolName": "f", "input": {}},
        {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "abcdefghi"}]});
    let result = json!({"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "abcdefghi", "toolName": "f", "output": {"type": "text", "value": "1"}}]});
    let approved =
        json!({"role": "tool", "content": [{"type": "tool-approval-response", "approvalId": "p", "approved": true}]});
    // The SDK refuses an answer to a request that it is not shown.
    for answers in [[result.clone(), approved.clone()], [approved, result]] {
        let messages = [&[user("a"), call.clone()], answers.as_slice(), &[user("stop")]].concat();
        for (profile, format, flatten_tools, count) in [
            (Profile::Mistral, Format::AiSdkModel, false, 3),
            (Profile::Mistral, Format::OpenAi, false, 3),
            (Profile::AiSdk, Format::AiSdkModel, true, 4),
        ] {
            let target = Target { format, profile, flatten_tools };
            let (out, rendered) = repaired_for(&messages, Format::AiSdkModel, target);
            assert_eq!(out.len(), count, "{out:#?}");
            assert!(!Value::from(out).to_string().contains("approval") && rendered.lossy);
        }
    }
}

#[test]
fn r12_system_messages_stand_where_the_profile_takes_them() {
    let system = json!({"role": "system", "content": "Be brief."});
    let first = [system.clone(), user("a")];
    let later = [user("a"), system];
    for (profile, at_first, beside_text, at_later) in [
        (Profile::OpenAi, 0, 0, 0),
        (Profile::OpenAiResponses, 0, 0, 0),
        (Profile::Mistral, 0, 1, 1),
        (Profile::WebLlm, 0, 1, 1),
        (Profile::PromptApi, 0, 1, 1),
        (Profile::Anthropic, 1, 1, 1),
    ] {
        let count = |system: &str, messages: &[Value]| {
            rules_of(system, messages, profile).iter().filter(|rule| **rule == "R12").count()
        };
        let found = (count("", &first), count("Be kind.", &first), count("", &later));
        assert_eq!(found, (at_first, beside_text, at_later), "{}", profile.name());
    }
    assert_eq!(validate_context("", &later, Format::OpenAi, Profile::WebLlm)[0].index, 1);
}

#[test]
fn r13_strict_has_no_system_role() {
    assert_eq!(rules_of("Be brief.", &[user("a")], Profile::Strict), ["R13"]);
    assert_eq!(rules_of("", &[user("a")], Profile::Strict), [""; 0]);
    let developer = [json!({"role": "developer", "content": "Be brief."}), user("a")];
    assert_eq!(rules_of("", &developer, Profile::OpenAi), [""; 0]);
    assert!(rules_of("", &developer, Profile::Strict).contains(&"R12"));
}

#[test]
fn r15_without_tools_calls_and_results_are_text() {
    let messages =
        [user("a"), openai_calls(&["x", "y"]), openai_result("x"), user("b"), openai_calls(&["z"]), openai_result("z")];
    for profile in [Profile::WebLlm, Profile::PromptApi] {
        assert_eq!(rules_of("", &messages, profile).iter().filter(|rule| **rule == "R15").count(), 4);
        let (out, _) = repaired_as(&messages, profile);
        assert!(out.iter().all(|message| message["tool_calls"].is_null() && message["role"] != "tool"));
        assert_eq!(out.last().unwrap(), &user("[result: result of z]"));
    }
    for target in [Format::OpenAi, Format::Anthropic, Format::AiSdkUi, Format::AiSdkModel] {
        let flat = Target { flatten_tools: true, ..Target::from(target) };
        let (out, rendered) = repaired_for(&messages, Format::OpenAi, flat);
        let text = Value::from(out).to_string();
        for said in ["[called look_up({\\\"q\\\": 1})]", "[result: result of x]", &format!("[result: {STUB_OUTPUT}]")] {
            assert!(text.contains(said), "{said} in {text}");
        }
        for block in ["tool_calls", "tool_use", "tool-call", "toolCallId", "tool_result"] {
            assert!(!text.contains(block), "{text}");
        }
        assert_eq!(repair_rules(&rendered), [("R7", 2), ("R15", 2), ("R15", 5)]);
    }
}

#[test]
fn r16_short_ids_where_mistral_wants_them_the_same_for_call_and_result() {
    let messages = [
        user("a"),
        openai_calls(&["call_0", "call_1"]),
        openai_result("call_1"),
        openai_result("call_0"),
        openai_calls(&["call_0"]),
        openai_result("call_0"),
        json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}),
        json!({"role": "function", "name": "f", "content": "1"}),
        openai_calls(&["abcdefghi"]),
        openai_result("abcdefghi"),
    ];
    assert!(rules_of("", &messages, Profile::Mistral).contains(&"R16"));
    for profile in [Profile::Mistral, Profile::Strict] {
        let (out, rendered) = repaired_as(&messages, profile);
        let called: Vec<&str> = out
            .iter()
            .flat_map(|message| message["tool_calls"].as_array().into_iter().flatten())
            .map(|call| call["id"].as_str().unwrap())
            .collect();
        let answered: Vec<&str> = out.iter().filter_map(|message| message["tool_call_id"].as_str()).collect();
        assert_eq!(answered, [called[1], called[0], called[2], called[3], called[4]]);
        assert_eq!(called[4], "abcdefghi");
        assert!(rendered.messages[8].exact && rendered.messages[9].exact);
        assert_eq!(out[1]["tool_calls"][0]["function"]["arguments"], "{\"q\": 1}");
        assert_eq!(repair_rules(&rendered), [("R16", 2), ("R16", 5), ("R16", 7)]);
        // The same id whatever stood before it: the start of a prompt decides nothing about the rest.
        let (later, _) = repaired_as(
            &[&[user("x"), json!({"role": "assistant", "content": "y"})], &messages[..4]].concat(),
            profile,
        );
        assert_eq!(later[3], out[1]);
    }
}

#[test]
fn r16_a_request_for_approval_names_its_call_by_the_new_id() {
    let said = json!({"role": "assistant", "content": [
        {"type": "tool-call", "toolCallId": "x", "toolName": "f", "input": {}},
        {"type": "tool-call", "toolCallId": "y", "toolName": "f", "input": {}},
        {"type": "tool-approval-request", "approvalId": "p", "toolCallId": "y"}]});
    let answers = json!({"role": "tool", "content": [
        {"type": "tool-result", "toolCallId": "x", "toolName": "f", "output": {"type": "text", "value": "1"}},
        {"type": "tool-approval-response", "approvalId": "p", "approved": true}]});
    let target = Target { format: Format::AiSdkModel, profile: Profile::Mistral, flatten_tools: false };
    let (out, rendered) = repaired_for(&[user("a"), said, answers.clone()], Format::AiSdkModel, target);
    let said = &out[1]["content"];
    assert_eq!(said[1]["toolCallId"].as_str().unwrap().len(), 9);
    assert_eq!(said[1]["toolCallId"], said[2]["toolCallId"]);
    assert_eq!(out[2]["content"][0]["toolCallId"], said[0]["toolCallId"]);
    assert_eq!(out[2]["content"][1], answers["content"][1]);
    assert_eq!(repair_rules(&rendered), [("R16", 2)]);
}

#[test]
fn r16_one_id_for_a_call_of_the_client_and_one_of_the_provider_becomes_two() {
    for id in ["x", "abcdefghi"] {
        let call = json!({"type": "tool-call", "toolCallId": id, "toolName": "f", "input": {}});
        let mut run = call.clone();
        run["providerExecuted"] = json!(true);
        let result = |text: &str| json!({"type": "tool-result", "toolCallId": id, "toolName": "f", "output": {"type": "text", "value": text}});
        let said = json!({"role": "assistant", "content": [call, run, result("of the provider")]});
        let answer = json!({"role": "tool", "content": [result("of the client")]});
        let target = Target { format: Format::AiSdkModel, profile: Profile::Mistral, flatten_tools: false };
        let (out, _) = repaired_for(&[user("a"), said, answer], Format::AiSdkModel, target);
        let (said, answered) = (&out[1]["content"], &out[2]["content"][0]);
        assert_eq!(said[0]["toolCallId"], answered["toolCallId"]);
        assert_eq!(said[1]["toolCallId"], said[2]["toolCallId"]);
        assert_ne!(said[0]["toolCallId"], said[1]["toolCallId"]);
        assert_eq!(said[2]["output"]["value"], "of the provider");
        assert_eq!(answered["output"]["value"], "of the client");
    }
}

#[test]
fn r16_calls_are_read_where_the_format_has_them() {
    let answer = json!({"role": "assistant", "content": "42", "tool_calls": [{"id": "x"}],
        "function_call": {"name": "f"}});
    let messages = [user("a"), answer, user("b")];
    assert_eq!(validate_context("", &messages, Format::AiSdkModel, Profile::Mistral), []);
    assert!(rules_of("", &messages, Profile::Mistral).contains(&"R16"));
    let part = json!({"role": "assistant", "content": [{"type": "text", "text": "42"},
        {"type": "tool-call", "toolCallId": "x", "toolName": "f", "input": {}, "providerExecuted": true}]});
    let messages = [user("a"), part, user("b")];
    assert_eq!(rules_of("", &messages, Profile::Mistral), [""; 0]);
    let violations = validate_context("", &messages, Format::AiSdkModel, Profile::Mistral);
    assert_eq!(violations.iter().map(|violation| violation.rule).collect::<Vec<_>>(), ["R16"]);
}

#[test]
fn r16_ids_are_not_touched_unless_asked() {
    let messages = [user("a"), openai_calls(&["functions.f:0"]), openai_result("functions.f:0")];
    for profile in [Profile::OpenAi, Profile::Gemini] {
        assert!(repaired_as(&messages, profile).1.messages.iter().all(|message| message.exact));
    }
}

#[test]
fn r20_reasoning_goes_back_to_its_own_format_and_to_no_other() {
    let mut call = openai_calls(&["abcdefghi"]);
    call["reasoning_content"] = json!("hm");
    let mut answer = json!({"role": "assistant", "content": "42"});
    answer["reasoning_content"] = json!("");
    let messages = [user("a"), call.clone(), openai_result("abcdefghi"), answer, user("b")];
    let (out, rendered) = repaired_as(&messages, Profile::OpenAi);
    assert_eq!(out, messages);
    assert!(rendered.messages.iter().all(|message| message.exact) && !rendered.lossy);
    for target in [Format::Anthropic, Format::AiSdkModel, Format::AiSdkUi] {
        let (out, _) = repaired(&messages, Format::OpenAi, target);
        assert!(!Value::from(out).to_string().contains("reasoning_content"));
    }
    let (out, rendered) = repaired(&messages, Format::OpenAi, Format::Anthropic);
    assert!(rendered.lossy && !Value::from(out).to_string().contains("hm"));
}

#[test]
fn r21_reasoning_inside_text_is_not_visible_text() {
    for text in [
        "<think>secret plan</think>\nIt is 42.",
        "<details type=\"reasoning\" done=\"true\">secret plan</details>\nIt is 42.",
    ] {
        let message = json!({"role": "assistant", "content": text});
        let parsed = parse(&message.to_string(), None).unwrap();
        assert_eq!(parsed.message.text(), "It is 42.");
        assert!(matches!(&parsed.message.parts[0], Part::Reasoning(reasoning) if reasoning.contains("secret plan")));
        for target in [Format::Anthropic, Format::AiSdkModel] {
            let (out, _) = repaired(&[user("a"), message.clone(), user("b")], Format::OpenAi, target);
            assert!(!Value::from(out).to_string().contains("secret"), "{target:?}");
        }
    }
}

/// A data URL of one megabyte.
fn data_url(media_type: &str) -> String {
    format!("data:{media_type};base64,{}", "iVBORw0KGgoAAAAN".repeat(87_500))
}

/// A message with a megabyte of media, in every format that can carry it, and the kind.
fn messages_with_media() -> Vec<(Format, Value, &'static str)> {
    let image = data_url("image/png");
    let data = image.split(',').nth(1).unwrap();
    let user = |part: Value| json!({"role": "user", "content": [{"type": "text", "text": "see"}, part]});
    let ui = |part: Value| json!({"id": "m", "role": "user", "parts": [{"type": "text", "text": "see"}, part]});
    let source = |media_type: &str| json!({"type": "base64", "media_type": media_type, "data": data});
    vec![
        (Format::OpenAi, user(json!({"type": "image_url", "image_url": {"url": image}})), "image"),
        (Format::OpenAi, user(json!({"type": "image_url", "image_url": image})), "image"),
        (Format::OpenAi, user(json!({"type": "input_audio", "input_audio": {"data": data, "format": "wav"}})), "audio"),
        (Format::OpenAi, user(json!({"type": "file", "file": {"file_data": data_url("application/pdf")}})), "file"),
        (Format::OpenAi, user(json!({"type": "file", "file": {"file_data": data}})), "file"),
        (Format::Anthropic, user(json!({"type": "image", "source": source("image/png")})), "image"),
        (Format::Anthropic, user(json!({"type": "document", "source": source("application/pdf")})), "file"),
        (Format::AiSdkUi, ui(json!({"type": "file", "mediaType": "image/png", "url": image})), "image"),
        (Format::AiSdkUi, ui(json!({"type": "file", "mediaType": "audio/wav", "url": data_url("audio/wav")})), "audio"),
        (Format::AiSdkModel, user(json!({"type": "image", "image": data})), "image"),
        (Format::AiSdkModel, user(json!({"type": "file", "mediaType": "application/pdf", "data": data})), "file"),
    ]
}

#[test]
fn r22_a_megabyte_of_media_is_a_nominal_cost_and_no_text() {
    for (format, message, kind) in messages_with_media() {
        let raw = message.to_string();
        let parsed = parse(&raw, format).unwrap().message;
        assert_eq!(counted(&parsed).collect::<Vec<_>>(), ["see"], "{format:?}");
        assert_eq!(media_tokens(&parsed), MEDIA_TOKENS);
        assert_eq!(parsed.text(), "see");
        let Part::Media { kind: read, label } = &parsed.parts[1] else { panic!("{parsed:?}") };
        assert_eq!(*read, kind);
        assert!(label.len() <= 120 && !label.contains("iVBOR"), "{label}");
        // Where it is not taken, a note stands in its place.
        let (out, rendered) = repaired_for(
            &[message],
            format,
            Target { format: Format::OpenAi, profile: Profile::Strict, flatten_tools: false },
        );
        assert!(out[0]["content"].as_str().unwrap().starts_with(&format!("see\n\n[{kind}: ")), "{out:?}");
        assert_eq!(repair_rules(&rendered), [("R22", 1)]);
    }
}

#[test]
fn r22_each_provider_has_its_nominal_costs() {
    let cost = |message: &Value, format, profile| {
        let raw = message.to_string();
        sent_media_tokens(&parse(&raw, format).unwrap().message, &raw, profile)
    };
    let image = |detail: &str| json!({"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": detail}}]});
    for (profile, high, low) in [
        (Profile::OpenAi, 765, 85),
        (Profile::Anthropic, 1_600, 1_600),
        (Profile::Gemini, 258, 258),
        (Profile::AiSdk, 1_600, 1_600),
    ] {
        assert_eq!(cost(&image("high"), Format::OpenAi, profile), high);
        assert_eq!(cost(&image("low"), Format::OpenAi, profile), low);
    }
    let audio =
        json!({"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]});
    assert_eq!(cost(&audio, Format::OpenAi, Profile::Gemini), 30 * 32);
    let file = json!({"role": "user", "content": [{"type": "file", "file": {"file_id": "f", "filename": "a.pdf"}}]});
    assert_eq!(cost(&file, Format::OpenAi, Profile::Gemini), 258);
    assert_eq!(cost(&user("none"), Format::OpenAi, Profile::Anthropic), 0);
    let low_ui = json!({"id": "m", "role": "user", "parts": [{"type": "file", "mediaType": "image/png", "url": "https://x.test/a.png",
        "providerMetadata": {"openai": {"imageDetail": "low"}}}]});
    assert_eq!(cost(&low_ui, Format::AiSdkUi, Profile::OpenAi), 85);
}

#[test]
fn r22_media_in_results_are_charged_and_their_bytes_are_not_read() {
    let image = data_url("image/png");
    let data = image.split(',').nth(1).unwrap();
    let text = json!({"type": "text", "text": "a screenshot"});
    let source = json!({"type": "base64", "media_type": "image/png", "data": data});
    for (format, message) in [
        (
            Format::OpenAi,
            json!({"role": "tool", "tool_call_id": "x", "content": [text, {"type": "image_url", "image_url": {"url": image}}]}),
        ),
        (
            Format::Anthropic,
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x", "content": [text, {"type": "image", "source": source}]}]}),
        ),
        (
            Format::AiSdkModel,
            json!({"role": "tool", "content": [{"type": "tool-result", "toolCallId": "x", "toolName": "f",
                "output": {"type": "content", "value": [text, {"type": "media", "data": data, "mediaType": "image/png"}]}}]}),
        ),
    ] {
        let raw = message.to_string();
        let parsed = parse(&raw, format).unwrap().message;
        assert_eq!(media_tokens(&parsed), MEDIA_TOKENS, "{format:?}");
        assert_eq!(sent_media_tokens(&parsed, &raw, Profile::Anthropic), 1_600);
        assert!(counted(&parsed).map(str::len).sum::<usize>() < 100, "{format:?}");
        assert!(parsed.text().starts_with("a screenshot") && parsed.text().len() < 100);
        // A list that had to be cut holds no media any more, so that none are charged.
        let cut = |text: &str, _| text.chars().take(5).collect();
        let shrunk = shrink_tool_results(&raw, format, 5, &cut).unwrap().unwrap();
        assert!(shrunk.len() < 300);
        assert_eq!(media_tokens(&parse(&shrunk, format).unwrap().message), 0);
    }
}

#[test]
fn r22_data_hidden_in_text_is_named_in_what_is_read_and_counted_as_it_is_sent() {
    let url = data_url("image/png");
    let named = "[image/png data, 1.0 MB]";
    let mut call = openai_calls(&["x"]);
    call["tool_calls"][0]["function"]["arguments"] = json!(json!({"image": url}).to_string());
    for (message, read) in [
        (user(&format!("look: {url} ok?")), format!("look: {named} ok?")),
        (user(&format!("![plot]({url})")), format!("![plot]({named})")),
        (
            json!({"role": "tool", "tool_call_id": "x", "content": json!({"image": url}).to_string()}),
            format!("{{\"image\":\"{named}\"}}"),
        ),
        (
            json!({"role": "tool", "tool_call_id": "x", "content": json!({"data": url.split(',').nth(1)}).to_string()}),
            "{\"data\":\"[base64 data, 1.0 MB]\"}".to_owned(),
        ),
        (call, "look_up".to_owned()),
    ] {
        let parsed = parse(&message.to_string(), Format::OpenAi).unwrap().message;
        assert_eq!(parsed.text(), read);
        assert!(counted(&parsed).map(str::len).sum::<usize>() > 1_000_000);
    }
}

fn gemini_user(text: &str) -> Value {
    json!({"role": "user", "parts": [{"text": text}]})
}

/// A signed step that calls these functions; a name such as `f#a` has an id.
fn gemini_calls(names: &[&str]) -> Value {
    let call = |name: &&str| match name.split_once('#') {
        Some((name, id)) => json!({"functionCall": {"id": id, "name": name, "args": {}}}),
        None => json!({"functionCall": {"name": name, "args": {}}}),
    };
    let mut parts: Vec<Value> = names.iter().map(call).collect();
    parts[0]["thoughtSignature"] = json!("sig");
    json!({"role": "model", "parts": parts})
}

fn gemini_results(names: &[&str]) -> Value {
    let result = |(at, name): (usize, &&str)| match name.split_once('#') {
        Some((name, id)) => {
            json!({"functionResponse": {"id": id, "name": name, "response": {"output": at.to_string()}}})
        }
        None => json!({"functionResponse": {"name": name, "response": {"output": at.to_string()}}}),
    };
    json!({"role": "user", "parts": names.iter().enumerate().map(result).collect::<Vec<_>>()})
}

#[test]
fn r03_gemini_has_as_many_responses_as_calls_in_the_next_content() {
    let (a, b) = (gemini_user("a"), gemini_user("b"));
    let answered = [a.clone(), gemini_calls(&["f", "g", "f"]), gemini_results(&["f", "g", "f"]), b.clone()];
    let (out, rendered) = repaired(&answered, Format::Gemini, Format::Gemini);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&answered[..], 0));

    let short = [a.clone(), gemini_calls(&["f", "g"]), gemini_results(&["f"]), b.clone()];
    assert_eq!(rules(&short, Format::Gemini), ["R5"]);
    let (out, rendered) = repaired(&short, Format::Gemini, Format::Gemini);
    let stub = json!({"functionResponse": {"name": "g", "response": {"error": STUB_OUTPUT}}});
    assert_eq!(out[2]["parts"], json!([gemini_results(&["f"])["parts"][0], stub]));
    assert_eq!(repair_rules(&rendered), [("R7", 2)]);

    let orphan = [a.clone(), gemini_results(&["f"]), b.clone()];
    assert_eq!(rules(&orphan, Format::Gemini), ["R3", "R3"]);
    let (out, rendered) = repaired(&orphan, Format::Gemini, Format::Gemini);
    assert_eq!((out, repair_rules(&rendered)), (vec![a.clone(), b.clone()], vec![("R3", 2)]));

    // Results of one round become one content, first in it.
    let apart = [a.clone(), gemini_calls(&["f", "f"]), gemini_results(&["f"]), gemini_results(&["f"]), b];
    assert_eq!(rules(&apart, Format::Gemini), ["R5", "R3", "R3"]);
    let (out, rendered) = repaired(&apart, Format::Gemini, Format::Gemini);
    assert_eq!((out.len(), out[2]["parts"].as_array().unwrap().len()), (4, 2));
    assert_eq!(rendered.repairs.len(), 0);
    let text_first = json!({"role": "user", "parts": [{"text": "and?"}, gemini_results(&["f"])["parts"][0]]});
    let (out, rendered) = repaired(&[a, gemini_calls(&["f"]), text_first], Format::Gemini, Format::Gemini);
    assert_eq!(out[2]["parts"][1], json!({"text": "and?"}));
    assert_eq!(repair_rules(&rendered), [("R3", 3)]);
}

#[test]
fn r03_gemini_pairs_by_id_else_by_name_and_order() {
    let (a, b) = (gemini_user("a"), gemini_user("b"));
    let ids = |out: &[Value]| -> (Vec<String>, Vec<String>) {
        let texts = |values: Vec<&Value>| values.into_iter().map(|id| id.as_str().unwrap().to_owned()).collect();
        let calls = out.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten());
        let results = out.iter().filter(|message| message["role"] == "tool");
        (texts(calls.map(|call| &call["id"]).collect()), texts(results.map(|result| &result["tool_call_id"]).collect()))
    };
    for (called, answered) in [
        (&["f", "g", "f"][..], &["f", "g", "f"][..]),
        // The call has an id, the response has none, as in many clients.
        (&["f#1", "g#2", "f#3"], &["f", "g", "f"]),
        (&["f#1", "f"], &["f#1", "f"]),
        // An empty id is none.
        (&["f#1", "f#2"], &["f#", "f#2"]),
    ] {
        let messages = [a.clone(), gemini_calls(called), gemini_results(answered), b.clone()];
        let (out, rendered) = repaired(&messages, Format::Gemini, Format::OpenAi);
        let (calls, results) = ids(&out);
        assert_eq!(calls, results, "{called:?}");
        assert_eq!(rendered.repairs.len(), 0, "{:?}", rendered.repairs);
        let (_, rendered) = repaired(&messages, Format::Gemini, Format::Gemini);
        assert!(rendered.messages.iter().all(|message| message.exact));
    }
    // An id that stands for a place elsewhere is none that a call of Gemini's has.
    let messages = [a.clone(), gemini_calls(&["f#1", "g#2"]), gemini_results(&["f#1", "g#gemini_call_f_0"]), b.clone()];
    assert_eq!(rules(&messages, Format::Gemini), ["R3"]);
    let (out, _) = repaired(&messages, Format::Gemini, Format::Gemini);
    assert_eq!(out[2], gemini_results(&["f#1", "g#2"]));
    // One content per response, without any id.
    let apart = [a, gemini_calls(&["f", "f"]), gemini_results(&["f"]), gemini_results(&["f"]), b];
    let (calls, results) = ids(&repaired(&apart, Format::Gemini, Format::OpenAi).0);
    assert_eq!(calls, results);
}

#[test]
fn r09_r10_gemini_starts_on_what_a_user_says_and_never_ends_on_the_model() {
    let said = json!({"role": "model", "parts": [{"text": "hi"}]});
    let messages = [gemini_calls(&["f"]), gemini_results(&["f"]), gemini_user("a"), said];
    assert_eq!(rules(&messages, Format::Gemini), ["R9", "R10"]);
    let (out, rendered) = repaired(&messages, Format::Gemini, Format::Gemini);
    assert_eq!(out, [gemini_user("a")]);
    assert_eq!(repair_rules(&rendered), [("R9", 1), ("R9", 2), ("R10", 4)]);
    assert_eq!(rules(&[gemini_results(&["f"])], Format::Gemini), ["R9", "R3", "R3"]);
}

#[test]
fn r12_system_messages_of_every_format_are_never_sent_among_the_messages() {
    let item =
        json!({"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]});
    let class = json!({"lc": 1, "type": "constructor", "id": ["langchain_core", "messages", "SystemMessage"], "kwargs": {"content": "Be kind."}});
    let content = json!({"role": "system", "parts": [{"text": "Be clear."}]});
    for (message, format, text) in [
        (item, Format::OpenAiResponses, "Be brief."),
        (class, Format::LangChain, "Be kind."),
        (content, Format::Gemini, "Be clear."),
    ] {
        assert!(rules(std::slice::from_ref(&message), format).contains(&"R12"), "{message}");
        let raw = message.to_string();
        let parsed = parse(&raw, None).unwrap();
        assert_eq!(parsed.format, format);
        let source = Source { seq: Some(1), format, raw: &raw, message: &parsed.message };
        assert_eq!(parsed.message.text(), text);
        assert!(render_repaired(&[source], format).messages.is_empty());
    }
}

#[test]
fn r18_the_first_call_of_each_step_of_the_current_turn_is_signed() {
    let stand_in = "skip_thought_signature_validator";
    let signatures = |out: &[Value]| -> Vec<Vec<Value>> {
        let calls = |message: &Value| {
            let parts = message["parts"].as_array().unwrap().iter().filter(|part| part["functionCall"].is_object());
            parts.map(|part| part["thoughtSignature"].clone()).collect::<Vec<_>>()
        };
        out.iter().map(calls).filter(|calls| !calls.is_empty()).collect()
    };
    // Said by another model: the turn before needs none, each step of the current one does, on its first call.
    let messages = [
        user("a"),
        openai_calls(&["x"]),
        openai_result("x"),
        user("b"),
        openai_calls(&["y", "z"]),
        openai_result("y"),
        openai_result("z"),
        openai_calls(&["w"]),
        openai_result("w"),
    ];
    let (out, rendered) = repaired(&messages, Format::OpenAi, Format::Gemini);
    let (signed, open) = (json!(stand_in), Value::Null);
    assert_eq!(signatures(&out), [vec![open.clone()], vec![signed.clone(), open], vec![signed]]);
    assert_eq!(repair_rules(&rendered), [("R18", 5), ("R18", 8)]);

    // Gemini's own signatures are never touched; a missing one is told of.
    let signed = [gemini_user("a"), gemini_calls(&["f", "g"]), gemini_results(&["f", "g"])];
    let (out, rendered) = repaired(&signed, Format::Gemini, Format::Gemini);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&signed[..], 0));
    let mut unsigned = signed;
    unsigned[1]["parts"][0].as_object_mut().unwrap().remove("thoughtSignature");
    assert_eq!(rules(&unsigned, Format::Gemini), ["R18"]);
    let (out, rendered) = repaired(&unsigned, Format::Gemini, Format::Gemini);
    assert_eq!(out[1]["parts"][0]["thoughtSignature"], stand_in);
    assert_eq!(repair_rules(&rendered), [("R18", 2)]);
    // The next question begins a turn: the step in front of it goes out as it is.
    let earlier = [unsigned.as_slice(), &[gemini_user("b")]].concat();
    assert!(repaired(&earlier, Format::Gemini, Format::Gemini).1.messages.iter().all(|message| message.exact));
}

fn item_call(id: &str) -> Value {
    json!({"type": "function_call", "id": format!("fc_{id}"), "call_id": id, "name": "look_up", "arguments": "{ \"q\": 1 }"})
}

fn item_output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": format!("result of {id}")})
}

fn reasoning(id: &str) -> Value {
    json!({"type": "reasoning", "id": id, "summary": [], "encrypted_content": "gAAA"})
}

fn item_said(id: &str) -> Value {
    json!({"type": "message", "id": id, "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": id}]})
}

#[test]
fn r04_every_item_that_calls_has_its_output() {
    let format = Format::OpenAiResponses;
    let whole = [
        user("a"),
        reasoning("rs_1"),
        item_said("msg_1"),
        item_call("x"),
        item_call("y"),
        item_output("x"),
        item_output("y"),
        json!({"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}),
        item_said("msg_2"),
        user("b"),
    ];
    let (out, rendered) = repaired(&whole, format, format);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&whole[..], 0));
    assert!(rendered.messages.iter().all(|message| message.exact));

    let open = [user("a"), item_call("x"), item_call("y"), item_output("y"), user("b")];
    assert_eq!(rules(&open, format), ["R5"]);
    let (out, rendered) = repaired(&open, format, format);
    let stub = json!({"type": "function_call_output", "call_id": "x", "output": STUB_OUTPUT});
    assert_eq!(out, [user("a"), item_call("x"), item_call("y"), item_output("y"), stub, user("b")]);
    assert_eq!(repair_rules(&rendered), [("R7", 2)]);

    let orphan = [user("a"), item_output("x"), user("b")];
    assert_eq!(rules(&orphan, format), ["R4"]);
    let (out, rendered) = repaired(&orphan, format, format);
    assert_eq!((out, repair_rules(&rendered)), (vec![user("a"), user("b")], vec![("R4", 2)]));
    // A call that is still in flight at the end is held back, with what belongs to it.
    let (out, rendered) = repaired(&[user("a"), reasoning("rs_1"), item_call("x")], format, format);
    assert_eq!((out, repair_rules(&rendered)), (vec![user("a")], vec![("R7", 2)]));
}

#[test]
fn r04_an_output_may_answer_a_call_that_is_only_referred_to() {
    let format = Format::OpenAiResponses;
    let reference = json!({"type": "item_reference", "id": "fc_1"});
    let messages = [user("a"), reference.clone(), item_output("x"), item_said("one"), user("b")];
    let (out, rendered) = repaired(&messages, format, format);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&messages[..], 0));
    // One reference is one call.
    let messages = [user("a"), reference, item_output("x"), item_output("y"), user("b")];
    assert_eq!(rules(&messages, format), ["R4"]);
    assert_eq!(repair_rules(&repaired(&messages, format, format).1), [("R4", 4)]);
    // A part of a message refers to nothing.
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "item_reference", "id": "fc_1"}]});
    let messages = [user("a"), said.clone(), item_output("x"), user("b")];
    assert_eq!(rules(&messages, format), ["R4"]);
    assert_eq!(repaired(&messages, format, format).0, [user("a"), said, user("b")]);
}

#[test]
fn r04_each_kind_of_call_is_answered_by_its_own_kind_of_output() {
    let format = Format::OpenAiResponses;
    for (call, answer) in [
        (json!({"type": "custom_tool_call", "call_id": "x", "name": "f", "input": "i"}), "custom_tool_call_output"),
        (json!({"type": "computer_call", "call_id": "x", "action": {}}), "computer_call_output"),
        (json!({"type": "shell_call", "call_id": "x", "action": {}}), "shell_call_output"),
        (json!({"type": "local_shell_call", "call_id": "x", "action": {}}), "local_shell_call_output"),
        (json!({"type": "apply_patch_call", "call_id": "x", "operation": {}}), "apply_patch_call_output"),
        (json!({"type": "mcp_approval_request", "id": "x", "name": "f", "arguments": "{}"}), "mcp_approval_response"),
    ] {
        let (out, rendered) = repaired(&[user("a"), call.clone(), user("b")], format, format);
        assert_eq!((&out[1], &out[2]["type"]), (&call, &json!(answer)));
        assert_eq!(repair_rules(&rendered), [("R7", 2)]);
    }
    // Nobody approved: the stand-in does not either.
    let request = json!({"type": "mcp_approval_request", "id": "x", "name": "f", "arguments": "{}"});
    assert_eq!(repaired(&[user("a"), request, user("b")], format, format).0[2]["approve"], false);
}

#[test]
fn r04_items_of_one_turn_are_one_message_elsewhere() {
    let items = [
        user("a"),
        reasoning("rs_1"),
        item_said("one"),
        item_call("x"),
        item_call("y"),
        item_output("y"),
        item_output("x"),
        user("b"),
    ];
    let (out, rendered) = repaired(&items, Format::OpenAiResponses, Format::OpenAi);
    let mut calls = openai_calls(&["x", "y"]);
    calls["content"] = json!("one");
    calls["tool_calls"][0]["function"]["arguments"] = json!("{ \"q\": 1 }");
    calls["tool_calls"][1]["function"]["arguments"] = json!("{ \"q\": 1 }");
    assert_eq!(out, [user("a"), calls, openai_result("y"), openai_result("x"), user("b")]);
    assert_eq!(rendered.repairs.len(), 0);
    assert_eq!(rendered.messages[1].seqs, [2, 3, 4, 5]);
    assert!(rendered.lossy);
    // Ids that come again are told apart, since outputs are found by id in the whole request.
    let again =
        [user("a"), openai_calls(&["x"]), openai_result("x"), openai_calls(&["x"]), openai_result("x"), user("b")];
    let (out, _) = repaired(&again, Format::OpenAi, Format::OpenAiResponses);
    let ids: Vec<&str> = out.iter().filter_map(|item| item["call_id"].as_str()).collect();
    assert_eq!(ids, ["x", "x", "x_2", "x_2"]);
}

#[test]
fn r19_reasoning_stands_in_front_of_the_item_that_it_led_to_or_not_at_all() {
    let format = Format::OpenAiResponses;
    // Nothing of the assistant's follows.
    let orphan = [user("a"), item_said("one"), reasoning("rs_1"), user("b")];
    assert_eq!(rules(&orphan, format), ["R19"]);
    let (out, rendered) = repaired(&orphan, format, format);
    assert_eq!((out, repair_rules(&rendered)), (vec![user("a"), item_said("one"), user("b")], vec![("R19", 3)]));
    // Its item is left out: an empty message, a second call with the same id, the end of the window.
    let mut empty = item_said("one");
    empty["content"] = json!([]);
    let (out, rendered) = repaired(&[user("a"), reasoning("rs_1"), empty, user("b")], format, format);
    assert_eq!((out, repair_rules(&rendered)), (vec![user("a"), user("b")], vec![("R19", 2)]));
    let twice = [user("a"), item_call("x"), reasoning("rs_1"), item_call("x"), item_output("x"), user("b")];
    let (out, rendered) = repaired(&twice, format, format);
    assert_eq!(out, [user("a"), item_call("x"), item_output("x"), user("b")]);
    assert!(repair_rules(&rendered).contains(&("R19", 3)));
    let (out, _) = repaired(&[user("a"), reasoning("rs_1"), item_said("one")], format, format);
    assert_eq!(out, [user("a")]);
    // Several pieces in front of one item stay together, and no other format's model gets them.
    let chain = [user("a"), reasoning("rs_1"), reasoning("rs_2"), item_call("x"), item_output("x"), user("b")];
    let (out, rendered) = repaired(&chain, format, format);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&chain[..], 0));
    let (out, rendered) = repaired(&chain, format, Format::Anthropic);
    assert_eq!((out.len(), rendered.lossy), (4, true));
    assert!(!out.iter().any(|message| message.to_string().contains("gAAA")));
}

#[test]
fn r01_langchain_calls_are_answered_as_openai_has_it() {
    let human = |text: &str| json!({"type": "human", "data": {"content": text}});
    let ai = json!({"type": "ai", "data": {"content": "", "tool_calls": [
        {"name": "f", "args": {}, "id": "x", "type": "tool_call"}, {"name": "f", "args": {}, "id": "y", "type": "tool_call"}]}});
    let tool = |id: &str| json!({"type": "tool", "data": {"content": "1", "tool_call_id": id}});
    let format = Format::LangChain;
    let whole = [human("a"), ai.clone(), tool("x"), tool("y"), human("b")];
    let (out, rendered) = repaired(&whole, format, format);
    assert_eq!((out.as_slice(), rendered.repairs.len()), (&whole[..], 0));
    let messages = [human("a"), ai.clone(), tool("x"), tool("z"), human("b")];
    assert_eq!(rules(&messages, format), ["R1", "R5"]);
    let (out, rendered) = repaired(&messages, format, format);
    assert_eq!(out[3]["data"]["tool_call_id"], "y");
    assert_eq!(out[3]["data"]["content"], STUB_OUTPUT);
    assert_eq!(repair_rules(&rendered), [("R1", 4), ("R7", 2)]);
    // A call that is left out goes wherever it stood.
    let mut twice = ai;
    twice["data"]["tool_calls"][1]["id"] = json!("x");
    let (out, rendered) = repaired(&[human("a"), twice, tool("x"), human("b")], format, format);
    assert_eq!(out[1]["data"]["tool_calls"].as_array().unwrap().len(), 1);
    assert_eq!(repair_rules(&rendered), [("R16", 2)]);
    // What the provider gave is no call without a function: of two with one id, the call stays.
    let call = json!({"id": "x", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let broken = json!({"id": "x", "type": "function"});
    let given = json!({"type": "ai", "data": {"content": "",
        "additional_kwargs": {"tool_calls": [broken, call, call]}}});
    let (out, rendered) = repaired(&[human("a"), given, tool("x"), human("b")], format, format);
    assert_eq!(out[1]["data"]["additional_kwargs"]["tool_calls"], json!([call]));
    assert_eq!(repair_rules(&rendered), [("R16", 2)]);
}

#[test]
fn r08_outputs_are_shortened_inside_their_envelopes_in_every_format() {
    let cut = |text: &str, max: u32| text.chars().take(max as usize).collect::<String>();
    let shrunk = |message: Value, format| -> Value {
        let text = shrink_tool_results(&message.to_string(), format, 3, &cut).unwrap().unwrap();
        assert_eq!(shrink_tool_results(&text, format, 3, &cut).unwrap(), None);
        serde_json::from_str(&text).unwrap()
    };
    let format = Format::OpenAiResponses;
    let output = |output: Value| json!({"type": "function_call_output", "call_id": "x", "output": output});
    assert_eq!(shrunk(output(json!("abcdef")), format), output(json!("abc")));
    let list = |text: &str| output(json!([{"type": "input_text", "text": text}]));
    assert_eq!(shrunk(list("abcdef"), format), list("abc"));
    let run = |text: &str| json!({"type": "shell_call_output", "call_id": "x", "output": [{"stdout": text, "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}]});
    assert_eq!(shrunk(run("abcdef"), format), run("abc"));
    let screen = json!({"type": "computer_call_output", "call_id": "x", "output": {"type": "computer_screenshot", "image_url": "data:image/png;base64,QUJD"}});
    assert_eq!(shrink_tool_results(&screen.to_string(), format, 3, &cut).unwrap(), None);
    let response = |response: Value| json!({"role": "user", "parts": [{"functionResponse": {"id": "x", "name": "f", "response": response}}]});
    assert_eq!(shrunk(response(json!({"error": "abcdef"})), Format::Gemini), response(json!({"error": "abc"})));
    assert_eq!(shrunk(response(json!({"rows": [1]})), Format::Gemini), response(json!({"output": "{\"r"})));
    let tool = |text: &str| json!({"type": "tool", "data": {"content": text, "tool_call_id": "x", "artifact": 1}});
    assert_eq!(shrunk(tool("abcdef"), Format::LangChain), tool("abc"));
}

#[test]
fn r23_references_are_told_of_and_become_notes_in_another_format() {
    let found = |message: &Value, format: Format| -> Vec<(usize, &'static str)> {
        let raw = message.to_string();
        let parsed = parse(&raw, format).unwrap();
        let source = Source { seq: None, format, raw: &raw, message: &parsed.message };
        references(&source).iter().map(|reference| (reference.part, reference.kind)).collect()
    };
    let said = |parts: Value| json!({"role": "user", "content": parts});
    let contents = |parts: Value| json!({"role": "user", "parts": parts});
    let cases = [
        (
            said(json!([{"type": "text", "text": "file_id"}, {"type": "file", "file": {"file_id": "file-1"}}])),
            Format::OpenAi,
            vec![(1, "file")],
        ),
        (json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}}), Format::OpenAi, vec![(0, "audio")]),
        (
            said(
                json!([{"type": "image", "source": {"type": "file", "file_id": "file_1"}}, {"type": "container_upload", "file_id": "file_1"}]),
            ),
            Format::Anthropic,
            vec![(0, "file"), (1, "file")],
        ),
        (said(json!([{"type": "input_image", "file_id": "file-1"}])), Format::OpenAiResponses, vec![(0, "file")]),
        (json!({"type": "item_reference", "id": "msg_1"}), Format::OpenAiResponses, vec![(0, "item")]),
        (
            json!({"type": "code_interpreter_call", "id": "ci", "container_id": "cntr_1", "code": ""}),
            Format::OpenAiResponses,
            vec![(0, "container")],
        ),
        (
            contents(
                json!([{"fileData": {"fileUri": "https://generativelanguage.googleapis.com/v1beta/files/abc"}}, {"file_data": {"file_uri": "gs://b/a.png"}}]),
            ),
            Format::Gemini,
            vec![(0, "file"), (1, "file")],
        ),
        (
            json!({"type": "human", "content": [{"type": "image", "fileId": "file-1"}, {"type": "image", "source_type": "id", "id": "file-1"}]}),
            Format::LangChain,
            vec![(0, "file"), (1, "file")],
        ),
        (
            said(json!([{"type": "image_asset_pointer", "asset_pointer": "sediment://file_1"}])),
            Format::OpenAi,
            vec![(0, "asset")],
        ),
        // What anybody can follow, and what tools of the app said.
        (
            said(json!([{"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}])),
            Format::OpenAi,
            vec![],
        ),
        (json!({"role": "tool", "tool_call_id": "x", "content": "{\"file_id\":\"file-1\"}"}), Format::OpenAi, vec![]),
    ];
    for (message, format, expected) in &cases {
        assert_eq!(found(message, *format), *expected, "{message}");
    }
    let file = contents(json!([{"text": "see"}, {"fileData": {"mimeType": "image/png", "fileUri": "gs://b/a.png"}}]));
    let (out, rendered) = repaired(std::slice::from_ref(&file), Format::Gemini, Format::OpenAi);
    assert_eq!(
        out,
        [said(json!([{"type": "text", "text": "see"}, {"type": "text", "text": "[image: gs://b/a.png]"}]))]
    );
    assert!(rendered.lossy);
    assert!(repaired(&[file], Format::Gemini, Format::Gemini).1.messages[0].exact);
    let reference = [user("a"), json!({"type": "item_reference", "id": "msg_1"}), user("b")];
    let (out, rendered) = repaired(&reference, Format::OpenAiResponses, Format::OpenAi);
    assert_eq!(out[1], json!({"role": "assistant", "content": "[item_reference: not available here]"}));
    assert!(rendered.lossy);
    assert!(repaired(&reference, Format::OpenAiResponses, Format::OpenAiResponses).1.messages[1].exact);
}

#[test]
fn r14_a_message_of_nothing_but_a_providers_result_is_empty_elsewhere() {
    let response = |id: &str| json!({"toolResponse": {"toolType": "GOOGLE_SEARCH", "id": id, "response": {}}});
    let call = json!({"toolCall": {"toolType": "GOOGLE_SEARCH", "id": "a"}});
    let messages = [
        gemini_user("a"),
        json!({"role": "model", "parts": [call, {"toolResponse": {"toolType": ["GOOGLE_SEARCH"], "id": "b", "response": {}}}]}),
        gemini_user("b"),
        json!({"role": "model", "parts": [{}, response("a")]}),
        gemini_user("c"),
    ];
    let target = Target { format: Format::OpenAi, profile: Profile::Strict, flatten_tools: false };
    let (out, _) = repaired_for(&messages, Format::Gemini, target);
    assert_eq!(validate_context("", &out, Format::OpenAi, Profile::Strict), [], "{out:#?}");
    assert!(out.last().unwrap()["content"].as_str().unwrap().ends_with("b\n\nc"), "{out:#?}");
}
