//! A backup: read out, imported, and the same again; all of it or nothing, whatever the file says.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::FutureExt;
use host::{World, append, ask, conversation, message, message_with_id};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::pin::pin;
use std::rc::Rc;
use throughline::Code;
use throughline::engine::{
    AppendRequest, BackupPart, BackupRequest, ConsentRequest, EditRequest, Engine, EraseRequest, FactFilter, NewFact,
    RemoveRequest, RestoreRequest, RestoreStep, Restored,
};
use throughline::error::Result;
use throughline::key;
use throughline::ports::Locks;
use throughline::records::{FactStatus, Trust};
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;
use throughline::store::{Commit, Query, Record, Storage, Store};

/// Every line of a backup, and how many records could not be read.
async fn exported(engine: &Engine) -> (Vec<String>, usize) {
    let (mut lines, mut skipped) = (Vec::new(), 0);
    let ids = engine.backup(BackupRequest::default()).await.unwrap();
    skipped += ids.skipped.len();
    for id in ids.conversation_ids {
        let request = BackupRequest {
            part: BackupPart::Conversation,
            conversation_id: Some(id.clone()),
            ..BackupRequest::default()
        };
        let page = engine.backup(request).await.unwrap();
        lines.extend(page.lines);
        skipped += page.skipped.len();
        let of = |part, from| BackupRequest { part, conversation_id: Some(id.clone()), from, to: page.last_seq };
        let mut from = 1;
        while from <= page.last_seq {
            let messages = engine.backup(of(BackupPart::Messages, from)).await.unwrap();
            lines.extend(messages.lines);
            skipped += messages.skipped.len();
            from = messages.last_seq + 1;
        }
        let rest = engine.backup(of(BackupPart::Summaries, 1)).await.unwrap();
        lines.extend(rest.lines);
        skipped += rest.skipped.len();
    }
    let facts = engine.backup(BackupRequest { part: BackupPart::Facts, ..BackupRequest::default() }).await.unwrap();
    lines.extend(facts.lines);
    (lines, skipped + facts.skipped.len())
}

fn step(step: RestoreStep, records: Vec<Value>) -> RestoreRequest {
    RestoreRequest { step, records, ..RestoreRequest::default() }
}

async fn restored(engine: &Engine, lines: &[String], trusted: bool) -> Result<Restored> {
    let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let outcome = try_restore(engine, values, trusted).await;
    if outcome.is_err() {
        engine.restore(step(RestoreStep::Abort, Vec::new())).await?;
    }
    outcome
}

/// As the user's own file, with what was erased here.
async fn brought_back(engine: &Engine, lines: &[String]) -> Result<Restored> {
    let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let conversations = values.iter().filter(|value| value.get("conversation").is_some()).count() as u32;
    let begin =
        RestoreRequest { conversations, trusted: true, bring_back: true, ..step(RestoreStep::Begin, Vec::new()) };
    engine.restore(begin).await?;
    engine.restore(step(RestoreStep::Records, values)).await?;
    engine.restore(step(RestoreStep::Commit, Vec::new())).await
}

async fn try_restore(engine: &Engine, values: Vec<Value>, trusted: bool) -> Result<Restored> {
    let conversations = values.iter().filter(|value| value.get("conversation").is_some()).count() as u32;
    let begin = RestoreRequest { step: RestoreStep::Begin, conversations, trusted, ..RestoreRequest::default() };
    engine.restore(begin).await?;
    for batch in values.chunks(7) {
        engine.restore(step(RestoreStep::Records, batch.to_vec())).await?;
    }
    engine.restore(step(RestoreStep::Commit, Vec::new())).await
}

