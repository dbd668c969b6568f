//! Contexts for every profile: whatever the history, its formats and the budget, a provider takes what is built.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::context::Context;
use throughline::engine::{ContextRequest, RecallRequest};
use throughline::error::Code;
use throughline::formats::{Profile, validate_context};
use throughline::message::Format;
use throughline::ports::Purpose;

/// Profiles, and the formats by which a context can be asked of them.
const TARGETS: [(&str, &str, Format); 12] = [
    ("openai", "openai", Format::OpenAi),
    ("openai", "ai-sdk", Format::AiSdkModel),
    ("openai-responses", "ai-sdk-ui", Format::AiSdkUi),
    ("anthropic", "anthropic", Format::Anthropic),
    ("anthropic", "ai-sdk", Format::AiSdkModel),
    ("gemini", "openai", Format::OpenAi),
    ("mistral", "openai", Format::OpenAi),
    ("mistral", "ai-sdk", Format::AiSdkModel),
    ("webllm", "openai", Format::OpenAi),
    ("prompt-api", "openai", Format::OpenAi),
    ("strict", "openai", Format::OpenAi),
    ("ai-sdk", "ai-sdk-ui", Format::AiSdkUi),
];

fn for_profile(profile: &str, question: &str) -> ContextRequest {
    ContextRequest { profile: Some(profile.into()), system: Some("Be brief.".into()), ..ask("c", question) }
}

fn values(context: &Context) -> Vec<Value> {
    context.messages.iter().map(|raw| serde_json::from_str(raw).unwrap()).collect()
}

fn repairs(context: &Context) -> Vec<(&str, u64)> {
    let repair = |repair: &'_ Value| (repair["rule"].as_str().unwrap().to_owned(), repair["seq"].as_u64().unwrap_or(0));
    let found: Vec<(String, u64)> = context.receipt.repairs.iter().map(repair).collect();
    let rules = ["R7", "R11", "R13", "R14", "R15", "R16", "R22"];
    found.iter().map(|(rule, seq)| (*rules.iter().find(|known| *known == rule).unwrap_or(&"other"), *seq)).collect()
}

#[test]
fn the_receipt_names_every_repair() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let call = |id: &str| {
            json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": id, "type": "function", "function": { "name": "read", "arguments": "{}" } }] })
        };
        let image = json!({ "role": "user", "content": [{ "type": "text", "text": "see" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } }] });
        let messages = vec![
            message("user", "one"),
            message("user", "two"),
            call("call_a").to_string(),
            message("user", "never mind"),
            message("assistant", "  "),
            image.to_string(),
            call("call_b").to_string(),
            json!({ "role": "tool", "tool_call_id": "call_b", "content": "42" }).to_string(),
            message("assistant", "It is 42."),
        ];
        engine.append(append("c", messages)).await.unwrap();
        let context = engine.build_context(for_profile("strict", "And now?")).await.unwrap();
        assert_eq!(
            repairs(&context),
            [("R14", 5), ("R7", 3), ("R15", 3), ("R11", 2), ("R11", 4), ("R11", 6), ("R22", 6), ("R16", 7), ("R13", 0)]
        );
        let said: Vec<String> =
            values(&context).iter().map(|message| message["content"].as_str().unwrap_or("-").to_owned()).collect();
        assert_eq!(said[0], "Be brief.\n\none\n\ntwo");
        assert_eq!(context.system, "");
    });
}

#[test]
fn strict_folds_the_system_text_in_front_of_evidence_and_question() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let document: ContextRequest = serde_json::from_value(json!({
            "conversationId": "c", "question": "What is it?", "system": "Be brief.", "profile": "strict",
            "documents": [{ "id": "d", "text": "It is a note." }],
        }))
        .unwrap();
        let context = engine.build_context(document).await.unwrap();
        let text = values(&context)[0]["content"].as_str().unwrap().to_owned();
        let at = |part: &str| text.find(part).unwrap();
        assert!(at("Be brief.") == 0 && at("It is a note.") < at("What is it?") && text.ends_with("What is it?"));
        assert_eq!(context.system, "");
        // The sections add up, and the question's item is the question's.
        let sections = &context.receipt.sections;
        let sum: i64 = sections.iter().map(|section| i64::from(section.tokens)).sum();
        assert_eq!(sum + i64::from(context.receipt.tokens.overhead), i64::from(context.tokens));
        assert!(sections[0].tokens > 0 && sections[8].items[0].tokens < 20, "{:?}", sections[8]);
        assert_eq!(sections[8].items[0].id, "question");
    });
}

