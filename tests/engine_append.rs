//! Appending over a simulated host: nothing is lost, nothing is doubled, two tabs do not collide.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::{FutureExt, join_all};
use host::{World, append, ask, conversation, message, message_with_id};
use std::rc::Rc;
use throughline::engine::{AppendRequest, Engine, RecallRequest};
use throughline::error::Code;
use throughline::key;
use throughline::ports::{Key, KeyPart, Query, Storage, Store};
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

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

/// A world whose commits are seen, and whose storage takes so long that what is not waited for stands in a queue.
async fn slow() -> (FaultyStore<MemoryStore>, World, Engine) {
    let store = FaultyStore::new(MemoryStore::default());
    let kept = store.clone();
    let world = World { storage: Rc::new(move || Rc::new(kept.clone())), ..World::default() };
    let engine = world.open().await;
    for id in ["a", "b"] {
        conversation(&engine, id).await;
    }
    store.delay_polls(3);
    (store, world, engine)
}

#[test]
fn appends_that_wait_for_one_another_share_transactions() {
    block_on(async {
        let (store, world, engine) = slow().await;
        let before = store.commits().len();
        let say = |number: usize| {
            let call = Some(format!("call {number}"));
            let id = if number.is_multiple_of(3) { "b" } else { "a" };
            engine.append(AppendRequest { call, ..append(id, vec![message("user", &format!("number {number}"))]) })
        };
        let stored = join_all((0..40).map(say)).await;
        let seqs: Vec<u32> = stored.into_iter().map(|appended| appended.unwrap()[0].seq).collect();
        let expected = (0..40).map(|number| if number % 3 == 0 { number / 3 + 1 } else { number - number / 3 });
        assert_eq!(seqs, expected.collect::<Vec<u32>>());
        let commits = store.commits();
        assert!(commits.len() - before <= 3, "{} transactions", commits.len() - before);
        assert!(commits[before..].iter().all(|commit| commit.strict));
        // Each call that was stored with the last ones, carried out again, answers where its message is.
        let again = join_all((1..40).map(say)).await;
        assert_eq!(again.into_iter().map(|appended| appended.unwrap()[0].seq).collect::<Vec<_>>(), seqs[1..]);
        engine
            .append(AppendRequest { call: Some("next".into()), ..append("a", vec![message("user", "next")]) })
            .await
            .unwrap();
        let notes = store.inner().scan(Query::prefix(Store::MessageIds, key!["a"])).await.unwrap();
        let is_note = |key: &Key| key.0.last().is_some_and(|part| *part == KeyPart::from("call:next"));
        assert_eq!(notes.len(), 27 + 1, "the notes of calls that were answered are gone");
        assert!(notes.iter().any(|(key, _)| is_note(key)));
        let reopened = world.open().await;
        for engine in [&engine, &reopened] {
            assert_eq!(engine.history("a", None, None, None).await.unwrap().len(), 27);
            assert_eq!(engine.history("b", None, None, None).await.unwrap().len(), 14);
            assert!(!engine.recall(recall("number 38")).await.unwrap().is_empty());
        }
    });
}