/// A store with branches, a removed message, an edit, facts of every kind, and odd texts.
async fn filled() -> (World, Engine) {
    let world = World::default();
    let engine = world.open().await;
    for id in ["a", "b/\u{1F600}", "empty"] {
        conversation(&engine, id).await;
    }
    let odd = r#"{"role":"user","content":"half \ud800 \u0000 1e999","__proto__":{"x":1},"x":1.50,"x":2}"#;
    engine
        .append(append("a", vec![message_with_id("m1", "user", "We use port 8471."), message("assistant", "Noted.")]))
        .await
        .unwrap();
    engine.append(append("a", vec![odd.to_owned(), message("assistant", "What?")])).await.unwrap();
    let edit = EditRequest {
        conversation_id: "a".into(),
        message_id: "m1".into(),
        message: message_with_id("m1b", "user", "We use port 9000."),
        ..EditRequest::default()
    };
    engine.edit(edit).await.unwrap();
    for text in ["one", "two", "three"] {
        engine.append(append("b/\u{1F600}", vec![message_with_id(text, "user", text)])).await.unwrap();
    }
    let removed = RemoveRequest { conversation_id: "b/\u{1F600}".into(), message_id: "two".into(), descendants: false };
    engine.remove(removed).await.unwrap();
    for (fact, key) in [("Likes tea", Some("drink")), ("Lives in Riga", None), ("Likes coffee", Some("drink"))] {
        engine
            .add_fact(NewFact { fact: fact.into(), key: key.map(str::to_owned), ..NewFact::default() })
            .await
            .unwrap();
    }
    engine.forget_fact("f2").await.unwrap();
    (world, engine)
}

/// The records of a store, without what counts its past.
async fn records(world: &World) -> Vec<(Store, String, String)> {
    let storage = (world.storage)();
    let mut found = Vec::new();
    for store in Store::ALL.into_iter().filter(|store| *store != Store::Meta) {
        let all = storage.scan(Query::prefix(store, key![])).await.unwrap();
        found.extend(all.into_iter().map(|(key, record)| (store, format!("{key:?}"), record.body)));
    }
    found
}

#[test]
fn exported_and_imported_is_the_same_again() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, skipped) = exported(&engine).await;
        assert_eq!(skipped, 0);
        assert!(lines.iter().any(|line| line.contains(r#"\\ud800"#)), "the message's own text, byte for byte");
        let other = World::default();
        let target = other.open().await;
        let report = restored(&target, &lines, true).await.unwrap();
        assert_eq!((report.imported, report.updated, report.unchanged, report.messages, report.facts), (3, 0, 0, 7, 3));
        assert_eq!(exported(&target).await.0, lines);
        assert_eq!(
            target.history("a", None, None, None).await.unwrap(),
            engine.history("a", None, None, None).await.unwrap()
        );
        // Again: nothing happens. And what was imported works like what was appended.
        let before = records(&other).await;
        let again = restored(&target, &lines, true).await.unwrap();
        assert_eq!((again.imported, again.updated, again.unchanged, again.messages, again.facts), (0, 0, 3, 0, 0));
        assert_eq!(records(&other).await, before);
        target.append(append("a", vec![message("user", "And now?")])).await.unwrap();
        let reopened = other.open().await;
        assert_eq!(reopened.history("a", None, None, None).await.unwrap().len(), 2);
        assert_eq!(
            reopened.get_conversation("a").await.unwrap().tokens,
            target.get_conversation("a").await.unwrap().tokens
        );
    });
}

#[test]
fn a_later_backup_extends_what_an_earlier_one_brought() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (early, _) = exported(&engine).await;
        engine
            .append(append("a", vec![message("assistant", "Port 9000, then."), message("user", "Right.")]))
            .await
            .unwrap();
        let (late, _) = exported(&engine).await;
        let other = World::default();
        let target = other.open().await;
        restored(&target, &early, true).await.unwrap();
        let report = restored(&target, &late, true).await.unwrap();
        assert_eq!((report.imported, report.updated, report.unchanged, report.messages), (0, 1, 2, 2));
        assert_eq!(
            target.history("a", None, None, None).await.unwrap(),
            engine.history("a", None, None, None).await.unwrap()
        );
        // The earlier one again takes nothing away.
        let report = restored(&target, &early, true).await.unwrap();
        assert_eq!((report.unchanged, report.messages), (3, 0));
        assert_eq!(target.history("a", None, None, None).await.unwrap().len(), 3);
    });
}

