//! Messages that arrive in parts, over a simulated host: what is stored, counted and found while they do, how they end,
//! and what becomes of them when their writer does not come back.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::join_all;
use host::{SUMMARY, ScriptedModel, World, append, ask, conversation, message, message_with_id};
use proptest::prelude::*;
use std::rc::Rc;
use throughline::config::Policy;
use throughline::engine::{AppendRequest, Appended, Engine, HistoryEntry, RecallRequest, RemoveRequest, StreamUpdate};
use throughline::error::{Code, Result};
use throughline::key;
use throughline::ports::{Purpose, Record, Storage, Store};
use throughline::records::{MessageRecord, MessageStatus};
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

const LOST_MS: f64 = 31_000.0;

fn recall(query: &str) -> RecallRequest {
    serde_json::from_value(serde_json::json!({ "query": query })).unwrap()
}

async fn begin(engine: &Engine, message: String) -> Result<Appended> {
    let begun = engine.append(AppendRequest { streaming: true, ..append("c", vec![message]) }).await?;
    Ok(begun.into_iter().next().unwrap())
}

async fn update(engine: &Engine, begun: &Appended, message: Option<&str>, status: MessageStatus) -> Result<Appended> {
    let update = StreamUpdate {
        conversation_id: "c".into(),
        id: begun.id.clone(),
        seq: begun.seq,
        message: message.map(str::to_owned),
        status,
    };
    engine.update_stream(update).await
}

async fn grow(engine: &Engine, begun: &Appended, message: &str) -> Result<Appended> {
    update(engine, begun, Some(message), MessageStatus::Streaming).await
}

async fn complete(engine: &Engine, begun: &Appended, message: &str) -> Result<Appended> {
    update(engine, begun, Some(message), MessageStatus::Complete).await
}

async fn abort(engine: &Engine, begun: &Appended) -> Result<Appended> {
    update(engine, begun, None, MessageStatus::Aborted).await
}

async fn entries(engine: &Engine) -> Vec<HistoryEntry> {
    engine.history_entries("c", None, None, None).await.unwrap()
}

async fn statuses(engine: &Engine) -> Vec<MessageStatus> {
    entries(engine).await.into_iter().map(|entry| entry.status).collect()
}

async fn stored(storage: &dyn Storage, seq: u32) -> MessageRecord {
    let record: Record = storage.get(vec![(Store::Messages, key!["c", seq])]).await.unwrap().pop().unwrap().unwrap();
    serde_json::from_str(&record.body).unwrap()
}

/// Everything that must not depend on how a message came: counts, history, what a search finds.
async fn outcome(engine: &Engine, queries: &[&str]) -> (u64, usize, Vec<String>, Vec<(u32, Vec<f64>)>) {
    let stats = engine.stats().await.unwrap();
    let mut found = Vec::new();
    for query in queries {
        for group in engine.recall(recall(query)).await.unwrap() {
            found.extend(group.hits.iter().map(|hit| (hit.seq, vec![hit.score])));
        }
    }
    (stats.tokens, stats.messages as usize, engine.history("c", None, None, None).await.unwrap(), found)
}

