//! S1: whatever was once written stands in a prompt as data. Texts that try to leave their place are put everywhere that a
//! text can come from, and the prompt is taken apart again by a reader that shares no code with the engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod break_outs;
mod host;

use break_outs::BREAK_OUTS;
use futures_executor::block_on;
use host::{ScriptedModel, World, append, message};
use proptest::prelude::*;
use serde_json::{Value, json};
use throughline::engine::{ContextRequest, Engine, NewConversation, NewFact, NewNote};
use throughline::facts::is_instruction;
use throughline::ports::{ModelRequest, Purpose};
use throughline::prompt_text::{SPECIAL_TOKENS, is_hidden, json_line, neutralize};
use throughline::records::SummarySection;
use throughline::summary;

const PROMPT: &str = "You keep the minutes.";

/// How the blocks of a system text begin, and whether their lines are JSON texts (the others are headings and items).
const BLOCKS: [(&str, bool); 5] = [
    ("What is remembered about the user", true),
    ("What happened in the last sessions", true),
    ("Notes kept about this conversation", true),
    ("Summary of the earlier part", false),
    ("What earlier conversations of this project", false),
];

const HEADINGS: [&str; 8] = [
    "Goal:",
    "Confirmed facts:",
    "Decisions:",
    "Constraints:",
    "Failed attempts:",
    "Open questions:",
    "Next steps:",
    "Identifiers:",
];

/// Takes a system text apart: the lines of each block. Fails where anything stands outside of one.
fn blocks(system: &str) -> Vec<(&'static str, Vec<String>)> {
    let rest = system.strip_prefix(PROMPT).unwrap();
    assert!(!rest.chars().any(is_hidden), "{rest:?}");
    let lower = rest.to_lowercase();
    for token in SPECIAL_TOKENS {
        assert!(!lower.contains(token), "{token} in {rest}");
    }
    let mut found = Vec::new();
    for block in rest.split("\n\n").skip(1) {
        let mut lines = block.split('\n');
        let header = lines.next().unwrap();
        let known = BLOCKS.iter().find(|(start, _)| header.starts_with(start));
        assert!(known.is_some(), "a block that is none: {block:?}");
        let (name, is_json) = *known.unwrap();
        let is_data = |line: &str| match is_json {
            true => serde_json::from_str::<String>(line).is_ok(),
            false => HEADINGS.contains(&line) || line.starts_with("- ") || line.starts_with("Also named: "),
        };
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        assert!(lines.iter().all(|line| is_data(line) && line.lines().count() == 1), "{block:?}");
        found.push((name, lines));
    }
    found
}

/// Answers with this text in every section, whatever it is asked.
fn captured(text: &'static str) -> ScriptedModel {
    ScriptedModel::answering(move |request: &ModelRequest| match request.purpose {
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        Purpose::Judge => None,
        _ => Some(json!({ "goal": [format!("Go {text}")], "decisions": [text], "next": ["Rest"] }).to_string()),
    })
}

async fn conversation_of(engine: &Engine, id: &str, title: &str) {
    let new = NewConversation {
        id: id.into(),
        title: Some(title.into()),
        project_id: Some("p".into()),
        ..NewConversation::default()
    };
    engine.create_conversation(new).await.unwrap();
}

fn talk(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| message(["user", "assistant"][number % 2], &format!("Point {number} of the council was heard.")))
        .collect()
}

async fn asked(engine: &Engine, question: &str) -> (String, Vec<Value>) {
    let request: ContextRequest = serde_json::from_value(json!({
        "conversationId": "c", "question": question, "system": PROMPT, "retrieval": "always", "window": 32_000,
    }))
    .unwrap();
    let context = engine.build_context(request).await.unwrap();
    (context.system, context.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect())
}

/// Sessions, a project, notes, a fact, and the result of a part, all of which say `text`.
async fn filled(world: &World, text: &str) -> Engine {
    let engine = world.open().await;
    for id in ["a", "b"] {
        conversation_of(&engine, id, text).await;
        engine.append(append(id, talk(6))).await.unwrap();
        engine.append(append(id, vec![message("user", &format!("Zanzibar {text}"))])).await.unwrap();
        engine.end_episode(id).await.unwrap();
        world.clock.advance(1_000.0);
    }
    engine.settled().await.unwrap();
    world.clock.advance(1_000.0);
    conversation_of(&engine, "c", "The council").await;
    for id in ["first", "second"] {
        let note = NewNote { conversation_id: "c".into(), id: id.into(), content: Some(text.into()), is_json: false };
        // A note that says nothing is none.
        drop(engine.set_note(note).await);
    }
    let fact: NewFact = serde_json::from_value(json!({ "fact": format!("Likes {text}") })).unwrap();
    engine.add_fact(fact).await.unwrap();
    let part = NewConversation { id: "part".into(), parent_id: Some("c".into()), ..NewConversation::default() };
    engine.create_conversation(part).await.unwrap();
    engine.append(append("part", talk(4))).await.unwrap();
    let result = message("assistant", &format!("Result of the part: {text}"));
    engine.append(append("c", vec![message("user", "Look into it."), result])).await.unwrap();
    engine
}