#[test]
fn what_went_on_on_both_sides_is_kept_side_by_side() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (common, _) = exported(&engine).await;
        let other = World::default();
        let target = other.open().await;
        restored(&target, &common, true).await.unwrap();
        engine
            .append(append("a", vec![message("assistant", "There."), message_with_id("x", "user", "There too.")]))
            .await
            .unwrap();
        target
            .append(append("a", vec![message("assistant", "Here."), message_with_id("x", "user", "Here too.")]))
            .await
            .unwrap();
        let here = target.history("a", None, None, None).await.unwrap();
        let (theirs, _) = exported(&engine).await;
        for messages in [2, 0] {
            let report = restored(&target, &theirs, true).await.unwrap();
            assert_eq!(report.messages, messages);
            assert_eq!(target.history("a", None, None, None).await.unwrap(), here, "the active path stays");
        }
        let all = target.history_of_all_branches("a", None, None, None).await.unwrap();
        for text in ["There.", "There too.", "Here.", "Here too."] {
            assert_eq!(all.iter().filter(|entry| entry.message.contains(&format!("\"{text}\""))).count(), 1, "{text}");
        }
        // What the user removes here does not come back.
        target
            .remove(RemoveRequest { conversation_id: "a".into(), message_id: "m1".into(), descendants: false })
            .await
            .unwrap();
        let report = restored(&target, &theirs, true).await.unwrap();
        assert_eq!((report.messages, report.erased_messages), (0, 1));
    });
}

#[test]
fn what_was_erased_comes_back_only_where_the_user_says_so() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        for id in ["erased", "removed", "diverged"] {
            conversation(&engine, id).await;
            let messages =
                (0..4).map(|number| message_with_id(&format!("m{number}"), "user", &format!("{id} {number}")));
            engine.append(append(id, messages.collect())).await.unwrap();
        }
        engine.add_fact(NewFact { fact: "User likes tea".into(), ..NewFact::default() }).await.unwrap();
        let (mut lines, _) = exported(&engine).await;
        // One that a message shows which will be erased, and another that one shows which stays.
        lines.extend([
            extracted_fact(2, "User plays chess", "erased", 2),
            extracted_fact(3, "User sails", "diverged", 1),
        ]);
        lines.extend([fact_source(2, "erased", 2), fact_source(2, "removed", 3), fact_source(3, "diverged", 1)]);
        engine.delete_conversation("erased").await.unwrap();
        let removed = |id: &str, message_id: &str| RemoveRequest {
            conversation_id: id.into(),
            message_id: message_id.into(),
            descendants: false,
        };
        engine.remove(removed("removed", "m2")).await.unwrap();
        engine.remove(removed("diverged", "m3")).await.unwrap();
        // In another file messages have other places: ids tell what was removed.
        let moved = |line: &String| line.replace("diverged 0", "diverged, and edited by hand");
        for lines in [lines.clone(), lines.iter().map(moved).collect()] {
            let engine = world.open().await;
            let report = restored(&engine, &lines, true).await.unwrap();
            assert_eq!((report.imported, report.erased_conversations, report.erased_messages), (0, 1, 2));
            let said: Vec<String> = all_messages(&engine).await;
            for gone in ["erased ", "removed 2", "diverged 3"] {
                assert!(!said.iter().any(|raw| raw.contains(gone)), "{gone} in {said:?}");
            }
            let facts = engine.list_facts(FactFilter::default()).await.unwrap();
            let facts: Vec<&str> = facts.iter().map(|fact| fact.fact.as_str()).collect();
            assert!(!facts.contains(&"User plays chess") && facts.contains(&"User sails"), "{facts:?}");
        }
        world.clock.advance(1.0);
        // Another one of the same id is no part of what was erased.
        conversation(&engine, "erased").await;
        engine.append(append("erased", vec![message_with_id("m0", "user", "anew")])).await.unwrap();
        assert_eq!(restored(&engine, &lines, true).await.unwrap().erased_conversations, 1);
        assert_eq!(engine.history("erased", None, None, None).await.unwrap().len(), 1);
        engine.delete_conversation("erased").await.unwrap();
        let report = brought_back(&engine, &lines).await.unwrap();
        assert_eq!((report.imported, report.messages, report.erased_messages), (1, 6, 0));
        assert_eq!(engine.history("erased", None, None, None).await.unwrap().len(), 4);
        // From now on it is here, and erased things of it stay away as before.
        engine.remove(removed("erased", "m1")).await.unwrap();
        let report = restored(&engine, &lines, true).await.unwrap();
        assert_eq!((report.messages, report.erased_conversations, report.erased_messages), (0, 0, 1));
        // Who erases everything begins anew.
        engine.erase(EraseRequest { user: true, ..EraseRequest::default() }).await.unwrap();
        assert_eq!(restored(&engine, &lines, true).await.unwrap().imported, 3);
    });
}