#[test]
fn a_streamed_message_ends_as_if_it_had_been_appended_whole() {
    block_on(async {
        let (streamed, appended) = (World::default().with_embedder(), World::default().with_embedder());
        let whole =
            message_with_id("a", "assistant", "The staging port is 8471, behind the proxy of the choir's website.");
        for (world, is_streamed) in [(&streamed, true), (&appended, false)] {
            let engine = world.open().await;
            conversation(&engine, "c").await;
            engine.append(append("c", vec![message_with_id("q", "user", "Which port?")])).await.unwrap();
            if is_streamed {
                let begun = begin(&engine, message_with_id("a", "assistant", "")).await.unwrap();
                assert_eq!((begun.id.as_str(), begun.seq), ("a", 2));
                grow(&engine, &begun, &message_with_id("a", "assistant", "The staging port")).await.unwrap();
                let ended = complete(&engine, &begun, &whole).await.unwrap();
                assert_eq!((ended.id.as_str(), ended.seq), ("a", 2));
            } else {
                engine.append(append("c", vec![whole.clone()])).await.unwrap();
            }
            engine.work().await;
        }
        let (one, other) = (streamed.open().await, appended.open().await);
        let queries = ["staging port", "proxy", "choir website"];
        assert_eq!(outcome(&one, &queries).await, outcome(&other, &queries).await);
        assert_eq!(one.get_conversation("c").await.unwrap().tokens, other.get_conversation("c").await.unwrap().tokens);
        let (a, b) = (stored(&*(streamed.storage)(), 2).await, stored(&*(appended.storage)(), 2).await);
        assert_eq!(MessageRecord { created_at: 0.0, ..a }, MessageRecord { created_at: 0.0, ..b });
        // The message that arrived whole is known by its id and content now, so appending it again is a no-op.
        assert_eq!(one.append(append("c", vec![whole])).await.unwrap()[0].seq, 2);
        assert_eq!(one.stats().await.unwrap().vectors, 2);
    });
}

#[test]
fn while_it_streams_it_is_in_history_search_and_context_with_what_arrived() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "Which port did we pick?")])).await.unwrap();
        let before = engine.stats().await.unwrap().tokens;
        let begun = begin(&engine, message("assistant", "")).await.unwrap();
        assert_eq!(begun.id, "seq:2");
        let text = "We settled on port eight thousand four hundred seventy-one, since the proxy listens there already.";
        grow(&engine, &begun, &message("assistant", text)).await.unwrap();
        assert_eq!(statuses(&engine).await, [MessageStatus::Complete, MessageStatus::Streaming]);
        assert_eq!(engine.history("c", Some(2), None, None).await.unwrap(), [message("assistant", text)]);
        let hits = engine.recall(recall("proxy")).await.unwrap();
        assert_eq!((hits[0].hits[0].seq, hits[0].hits[0].status), (2, MessageStatus::Streaming));
        assert!(engine.stats().await.unwrap().tokens > before);
        // Another tab's question waits behind it.
        let other = world.open().await;
        other.append(append("c", vec![message("user", "And the host?")])).await.unwrap();
        let context = other.build_context(ask("c", "And the host?")).await.unwrap();
        assert!(context.messages.iter().any(|sent| sent.contains("the proxy listens")));
        // What grew a little is in the context as it is, and counted as it is.
        let longer = format!("{text} So it stays.");
        grow(&engine, &begun, &message("assistant", &longer)).await.unwrap();
        let context = other.build_context(ask("c", "And the host?")).await.unwrap();
        assert!(context.messages.iter().any(|sent| sent.contains("So it stays.")));
        complete(&engine, &begun, &message("assistant", &longer)).await.unwrap();
        let exact = other.build_context(ask("c", "And the host?")).await.unwrap();
        assert_eq!(context.tokens, exact.tokens);
        assert_eq!(statuses(&other).await, [MessageStatus::Complete; 3]);
        let events = world.events.borrow();
        let told: Vec<&str> = events
            .iter()
            .filter(|event| event.name == "stream")
            .map(|event| event.payload["status"].as_str().unwrap())
            .collect();
        assert_eq!(told, ["complete"]);
    });
}

