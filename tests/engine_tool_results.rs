//! The lifetime of tool results, and a newest turn that alone is longer than the window.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{World, append, ask, conversation, message};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::config::ToolResultPolicy;
use throughline::context::Context;
use throughline::engine::ContextRequest;
use throughline::error::Code;
use throughline::formats::{Profile, STUB_OUTPUT, sent_size, validate_context};
use throughline::message::{Format, VariableParts};
use throughline::records::MessageRecord;

const OUTPUT: &str = "A line that a tool printed, with a path /srv/app/main.rs and a number 8471.\n";

fn call(id: &str) -> String {
    json!({ "role": "assistant", "content": null, "tool_calls": [
        { "id": id, "type": "function", "function": { "name": "read", "arguments": "{\"path\": \"a.rs\" }" } }] })
    .to_string()
}

fn result(id: &str, lines: usize) -> String {
    json!({ "role": "tool", "tool_call_id": id, "content": OUTPUT.repeat(lines) }).to_string()
}

/// A turn whose tool printed so many lines.
fn turn(number: usize, lines: usize) -> Vec<String> {
    let id = format!("call_{number}");
    vec![
        message("user", &format!("Question {number}, please look it up.")),
        call(&id),
        result(&id, lines),
        message("assistant", &format!("Answer {number}.")),
    ]
}

fn world(policy: ToolResultPolicy) -> World {
    let mut world = World::default();
    world.policy.tool_results = policy;
    world.policy.compaction.automatic = false;
    world.policy.budget.recent_tokens = 1_000_000;
    world
}

fn wide(question: &str) -> ContextRequest {
    ContextRequest { window: Some(1_000_000.0), reserve: Some(1_000.0), ..ask("c", question) }
}

fn values(context: &Context) -> Vec<Value> {
    context.messages.iter().map(|raw| serde_json::from_str(raw).unwrap()).collect()
}

fn shortened(message: &Value) -> bool {
    message["role"] == "tool" && message["content"].as_str().is_some_and(|text| text.contains("[shortened from"))
}

#[test]
fn results_of_old_turns_shrink_in_jumps_and_the_prefix_holds_between() {
    block_on(async {
        let world = world(ToolResultPolicy::default());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let mut before: Vec<String> = Vec::new();
        let mut changes = Vec::new();
        for number in 0..60 {
            engine.append(append("c", turn(number, 40))).await.unwrap();
            let context = engine.build_context(wide("And now?")).await.unwrap();
            let messages = values(&context);
            assert_eq!(validate_context("", &messages, Format::OpenAi, Profile::OpenAi), []);
            assert_eq!(context.messages.len(), 4 * (number + 1) + 1, "nothing is left out");
            let tools: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
            for (at, tool) in tools.iter().enumerate() {
                assert_eq!(tool["tool_call_id"], format!("call_{at}"));
                assert!(tool["content"].as_str().unwrap().starts_with("A line that a tool printed"));
            }
            // The newest twelve turns are whole; the receipt names every one that is not.
            assert!(tools.iter().rev().take(12).all(|tool| !shortened(tool)));
            let short = tools.iter().filter(|tool| shortened(tool)).count();
            let named = context.receipt.repairs.iter().filter(|repair| repair["rule"] == "R8").count();
            assert_eq!(short, named);
            let prefix = context.messages[..context.messages.len() - 1].to_vec();
            if !prefix.starts_with(&before) {
                changes.push(number);
            }
            before = prefix;
        }
        assert_eq!(changes, [23, 35, 47, 59], "one change in twelve turns");
        // What is stored is whole, and so is what is found.
        let stored = engine.history("c", None, None, None).await.unwrap();
        assert!(stored.iter().all(|raw| !raw.contains("shortened from")));
        let reopened = world.open().await.build_context(wide("And now?")).await.unwrap();
        assert_eq!(reopened, engine.build_context(wide("And now?")).await.unwrap());
    });
}

#[test]
fn the_policy_decides_how_long_they_stay_whole() {
    block_on(async {
        for (full_turns, expected) in [(None, 0), (Some(0), 30), (Some(1), 20), (Some(20), 0), (Some(100), 0)] {
            let world = world(ToolResultPolicy { full_turns, shrunk_tokens: 50 });
            let engine = world.open().await;
            conversation(&engine, "c").await;
            for number in 0..30 {
                engine.append(append("c", turn(number, 40))).await.unwrap();
            }
            let context = engine.build_context(wide("And now?")).await.unwrap();
            assert_eq!(
                values(&context).iter().filter(|message| shortened(message)).count(),
                expected,
                "{full_turns:?}"
            );
            let items = context.receipt.sections[5].items.iter().filter(|item| item.role == Some("tool"));
            assert_eq!(items.filter(|item| item.tokens <= 50 + 4).count(), expected, "counted as they are sent");
        }
    });
}