fn extracted_fact(number: u32, text: &str, id: &str, seq: u32) -> String {
    let source = json!({ "type": "chat", "conversationId": id, "seq": seq, "quote": "It says so" });
    json!({ "fact": { "id": format!("f{number}"), "subject": "user", "category": "preference", "fact": text,
        "confidence": 0.9, "trust": "user_stated", "status": "active", "source": source, "pinned": false,
        "fingerprint": "0123456789abcdef", "accessCount": 0, "createdAt": 1.0, "updatedAt": 1.0 } })
    .to_string()
}

fn fact_source(number: u32, id: &str, seq: u32) -> String {
    json!({ "factSource": { "factId": format!("f{number}"), "conversationId": id, "seq": seq } }).to_string()
}

async fn all_messages(engine: &Engine) -> Vec<String> {
    let mut said = Vec::new();
    for item in engine.list_conversations(None, None).await.unwrap().items {
        let entries = engine.history_of_all_branches(&item.id, None, None, None).await.unwrap();
        said.extend(entries.into_iter().map(|entry| entry.message));
    }
    said
}

#[test]
fn facts_of_a_foreign_file_wait_for_approval() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let other = World::default();
        let target = other.open().await;
        restored(&target, &lines, false).await.unwrap();
        let facts = target.list_facts(FactFilter::default()).await.unwrap();
        assert_eq!(facts.len(), 1);
        assert!(
            facts
                .iter()
                .all(|fact| fact.trust == Trust::Imported && fact.status == FactStatus::Proposed && !fact.pinned)
        );
        let entries = target
            .backup(BackupRequest { part: BackupPart::Messages, conversation_id: Some("a".into()), from: 1, to: 5 })
            .await
            .unwrap();
        assert!(entries.lines.iter().all(|line| line.contains(r#""imported":true"#)));
        // What is here wins: the same key waits, the same words are the same fact, what was forgotten stays forgotten.
        let third = World::default();
        let target = third.open().await;
        target
            .add_fact(NewFact { fact: "Likes water".into(), key: Some("drink".into()), ..NewFact::default() })
            .await
            .unwrap();
        target.add_fact(NewFact { fact: "likes TEA".into(), ..NewFact::default() }).await.unwrap();
        target.forget_fact("f2").await.unwrap();
        restored(&target, &lines, true).await.unwrap();
        let facts = target.list_facts(FactFilter::default()).await.unwrap();
        let seen: Vec<_> = facts.iter().map(|fact| (fact.id.as_str(), fact.fact.as_str(), fact.status)).collect();
        assert_eq!(seen, [("f1", "Likes water", FactStatus::Active), ("f4", "Likes coffee", FactStatus::Proposed)]);
    });
}