#[test]
fn an_aborted_message_keeps_what_arrived_and_its_open_call_is_stubbed() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "Run the tests, please")])).await.unwrap();
        let called = r#"{"role":"assistant","content":"Running","tool_calls":[{"id":"call_1","type":"function","function":{"name":"run","arguments":"{}"}}]}"#;
        let begun = begin(&engine, message("assistant", "")).await.unwrap();
        grow(&engine, &begun, called).await.unwrap();
        let ended = abort(&engine, &begun).await.unwrap();
        let empty = begin(&engine, message("assistant", "")).await.unwrap();
        abort(&engine, &empty).await.unwrap();
        assert_eq!(engine.history("c", Some(2), Some(2), None).await.unwrap(), [called]);
        assert_eq!(statuses(&engine).await[1..], [MessageStatus::Aborted, MessageStatus::Aborted]);
        let context = engine.build_context(ask("c", "What came of it?")).await.unwrap();
        let sent = context.messages.join("\n");
        assert!(sent.contains("call_1") && sent.contains(r#""tool_call_id":"call_1""#), "{sent}");
        assert!(!sent.contains(r#""content":"""#), "{sent}");
        // Ending it in the same way again is a no-op, in another way a conflict.
        assert_eq!(abort(&engine, &begun).await.unwrap(), ended);
        assert_eq!(complete(&engine, &begun, called).await.unwrap_err().code, Code::Conflict);
        assert_eq!(grow(&engine, &begun, called).await.unwrap_err().code, Code::Conflict);
    });
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        assert_eq!(begin(&engine, message("user", "x")).await.unwrap_err().code, Code::NotFound);
        conversation(&engine, "c").await;
        let stored = message_with_id("x", "user", "port 8471");
        engine.append(append("c", vec![stored.clone()])).await.unwrap();
        assert_eq!(begin(&engine, stored).await.unwrap_err().code, Code::Conflict);
        assert_eq!(begin(&engine, "{}".into()).await.unwrap_err().code, Code::InvalidArgument);
        let begun = begin(&engine, message_with_id("y", "assistant", "secret")).await.unwrap();
        assert_eq!(begin(&engine, message_with_id("y", "assistant", "secret")).await.unwrap_err().code, Code::Conflict);
        let wrong = [
            message_with_id("z", "assistant", "secret"),
            message("assistant", "secret"),
            message_with_id("y", "user", "secret"),
            "[]".to_owned(),
        ];
        for raw in &wrong {
            for status in [MessageStatus::Streaming, MessageStatus::Complete] {
                let error = update(&engine, &begun, Some(raw), status).await.unwrap_err();
                assert_eq!(error.code, Code::InvalidArgument, "{raw}");
                assert!(!error.message.contains("secret"));
            }
        }
        let unnamed = begin(&engine, message("assistant", "")).await.unwrap();
        let named = message_with_id("later", "assistant", "x");
        assert_eq!(complete(&engine, &unnamed, &named).await.unwrap_err().code, Code::InvalidArgument);
        assert_eq!(
            engine.history("c", Some(2), Some(2), None).await.unwrap(),
            [message_with_id("y", "assistant", "secret")]
        );
        engine.delete_conversation("c").await.unwrap();
        assert_eq!(
            complete(&engine, &begun, &message_with_id("y", "assistant", "x")).await.unwrap_err().code,
            Code::NotFound
        );
        assert_eq!(engine.stats().await.unwrap().messages, 0);
    });
}

#[test]
fn a_message_whose_writer_is_gone_is_aborted_by_whoever_meets_it() {
    block_on(async {
        let world = World::default().with_embedder();
        let text = message("assistant", "half of an answer about the proxy");
        {
            let crashed = world.open().await;
            conversation(&crashed, "c").await;
            let begun = begin(&crashed, message("assistant", "")).await.unwrap();
            grow(&crashed, &begun, &text).await.unwrap();
        }
        let engine = world.open().await;
        assert_eq!(statuses(&engine).await, [MessageStatus::Streaming]);
        engine.work().await;
        assert_eq!(engine.stats().await.unwrap().vectors, 0);
        world.clock.advance(LOST_MS);
        assert_eq!(statuses(&engine).await, [MessageStatus::Aborted]);
        assert_eq!(engine.history("c", None, None, None).await.unwrap(), std::slice::from_ref(&text));
        engine.work().await;
        assert_eq!(engine.stats().await.unwrap().vectors, 1);
        let record = stored(&*(world.storage)(), 1).await;
        assert_eq!((record.heard_at, record.counted_with.as_str()), (None, "estimate/1"));
        assert_eq!(engine.stats().await.unwrap().tokens, u64::from(record.tokens));
    });
}