#[test]
fn a_profile_that_is_unknown_or_does_not_take_the_format_is_refused_with_what_there_is() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let error = engine.build_context(for_profile("llama", "x")).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(
            error.message.contains("openai, openai-responses, anthropic, gemini, mistral, webllm, prompt-api, strict")
        );
        let request = ContextRequest { format: Some("anthropic".into()), ..for_profile("mistral", "x") };
        let error = engine.build_context(request).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert!(error.message.contains("mistral") && error.message.ends_with("anthropic"), "{error}");
        // Without a format, the profile brings its own.
        let context = engine.build_context(for_profile("anthropic", "x")).await.unwrap();
        assert_eq!(context.messages, [r#"{"role":"user","content":"x"}"#]);
    });
}

#[test]
fn flatten_tools_sends_no_tool_blocks() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let messages = vec![
            json!({ "role": "user", "content": "look" }).to_string(),
            json!({ "role": "assistant", "content": [{ "type": "tool_use", "id": "x", "name": "read", "input": { "path": "a.rs" } }] }).to_string(),
            json!({ "role": "user", "content": [{ "type": "tool_result", "tool_use_id": "x", "content": "fn main() {}" }] }).to_string(),
        ];
        engine.append(append("c", messages)).await.unwrap();
        for format in ["openai", "anthropic", "ai-sdk", "ai-sdk-ui"] {
            let request: ContextRequest =
                serde_json::from_value(json!({ "conversationId": "c", "format": format, "flattenTools": true }))
                    .unwrap();
            let context = engine.build_context(request).await.unwrap();
            let text = context.messages.concat();
            assert!(text.contains("[called read(") && text.contains("[result: fn main() {}]"), "{text}");
            assert!(!text.contains("tool"), "{text}");
            assert!(context.receipt.repairs.iter().any(|repair| repair["rule"] == "R15" && repair["seq"] == 2));
            let whole: ContextRequest =
                serde_json::from_value(json!({ "conversationId": "c", "format": format })).unwrap();
            assert!(engine.build_context(whole).await.unwrap().messages.concat().contains("tool"));
        }
    });
}

#[test]
fn media_cost_what_the_profile_charges_in_budget_and_receipt() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let url = format!("data:image/png;base64,{}", "iVBORw0KGgoAAAAN".repeat(87_500));
        let image = json!({ "role": "user", "content": [{ "type": "text", "text": "see" }, { "type": "image_url", "image_url": { "url": url } }] });
        engine.append(append("c", vec![image.to_string(), message("assistant", "a cat")])).await.unwrap();
        let tokens_of = |context: &Context| context.receipt.sections[5].items.first().map_or(0, |item| item.tokens);
        for (profile, format, cost) in [
            ("openai", "openai", 765),
            ("gemini", "openai", 258),
            ("anthropic", "ai-sdk", 1_600),
            ("ai-sdk", "ai-sdk", 1_600),
        ] {
            let request = ContextRequest { format: Some(format.into()), ..for_profile(profile, "what is it?") };
            let context = engine.build_context(request).await.unwrap();
            assert!((cost..cost + 10).contains(&tokens_of(&context)), "{profile}: {}", tokens_of(&context));
        }
        // 1,500 tokens are room for an image of OpenAI's, none for Anthropic's.
        for (profile, fits) in [("openai", true), ("anthropic", false)] {
            let request = ContextRequest {
                window: Some(2_000.0),
                reserve: Some(500.0),
                format: Some("ai-sdk".into()),
                ..for_profile(profile, "what is it?")
            };
            let context = engine.build_context(request).await.unwrap();
            assert_eq!(context.messages.concat().contains("iVBOR"), fits, "{profile}");
        }
    });
}