#[test]
fn what_may_not_be_remembered_here_is_in_no_context_from_the_moment_of_the_restore() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        let consent = |allow| ConsentRequest { category: Some("health".into()), allow };
        engine.consent(consent(true)).await.unwrap();
        for fact in ["Was diagnosed with asthma", "Likes tea"] {
            engine.add_fact(NewFact { fact: fact.into(), ..NewFact::default() }).await.unwrap();
        }
        let (lines, _) = exported(&engine).await;
        // Written by a version whose rules did not know it, and that did not write what was agreed to.
        let lines = lines.iter().filter(|line| !line.contains("\"optIn\""));
        let lines: Vec<String> = lines.map(|line| line.replace("Likes tea", "password is hunter2")).collect();
        let seen = async |target: &Engine| {
            let facts = target.list_facts(FactFilter::default()).await.unwrap();
            facts.into_iter().map(|fact| fact.status).collect::<Vec<_>>()
        };
        let other = World::default();
        let target = other.open().await;
        restored(&target, &lines, true).await.unwrap();
        assert_eq!(seen(&target).await, [FactStatus::Proposed, FactStatus::Proposed]);
        conversation(&target, "new").await;
        let context = target.build_context(ask("new", "hello")).await.unwrap();
        assert!(!context.system.contains("asthma") && !context.system.contains("hunter2"), "{}", context.system);
        let why: Vec<_> =
            target.fact_log(2, None).await.unwrap().into_iter().map(|one| (one.operation, one.reason)).collect();
        let review = |reason: &str| ("REVIEW".to_owned(), Some(reason.to_owned()));
        assert_eq!(why, [review("secret"), review("sensitive")]);
        assert!(target.approve_fact("f1").await.is_err(), "not before the user agrees");
        target.consent(consent(true)).await.unwrap();
        target.approve_fact("f1").await.unwrap();
        assert!(target.approve_fact("f2").await.is_err(), "a secret never");
        // Where the user had agreed before, it is in use at once.
        let third = World::default();
        let target = third.open().await;
        target.consent(consent(true)).await.unwrap();
        restored(&target, &lines, true).await.unwrap();
        assert_eq!(seen(&target).await, [FactStatus::Active, FactStatus::Proposed]);
    });
}

#[test]
fn every_failing_write_leaves_nothing() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let mut tries = 0;
        for fault in [Fault::FailBefore(Code::StorageQuotaExceeded), Fault::Refuse] {
            for at in 0..16 {
                let store = FaultyStore::new(MemoryStore::default());
                let shared = store.clone();
                let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
                let target = world.open().await;
                store.script_commits(std::iter::repeat_n(Fault::Pass, at).chain([fault]));
                let outcome = restored(&target, &lines, true).await;
                if outcome.is_ok() {
                    // The fault lay behind the end, or what it hit was tried again.
                    assert_eq!(exported(&target).await.0, lines);
                    continue;
                }
                tries += 1;
                assert!(target.list_conversations(None, None).await.unwrap().items.is_empty());
                assert!(records(&world).await.is_empty(), "{fault:?} at {at}");
                assert!(world.open().await.list_conversations(None, None).await.unwrap().items.is_empty());
            }
        }
        assert!(tries > 4, "{tries}");
    });
}

/// Seed 387 of the simulation: what an import shows was on disk, and reading it failed.
#[test]
fn an_import_is_seen_whatever_reading_fails_behind_it() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let mut failed = 0;
        for at in 0..24 {
            let store = FaultyStore::new(MemoryStore::default());
            let shared = store.clone();
            let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
            let target = world.open().await;
            let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
            let conversations = values.iter().filter(|value| value.get("conversation").is_some()).count() as u32;
            let begin = RestoreRequest { conversations, trusted: true, ..step(RestoreStep::Begin, Vec::new()) };
            target.restore(begin).await.unwrap();
            target.restore(step(RestoreStep::Records, values)).await.unwrap();
            store.script_reads(
                std::iter::repeat_n(Fault::Pass, at).chain([Fault::FailBefore(Code::StorageUnavailable)]),
            );
            let is_told = target.restore(step(RestoreStep::Commit, Vec::new())).await.is_ok();
            store.heal();
            let stored = store.inner().scan(Query::prefix(Store::Conversations, key![])).await.unwrap().len();
            assert_eq!(is_told, stored > 0, "reading {at}");
            failed += usize::from(!is_told);
            // Whatever this tab writes next.
            conversation(&target, "next").await;
            assert_eq!(target.list_conversations(None, None).await.unwrap().items.len(), stored + 1, "reading {at}");
        }
        assert!((1..24).contains(&failed), "{failed}");
    });
}

#[test]
fn a_crash_leaves_nothing_that_the_next_opening_does_not_sweep() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for cut in 0..values.len() {
            let world = World::default();
            let target = world.open().await;
            let begin = RestoreRequest {
                step: RestoreStep::Begin,
                conversations: 3,
                trusted: true,
                ..RestoreRequest::default()
            };
            target.restore(begin).await.unwrap();
            target.restore(step(RestoreStep::Records, values[..cut].to_vec())).await.unwrap();
            // Nobody sees it, nobody can take its ids, and it is in no backup.
            assert!(target.list_conversations(None, None).await.unwrap().items.is_empty());
            assert_eq!(exported(&target).await, (Vec::new(), 0));
            if cut > 0 {
                let new = throughline::engine::NewConversation { id: "a".into(), ..Default::default() };
                assert_eq!(target.create_conversation(new).await.unwrap_err().code, Code::StorageConflict);
            }
            drop(target);
            let reopened = world.open().await;
            reopened.work().await;
            assert!(records(&world).await.is_empty(), "{cut}");
            conversation(&reopened, "a").await;
        }
    });
}