#[test]
fn a_writer_heard_of_before_the_clock_was_put_back_is_taken_for_gone() {
    block_on(async {
        let world = World::default();
        let crashed = world.open().await;
        conversation(&crashed, "c").await;
        begin(&crashed, message("assistant", "half")).await.unwrap();
        drop(crashed);
        world.clock.advance(-86_400_000.0);
        assert_eq!(statuses(&world.open().await).await, [MessageStatus::Aborted]);
    });
}

#[test]
fn an_end_whose_answer_was_lost_is_on_disk_before_it_is_answered_again() {
    block_on(async {
        let (world, store) = faulty_world();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let begun = begin(&engine, message("assistant", "8471")).await.unwrap();
        store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
        let whole = message("assistant", "8471, I think");
        assert_eq!(complete(&engine, &begun, &whole).await.unwrap_err().code, Code::StorageUnavailable);
        let before = store.commits().len();
        complete(&engine, &begun, &whole).await.unwrap();
        assert!(store.commits()[before..].iter().any(|commit| commit.strict), "a barrier");
    });
}

#[test]
fn a_removed_message_takes_along_what_another_tab_has_counted_of_it() {
    block_on(async {
        let world = World::default();
        let (writer, other) = (world.open().await, world.open().await);
        conversation(&writer, "c").await;
        writer.append(append("c", vec![message("user", "Which port?")])).await.unwrap();
        let alone = writer.stats().await.unwrap().tokens;
        let begun = begin(&writer, message("assistant", "8471")).await.unwrap();
        assert_eq!(statuses(&other).await.len(), 2);
        grow(&writer, &begun, &message("assistant", &"8471, because the proxy listens there. ".repeat(20)))
            .await
            .unwrap();
        let gone = RemoveRequest { conversation_id: "c".into(), message_id: begun.id, descendants: false };
        other.remove(gone).await.unwrap();
        assert_eq!(world.open().await.stats().await.unwrap().tokens, alone);
    });
}

#[test]
fn building_a_context_meets_it_too_and_two_tabs_end_it_once() {
    block_on(async {
        let world = World::default();
        let crashed = world.open().await;
        conversation(&crashed, "c").await;
        crashed.append(append("c", vec![message("user", "Which port?")])).await.unwrap();
        let begun = begin(&crashed, message("assistant", "8471, I think, and")).await.unwrap();
        let tabs = [world.open().await, world.open().await];
        for tab in &tabs {
            tab.build_context(ask("c", "Well?")).await.unwrap();
        }
        drop(crashed);
        world.clock.advance(LOST_MS);
        join_all(tabs.iter().map(|tab| tab.build_context(ask("c", "Well?")))).await;
        for tab in &tabs {
            assert_eq!(statuses(tab).await, [MessageStatus::Complete, MessageStatus::Aborted]);
        }
        let ended = world.events.borrow().iter().filter(|event| event.payload["status"] == "aborted").count();
        assert_eq!(ended, 1);
        // A writer that was taken for gone and comes back is told, and what is stored stays.
        let error = complete(&tabs[0], &begun, &message("assistant", "8471, I think, and so on")).await.unwrap_err();
        assert_eq!(error.code, Code::Conflict);
        assert_eq!(
            tabs[1].history("c", Some(2), None, None).await.unwrap(),
            [message("assistant", "8471, I think, and")]
        );
    });
}

#[test]
fn a_living_stream_of_another_tab_is_left_alone() {
    block_on(async {
        let world = World::default();
        let writer = world.open().await;
        conversation(&writer, "c").await;
        let begun = begin(&writer, message("assistant", "thinking")).await.unwrap();
        grow(&writer, &begun, &message("assistant", "thinking of it")).await.unwrap();
        let other = world.open().await;
        // Silent for long, as a page in the background is: it holds its lock.
        world.clock.advance(LOST_MS);
        assert_eq!(statuses(&other).await, [MessageStatus::Streaming]);
        // Without locks, its signs of life speak for it.
        let elsewhere = World { locks: host::LocalLocks::default(), ..world };
        let foreign = elsewhere.open().await;
        update(&writer, &begun, None, MessageStatus::Streaming).await.unwrap();
        elsewhere.clock.advance(29_000.0);
        assert_eq!(statuses(&foreign).await, [MessageStatus::Streaming]);
        update(&writer, &begun, None, MessageStatus::Streaming).await.unwrap();
        elsewhere.clock.advance(29_000.0);
        assert_eq!(statuses(&foreign).await, [MessageStatus::Streaming]);
        elsewhere.clock.advance(2_000.0);
        assert_eq!(statuses(&foreign).await, [MessageStatus::Aborted]);
    });
}

