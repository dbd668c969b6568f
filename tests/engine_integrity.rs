//! Storage that is not what it was: found at the opening or when it is read, named with numbers, and what is left goes on.

#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

mod host;

use futures_util::FutureExt;
use host::{World, append, ask, conversation, message};
use std::rc::Rc;
use throughline::engine::{Damage, DamageKind, Engine, EraseRequest, Mark, RemoveRequest, StorageCheck};
use throughline::error::Code;
use throughline::key;
use throughline::ports::{Commit, KeyPart, Query, Record, Storage, Store};
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;

fn now<T>(future: impl Future<Output = T>) -> T {
    future.now_or_never().expect("everything answers at once")
}

fn world(store: &MemoryStore) -> World {
    let store = store.clone();
    World { storage: Rc::new(move || Rc::new(store.clone())), ..World::default() }
}

fn check(marks: &[&Mark]) -> StorageCheck {
    let marks = marks.iter().map(|mark| (*mark).clone()).collect();
    StorageCheck { marks, store_id: "one".into() }
}

async fn opened(store: &MemoryStore, marks: &[&Mark]) -> (Engine, Option<Damage>) {
    let engine = world(store).open().await;
    let damage = engine.check_storage(check(marks)).await.expect("reads");
    (engine, damage)
}

async fn say(engine: &Engine, id: &str, count: usize) {
    for number in 0..count {
        engine.append(append(id, vec![message("user", &format!("message {number} of {id}"))])).await.expect("stores");
    }
}

/// Two conversations of 20 messages, and the mark that a host has kept.
async fn filled() -> (MemoryStore, Mark) {
    let store = MemoryStore::default();
    let (engine, damage) = opened(&store, &[]).await;
    assert_eq!(damage, None);
    for id in ["a", "b"] {
        conversation(&engine, id).await;
        say(&engine, id, 20).await;
    }
    let mark = engine.mark().expect("has a name");
    assert_eq!((mark.positions, mark.born, mark.messages, mark.conversations), (40, 2, 40, 2));
    engine.close();
    (store, mark)
}

/// Another store with what of this one is kept.
async fn copy(store: &MemoryStore, keep: impl Fn(Store, &[KeyPart]) -> bool) -> MemoryStore {
    let copied = MemoryStore::default();
    let mut commit = Commit::default();
    for kind in Store::ALL {
        for (key, record) in store.scan(Query::prefix(kind, key![])).await.expect("reads") {
            if keep(kind, &key.0) {
                commit.puts.push((kind, key, record));
            }
        }
    }
    copied.commit(commit).await.expect("writes");
    copied
}

async fn put(store: &MemoryStore, kind: Store, key: throughline::ports::Key, body: &str) {
    let record = Record { body: body.to_owned(), blob: None };
    store.commit(Commit { puts: vec![(kind, key, record)], ..Commit::default() }).await.expect("writes");
}

async fn remove(store: &MemoryStore, kind: Store, key: throughline::ports::Key) {
    store.commit(Commit { deletes: vec![(kind, key)], ..Commit::default() }).await.expect("writes");
}

#[test]
fn a_store_that_is_gone_is_told_until_it_is_acknowledged() {
    now(async {
        let (_, mark) = filled().await;
        let store = MemoryStore::default();
        // Looking changes nothing: it is found as often as it is looked.
        for _ in 0..2 {
            let (engine, damage) = opened(&store, &[&mark]).await;
            let damage = damage.expect("is found");
            assert_eq!((damage.kind, damage.lost, damage.missing), (DamageKind::Removed, Some(40), 0));
            assert_eq!(damage.expected.map(|was| (was.messages, was.conversations)), Some((40, 2)));
            assert_eq!(damage.found.map(|is| (is.messages, is.conversations)), Some((0, 0)));
            engine.close();
        }
        let (engine, _) = opened(&store, &[&mark]).await;
        engine.accept_damage("two").await.expect("writes");
        conversation(&engine, "a").await;
        say(&engine, "a", 3).await;
        let new = engine.mark().expect("has a name");
        assert_eq!((new.store_id.as_str(), new.positions), ("two", 3));
        engine.close();
        // What was written since does not hide it, with the new mark or the old one.
        let (engine, damage) = opened(&store, &[&new]).await;
        assert_eq!(damage.map(|damage| (damage.kind, damage.lost)), Some((DamageKind::Removed, Some(40))));
        assert!(engine.damage().is_some());
        engine.acknowledge_damage().await.expect("writes");
        assert_eq!(engine.damage(), None);
        engine.close();
        assert_eq!(opened(&store, &[&new]).await.1, None);
    });
}