/// The browser frees the lock of a tab that was closed some time later: whoever opened before that comes back to it.
#[test]
fn leftovers_go_once_the_lock_of_a_closed_tab_is_free() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        for by_settled in [true, false] {
            let world = World::default();
            let target = world.open().await;
            let begin = RestoreRequest { conversations: 3, trusted: true, ..step(RestoreStep::Begin, Vec::new()) };
            target.restore(begin).await.unwrap();
            target.restore(step(RestoreStep::Records, values.clone())).await.unwrap();
            let lock = world.locks.try_lock("import").await.unwrap().unwrap();
            drop(target);
            let reopened = world.open().await;
            reopened.work().await;
            assert!(!records(&world).await.is_empty(), "an import may be running");
            assert!(reopened.due_in_ms().unwrap() > 0.0, "work comes back to it");
            if by_settled {
                world.clock.let_sleepers_wait();
                let mut settled = pin!(reopened.settled());
                for _ in 0..100 {
                    assert!(settled.as_mut().now_or_never().is_none(), "it waits for the lock");
                }
                drop(lock);
                settled.await.unwrap();
            } else {
                drop(lock);
                reopened.work().await;
            }
            assert!(records(&world).await.is_empty());
            assert_eq!(reopened.due_in_ms(), None);
            conversation(&reopened, "a").await;
        }
    });
}

#[test]
fn an_erasure_ends_the_import_and_is_told_to_the_export() {
    block_on(async {
        let (_world, engine) = filled().await;
        let (lines, _) = exported(&engine).await;
        let values: Vec<Value> = lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let world = World::default();
        let (target, tab) = (world.open().await, world.open().await);
        target
            .restore(RestoreRequest { step: RestoreStep::Begin, conversations: 3, ..RestoreRequest::default() })
            .await
            .unwrap();
        target.restore(step(RestoreStep::Records, values[..4].to_vec())).await.unwrap();
        tab.erase(EraseRequest { user: true, ..Default::default() }).await.unwrap();
        let refused = target.restore(step(RestoreStep::Records, values[4..6].to_vec())).await.unwrap_err();
        assert_eq!(refused.code, Code::StorageConflict);
        target.restore(step(RestoreStep::Abort, Vec::new())).await.unwrap();
        assert!(records(&world).await.is_empty());
        // Whoever exports sees that something was erased.
        let check = || BackupRequest { part: BackupPart::Check, ..BackupRequest::default() };
        let before = engine.backup(check()).await.unwrap();
        engine.delete_conversation("empty").await.unwrap();
        let between = engine.backup(check()).await.unwrap();
        engine.erase(EraseRequest { fact_id: Some("f1".into()), ..Default::default() }).await.unwrap();
        let after = engine.backup(check()).await.unwrap();
        assert!(before.removals != between.removals && between.fact_version != after.fact_version);
    });
}

#[test]
fn a_damaged_store_gives_what_can_be_read() {
    block_on(async {
        let (world, engine) = filled().await;
        let storage = (world.storage)();
        let broken = |store, key| (store, key, Record { body: "{\"".to_owned(), blob: None });
        let mut commit = Commit {
            puts: vec![broken(Store::Messages, key!["a", 2_u32]), broken(Store::Facts, key!["f1"])],
            deletes: vec![(Store::Messages, key!["a", 4_u32]), (Store::Conversations, key!["b/\u{1F600}"])],
            ..Commit::default()
        };
        commit.puts.push(broken(Store::Jobs, key!["extract", "a"]));
        storage.commit(commit).await.unwrap();
        let (lines, skipped) = exported(&engine).await;
        assert_eq!(skipped, 4);
        let target = World::default().open().await;
        let report = restored(&target, &lines, true).await.unwrap();
        assert_eq!((report.imported, report.messages, report.facts), (3, 5, 2));
        let left = target.history_of_all_branches("a", None, None, None).await.unwrap();
        assert_eq!(left.iter().map(|entry| entry.seq).collect::<Vec<_>>(), [1, 3, 5]);
        assert_eq!(target.history("b/\u{1F600}", None, None, None).await.unwrap().len(), 2);
        target.append(append("a", vec![message("user", "on")])).await.unwrap();
    });
}