#[test]
fn another_instance_goes_on_where_the_first_one_ended() {
    block_on(async {
        let world = World::default();
        let first = world.open().await;
        conversation(&first, "c").await;
        let begun = begin(&first, message("assistant", "")).await.unwrap();
        grow(&first, &begun, &message("assistant", "half")).await.unwrap();
        drop(first);
        let second = world.open().await;
        grow(&second, &begun, &message("assistant", "half and more")).await.unwrap();
        world.clock.advance(LOST_MS);
        // It is this one's own now, and it holds the lock.
        assert_eq!(statuses(&second).await, [MessageStatus::Streaming]);
        assert_eq!(statuses(&world.open().await).await, [MessageStatus::Streaming]);
        complete(&second, &begun, &message("assistant", "half and more, whole")).await.unwrap();
        let plain = World::default().open().await;
        conversation(&plain, "c").await;
        plain.append(append("c", vec![message("assistant", "half and more, whole")])).await.unwrap();
        assert_eq!(outcome(&second, &["whole"]).await, outcome(&plain, &["whole"]).await);
    });
}

#[test]
fn background_work_ends_before_the_first_message_that_streams() {
    block_on(async {
        let model = ScriptedModel::answering(|request| match request.purpose {
            Purpose::Summarize => Some(SUMMARY.into()),
            _ => Some(r#"{"facts":[]}"#.into()),
        });
        let mut policy = Policy::default();
        policy.facts.extract = true;
        policy.facts.batch_messages = 1;
        policy.budget.recent_tokens = 40;
        let world = World { policy, ..World::default().with_embedder().with_model(model) };
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let turn = |number: u32| {
            vec![
                message("user", &format!("question {number}, {}", "about the choir and its website ".repeat(5))),
                message("assistant", &format!("answer {number}, {}", "about the choir and its website ".repeat(5))),
            ]
        };
        engine.append(append("c", turn(1))).await.unwrap();
        engine.append(append("c", vec![message("user", "and the port?")])).await.unwrap();
        let begun = begin(&engine, message("assistant", "it is")).await.unwrap();
        for number in 2..20 {
            engine.append(append("c", turn(number))).await.unwrap();
        }
        engine.work().await;
        assert_eq!(engine.stats().await.unwrap().vectors, 3);
        let read = |purpose: Purpose| {
            let requests = world.model.as_ref().unwrap().requests.borrow();
            requests
                .iter()
                .filter(|request| request.purpose == purpose)
                .map(|request| request.prompt.clone())
                .collect::<String>()
        };
        assert!(read(Purpose::Extract).contains("and the port?") && !read(Purpose::Extract).contains("question 2"));
        assert_eq!(engine.compact("c", true).await.unwrap().summarized_until_seq, 2);
        // Another tab, which has read nothing yet, stops there too and does not go round in circles.
        let other = world.open().await;
        other.settled().await.unwrap();
        assert_eq!(other.stats().await.unwrap().jobs, 0);
        complete(&engine, &begun, &message("assistant", "it is 8471")).await.unwrap();
        engine.work().await;
        let stats = engine.stats().await.unwrap();
        assert_eq!((stats.vectors, stats.jobs), (40, 0));
        assert!(read(Purpose::Extract).contains("question 19"));
        assert!(engine.compact("c", true).await.unwrap().summarized_until_seq > 4);
        assert!(read(Purpose::Summarize).contains("it is 8471"));
        let hits = engine.recall(recall("8471")).await.unwrap();
        assert!(hits[0].hits[0].scores.semantic.is_some(), "the whole message has its vector");
    });
}

#[test]
fn a_first_message_that_streams_leaves_nothing_due() {
    block_on(async {
        let world = World::default().with_embedder();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let begun = begin(&engine, message("user", "spoken")).await.unwrap();
        for engine in [&engine, &world.open().await] {
            engine.settled().await.unwrap();
            assert_eq!(engine.stats().await.unwrap().jobs, 0);
        }
        complete(&engine, &begun, &message("user", "spoken words become the title")).await.unwrap();
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "spoken");
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 1);
    });
}

