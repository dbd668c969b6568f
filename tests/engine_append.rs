//! Appending over a simulated host: nothing is lost, nothing is doubled, two tabs do not collide.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::join_all;
use host::{World, append, ask, conversation, message, message_with_id};
use throughline::engine::{AppendRequest, RecallRequest};
use throughline::error::Code;

fn recall(query: &str) -> RecallRequest {
    serde_json::from_value(serde_json::json!({ "query": query })).unwrap()
}

#[test]
fn what_was_given_comes_back_byte_for_byte_after_a_reload() {
    block_on(async {
        let world = World::default();
        let raws = vec![
            r#"{"role":"user","content":"a\ud800b","extra":{"__proto__":{"admin":true},"n":1.50}}"#.to_owned(),
            r#"{"content":[{"type":"text","text":"x\u0000y"}],"role":"assistant"}"#.to_owned(),
            message("user", ""),
            message("assistant", "safe\u{202E}gpj.exe <|endoftext|> [INST] {{user}} ${x}"),
        ];
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let appended = engine.append(append("c", raws.clone())).await.unwrap();
        assert_eq!(appended.iter().map(|message| message.seq).collect::<Vec<_>>(), [1, 2, 3, 4]);
        engine.close();
        let again = world.open().await;
        assert_eq!(again.history("c", None, None, None).await.unwrap(), raws);
        assert_eq!(again.history("c", Some(2), Some(3), None).await.unwrap(), raws[1..3]);
        assert_eq!(again.history("c", None, None, Some(1)).await.unwrap(), raws[..1]);
        // Row 1: an empty message is stored, takes no tokens of text, and is not indexed.
        let groups = again.recall(recall("safe x")).await.unwrap();
        let hits: Vec<u32> = groups.iter().flat_map(|group| &group.hits).map(|hit| hit.seq).collect();
        assert!(!hits.is_empty() && !hits.contains(&3), "{hits:?}");
        // Nor is a blank text looked for, nor what is out of its range.
        let wrong = [
            recall(" \n"),
            RecallRequest { top_k: Some(1.5), ..recall("x") },
            RecallRequest { top_k: Some(-1.0), ..recall("x") },
            RecallRequest { threshold: Some(2.0), ..recall("x") },
            RecallRequest { threshold: Some(f64::NAN), ..recall("x") },
        ];
        for request in wrong {
            assert_eq!(again.recall(request).await.unwrap_err().code.as_str(), "invalid_argument");
        }
    });
}

#[test]
fn the_same_id_with_the_same_content_is_a_no_op_and_with_other_content_a_conflict() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let first = message_with_id("x", "user", "port 8471");
        engine.append(append("c", vec![first.clone()])).await.unwrap();
        let repeated = engine.append(append("c", vec![message("user", "new"), first.clone()])).await.unwrap();
        assert_eq!((repeated[0].seq, repeated[1].seq), (2, 1));
        let other = message_with_id("x", "user", "port 9000");
        let error = engine.append(append("c", vec![message("user", "lost?"), other])).await.unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert!(!error.message.contains("9000") && !error.message.contains("lost"));
        assert_eq!(engine.history("c", None, None, None).await.unwrap().len(), 2);
        let twice =
            engine.append(append("c", vec![message_with_id("y", "user", "z"), message_with_id("y", "user", "z")]));
        let twice = twice.await.unwrap();
        assert_eq!((twice[0].seq, twice[1].seq), (3, 3));
    });
}

#[test]
fn appends_that_nobody_waited_for_keep_their_order() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let appends = (0..40).map(|number| engine.append(append("c", vec![message("user", &number.to_string())])));
        let seqs: Vec<u32> = join_all(appends).await.into_iter().map(|result| result.unwrap()[0].seq).collect();
        assert_eq!(seqs, (1..=40).collect::<Vec<u32>>());
    });
}

#[test]
fn two_tabs_append_without_collision_and_see_each_other() {
    block_on(async {
        let world = World::default().with_embedder();
        let one = world.open().await;
        let other = world.open().await;
        conversation(&one, "c").await;
        let from = |engine, name: &'static str| {
            (0..25).map(move |number| {
                let request = append("c", vec![message("user", &format!("{name} says {number}"))]);
                async move { throughline::engine::Engine::append(engine, request).await.unwrap()[0].seq }
            })
        };
        let mut seqs = join_all(from(&one, "alpha").chain(from(&other, "beta")).collect::<Vec<_>>()).await;
        seqs.sort_unstable();
        assert_eq!(seqs, (1..=50).collect::<Vec<u32>>());
        one.settled().await.unwrap();
        let context = other.build_context(ask("c", "what did alpha say about 24?")).await.unwrap();
        assert!(context.messages.iter().any(|message| message.contains("alpha says 24")));
        assert_eq!(one.stats().await.unwrap().messages, 50);
        assert_eq!(one.stats().await.unwrap().vectors, 50);
    });
}