/// What a hostile file may say, one at a time: each is refused, and nothing is stored.
#[test]
fn a_file_that_cannot_be_is_refused_whole() {
    block_on(async {
        let head =
            json!({ "conversation": { "id": "c", "remember": true, "createdAt": 1, "updatedAt": 1, "lastSeq": 2 } });
        let one = json!({ "message": { "seq": 1, "id": "x", "format": "openai", "raw": "{\"role\":\"user\",\"content\":\"a\"}", "createdAt": 1 } });
        let two = json!({ "message": { "seq": 2, "format": "openai", "raw": "{\"role\":\"user\",\"content\":\"b\"}", "createdAt": 1 } });
        let fact = json!({ "fact": { "id": "f1", "key": null, "subject": "user", "category": "preference", "fact": "Likes tea", "confidence": 1, "trust": "user_confirmed", "status": "active", "source": { "type": "explicit" }, "fingerprint": "0123456789abcdef", "pinned": false, "accessCount": 0, "createdAt": 1, "updatedAt": 1 } });
        let with = |record: &Value, path: &str, value: Value| {
            let mut changed = record.clone();
            *changed.pointer_mut(path).unwrap_or(&mut Value::Null) = value.clone();
            if changed == *record {
                let (parent, name) = path.rsplit_once('/').unwrap();
                changed.pointer_mut(parent).unwrap()[name] = value;
            }
            changed
        };
        let whole = [head.clone(), one.clone(), two.clone(), fact.clone()];
        let target = World::default().open().await;
        restored(&target, &whole.iter().map(Value::to_string).collect::<Vec<_>>(), true).await.unwrap();
        let hostile = [
            vec![two.clone()],
            vec![head.clone(), two.clone()],
            vec![head.clone(), one.clone()],
            vec![head.clone(), one.clone(), one.clone()],
            vec![head.clone(), one.clone(), two.clone(), head.clone(), one.clone(), two.clone()],
            vec![head.clone(), one.clone(), with(&two, "/message/id", json!("x"))],
            vec![head.clone(), one.clone(), with(&two, "/message/id", json!("seq:9"))],
            vec![head.clone(), one.clone(), with(&two, "/message/id", json!("y".repeat(600)))],
            vec![head.clone(), one.clone(), with(&two, "/message/parentSeq", json!(2))],
            vec![head.clone(), one.clone(), with(&two, "/message/seq", json!(u32::MAX))],
            vec![head.clone(), one.clone(), with(&two, "/message/raw", json!("[["))],
            vec![head.clone(), one.clone(), with(&two, "/message/format", json!("nonsense"))],
            vec![head.clone(), one.clone(), with(&two, "/message/createdAt", json!("Infinity"))],
            vec![with(&head, "/conversation/id", json!("")), one.clone(), two.clone()],
            vec![with(&head, "/conversation/lastSeq", json!(u32::MAX)), one.clone(), two.clone()],
            vec![with(&fact, "/fact/id", json!("f4294967295"))],
            vec![with(&fact, "/fact/id", json!("f01"))],
            vec![with(&fact, "/fact/confidence", json!(7))],
            vec![with(&fact, "/fact/fact", json!("x".repeat(5_000)))],
            vec![with(&fact, "/fact/fact", json!(""))],
            vec![with(&fact, "/fact/createdAt", json!(1e300))],
            vec![fact.clone(), fact.clone()],
            vec![json!({ "audit": { "number": u32::MAX, "at": 1, "operation": "ADD" } })],
            vec![json!({ "wisdom": {} })],
            vec![json!({})],
            vec![json!(5)],
            vec![
                json!({ "summary": { "sections": [], "identifiers": [], "summarizedUntilSeq": 1, "version": 1, "updatedAt": 1 } }),
            ],
        ];
        for (at, lines) in hostile.into_iter().enumerate() {
            let world = World::default();
            let target = world.open().await;
            let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
            let error = restored(&target, &lines, true).await.expect_err(&format!("case {at}"));
            assert_eq!(error.code, Code::InvalidArgument, "case {at}: {error}");
            assert!(records(&world).await.is_empty(), "case {at}");
        }
    });
}