#[test]
fn sixty_break_outs_stay_in_facts_notes_episodes_projects_and_summaries() {
    for text in BREAK_OUTS {
        block_on(async {
            let mut world = World::default().with_model(captured(text));
            world.policy.episodes.automatic = true;
            world.policy.budget.episodes_tokens = 4_000;
            world.policy.budget.window_tokens = 64_000;
            world.policy.budget.recent_tokens = 300;
            let engine = filled(&world, text).await;
            let (system, messages) = asked(&engine, "What about Zanzibar?").await;
            let found = blocks(&system);
            let lines = |name: &str| {
                let block = found.iter().find(|(header, _)| header.starts_with(name));
                block.map_or(0, |(_, lines)| lines.len())
            };
            assert_eq!(lines("What is remembered"), 1, "{system}");
            assert_eq!(lines("What happened"), 2, "{system}");
            assert!(lines("What earlier conversations") >= 2, "{system}");
            assert!([0, 2].contains(&lines("Notes")), "{system}");
            // Messages are the app's own, and each is one.
            assert_eq!(messages.len(), 3);
            assert_eq!(messages[1]["content"], format!("Result of the part: {text}"));
            evidence(messages[2]["content"].as_str().unwrap());

            engine.append(append("c", talk(60))).await.unwrap();
            engine.compact("c", true).await.unwrap();
            let (system, _) = asked(&engine, "What about Zanzibar?").await;
            let found = blocks(&system);
            assert!(found.iter().any(|(header, _)| header.starts_with("Summary")), "{system}");
            assert!(found.iter().all(|(header, _)| !header.starts_with("What happened")));
        });
    }
}

#[test]
fn sixty_break_outs_stay_in_documents_and_in_results_that_are_written_as_text() {
    for text in BREAK_OUTS {
        block_on(async {
            let engine = World::default().open().await;
            conversation_of(&engine, "c", "The council").await;
            let call = json!({ "role": "assistant", "content": null, "tool_calls": [
                { "id": "call_1", "type": "function", "function": { "name": "fetch", "arguments": "{}" } }] });
            let result = json!({ "role": "tool", "tool_call_id": "call_1", "content": format!("Zanzibar {text}") });
            let said =
                vec![message("user", "Look."), call.to_string(), result.to_string(), message("assistant", "Done.")];
            engine.append(append("c", said)).await.unwrap();
            let request: ContextRequest = serde_json::from_value(json!({
                "conversationId": "c", "question": "What about Zanzibar?", "system": PROMPT, "flattenTools": true,
                "documents": [{ "id": text, "text": format!("Zanzibar {text}"), "source": text }],
            }))
            .unwrap();
            let context = engine.build_context(request).await.unwrap();
            let messages: Vec<Value> =
                context.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
            let shown = |at: usize| messages[at]["content"].as_str().unwrap();
            let clean = |text: &str| {
                let lower = text.to_lowercase();
                !text.chars().any(is_hidden) && SPECIAL_TOKENS.iter().all(|token| !lower.contains(token))
            };
            // The document is one record, and the question stands behind the end of it.
            let (records, question) = shown(messages.len() - 1).rsplit_once(":end of records]]").unwrap();
            assert_eq!(question.trim(), "What about Zanzibar?");
            let number = records.rsplit_once("[[").unwrap().1;
            assert_eq!(records.matches(&format!("[[{number}:")).count(), 1, "{records}");
            assert!(clean(records), "{records:?}");
            // The result is one line in brackets, or lines of which each is behind its mark.
            let result =
                messages.iter().filter_map(|message| message["content"].as_str()).find(|text| text.contains("[result"));
            let result = result.unwrap();
            assert!(clean(result), "{result:?}");
            let is_one =
                result.starts_with("[result: ") && result.lines().count() == 1 && result.matches(']').count() == 1;
            let mut lines = result.split('\n');
            assert!(
                is_one || lines.next() == Some("[result]") && lines.all(|line| line.starts_with("> ")),
                "{result:?}"
            );
        });
    }
}