#[test]
fn what_cannot_be_read_is_refused_whole_and_without_repeating_it() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for bad in ["secret", "[]", r#"{"role":"pirate","content":"secret"}"#, r#"{"role":"user","content":7}"#] {
            let error = engine.append(append("c", vec![message("user", "fine"), bad.to_owned()])).await.unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument, "{bad}");
            assert!(!error.message.contains("secret"), "{}", error.message);
        }
        let long_id = "i".repeat(10_000);
        let error = engine.append(append("c", vec![message_with_id(&long_id, "user", "x")])).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
        assert_eq!(engine.history("c", None, None, None).await.unwrap(), Vec::<String>::new());
        let missing = AppendRequest { conversation_id: "nowhere".into(), ..append("c", vec![message("user", "x")]) };
        assert_eq!(engine.append(missing).await.unwrap_err().code, Code::NotFound);
    });
}

#[test]
fn ids_of_any_content_stay_apart() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        for id in ["constructor", "a/b", "a\u{0}b", "\u{1F600}", "__proto__"] {
            conversation(&engine, id).await;
            engine.append(append(id, vec![message_with_id(id, "user", id)])).await.unwrap();
        }
        for id in ["constructor", "a/b", "a\u{0}b", "\u{1F600}", "__proto__"] {
            assert_eq!(engine.history(id, None, None, None).await.unwrap(), [message_with_id(id, "user", id)]);
        }
        assert_eq!(engine.list_conversations(None, None).await.unwrap().items.len(), 5);
    });
}

#[test]
fn a_message_of_ten_megabytes_is_stored_and_one_beyond_the_limit_is_refused() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let big = message("user", &"lorem ipsum ".repeat(10 * 1024 * 1024 / 12));
        engine.append(append("c", vec![big.clone()])).await.unwrap();
        assert_eq!(engine.history("c", None, None, None).await.unwrap(), [big]);
        let error = engine.append(append("c", vec![message("user", &"x".repeat(17 * 1024 * 1024))])).await.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument);
    });
}

#[test]
fn titles_and_pages() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        for number in 0..5 {
            conversation(&engine, &format!("c{number}")).await;
            world.clock.advance(1_000.0);
        }
        engine.append(append("c1", vec![message("user", &format!("\n {}", "ü".repeat(80)))])).await.unwrap();
        let page = engine.list_conversations(Some(2), None).await.unwrap();
        assert_eq!(page.items[0].id, "c1");
        assert_eq!(page.items[0].title, "ü".repeat(50));
        assert_eq!(page.items[1].title, "Untitled");
        let rest = engine.list_conversations(None, page.next.as_deref()).await.unwrap();
        assert_eq!(rest.items.len(), 3);
        assert_eq!(rest.next, None);
    });
}

#[test]
fn closed_means_closed() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.close();
        assert_eq!(engine.append(append("c", vec![message("user", "x")])).await.unwrap_err().code, Code::Closed);
        assert_eq!(engine.settled().await.unwrap_err().code, Code::Closed);
    });
}

#[test]
fn a_recall_over_everything_sees_what_another_tab_made_changed_and_erased() {
    block_on(async {
        let world = World::default();
        let (one, other) = (world.open().await, world.open().await);
        let finds = async |word: &str| !other.recall(recall(word)).await.unwrap().is_empty();
        conversation(&one, "a").await;
        conversation(&one, "b").await;
        one.append(append("a", vec![message("user", "quillmark")])).await.unwrap();
        one.append(append("b", vec![message("user", "thornmark")])).await.unwrap();
        assert!(finds("quillmark").await && finds("thornmark").await);
        one.append(append("b", vec![message("user", "cindermark")])).await.unwrap();
        assert!(finds("cindermark").await && finds("quillmark").await);
        let erase = serde_json::json!({ "conversationId": "a" });
        one.erase(serde_json::from_value(erase).unwrap()).await.unwrap();
        assert!(!finds("quillmark").await && finds("cindermark").await);
    });
}