#[test]
fn a_newest_turn_that_is_too_long_is_sent_with_shorter_results() {
    block_on(async {
        let world = world(ToolResultPolicy::default());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", turn(0, 10))).await.unwrap();
        let question = "What does the importer do with the port that we picked?";
        let mut messages = vec![message("user", question)];
        for number in 1..30 {
            messages.extend([call(&format!("long_{number}")), result(&format!("long_{number}"), 60)]);
        }
        engine.append(append("c", messages)).await.unwrap();
        let asked =
            |window: f64| ContextRequest { question: None, window: Some(window), reserve: Some(200.0), ..ask("c", "") };
        let mut stubs = 0;
        for window in [100_000.0, 20_000.0, 5_000.0, 2_000.0, 1_300.0] {
            let context = engine.build_context(asked(window)).await.unwrap();
            let messages = values(&context);
            assert!(f64::from(context.tokens) + 200.0 <= window);
            assert_eq!(validate_context("", &messages, Format::OpenAi, Profile::OpenAi), []);
            assert_eq!(messages[messages.len() - 59]["content"], question, "the question is whole");
            let results: Vec<&Value> = messages.iter().filter(|message| message["role"] == "tool").collect();
            let newest = results.last().unwrap();
            assert_eq!(newest["tool_call_id"], "long_29");
            assert!(newest["content"].as_str().unwrap().starts_with("A line") || window < 1_400.0, "{newest}");
            let left_out = results.iter().filter(|message| message["content"] == STUB_OUTPUT).count();
            assert!(left_out >= stubs, "a smaller window leaves out more");
            stubs = left_out;
            let repairs = &context.receipt.repairs;
            assert_eq!(repairs.iter().any(|repair| repair["rule"] == "R8"), window < 100_000.0, "{window}");
        }
        assert!(stubs > 0, "older rounds are left out before the newest");
        let error = engine.build_context(asked(700.0)).await.unwrap_err();
        assert_eq!(error.code, Code::BudgetInfeasible);
    });
}

#[test]
fn what_may_be_set_is_checked() {
    let policy = |value: Value| serde_json::from_value::<throughline::config::Policy>(json!({ "toolResults": value }));
    assert_eq!(policy(json!({ "fullTurns": null })).unwrap().tool_results.full_turns, None);
    assert_eq!(policy(json!({})).unwrap().tool_results, ToolResultPolicy { full_turns: Some(12), shrunk_tokens: 200 });
    assert!(policy(json!({ "fullTurns": -1 })).is_err() && policy(json!({ "turns": 1 })).is_err());
    let error = policy(json!({ "shrunkTokens": 3 })).unwrap().validate().unwrap_err();
    assert!(error.message.contains("toolResults.shrunkTokens"));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Sixty turns with tools of any size: the budget holds, and while the window's start rests, the prefix changes at most
    /// once in a step.
    #[test]
    fn budget_and_prefix_hold_over_sixty_turns(
        lines in prop::collection::vec(0_usize..30, 60), full_turns in 1_u32..20, shrunk in 16_u32..300, window in 2_000_u32..60_000,
    ) {
        block_on(async {
            let world = world(ToolResultPolicy { full_turns: Some(full_turns), shrunk_tokens: shrunk });
            let engine = world.open().await;
            conversation(&engine, "c").await;
            let (mut before, mut first, mut changes): (Vec<String>, Value, u32) = (Vec::new(), Value::Null, 0);
            for (number, lines) in lines.iter().enumerate() {
                engine.append(append("c", turn(number, *lines))).await.unwrap();
                let request = ContextRequest { window: Some(f64::from(window)), reserve: Some(500.0), ..ask("c", "And now?") };
                let context = engine.build_context(request).await.unwrap();
                assert!(context.tokens + 500 <= window);
                let messages = values(&context);
                assert_eq!(validate_context("", &messages, Format::OpenAi, Profile::OpenAi), []);
                let prefix = context.messages[..context.messages.len() - 1].to_vec();
                let start = context.receipt.sections[5].items.first().map(|item| json!(item.range)).unwrap_or_default();
                if start == first && !prefix.starts_with(&before) {
                    changes += 1;
                }
                (before, first) = (prefix, start);
            }
            assert!(changes <= 60 / full_turns.max(10), "{changes}");
        });
    }
}