fn faulty_world() -> (World, FaultyStore<MemoryStore>) {
    let store = FaultyStore::new(MemoryStore::default());
    let shared = store.clone();
    (World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() }, store)
}

#[test]
fn counting_is_linear_and_strict_writes_are_two() {
    block_on(async {
        let (world, store) = faulty_world();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let before = store.commits().len();
        let begun = begin(&engine, message("assistant", "")).await.unwrap();
        let mut text = String::new();
        for number in 0..2_000 {
            text.push_str(&format!("word{number} "));
            grow(&engine, &begun, &message("assistant", &text)).await.unwrap();
        }
        complete(&engine, &begun, &message("assistant", &text)).await.unwrap();
        let commits = store.commits().split_off(before);
        assert_eq!(commits.len(), 2_002);
        let counted: Vec<usize> = commits
            .iter()
            .filter(|commit| commit.puts.iter().any(|(store, ..)| *store == Store::Conversations))
            .map(|commit| commit.puts.iter().find(|(store, ..)| *store == Store::Messages).unwrap().2.body.len())
            .collect();
        assert!(counted.len() < 35, "{} of 2,002 writes were counted", counted.len());
        // A geometric row: its sum is a small multiple of its last member.
        assert!(counted.iter().sum::<usize>() < 8 * counted.last().unwrap());
        assert_eq!(commits.iter().filter(|commit| commit.strict).count(), 2);
        let plain = World::default().open().await;
        conversation(&plain, "c").await;
        plain.append(append("c", vec![message("assistant", &text)])).await.unwrap();
        assert_eq!(outcome(&engine, &["word1999"]).await, outcome(&plain, &["word1999"]).await);
    });
}

#[test]
fn whatever_step_fails_the_stream_can_still_be_ended() {
    let texts =
        ["", "The port is 8471.", "The port is 8471. It was chosen since the proxy of the website listens there."];
    let whole = message_with_id("a", "assistant", texts[2]);
    for fault in
        [Fault::FailBefore(Code::StorageUnavailable), Fault::FailAfter(Code::StorageUnavailable), Fault::Refuse]
    {
        for step in 0..24 {
            for on_read in [true, false] {
                block_on(async {
                    let (world, store) = faulty_world();
                    let engine = world.open().await;
                    conversation(&engine, "c").await;
                    let begun = begin(&engine, message_with_id("a", "assistant", texts[0])).await.unwrap();
                    let faults = std::iter::repeat_n(Fault::Pass, step).chain([fault]);
                    if on_read {
                        store.script_reads(faults);
                    } else {
                        store.script_commits(faults);
                    }
                    for text in &texts[1..] {
                        // A snapshot that fails is made up for by the next.
                        let _ = grow(&engine, &begun, &message_with_id("a", "assistant", text)).await;
                    }
                    let mut ended = complete(&engine, &begun, &whole).await;
                    if ended.is_err() {
                        ended = complete(&engine, &begun, &whole).await;
                    }
                    assert_eq!(ended.unwrap().seq, 1, "{fault:?} at {step}");
                    store.heal();
                    let plain = World::default().open().await;
                    conversation(&plain, "c").await;
                    plain.append(append("c", vec![whole.clone()])).await.unwrap();
                    for engine in [&engine, &world.open().await] {
                        assert_eq!(
                            outcome(engine, &["proxy"]).await,
                            outcome(&plain, &["proxy"]).await,
                            "{fault:?} at {step}"
                        );
                    }
                });
            }
        }
    }
}

