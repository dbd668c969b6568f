//! Answers of the summarising model: what is taken, and every reason for a refusal.
#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "test helpers: a failing unwrap is a failing test"
)]

use proptest::prelude::*;
use throughline::Code;
use throughline::records::SummarySection;
use throughline::summary::{AnswerLimits, SECTIONS, parse_and_validate};

const LIMITS: AnswerLimits = AnswerLimits { input_tokens: 2_000, max_summary_tokens: 1_500 };

fn count(text: &str) -> u32 {
    u32::try_from(text.len().div_ceil(4)).unwrap()
}

fn parse(answer: &str) -> throughline::Result<Vec<SummarySection>> {
    parse_and_validate(answer, LIMITS, &count)
}

fn section(name: &str, items: &[&str]) -> SummarySection {
    SummarySection { name: name.into(), items: items.iter().map(|item| (*item).to_owned()).collect() }
}

/// The same notes in every form that models answer in.
#[test]
fn json_and_headed_lists_give_the_same_sections() {
    let expected = vec![
        section("goal", &["Cut the latency of the chat"]),
        section("decisions", &["Keep raw messages, because they are the source of truth", "Use port 8080"]),
        section("next", &["Write src/plan.rs"]),
    ];
    let json = r#"{"next":["Write src/plan.rs"],"goal":"Cut the latency of the chat","decisions":["Keep raw messages, because they are the source of truth","Use port 8080"],"open":[]}"#;
    let answers = [
        json.to_owned(),
        format!("```json\n{}\n```", json.replace("8080\"", "8080\",")),
        format!("Here are the notes:\n{json}\nDone."),
        format!("<think>They want {{\"goal\": [\"x\"]}}</think>\n{json}"),
        format!("{{\"summary\": {json}}}"),
        serde_json::to_string(json).unwrap(),
        serde_json::json!({"sections": [
            {"name": "Current goal", "items": ["Cut the latency of the chat"]},
            {"name": "decisions", "items": ["Keep raw messages, because they are the source of truth", "Use port 8080"]},
            {"name": "next_steps", "items": ["Write src/plan.rs"]},
            {"name": "weather", "items": ["sunny"]},
        ]}).to_string(),
        "## Current goal\nCut the latency of the chat\n\n## Decisions\n- Keep raw messages, because they are the source of truth\n* Use port 8080\n\n## Weather\nsunny\n\n**Next steps:**\n1. Write src/plan.rs\n\n## Open questions\n- None".to_owned(),
        "Goal: Cut the latency of the chat\nDecisions:\n- Keep raw messages, because they are the source of truth\n- Use port 8080\nOpen: none\nNext:\n- Write src/plan.rs".to_owned(),
    ];
    for answer in answers {
        assert_eq!(parse(&answer).unwrap(), expected, "{answer}");
    }
    let with_reason =
        parse(r#"{"decisions":[{"decision":"Use Rust for the core","reason":"it has to be fast"}]}"#).unwrap();
    assert_eq!(with_reason, vec![section("decisions", &["Use Rust for the core; it has to be fast"])]);
}

#[test]
fn what_cannot_replace_a_summary_is_refused_without_repeating_it() {
    let refusals = [
        "I'm sorry, but I can't help with that. Marker77",
        "I\u{2019}m sorry, I can\u{2019}t summarise Marker77",
        "Es tut mir leid, das kann ich nicht. Marker77",
        "Je ne peux pas résumer Marker77",
        "Lo siento, no puedo ayudar con eso Marker77",
        "抱歉，我无法提供帮助 Marker77",
        "申し訳ありませんが Marker77",
        "죄송합니다 Marker77",
        "К сожалению, я не могу Marker77",
        r#"{"goal":["I'm sorry, I cannot assist with that. Marker77"]}"#,
    ];
    let others = [
        String::new(),
        "null".to_owned(),
        " \n\t".to_owned(),
        "[object Object]".to_owned(),
        "{}".to_owned(),
        r#"{"goal":null,"open":[],"next":["", "none"]}"#.to_owned(),
        r#"{"Marker77":["a"],"weather":["sunny"]}"#.to_owned(),
        "Marker77 just prose without any section.".to_owned(),
        "<!DOCTYPE html><html><body>Goal: Marker77</body></html>".to_owned(),
        "<html>\n<h1>502 Bad Gateway</h1>".to_owned(),
        "```html\n<html><body>Goal: x</body></html>\n```".to_owned(),
        r#"{"goal":["Marker77 cut off"],"open":["#.to_owned(),
        "```json\n{\"goal\":[\"Marker77".to_owned(),
        r#"{"name":"save","arguments":{"goal":"Marker77"}}"#.to_owned(),
        r#"{"tool_calls":[{"id":"1"}],"goal":["Marker77"]}"#.to_owned(),
        r#"[{"type":"tool_use","id":"1","input":{"goal":["Marker77"]}}]"#.to_owned(),
        "<tool_call>{\"goal\": 1}</tool_call>\nGoal: Marker77".to_owned(),
        "x".repeat(5 * 1024 * 1024),
        format!("{{\"goal\":[\"{}\"]}}", "Marker77 ".repeat(800)), // 1,800 tokens: over the policy's 1,500
        "{\"goal\":[\"ok\"]}".to_owned(),                          // one token for 2,000
    ];
    for answer in refusals.iter().map(|text| (*text).to_owned()).chain(others) {
        let error = parse(&answer).expect_err(&answer.chars().take(80).collect::<String>());
        assert_eq!(error.code, Code::ModelOutputInvalid);
        assert!(!error.message.contains("Marker77"), "{}", error.message);
    }
}

#[test]
fn a_summary_longer_than_its_input_is_refused() {
    let answer = r#"{"goal":["a sentence that is longer than what was said"]}"#;
    let limits = AnswerLimits { input_tokens: 5, ..LIMITS };
    let error = parse_and_validate(answer, limits, &count).unwrap_err();
    assert!(error.message.contains("longer than its input"));
    assert!(parse_and_validate(answer, AnswerLimits { input_tokens: 20, ..LIMITS }, &count).is_ok());
}

#[test]
fn a_note_about_a_refusal_is_no_refusal() {
    let notes = parse(
        r#"{"failed":["I cannot use Docker on this machine, the user says"],"goal":["Deploy the app without containers"]}"#,
    );
    assert_eq!(notes.unwrap().len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn any_answer_gives_clean_sections_or_an_error(
        answer in prop_oneof![
            any::<String>(),
            "[\\[\\]{}\",:a-c# \\n`*-]{0,80}",
            "(\\{\"(goal|open|next)\": ?\\[\"[^\"]{0,30}\"(,|\\]|\\}| ){0,3}){1,3}",
            "(## |\\*\\*|)(Goal|Open questions|None|x)(:|\\*\\*|)\\n(- .{0,20}\\n){0,3}",
        ],
    ) {
        match parse_and_validate(&answer, AnswerLimits { input_tokens: 400, max_summary_tokens: 300 }, &count) {
            Ok(sections) => {
                prop_assert!(!sections.is_empty());
                for section in &sections {
                    prop_assert!(SECTIONS.iter().any(|(name, _)| *name == section.name));
                    prop_assert!(!section.items.is_empty());
                    for item in &section.items {
                        prop_assert!(!item.trim().is_empty() && !item.contains('\n'));
                    }
                }
            }
            Err(error) => prop_assert_eq!(error.code, Code::ModelOutputInvalid),
        }
    }
}
