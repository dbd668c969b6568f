//! Where a provider's prompt cache may be told to stop: what stands in front of each position is what the turn before sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;
mod usage;

use futures_executor::block_on;
use host::{SUMMARY, ScriptedModel, World, append, conversation, message};
use serde_json::json;
use throughline::context::{CacheBreakpoint, Context};
use throughline::engine::{ContextRequest, Engine, NewFact, NewNote};
use throughline::formats::Profile;
use throughline::ports::{ModelRequest, Purpose};

/// An emoji is two code units of JavaScript.
const PROMPT: &str =
    "You help with the handbook 📘 of a small publisher. Answer briefly, and name the chapter that you mean.";

fn turn(number: usize) -> [String; 2] {
    [
        message("user", &format!("Chapter {number} still lacks an example of how step {number} is undone. What fits?")),
        message(
            "assistant",
            &format!(
                "Take the example of the printer in hall {number}: it shows step {number}, {}.",
                "and why it matters to whoever reads it for the first time".repeat(3)
            ),
        ),
    ]
}

async fn filled(world: &mut World) -> Engine {
    world.policy.facts.extract = false;
    let engine = world.open().await;
    for fact in ["Works at a small publisher", "Prefers short answers"] {
        let fact: NewFact = serde_json::from_value(json!({ "fact": fact })).unwrap();
        engine.add_fact(fact).await.unwrap();
    }
    engine
}

async fn asked(engine: &Engine, id: &str, profile: &str, question: &str) -> Context {
    let request: ContextRequest = serde_json::from_value(json!({
        "conversationId": id, "question": question, "system": PROMPT, "profile": profile, "window": 32_000,
    }))
    .unwrap();
    engine.build_context(request).await.unwrap()
}

fn at<'a>(context: &'a Context, after: &str) -> Option<&'a CacheBreakpoint> {
    context.cache_breakpoints.iter().find(|breakpoint| breakpoint.after == after)
}

/// The part of the system text in front of a position.
fn system_until(context: &Context, length: usize) -> String {
    String::from_utf16(&context.system.encode_utf16().take(length).collect::<Vec<u16>>()).unwrap()
}

fn summarizer() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Summarize => Some(SUMMARY.to_owned()),
        _ => None,
    })
}

#[test]
fn what_is_in_front_of_a_position_is_what_the_turn_before_sent() {
    block_on(async {
        let mut world = World::default().with_model(summarizer());
        world.policy.compaction.high_water_tokens = 3_000;
        world.policy.budget.recent_tokens = 2_000;
        world.policy.episodes.automatic = false;
        let engine = filled(&mut world).await;
        conversation(&engine, "c").await;
        let (mut before, mut kept): (Option<Context>, _) = (None, 0);
        for number in 0..120 {
            let context = asked(&engine, "c", "strict", &format!("Is chapter {number} done?")).await;
            // The system text is in the first message there: the positions are those of messages alone.
            assert!(context.cache_breakpoints.iter().all(|breakpoint| breakpoint.system_length.is_none()));
            let context = asked(&engine, "c", "anthropic", &format!("Is chapter {number} done?")).await;
            assert!(context.cache_breakpoints.len() <= 4);
            assert!(context.cache_breakpoints.windows(2).all(|pair| pair[0].tokens < pair[1].tokens));
            assert!(context.cache_breakpoints.iter().all(|breakpoint| breakpoint.tokens >= 1_024));
            if let Some(history) = at(&context, "history") {
                assert_eq!(history.message_index, Some(context.messages.len() - 2));
                assert_eq!(history.tokens, context.receipt.tokens.prefix);
            }
            let last = before.as_ref().filter(|before| before.system == context.system);
            if let Some((was, earlier)) = last.and_then(|before| at(before, "history")).zip(at(&context, "earlier")) {
                assert_eq!((was.message_index, was.tokens), (earlier.message_index, earlier.tokens));
                let index = was.message_index.unwrap();
                assert_eq!(before.as_ref().unwrap().messages[..=index], context.messages[..=index]);
                kept += 1;
            }
            before = Some(context);
            engine.append(append("c", turn(number).to_vec())).await.unwrap();
            engine.settled().await.unwrap();
        }
        assert!(engine.summary("c").await.unwrap().version >= 3);
        assert!(kept > 90, "{kept}");
    });
}

#[test]
fn conversations_share_what_is_in_front_of_the_first_position() {
    block_on(async {
        let mut world = World::default();
        let engine = filled(&mut world).await;
        let long_prompt = format!("{PROMPT} {}", "Cite the handbook word for word wherever you can. ".repeat(120));
        let mut fronts = Vec::new();
        for id in ["c", "d"] {
            conversation(&engine, id).await;
            let note: NewNote = serde_json::from_value(
                json!({ "conversationId": id, "id": "state", "content": format!("at chapter {id}") }),
            )
            .unwrap();
            engine.set_note(note).await.unwrap();
            let request: ContextRequest = serde_json::from_value(
                json!({ "conversationId": id, "question": "Go on?", "system": long_prompt, "profile": "anthropic" }),
            )
            .unwrap();
            let context = engine.build_context(request).await.unwrap();
            let (memory, system) = (at(&context, "memory").unwrap(), at(&context, "system").unwrap());
            assert_eq!(context.cache_breakpoints.len(), 2, "there is no history yet");
            let front = system_until(&context, memory.system_length.unwrap());
            assert!(front.contains("📘") && front.contains("Prefers short answers") && !front.contains("at chapter"));
            assert_eq!(system_until(&context, system.system_length.unwrap()), context.system);
            assert!(context.system[front.len()..].starts_with("\n\n"));
            assert!(memory.tokens < system.tokens);
            fronts.push((front, memory.tokens));
        }
        assert_eq!(fronts[0], fronts[1]);
    });
}

#[test]
fn where_nothing_so_short_is_kept_there_is_no_position() {
    block_on(async {
        let mut world = World::default();
        let engine = filled(&mut world).await;
        conversation(&engine, "c").await;
        engine.append(append("c", (0..8).flat_map(turn).collect())).await.unwrap();
        for profile in Profile::ALL {
            let request: ContextRequest = serde_json::from_value(
                json!({ "conversationId": "c", "question": "Go on?", "system": PROMPT, "profile": profile.name() }),
            )
            .unwrap();
            let context = engine.build_context(request).await.unwrap();
            let prefix = context.receipt.tokens.prefix;
            assert!((600..1_024).contains(&prefix), "{prefix}");
            let is_kept = ["mistral", "webllm", "prompt-api", "strict"].contains(&profile.name());
            assert_eq!(!context.cache_breakpoints.is_empty(), is_kept, "{}", profile.name());
        }
        engine.append(append("c", (8..20).flat_map(turn).collect())).await.unwrap();
        for (profile, count) in [("openai", 2), ("anthropic", 2), ("gemini", 0)] {
            let context = asked(&engine, "c", profile, "Go on?").await;
            assert!((1_024..2_048).contains(&context.receipt.tokens.prefix));
            assert_eq!(context.cache_breakpoints.len(), count, "{profile}");
        }
    });
}