#[test]
fn records_without_a_status_are_whole_and_whole_ones_are_written_as_before() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", vec![message("user", "as ever")])).await.unwrap();
        let begun = begin(&engine, message("assistant", "new")).await.unwrap();
        complete(&engine, &begun, &message("assistant", "new")).await.unwrap();
        let storage = (world.storage)();
        for seq in [1_u32, 2] {
            let record = storage.get(vec![(Store::Messages, key!["c", seq])]).await.unwrap().pop().unwrap().unwrap();
            assert!(!record.body.contains("status") && !record.body.contains("heardAt"), "{}", record.body);
        }
        assert_eq!(statuses(&engine).await, [MessageStatus::Complete; 2]);
    });
}

/// One step of a conversation into which several messages stream at once.
#[derive(Clone, Debug)]
enum Step {
    Append(u8),
    Begin,
    Grow(usize, u8),
    End(usize, bool),
    Search,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        any::<u8>().prop_map(Step::Append),
        Just(Step::Begin),
        (any::<usize>(), any::<u8>()).prop_map(|(stream, words)| Step::Grow(stream, words)),
        (any::<usize>(), any::<u8>()).prop_map(|(stream, words)| Step::Grow(stream, words)),
        (any::<usize>(), any::<bool>()).prop_map(|(stream, is_whole)| Step::End(stream, is_whole)),
        Just(Step::Search),
        Just(Step::Reopen),
    ]
}

fn words(count: u8, seed: usize) -> String {
    let known = ["port", "proxy", "choir", "website", "rehearsal", "singer", "poster", "ticket"];
    (0..usize::from(count) % 40).map(|at| known[(at * 7 + seed) % known.len()]).collect::<Vec<_>>().join(" ")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn any_interleaving_ends_as_plain_appends_of_what_is_there(steps in prop::collection::vec(step(), 1..40)) {
        block_on(async {
            let world = World::default().with_embedder();
            let mut engine = world.open().await;
            conversation(&engine, "c").await;
            let mut streams: Vec<(Appended, String)> = Vec::new();
            for (number, step) in steps.into_iter().enumerate() {
                match step {
                    Step::Append(count) => {
                        engine.append(append("c", vec![message("user", &words(count, number))])).await.unwrap();
                    }
                    Step::Begin => {
                        let begun = begin(&engine, message("assistant", "")).await.unwrap();
                        streams.push((begun, String::new()));
                    }
                    Step::Grow(at, count) if !streams.is_empty() => {
                        let at = at % streams.len();
                        let (begun, text) = &mut streams[at];
                        text.push_str(&words(count, number));
                        grow(&engine, begun, &message("assistant", text)).await.unwrap();
                    }
                    Step::End(at, is_whole) if !streams.is_empty() => {
                        let at = at % streams.len();
                        let (begun, text) = streams.remove(at);
                        let status = if is_whole { MessageStatus::Complete } else { MessageStatus::Aborted };
                        update(&engine, &begun, Some(&message("assistant", &text)), status).await.unwrap();
                    }
                    Step::Search => {
                        engine.recall(recall("port of the choir")).await.unwrap();
                        engine.work().await;
                    }
                    Step::Reopen => engine = world.open().await,
                    Step::Grow(..) | Step::End(..) => {}
                }
            }
            for (begun, _) in &streams {
                abort(&engine, begun).await.unwrap();
            }
            engine.work().await;
            let plain = World::default().with_embedder().open().await;
            conversation(&plain, "c").await;
            for raw in engine.history("c", None, None, None).await.unwrap() {
                plain.append(append("c", vec![raw])).await.unwrap();
            }
            plain.work().await;
            let queries = ["port proxy", "choir", "singer of the poster", "ticket"];
            let expected = outcome(&plain, &queries).await;
            prop_assert_eq!(outcome(&engine, &queries).await, expected.clone());
            prop_assert_eq!(outcome(&world.open().await, &queries).await, expected);
            Ok(())
        })?;
    }
}