#[test]
fn a_shortened_store_is_told_with_counts_though_it_is_consistent() {
    now(async {
        let store = MemoryStore::default();
        let (engine, _) = opened(&store, &[]).await;
        conversation(&engine, "a").await;
        say(&engine, "a", 25).await;
        let half = copy(&store, |_, _| true).await;
        say(&engine, "a", 25).await;
        let mark = engine.mark().expect("has a name");
        engine.close();
        let (engine, damage) = opened(&half, &[&mark]).await;
        let damage = damage.expect("is found");
        assert_eq!((damage.kind, damage.lost), (DamageKind::Truncated, Some(25)));
        engine.accept_damage("unused").await.expect("writes");
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 25);
        say(&engine, "a", 1).await;
        engine.acknowledge_damage().await.expect("writes");
        let again = engine.mark().expect("has a name");
        assert_eq!((again.positions, again.store_id.clone()), (26, mark.store_id.clone()));
        engine.close();
        // Marks of before the loss, kept in another place, are no alarm.
        assert_eq!(opened(&half, &[&again, &mark]).await.1, None);
    });
}

#[test]
fn another_store_in_its_place_is_told() {
    now(async {
        let (_, mark) = filled().await;
        let store = MemoryStore::default();
        let engine = world(&store).open().await;
        let named = StorageCheck { store_id: "other".into(), ..StorageCheck::default() };
        assert_eq!(engine.check_storage(named).await, Ok(None));
        conversation(&engine, "c").await;
        say(&engine, "c", 5).await;
        engine.close();
        let (_, damage) = opened(&store, &[&mark]).await;
        let damage = damage.expect("is found");
        assert_eq!((damage.kind, damage.lost), (DamageKind::Replaced, Some(35)));
    });
}

#[test]
fn a_browser_that_says_it_lost_everything_is_believed_without_a_mark() {
    now(async {
        let engine = world(&MemoryStore::default()).open().await;
        engine.note_data_lost();
        let damage = engine.check_storage(check(&[])).await.expect("reads").expect("is told");
        assert_eq!((damage.kind, damage.expected, damage.lost), (DamageKind::Removed, None, None));
    });
}

#[test]
fn a_lost_manifest_and_a_changed_canary_are_told() {
    now(async {
        let (store, mark) = filled().await;
        for name in ["manifest", "canary"] {
            let harmed = copy(&store, |_, _| true).await;
            put(&harmed, Store::Meta, key![name], "{\"canary\":\"other\"}").await;
            let damage = opened(&harmed, &[&mark]).await.1.expect("is found");
            assert_eq!((damage.kind, damage.lost.unwrap_or(0)), (DamageKind::Damaged, 0), "{name}");
        }
        remove(&store, Store::Meta, key!["canary"]).await;
        assert_eq!(opened(&store, &[]).await.1.map(|damage| damage.kind), Some(DamageKind::Damaged));
    });
}

#[test]
fn missing_messages_are_counted_without_a_mark_and_the_others_are_read() {
    now(async {
        let (store, _) = filled().await;
        for seq in [1_u32, 7, 8, 20] {
            remove(&store, Store::Messages, key!["a", seq]).await;
        }
        let (engine, damage) = opened(&store, &[]).await;
        let damage = damage.expect("is found");
        assert_eq!((damage.kind, damage.missing), (DamageKind::Damaged, 4));
        engine.accept_damage("unused").await.expect("writes");
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 16);
        assert_eq!(engine.history("b", None, None, None).await.expect("reads").len(), 20);
        let context = engine.build_context(ask("a", "What was message 5 of a?")).await.expect("builds");
        assert!(serde_json::to_string(&context).expect("is plain").contains("message 5 of a"));
        say(&engine, "a", 1).await;
        let entries = engine.history_entries("a", Some(19), None, None).await.expect("reads");
        assert_eq!(entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [19, 21]);
        engine.acknowledge_damage().await.expect("writes");
        engine.close();
        let (engine, damage) = opened(&store, &[]).await;
        assert_eq!(damage, None, "what is acknowledged is not told again");
        engine.close();
        remove(&store, Store::Messages, key!["b", 3_u32]).await;
        let damage = opened(&store, &[]).await.1.expect("more is told");
        assert_eq!(damage.missing, 5);
    });
}