#[test]
fn a_megabyte_of_base64_is_never_embedded_indexed_summarised_or_searched_for_facts() {
    block_on(async {
        let model = ScriptedModel::answering(|request| match request.purpose {
            Purpose::Summarize => Some(SUMMARY.to_owned()),
            _ => Some(r#"{"facts":[]}"#.to_owned()),
        });
        let mut world = World::default().with_embedder().with_model(model);
        world.policy.compaction.high_water_tokens = 500;
        world.policy.budget.recent_tokens = 100;
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let data = "iVBORw0KGgoAAAAN".repeat(87_500);
        let url = format!("data:image/png;base64,{data}");
        let call = json!({ "role": "assistant", "content": null, "tool_calls": [
            { "id": "x", "type": "function", "function": { "name": "draw", "arguments": json!({ "image": url }).to_string() } }] });
        let messages = vec![
            json!({ "role": "user", "content": [{ "type": "text", "text": "see the part" }, { "type": "image_url", "image_url": { "url": url } }] }).to_string(),
            message("assistant", "a cat"),
            message("user", &format!("I pasted {url} here")),
            call.to_string(),
            json!({ "role": "tool", "tool_call_id": "x", "content": json!({ "type": "image", "data": data }).to_string() }).to_string(),
            message("assistant", &format!("Here: ![plot]({url})")),
            message("user", "Thanks, that is all."),
        ];
        engine.append(append("c", messages)).await.unwrap();
        engine.settled().await.unwrap();
        let question = format!("What is {url}?");
        engine.recall(serde_json::from_value::<RecallRequest>(json!({ "query": question })).unwrap()).await.unwrap();
        let shown = |text: &str| text.contains("iVBOR") || text.len() > 50_000;
        let embedded = world.embedder.as_ref().unwrap().texts.borrow().clone();
        assert!(embedded.iter().any(|text| text.contains("I pasted [image/png data, 1.0 MB] here")), "{embedded:?}");
        // The same texts are indexed.
        assert!(!embedded.iter().any(|text| shown(text)));
        let model = world.model.as_ref().unwrap();
        assert!(model.calls(Purpose::Summarize) > 0 && model.calls(Purpose::Extract) > 0);
        for request in model.requests.borrow().iter() {
            assert!(!shown(&request.prompt) && !shown(&request.system), "{:?}", request.purpose);
            // Text alone is asked, without tool blocks (R15).
            assert!(!request.prompt.contains("tool_calls"));
        }
        // What is sent as text is counted as text.
        assert!(engine.stats().await.unwrap().tokens > 500_000);
    });
}

/// A generated turn: the format it is stored in, and how many calls its tools get, answered or not.
#[derive(Clone, Debug)]
struct Turn {
    format: u8,
    filler: String,
    has_image: bool,
    calls: u8,
    answered: u8,
    is_finished: bool,
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let turn =
        (0_u8..3, "[a-z0-9 가-힣]{0,80}", prop::bool::weighted(0.1), 0_u8..3, 0_u8..3, prop::bool::weighted(0.7));
    let turn = turn.prop_map(|(format, filler, has_image, calls, answered, is_finished)| Turn {
        format,
        filler,
        has_image,
        calls,
        answered,
        is_finished,
    });
    prop::collection::vec(turn, 1..20)
}

/// The turn's messages; the user's text begins with its number.
fn messages(number: usize, turn: &Turn) -> Vec<String> {
    let said = format!("#{number}# {}", turn.filler);
    let ids: Vec<String> = (0..turn.calls).map(|call| format!("call:{call}")).collect();
    let answered = ids.iter().take(turn.answered.into());
    let mut out = match turn.format {
        0 => {
            let image = json!({ "type": "image_url", "image_url": { "url": "data:image/png;base64,AAAA" } });
            let text = json!({ "type": "text", "text": said });
            let content = if turn.has_image { json!([text, image]) } else { json!(said) };
            let mut out = vec![json!({ "role": "user", "content": content })];
            let call = |id: &String| json!({ "id": id, "type": "function", "function": { "name": "f", "arguments": "{\"x\": 1}" } });
            if !ids.is_empty() {
                out.push(json!({ "role": "assistant", "content": null, "tool_calls": ids.iter().map(call).collect::<Vec<_>>() }));
                out.extend(answered.map(|id| json!({ "role": "tool", "tool_call_id": id, "content": turn.filler })));
            }
            out
        }
        1 => {
            let mut out = vec![
                json!({ "role": "user", "content": [{ "type": "text", "text": said, "cache_control": { "type": "ephemeral" } }] }),
            ];
            let call = |id: &String| json!({ "type": "tool_use", "id": id.replace(':', "_"), "name": "f", "input": { "x": 1 } });
            let result = |id: &String| json!({ "type": "tool_result", "tool_use_id": id.replace(':', "_"), "content": turn.filler });
            if !ids.is_empty() {
                out.push(json!({ "role": "assistant", "content": ids.iter().map(call).collect::<Vec<_>>() }));
                out.push(json!({ "role": "user", "content": answered.map(result).collect::<Vec<_>>() }));
            }
            out
        }
        _ => {
            let part = |(at, id): (usize, &String)| {
                let is_answered = at < usize::from(turn.answered);
                let state = if is_answered { "output-available" } else { "input-available" };
                json!({ "type": "tool-f", "toolCallId": id, "state": state, "input": { "x": 1 }, "output": turn.filler })
            };
            let parts: Vec<Value> = ids.iter().enumerate().map(part).collect();
            vec![
                json!({ "id": format!("u{number}"), "role": "user", "parts": [{ "type": "text", "text": said }] }),
                json!({ "id": format!("a{number}"), "role": "assistant", "parts": parts }),
            ]
        }
    };
    if turn.is_finished {
        out.push(json!({ "role": "assistant", "content": format!("Answer {number}.") }));
    }
    out.iter().map(Value::to_string).collect()
}

/// The numbers of the turns in a text, in order.
fn numbers(text: &str) -> Vec<usize> {
    text.split('#').filter_map(|piece| piece.parse().ok()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_history_in_any_format_for_any_profile_in_any_budget(
        turns in turns(), window in 300_u32..6_000, reserve in 0_u32..200, flatten_tools in any::<bool>(), is_asked in any::<bool>(),
    ) {
        block_on(async {
            let world = World::default();
            let engine = world.open().await;
            conversation(&engine, "c").await;
            for (number, turn) in turns.iter().enumerate() {
                engine.append(append("c", messages(number, turn))).await.unwrap();
            }
            let last = turns.len() - 1;
            let question = if is_asked { "#999# and now?".to_owned() } else { format!("#{last}# {}", turns[last].filler) };
            for (profile, format, target) in TARGETS {
                let request = ContextRequest {
                    window: Some(f64::from(window)), reserve: Some(f64::from(reserve)), format: Some(format.into()),
                    flatten_tools, question: is_asked.then(|| question.clone()), retrieval: throughline::retrieval::RetrievalChoice::Never,
                    ..for_profile(profile, "")
                };
                let context = match engine.build_context(request).await {
                    Ok(context) => context,
                    Err(error) => {
                        assert_eq!(error.code, Code::BudgetInfeasible);
                        continue;
                    }
                };
                assert!(context.tokens + reserve <= window, "{profile}: {} + {reserve} > {window}", context.tokens);
                let messages = values(&context);
                let profile = Profile::from_name(profile).unwrap();
                assert_eq!(validate_context(&context.system, &messages, target, profile), [], "{profile:?} {messages:#?}");
                // Whole turns, in order, up to the newest; the question as it was asked.
                let found = numbers(&context.messages.concat());
                let newest = if is_asked { 999 } else { last };
                assert_eq!(found.last(), Some(&newest), "{profile:?}");
                let first = found[0];
                let expected: Vec<usize> = (first.min(last + 1)..=last).chain(is_asked.then_some(999)).collect();
                let expected = if first == 999 { vec![999] } else { expected };
                assert_eq!(found, expected, "{profile:?}");
                assert!(context.messages.concat().contains(question.trim_end()), "{profile:?}");
                let sum: i64 = context.receipt.sections.iter().map(|section| i64::from(section.tokens)).sum();
                assert_eq!(sum + i64::from(context.receipt.tokens.overhead), i64::from(context.tokens));
            }
        });
    }

    /// What was in front of a question is in front of the next one too, byte for byte, while nothing is cut.
    #[test]
    fn the_prefix_only_grows_for_every_profile(turns in turns(), flatten_tools in any::<bool>()) {
        block_on(async {
            let world = World::default();
            let engine = world.open().await;
            conversation(&engine, "c").await;
            let mut before: Vec<Vec<String>> = vec![Vec::new(); TARGETS.len()];
            for (number, turn) in turns.iter().enumerate() {
                engine.append(append("c", messages(number, turn))).await.unwrap();
                for ((profile, format, _), before) in TARGETS.iter().zip(&mut before) {
                    let request = ContextRequest {
                        window: Some(100_000.0), format: Some((*format).into()), flatten_tools,
                        retrieval: throughline::retrieval::RetrievalChoice::Never, ..for_profile(profile, "#999# and now?")
                    };
                    let context = engine.build_context(request).await.unwrap();
                    let prefix = context.messages[..context.messages.len() - 1].to_vec();
                    assert!(prefix.starts_with(before), "{profile} {format}\n{before:#?}\n{prefix:#?}");
                    *before = prefix;
                }
            }
        });
    }
}