#[test]
fn records_of_earlier_versions_are_read_and_new_ones_say_what_varies() {
    let old = json!({
        "conversationId": "c", "seq": 1, "id": "seq:1", "parentId": null, "role": "tool", "format": "openai", "raw": "{}",
        "text": "", "tokens": 700, "countedWith": "estimate/1", "contentHash": "0", "createdAt": 0.5, "normalized": false,
        "opensGroup": false,
    });
    let record: MessageRecord = serde_json::from_value(old.clone()).unwrap();
    assert!(record.variable.is_none());
    let mut now = old;
    now.as_object_mut().unwrap().remove("parentId");
    now["parentSeq"] = json!(0);
    assert_eq!(serde_json::to_value(&record).unwrap(), now, "nothing is added to a message without such parts");
    let varying = MessageRecord {
        variable: VariableParts { results: 1, result_tokens: 600, images: 2, audio: 0, files: 1 },
        tokens: 3_700,
        ..record
    };
    let again: MessageRecord = serde_json::from_value(serde_json::to_value(&varying).unwrap()).unwrap();
    assert_eq!(again, varying);
    // 100 tokens of text, the result cut to 200, and the media as each charges them.
    for (profile, media) in [(Profile::OpenAi, 2 * 765 + 1_000), (Profile::Gemini, 3 * 258)] {
        assert_eq!(sent_size(3_700, varying.variable, profile, Some(200)), 100 + 200 + media);
        assert_eq!(sent_size(3_700, varying.variable, profile, None), 700 + media);
    }
}

#[test]
fn a_large_turn_before_the_question_goes_with_it() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let call = json!({"role": "assistant", "content": null, "tool_calls": [{"id": "a", "type": "function", "function": {"name": "read", "arguments": "{}"}}]});
        let result = json!({"role": "tool", "tool_call_id": "a", "content": "line of log 12 ok\n".repeat(4_000)});
        let messages = [
            json!({"role": "user", "content": "hello"}),
            json!({"role": "assistant", "content": "hi"}),
            json!({"role": "user", "content": "read the log"}),
            call.clone(),
            result,
            json!({"role": "assistant", "content": "The error is E42 in parser.ts."}),
        ];
        engine.append(append("c", messages.iter().map(Value::to_string).collect())).await.unwrap();
        let context = engine.build_context(ask("c", "Fix it then.")).await.unwrap();
        let all = context.messages.join("\n");
        assert!(all.contains("E42 in parser.ts") && all.contains("hello"), "{all}");
        assert_eq!(context.messages.len(), 7);
        assert!(context.receipt.repairs.iter().any(|repair| repair["rule"] == "R8"));

        // Where results are never to be shortened it goes whole, if the window has room.
        let never = self::world(ToolResultPolicy { full_turns: None, shrunk_tokens: 50 });
        let whole = never.open().await;
        conversation(&whole, "c").await;
        whole.append(append("c", messages.iter().map(Value::to_string).collect())).await.unwrap();
        let context = whole.build_context(wide("Fix it then.")).await.unwrap();
        assert!(context.messages.join("\n").contains(&json!("line of log 12 ok\n".repeat(4_000)).to_string()));

        // A turn of many small steps: too large for the recent window, not for the model's.
        conversation(&engine, "d").await;
        let mut steps = vec![json!({"role": "user", "content": "Refactor it."}).to_string()];
        for step in 0..60 {
            let mut call = call.clone();
            call["tool_calls"][0]["id"] = json!(format!("s{step}"));
            let text = format!("step {step}: ") + &"the file was changed and the tests ran. ".repeat(15);
            steps.push(call.to_string());
            steps.push(json!({"role": "tool", "tool_call_id": format!("s{step}"), "content": text}).to_string());
        }
        steps.push(json!({"role": "assistant", "content": "All is done in module K7."}).to_string());
        engine.append(append("d", steps)).await.unwrap();
        let context = engine.build_context(ask("d", "Now commit it.")).await.unwrap();
        assert!(context.messages.join("\n").contains("module K7"), "{} messages", context.messages.len());
        let empty = engine.append(append("d", vec![json!({"role": "user", "content": " \n"}).to_string()])).await;
        empty.unwrap();
        let request = ContextRequest { question: None, ..ask("d", "") };
        assert_eq!(engine.build_context(request).await.unwrap_err().code, Code::InvalidArgument);
    });
}
