//! One test per rule: what the checker refuses, and what repair makes of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a test fails by panicking")]

use serde_json::{Value, json};
use throughline::formats::{
    GroupInput, MEDIA_TOKENS, Parsed, Profile, Rendered, STUB_OUTPUT, Source, Target, counted, media_tokens, parse,
    render, render_repaired, sent_media_tokens, shrink_tool_results, turn_groups, validate, validate_context,
};
use throughline::message::{Format, Part};

/// Reads messages in a format and renders them, repaired, in another.
fn repaired(messages: &[Value], format: Format, target: Format) -> (Vec<Value>, Rendered) {
    repaired_for(messages, format, Target::from(target))
}

/// The same for a profile.
fn repaired_as(messages: &[Value], profile: Profile) -> (Vec<Value>, Rendered) {
    let format = profile.usual_format();
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
    let violations = validate_context(system, messages, profile.usual_format(), profile);
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
