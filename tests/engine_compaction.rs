//! The rolling summary: cursor, version, compare-and-set, watermarks; what the model saw is what the cursor passes.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{Answer, SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use throughline::ports::{ModelRequest, Purpose};

fn chat(from: usize, count: usize) -> Vec<String> {
    (from..from + count)
        .map(|number| match number % 2 {
            0 => message("user", &format!("Marker{number:04} asks how the importer treats case {number}.")),
            _ => message(
                "assistant",
                &format!("Marker{number:04} answers: case {number} goes through src/import{number}.rs."),
            ),
        })
        .collect()
}

fn summarizer() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Summarize => Some(SUMMARY.to_owned()),
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        _ => None,
    })
}

#[test]
fn everything_the_cursor_passes_was_shown_to_the_model() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for batch in 0..12 {
            engine.append(append("c", chat(batch * 100, 100))).await.unwrap();
            engine.settled().await.unwrap();
            let summary = engine.summary("c").await.unwrap();
            let seen: String = model
                .requests
                .borrow()
                .iter()
                .filter(|request| request.purpose == Purpose::Summarize)
                .map(|request| request.prompt.clone())
                .collect();
            for seq in 1..=summary.summarized_until_seq {
                assert!(seen.contains(&format!("Marker{:04}", seq - 1)), "message {seq} was never shown");
            }
            // Whatever the cursor has not passed is in the context as it was said.
            let context = engine.build_context(ask("c", "and now?")).await.unwrap();
            let sent: String = context.messages.concat();
            for seq in summary.summarized_until_seq + 1..=(batch as u32 + 1) * 100 {
                let marker = format!("Marker{:04}", seq - 1);
                assert!(sent.contains(&marker), "message {seq} is neither summarised nor in the window");
            }
        }
        let summary = engine.summary("c").await.unwrap();
        assert!(summary.version >= 2);
        assert!(summary.summarized_until_seq > 600);
        assert!(summary.text.contains("8471"));
        let context = engine.build_context(ask("c", "which port?")).await.unwrap();
        assert!(context.system.contains("The port is 8471"));
        // The ledger keeps what the summary dropped.
        assert!(summary.identifiers.iter().any(|identifier| identifier.contains("src/import")));
    });
}

#[test]
fn the_mark_decides_when() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(0, 100))).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Summarize), 0);
        let forced = engine.compact("c", true).await.unwrap();
        assert_eq!(forced.version, 0, "all of it is in the recent window");
        engine.append(append("c", chat(100, 300))).await.unwrap();
        let forced = engine.compact("c", true).await.unwrap();
        assert_eq!(forced.version, 1);
        assert_eq!(forced.summarized_until_seq % 2, 0, "the cursor stands at the end of a turn group");
    });
}

#[test]
fn two_tabs_never_lose_a_summary() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let one = world.open().await;
        let other = world.open().await;
        conversation(&one, "c").await;
        let mut last = 0;
        for round in 0..6 {
            one.append(append("c", chat(round * 400, 400))).await.unwrap();
            let (first, second) = futures_util::future::join(one.compact("c", true), other.compact("c", true)).await;
            let (first, second) = (first.unwrap(), second.unwrap());
            let version = one.summary("c").await.unwrap().version;
            assert!(version > last && version <= last + 2, "{version} after {last}");
            assert!(first.version <= version && second.version <= version);
            assert_eq!(one.summary("c").await.unwrap(), other.summary("c").await.unwrap());
            last = version;
        }
    });
}

#[test]
fn a_late_answer_for_a_deleted_conversation_is_dropped() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(0, 600))).await.unwrap();
        world.model.clone().unwrap().then(Purpose::Summarize, Answer::Text(SUMMARY.into()));
        let compaction = engine.compact("c", true);
        let deletion = engine.delete_conversation("c");
        let (_, deleted) = futures_util::future::join(compaction, deletion).await;
        deleted.unwrap();
        assert!(engine.list_conversations(None, None).await.unwrap().items.is_empty());
        conversation(&engine, "c").await;
        assert_eq!(engine.summary("c").await.unwrap().version, 0);
    });
}

#[test]
fn a_small_window_is_compacted_earlier() {
    block_on(async {
        let world = World::default().with_model(summarizer());
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let small = || throughline::engine::ContextRequest {
            window: Some(4_000.0),
            reserve: Some(1_000.0),
            ..ask("c", "and now?")
        };
        for batch in 0..10 {
            engine.append(append("c", chat(batch * 40, 40))).await.unwrap();
            engine.build_context(small()).await.unwrap();
            engine.settled().await.unwrap();
        }
        let summary = engine.summary("c").await.unwrap();
        let context = engine.build_context(small()).await.unwrap();
        let sent = context.messages.concat();
        for seq in summary.summarized_until_seq + 1..=400 {
            assert!(sent.contains(&format!("Marker{:04}", seq - 1)), "message {seq} is in neither");
        }
    });
}
