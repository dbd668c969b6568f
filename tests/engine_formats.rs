//! A conversation in any format goes out in any other, whole and valid, through the engine.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{World, append, ask, conversation};
use serde_json::{Value, json};
use throughline::engine::{AppendRequest, ContextRequest};
use throughline::formats::{FormatChoice, Source, parse, render_repaired, validate};

const NAMES: [&str; 7] =
    ["openai", "openai-responses", "anthropic", "ai-sdk-ui", "ai-sdk-model", "gemini", "langchain"];

/// Three turns with a round of tools, as OpenAI has them.
fn chat() -> Vec<Value> {
    vec![
        json!({"role": "system", "content": "Be brief."}),
        json!({"role": "user", "content": "Which port is free on staging?"}),
        json!({"role": "assistant", "content": "Looking.", "tool_calls": [
            {"id": "call_1", "type": "function", "function": {"name": "scan", "arguments": "{\"host\":\"staging\"}"}}]}),
        json!({"role": "tool", "tool_call_id": "call_1", "content": "8471 is free"}),
        json!({"role": "assistant", "content": "Port 8471."}),
        json!({"role": "user", "content": "Thanks, we take it."}),
    ]
}

/// The same in another format, a message each.
fn chat_in(name: &str) -> Vec<String> {
    let target = FormatChoice::from_name(name).unwrap().target().unwrap();
    let raws: Vec<String> = chat().iter().map(Value::to_string).collect();
    let read: Vec<_> = raws.iter().map(|raw| parse(raw, None).unwrap()).collect();
    let sources: Vec<Source<'_>> = raws
        .iter()
        .zip(&read)
        .map(|(raw, parsed)| Source { seq: None, format: parsed.format, raw, message: &parsed.message })
        .collect();
    render_repaired(&sources, target).messages.into_iter().map(|message| message.json).collect()
}

#[test]
fn every_format_goes_out_in_every_other() {
    block_on(async {
        for home in NAMES {
            let world = World::default();
            let engine = world.open().await;
            conversation(&engine, "c").await;
            let request = AppendRequest { format: Some(home.to_owned()), ..append("c", chat_in(home)) };
            engine.append(request).await.unwrap();
            engine.settled().await.unwrap();
            for name in NAMES {
                let request = ContextRequest { format: Some(name.to_owned()), ..ask("c", "Which port did we pick?") };
                let context = engine.build_context(request).await.unwrap();
                let format = FormatChoice::from_name(name).unwrap().target().unwrap();
                let messages: Vec<Value> =
                    context.messages.iter().map(|message| serde_json::from_str(message).unwrap()).collect();
                assert_eq!(validate(&messages, format), [], "{home} in {name}: {messages:#?}");
                let all = context.messages.join("\n");
                for said in ["Which port is free on staging?", "8471 is free", "Port 8471.", "Which port did we pick?"]
                {
                    assert!(all.contains(said), "{home} in {name} lost {said:?}: {all}");
                }
                assert!(context.receipt.repairs.is_empty(), "{home} in {name}: {:?}", context.receipt.repairs);
            }
        }
    });
}

#[test]
fn what_was_given_comes_back_byte_for_byte_and_is_detected() {
    block_on(async {
        for home in ["openai-responses", "gemini", "langchain"] {
            let world = World::default();
            let engine = world.open().await;
            conversation(&engine, "c").await;
            let given = chat_in(home);
            engine.append(append("c", given.clone())).await.unwrap();
            let request = ContextRequest { format: Some(home.to_owned()), ..ask("c", "Which port did we pick?") };
            let context = engine.build_context(request).await.unwrap();
            assert_eq!(context.messages[..given.len()], given[..], "{home}");
        }
    });
}

#[test]
fn references_that_expire_are_told_of_where_they_are_sent_and_notes_elsewhere() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let uploaded = json!({"role": "user", "content": [{"type": "text", "text": "See the plan."},
            {"type": "file", "file": {"file_id": "file-abc"}}]});
        let answer = json!({"role": "assistant", "content": "Seen."});
        engine.append(append("c", vec![uploaded.to_string(), answer.to_string()])).await.unwrap();
        let own = engine.build_context(ask("c", "What is next?")).await.unwrap();
        let told: Vec<_> = own.receipt.references.iter().map(|found| (found.seq, found.kind)).collect();
        assert_eq!(told, [(1, "file")]);
        assert!(own.messages[0].contains("file-abc"));
        let request = ContextRequest { format: Some("anthropic".to_owned()), ..ask("c", "What is next?") };
        let other = engine.build_context(request).await.unwrap();
        assert_eq!(other.receipt.references, []);
        assert!(
            !other.messages[0].contains("file_id") && other.messages[0].contains("[file: "),
            "{}",
            other.messages[0]
        );
    });
}