fn texts() -> impl Strategy<Value = Vec<(u8, String)>> {
    prop::collection::vec((any::<u8>(), "[a-c ]{0,6}"), 0..14)
}

/// A random history: appends on any branch, edits, removals, streams of ids and of none.
async fn random_store(steps: &[(u8, String)]) -> Engine {
    let engine = World::default().open().await;
    for id in ["p", "q"] {
        conversation(&engine, id).await;
    }
    for (at, (kind, text)) in steps.iter().enumerate() {
        let id = if kind % 2 == 0 { "p" } else { "q" };
        let entries = engine.history_of_all_branches(id, None, None, None).await.unwrap();
        let pick = entries.get(usize::from(kind / 16) % entries.len().max(1)).map(|entry| entry.id.clone());
        let raw =
            if kind % 3 == 0 { message("user", text) } else { message_with_id(&format!("m{at}"), "assistant", text) };
        // What cannot be is refused, and the history goes on.
        let _ = match (kind % 7, pick) {
            (0, Some(message_id)) => {
                let request = RemoveRequest { conversation_id: id.into(), message_id, descendants: kind % 11 == 0 };
                engine.remove(request).await.map(|_| ())
            }
            (1, Some(message_id)) => {
                let request =
                    EditRequest { conversation_id: id.into(), message_id, message: raw, ..EditRequest::default() };
                engine.edit(request).await.map(|_| ())
            }
            (2, Some(parent)) => {
                let request = AppendRequest { parent_id: Some(Some(parent)), ..append(id, vec![raw]) };
                engine.append(request).await.map(|_| ())
            }
            (3, _) => engine.add_fact(NewFact { fact: format!("x{text}"), ..NewFact::default() }).await.map(|_| ()),
            _ => engine.append(append(id, vec![raw])).await.map(|_| ()),
        };
    }
    engine
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn any_store_comes_back_as_it_was(steps in texts()) {
        block_on(async {
            let engine = random_store(&steps).await;
            let (lines, skipped) = exported(&engine).await;
            prop_assert_eq!(skipped, 0);
            let target = World::default().open().await;
            restored(&target, &lines, true).await.unwrap();
            prop_assert_eq!(&exported(&target).await.0, &lines);
            for id in ["p", "q"] {
                let theirs = target.history(id, None, None, None).await.unwrap();
                prop_assert_eq!(engine.history(id, None, None, None).await.unwrap(), theirs);
            }
            Ok(())
        })?;
    }

    #[test]
    fn merging_loses_nothing_and_a_second_time_adds_nothing(one in texts(), common in texts(), other in texts()) {
        block_on(async {
            // What is removed here does not come back; that is another test.
            let one: Vec<_> = one.into_iter().filter(|(kind, _)| kind % 7 != 0).collect();
            let here = random_store(&[common.clone(), one].concat()).await;
            let there = random_store(&[common, other].concat()).await;
            let (lines, _) = exported(&there).await;
            let before = here.history("p", None, None, None).await.unwrap();
            restored(&here, &lines, true).await.unwrap();
            let after = here.history("p", None, None, None).await.unwrap();
            prop_assert!(after.starts_with(&before), "what is shown stays, or goes on");
            let again = restored(&here, &lines, true).await.unwrap();
            prop_assert_eq!((again.messages, again.updated, again.facts), (0, 0, 0));
            for id in ["p", "q"] {
                let all = here.history_of_all_branches(id, None, None, None).await.unwrap();
                for entry in there.history_of_all_branches(id, None, None, None).await.unwrap() {
                    prop_assert!(all.iter().any(|one| one.message == entry.message));
                }
            }
            Ok(())
        })?;
    }
}