#[test]
fn one_record_that_cannot_be_read_does_not_take_the_others_along() {
    now(async {
        let (store, mark) = filled().await;
        put(&store, Store::Messages, key!["a", 5_u32], "").await;
        put(&store, Store::Messages, key!["a", 6_u32], "{\"seq\":6}").await;
        let world = world(&store);
        let engine = world.open().await;
        // Found when it is read, not before.
        assert_eq!(engine.check_storage(check(&[&mark])).await, Ok(None));
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 18);
        let told: Vec<_> = world.events.borrow().iter().filter(|event| event.name == "storage").cloned().collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(told[0].payload["damage"]["unreadable"]["messages"], 2);
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 18);
        assert_eq!(world.events.borrow().iter().filter(|event| event.name == "storage").count(), 1, "told once");
        let context = engine.build_context(ask("a", "message 19 of a?")).await.expect("builds");
        assert!(serde_json::to_string(&context).expect("is plain").contains("message 19 of a"));
        assert_eq!(engine.damage().map(|damage| damage.unreadable.messages), Some(2));
        say(&engine, "a", 2).await;
    });
}

#[test]
fn reads_that_fail_a_few_times_are_no_lost_message() {
    now(async {
        let (store, mark) = filled().await;
        let faulty = FaultyStore::new(store);
        let shared = faulty.clone();
        let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
        let engine = world.open().await;
        assert_eq!(engine.check_storage(check(&[&mark])).await, Ok(None));
        // The scan fails, and then each second read of the first message, between others that succeed.
        let fail = Fault::FailBefore(Code::StorageUnavailable);
        faulty.script_reads([Fault::Pass, fail, fail, Fault::Pass, fail, Fault::Pass, fail, Fault::Pass]);
        assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 20);
        assert_eq!(engine.damage(), None);
        // One that never can be read is a lost one.
        faulty.script_reads([Fault::Pass, fail].into_iter().chain([fail, Fault::Pass].into_iter().cycle().take(10)));
        assert_eq!(engine.history("b", None, None, None).await.expect("reads").len(), 19);
        assert_eq!(engine.damage().map(|damage| damage.unreadable.messages), Some(1));
    });
}

/// What was lost with what the user erased is counted no longer, and as much damage elsewhere is told.
#[test]
fn losses_in_what_was_erased_are_forgotten() {
    now(async {
        let (store, mark) = filled().await;
        for (id, seq) in [("a", 3_u32), ("a", 9), ("b", 7)] {
            put(&store, Store::Messages, key![id, seq], "}").await;
        }
        remove(&store, Store::Messages, key!["b", 11_u32]).await;
        remove(&store, Store::Messages, key!["a", 12_u32]).await;
        let (engine, damage) = opened(&store, &[&mark]).await;
        assert_eq!(damage.map(|damage| (damage.missing, damage.unreadable.messages)), Some((2, 0)));
        engine.accept_damage("unused").await.expect("writes");
        let told = || engine.damage().map(|damage| (damage.missing, damage.unreadable.messages));
        engine.history("a", None, None, None).await.expect("reads");
        assert_eq!(told(), Some((2, 2)));
        engine
            .erase(EraseRequest { conversation_id: Some("a".into()), ..EraseRequest::default() })
            .await
            .expect("erases");
        assert_eq!(told(), Some((1, 0)));
        engine.history("b", None, None, None).await.expect("reads");
        assert_eq!(told(), Some((1, 1)));
        let removal = RemoveRequest { conversation_id: "b".into(), message_id: "seq:7".into(), descendants: false };
        engine.remove(removal).await.expect("removes");
        assert_eq!(told(), Some((1, 0)));
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.expect("erases");
        assert_eq!(told(), None);
        let mark = engine.mark().expect("has a name");
        engine.close();
        assert_eq!(opened(&store, &[&mark]).await.1, None, "nothing is kept of it");
    });
}