/// Evidence: titles of conversations stand in the lines of the markers, which are those of the messages found.
fn evidence(question: &str) {
    let (records, asked) = question.rsplit_once(":end of records]]").unwrap();
    assert!(asked.trim() == "What about Zanzibar?", "{question:?}");
    let number = records.rsplit_once("[[").unwrap().1;
    let markers: Vec<&str> = records.split(&format!("[[{number}:")).skip(1).collect();
    assert!(markers.len() >= 2, "{question}");
    for marker in &markers[..markers.len() - 1] {
        let line = marker.lines().next().unwrap();
        assert!(line.ends_with("]]"), "{line}");
        let (seq, role) = line.split_once(' ').unwrap();
        assert!(seq.parse::<u32>().is_ok() && (role.starts_with("user") || role.starts_with("assistant")), "{line}");
    }
    assert!(!records.chars().any(is_hidden), "{records:?}");
    let lower = records.to_lowercase();
    assert!(SPECIAL_TOKENS.iter().all(|token| !lower.contains(token)), "{records}");
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    let piece = prop_oneof![
        3 => "\\PC{0,12}",
        1 => any::<String>(),
        3 => prop::sample::select(&BREAK_OUTS[..]).prop_map(str::to_owned),
        2 => prop::sample::select(SPECIAL_TOKENS).prop_map(str::to_owned),
    ];
    prop::collection::vec(prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat()), 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn any_text_is_one_line_of_its_block(texts in texts()) {
        let sections = vec![
            SummarySection { name: "decisions".into(), items: texts.clone() },
            SummarySection { name: "next".into(), items: vec!["Rest".into()] },
        ];
        // An episode is one JSON text, as is a note.
        for line in [json_line(&format!("2026-01-05: {}", summary::one_line(&sections))), json_line(&texts.concat())] {
            prop_assert_eq!(line.lines().count(), 1);
            let text: String = serde_json::from_str(&line).unwrap();
            prop_assert_eq!(&*neutralize(&text), text.as_str());
        }
        let shown = texts.iter().filter(|text| !text.chars().all(|c| c.is_whitespace() || is_hidden(c))).count();
        let project = summary::render_project(&sections, u32::MAX, &|text| text.len() as u32);
        let found = blocks(&format!("{PROMPT}\n\n{project}"));
        prop_assert_eq!(found.len(), 1);
        let headings = 1 + usize::from(shown > 0);
        prop_assert_eq!(found[0].1.len(), shown + headings + 1);
    }
}

/// S3. The scan is a flag: what it flags waits for the user, what it misses is kept out by trust.
#[test]
fn common_templates_of_injections_are_flagged_and_ordinary_messages_are_not() {
    let templates: Vec<&str> =
        include_str!("injections/templates.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let missed: Vec<&&str> = templates.iter().filter(|text| !is_instruction(text)).collect();
    let ordinary = ordinary_messages();
    let alarms: Vec<&String> = ordinary.iter().filter(|text| is_instruction(text)).collect();
    println!(
        "of {} templates {} are flagged; of {} ordinary messages {}",
        templates.len(),
        templates.len() - missed.len(),
        ordinary.len(),
        alarms.len()
    );
    let unseen: Vec<&str> =
        include_str!("injections/unseen.txt").lines().filter(|line| !line.starts_with('#')).collect();
    let found = unseen.iter().filter(|text| is_instruction(text)).count();
    println!("of {} that the forms were not written for {found}", unseen.len());
    assert!(missed.len() * 20 <= templates.len(), "{missed:#?}");
    // No claim is made for what is worded otherwise.
    assert!(found * 4 >= unseen.len(), "{found}");
    assert!(ordinary.len() >= 1_000, "{}", ordinary.len());
    assert!(alarms.len() * 100 <= ordinary.len(), "{alarms:#?}");
}

/// What people write to assistants, from the sets of other tests: the users' turns of the evaluation, the questions of the
/// gate, messages in many languages.
fn ordinary_messages() -> Vec<String> {
    let mut texts = Vec::new();
    for file in std::fs::read_dir("tests/evaluation/users").unwrap() {
        let user: Value = serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap();
        for turn in user["sessions"].as_array().unwrap().iter().flat_map(|session| session["turns"].as_array().unwrap())
        {
            // Some are traps: what a page or a pasted text says.
            if turn.get("traps").is_none() {
                texts.extend(["user", "assistant"].iter().filter_map(|role| turn[role].as_str()).map(str::to_owned));
            }
        }
    }
    for file in std::fs::read_dir("tests/gate").unwrap() {
        strings(&serde_json::from_slice(&std::fs::read(file.unwrap().path()).unwrap()).unwrap(), &mut texts);
    }
    for name in ["messages", "questions"] {
        let file = std::fs::read(format!("tests/languages/{name}.json")).unwrap();
        strings(&serde_json::from_slice(&file).unwrap(), &mut texts);
    }
    texts
}

/// Every text of some length in a value.
fn strings(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.contains(' ') || text.chars().any(|c| c > '\u{2000}') => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| strings(value, texts)),
        Value::Object(fields) => fields.values().for_each(|value| strings(value, texts)),
        _ => {}
    }
}