#[test]
fn one_that_cannot_be_stored_does_not_take_others_along() {
    block_on(async {
        for faults in [vec![], vec![Fault::FailBefore(Code::StorageQuotaExceeded)], vec![Fault::Refuse, Fault::Refuse]]
        {
            let (store, world, engine) = slow().await;
            engine.append(append("a", vec![message_with_id("taken", "user", "one")])).await.unwrap();
            let other = world.open().await;
            other.append(append("b", vec![message("user", "from another tab")])).await.unwrap();
            other.delete_conversation("a").await.unwrap();
            conversation(&other, "a").await;
            let ids = ["a", "b", "a", "nowhere", "b", "a"];
            let say = |(number, id): (usize, &'static str)| {
                // Two of them want the same id.
                let own = if number == 2 || number == 5 { "same".to_owned() } else { format!("m{number}") };
                Box::pin(engine.append(append(id, vec![message_with_id(&own, "user", &format!("number {number}"))])))
            };
            let mut calls: Vec<_> = ids.into_iter().enumerate().map(say).collect();
            assert!(calls.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
            let mut stored = vec![calls.remove(0).await];
            store.script_commits(faults);
            stored.extend(join_all(calls).await);
            let codes: Vec<Option<Code>> =
                stored.iter().map(|one| one.as_ref().err().map(|error| error.code)).collect();
            assert_eq!(codes, [None, None, None, Some(Code::NotFound), None, Some(Code::Conflict)]);
            let seqs: Vec<u32> = stored.into_iter().flatten().map(|appended| appended[0].seq).collect();
            assert_eq!(seqs, [1, 2, 2, 3]);
            let reopened = world.open().await;
            for id in ["a", "b"] {
                let here = engine.history(id, None, None, None).await.unwrap();
                assert_eq!(here, reopened.history(id, None, None, None).await.unwrap());
                assert_eq!(here.len(), if id == "a" { 2 } else { 3 });
            }
        }
    });
}

/// Seed 1227 of the simulation: a write that was carried out, and its answer lost.
#[test]
fn after_a_shared_write_in_doubt_each_is_stored_once_and_told_so_or_refused() {
    block_on(async {
        let (store, world, engine) = slow().await;
        let named = |number: usize| message_with_id(&format!("m{number}"), "user", &format!("number {number}"));
        let call = |number: usize, call: Option<&str>, streaming: bool, raw: String| {
            let call = call.map(str::to_owned);
            Box::pin(engine.append(AppendRequest {
                call,
                streaming,
                ..append(if number == 0 { "b" } else { "a" }, vec![raw])
            }))
        };
        let mut calls = vec![
            call(0, None, false, named(0)),
            call(1, None, false, named(1)),
            call(2, None, true, named(2)),
            call(3, Some("three"), false, message("user", "number 3")),
            call(4, None, false, message("user", "number 4")),
            call(5, Some("five"), true, named(5)),
        ];
        assert!(calls.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
        calls.remove(0).await.unwrap();
        store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
        let stored = join_all(calls).await;
        let codes: Vec<Option<Code>> = stored.iter().map(|one| one.as_ref().err().map(|error| error.code)).collect();
        let doubtful = Some(Code::StorageUnavailable);
        assert_eq!(codes, [None, doubtful, None, doubtful, None]);
        for engine in [&engine, &world.open().await] {
            let texts = engine.history("a", None, None, None).await.unwrap().join(" ");
            assert!((1..6).all(|number| texts.matches(&format!("number {number}")).count() == 1), "{texts}");
        }
    });
}

#[test]
fn where_another_tab_holds_the_storage_all_that_wait_together_are_told_at_once() {
    block_on(async {
        let (store, _world, engine) = slow().await;
        let say = |number: usize| engine.append(append("a", vec![message("user", &format!("number {number}"))]));
        let mut calls: Vec<_> = (0..9).map(|number| Box::pin(say(number))).collect();
        assert!(calls.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
        calls.remove(0).await.unwrap();
        let before = store.commits().len();
        store.fail_next_commits(99, Code::StorageBlocked);
        let codes: Vec<_> = join_all(calls).await.into_iter().map(|one| one.unwrap_err().code).collect();
        assert_eq!(codes, [Code::StorageBlocked; 8]);
        assert_eq!(store.commits().len() - before, 1, "each try would wait for seconds");
        store.heal();
        assert_eq!(say(9).await.unwrap()[0].seq, 2);
    });
}

#[test]
fn whoever_is_given_up_does_not_take_others_along() {
    block_on(async {
        for polls in 0..30 {
            let (_store, world, engine) = slow().await;
            let say = |number: usize| engine.append(append("a", vec![message("user", &format!("number {number}"))]));
            let mut calls: Vec<_> = (0..6).map(|number| Box::pin(say(number))).collect();
            // All stand in the queue; once the first is through, the second takes the others along.
            assert!(calls.iter_mut().all(|call| call.as_mut().now_or_never().is_none()));
            calls.remove(0).await.unwrap();
            let mut leader = calls.remove(0);
            let has_ended = (0..polls).any(|_| leader.as_mut().now_or_never().is_some());
            drop(leader);
            let stored = join_all(calls).await;
            let mut seqs: Vec<u32> = stored.into_iter().map(|appended| appended.unwrap()[0].seq).collect();
            seqs.dedup();
            assert_eq!(seqs.len(), 4);
            let texts = world.open().await.history("a", None, None, None).await.unwrap().join(" ");
            let count = |number: usize| texts.matches(&format!("number {number}")).count();
            assert!([0, 2, 3, 4, 5].iter().all(|number| count(*number) == 1), "{texts}");
            assert!(count(1) == 1 || !has_ended);
        }
    });
}

#[test]
fn an_append_that_was_overtaken_tries_each_time_once() {
    block_on(async {
        let (store, world, engine) = slow().await;
        let other = world.open().await;
        let (mut tries, mut reads) = (Vec::new(), 0);
        for turn in 0..6 {
            let before = store.commits().len();
            reads = store.reads();
            let tab = if turn % 2 == 0 { &engine } else { &other };
            tab.append(append("a", vec![message("user", "one more")])).await.unwrap();
            tries.push(store.commits().len() - before);
        }
        // By what is known, then by what is read; the first time with the stamp as well.
        assert_eq!(tries, [1, 3, 2, 2, 2, 2]);
        // Nothing is read between the conversation's record and the write, since that is when others are faster.
        assert_eq!(store.reads() - reads, 1);
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
                async move { Engine::append(engine, request).await.unwrap()[0].seq }
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