#[test]
fn verifying_finds_text_that_was_changed() {
    now(async {
        let (store, mark) = filled().await;
        let found = store.get(vec![(Store::Messages, key!["b", 9_u32])]).await.expect("reads").pop().flatten();
        let body = found.expect("is there").body.replace("message 8 of b", "message X of b");
        put(&store, Store::Messages, key!["b", 9_u32], &body).await;
        let (engine, damage) = opened(&store, &[&mark]).await;
        assert_eq!(damage, None);
        let damage = engine.verify().await.expect("reads").expect("is found");
        assert_eq!((damage.kind, damage.unreadable.messages), (DamageKind::Damaged, 1));
    });
}

/// The text that is searched and shown stands beside the object that the app gave.
#[test]
fn a_changed_bit_of_a_visible_text_is_mended_from_what_the_app_gave() {
    now(async {
        let (store, mark) = filled().await;
        let key = key!["b", 9_u32];
        let found = store.get(vec![(Store::Messages, key.clone())]).await.expect("reads").pop().flatten();
        let whole = found.expect("is there").body;
        for (was, is) in [
            (r#""text":"message 8"#, r#""text":"massage 8"#),
            (r#""role":"user""#, r#""role":"tool""#),
            (r#""opensGroup":true"#, r#""opensGroup":false"#),
        ] {
            assert!(whole.contains(was), "{whole}");
            let store = copy(&store, |_, _| true).await;
            put(&store, Store::Messages, key.clone(), &whole.replace(was, is)).await;
            let (engine, damage) = opened(&store, &[&mark]).await;
            assert_eq!(damage, None);
            assert_eq!(engine.verify().await.expect("reads"), None, "nothing is lost by {is}");
            let recalled = serde_json::json!({ "query": "message 8 of b", "conversationId": "b" });
            let groups = engine.recall(serde_json::from_value(recalled).expect("is a search")).await.expect("reads");
            let hit = groups.iter().flat_map(|group| &group.hits).next().expect("is found");
            assert_eq!(hit.seq, 9, "{is}");
            // What is written over it is whole again.
            let remove =
                RemoveRequest { conversation_id: "b".into(), message_id: "seq:8".into(), ..RemoveRequest::default() };
            engine.remove(remove).await.expect("removes");
            let found = store.get(vec![(Store::Messages, key.clone())]).await.expect("reads").pop().flatten();
            assert!(found.expect("is there").body.contains(was));
        }
        // What is nowhere else cannot be mended, but is told.
        put(&store, Store::Messages, key.clone(), &whole.replace(r#""parentSeq":8"#, r#""parentSeq":0"#)).await;
        let (engine, _) = opened(&store, &[&mark]).await;
        let damage = engine.verify().await.expect("reads").expect("is found");
        assert_eq!((damage.kind, damage.unreadable.messages), (DamageKind::Damaged, 1));
    });
}

#[test]
fn a_conversation_whose_record_is_gone_comes_back_from_its_messages() {
    now(async {
        let (store, mark) = filled().await;
        for body in [None, Some("}")] {
            let harmed = copy(&store, |_, _| true).await;
            match body {
                Some(body) => put(&harmed, Store::Conversations, key!["a"], body).await,
                None => remove(&harmed, Store::Conversations, key!["a"]).await,
            }
            remove(&harmed, Store::Jobs, key!["embed", "b"]).await;
            let (engine, damage) = opened(&harmed, &[&mark]).await;
            let damage = damage.expect("is found");
            assert_eq!((damage.kind, damage.lost), (DamageKind::Damaged, None));
            assert_eq!(damage.found.map(|is| (is.messages, is.conversations)), Some((40, 1)));
            assert_eq!(damage.unreadable.conversations, u64::from(body.is_some()));
            engine.accept_damage("unused").await.expect("writes");
            assert_eq!(engine.history("a", None, None, None).await.expect("reads").len(), 20);
            let view = engine.get_conversation("a").await.expect("is there");
            assert_eq!((view.message_count, view.title.as_str()), (20, "message 0 of a"));
            assert!(!view.remember, "what the app had said is not known any more");
            say(&engine, "a", 1).await;
            engine.close();
        }
    });
}

#[test]
fn derived_records_that_are_damaged_are_made_again_and_are_no_loss() {
    now(async {
        let (store, mark) = filled().await;
        put(&store, Store::Jobs, key!["embed", "a"], "?").await;
        remove(&store, Store::Jobs, key!["extract", "a"]).await;
        put(&store, Store::SummaryHeads, key!["a"], "?").await;
        put(&store, Store::Meta, key!["segments"], "?").await;
        let world = World { embedder: Some(Rc::default()), ..world(&store) };
        let engine = world.open().await;
        assert_eq!(engine.check_storage(check(&[&mark])).await, Ok(None));
        engine.settled().await.expect("works");
        let stats = engine.stats().await.expect("reads");
        assert_eq!((stats.vectors, stats.jobs), (40, 0));
        assert_eq!(engine.summary("a").await.expect("reads").version, 0);
        assert!(!world.events.borrow().iter().any(|event| event.name == "storage"));
    });
}

#[test]
fn erasing_is_no_loss() {
    now(async {
        let (store, mark) = filled().await;
        let (engine, damage) = opened(&store, &[&mark]).await;
        assert_eq!(damage, None);
        engine.delete_conversation("a").await.expect("erases");
        assert_eq!(opened(&store, &[&mark]).await.1, None);
        let removal = RemoveRequest { conversation_id: "b".into(), message_id: "seq:3".into(), descendants: false };
        engine.remove(removal).await.expect("removes");
        conversation(&engine, "c").await;
        say(&engine, "c", 2).await;
        let newer = engine.mark().expect("has a name");
        assert_eq!(newer.positions, 42, "positions are never used twice");
        assert_eq!(opened(&store, &[&mark, &newer]).await.1, None);
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.expect("erases");
        assert_eq!(opened(&store, &[&newer]).await.1, None);
        conversation(&engine, "c").await;
        say(&engine, "c", 1).await;
        let newest = engine.mark().expect("has a name");
        engine.close();
        assert_eq!(opened(&store, &[&mark, &newer, &newest]).await.1, None);
    });
}

#[test]
fn a_mark_says_no_more_than_what_is_on_disk() {
    now(async {
        let store = MemoryStore::default();
        let (engine, _) = opened(&store, &[]).await;
        conversation(&engine, "a").await;
        say(&engine, "a", 2).await;
        let imported = throughline::engine::AppendRequest {
            imported: true,
            ..append("a", vec![message("user", "older"), message("assistant", "as well")])
        };
        engine.append(imported).await.expect("stores");
        assert_eq!(engine.mark().map(|mark| mark.positions), Some(2), "relaxed writes may still be lost");
        engine.flush().await.expect("writes");
        assert_eq!(engine.mark().map(|mark| mark.positions), Some(4));
    });
}

#[test]
fn two_tabs_and_kept_marks_of_any_age_are_no_alarm() {
    now(async {
        let store = MemoryStore::default();
        let (left, _) = opened(&store, &[]).await;
        let (right, _) = opened(&store, &[]).await;
        conversation(&left, "a").await;
        let mut marks = vec![left.mark().expect("has a name"), right.mark().expect("has a name")];
        for round in 0..10 {
            say(if round % 2 == 0 { &left } else { &right }, "a", 1).await;
            marks.extend([left.mark().expect("has a name"), right.mark().expect("has a name")]);
        }
        for mark in &marks {
            assert_eq!(opened(&store, &[mark]).await.1, None);
        }
        assert_eq!(marks.last().map(|mark| mark.positions), Some(10));
    });
}

#[test]
fn a_large_store_is_counted_behind_the_opening_and_what_is_missing_is_told_then() {
    now(async {
        let store = MemoryStore::default();
        let (engine, damage) = opened(&store, &[]).await;
        assert_eq!(damage, None);
        conversation(&engine, "a").await;
        engine.append(append("a", vec![message("user", ""); 20_001])).await.expect("stores");
        engine.close();
        let deletes = vec![(Store::Messages, key!["a", 7_u32])];
        assert_eq!(store.clone().commit(Commit { deletes, ..Commit::default() }).await, Ok(true));
        let (engine, damage) = opened(&store, &[]).await;
        assert_eq!(damage, None);
        engine.work().await;
        let damage = engine.damage().expect("is told");
        assert_eq!((damage.kind, damage.missing), (DamageKind::Damaged, 1));
        engine.close();
    });
}
