//! Trees: only the active path is in contexts, summaries, searches and extraction; every branch stays; what is removed is
//! gone.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{Answer, ScriptedModel, World, append, ask, conversation, message, message_with_id};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::engine::{
    AppendRequest, ContextRequest, EditRequest, Edited, Engine, EraseRequest, FactFilter, Invalidated, LeafRequest,
    NewFact, RecallRequest, RemoveRequest, TreeNode, Turned,
};
use throughline::error::{Code, Error};
use throughline::ports::{ModelRequest, Purpose};
use throughline::records::FactStatus;
use throughline::store::faulty::{Fault, FaultyStore};
use throughline::store::memory::MemoryStore;
use throughline::store::{Commit, Query, Record, Storage, Store};

fn under(parent_id: Option<&str>, messages: Vec<String>) -> AppendRequest {
    AppendRequest { parent_id: Some(parent_id.map(str::to_owned)), ..append("c", messages) }
}

async fn edit(engine: &Engine, message_id: &str, message: String) -> Result<Edited, Error> {
    let request =
        EditRequest { conversation_id: "c".into(), message_id: message_id.into(), message, ..EditRequest::default() };
    engine.edit(request).await
}

async fn set_leaf(engine: &Engine, message_id: &str, descend: bool) -> Result<Turned, Error> {
    engine.set_active_leaf(LeafRequest { conversation_id: "c".into(), message_id: message_id.into(), descend }).await
}

async fn remove(engine: &Engine, message_id: &str, descendants: bool) -> Invalidated {
    let request = RemoveRequest { conversation_id: "c".into(), message_id: message_id.into(), descendants };
    engine.remove(request).await.unwrap().invalidated
}

/// The texts of raw messages.
fn texts(raws: &[String]) -> Vec<String> {
    let text = |raw: &String| serde_json::from_str::<Value>(raw).unwrap()["content"].as_str().unwrap().to_owned();
    raws.iter().map(text).collect()
}

async fn path(engine: &Engine) -> Vec<String> {
    texts(&engine.history("c", None, None, None).await.unwrap())
}

async fn all(engine: &Engine) -> Vec<String> {
    let entries = engine.history_of_all_branches("c", None, None, None).await.unwrap();
    texts(&entries.into_iter().map(|entry| entry.message).collect::<Vec<_>>())
}

async fn found(engine: &Engine, query: &str) -> Vec<String> {
    let request: RecallRequest = serde_json::from_value(json!({ "query": query, "before": 0, "after": 0 })).unwrap();
    let groups = engine.recall(request).await.unwrap();
    groups.iter().flat_map(|group| texts(&group.messages)).collect()
}

async fn finds(engine: &Engine, word: &str) -> bool {
    found(engine, word).await.iter().any(|text| text.contains(word))
}

/// Two turns: ids a, b, c, d.
async fn two_turns(engine: &Engine) {
    conversation(engine, "c").await;
    let messages = vec![
        message_with_id("a", "user", "Which colour has the kingfisher?"),
        message_with_id("b", "assistant", "The kingfisher is turquoise."),
        message_with_id("c", "user", "And the heron, which colour?"),
        message_with_id("d", "assistant", "The heron is greyish."),
    ];
    engine.append(append("c", messages)).await.unwrap();
}

#[test]
fn an_edit_is_a_sibling_and_the_path_from_then_on() {
    block_on(async {
        let world = World::default().with_embedder();
        let engine = world.open().await;
        two_turns(&engine).await;
        engine.settled().await.unwrap();
        let edited = edit(&engine, "c", message_with_id("c2", "user", "And the bittern?")).await.unwrap();
        assert_eq!((edited.id.as_str(), edited.seq, edited.durable), ("c2", 5, false));
        let invalidated = Invalidated { summary: false, messages: 2, facts: 0, vectors: 2 };
        assert_eq!(edited.invalidated, invalidated);
        engine.append(append("c", vec![message_with_id("d2", "assistant", "The bittern is brownish.")])).await.unwrap();
        assert_eq!(path(&engine).await[2..], ["And the bittern?", "The bittern is brownish."]);
        assert_eq!(all(&engine).await.len(), 6);
        assert!(finds(&engine, "bittern").await && !finds(&engine, "heron").await);
        let context = engine.build_context(ask("c", "So what about the birds, all in all?")).await.unwrap();
        let sent = context.messages.concat();
        assert!(sent.contains("brownish") && sent.contains("turquoise") && !sent.contains("greyish"));
        let tree = engine.tree("c").await.unwrap();
        let shape = |node: &TreeNode| (node.id.clone(), node.parent_id.clone(), node.active, node.children.clone());
        let shapes: Vec<_> = tree.iter().map(shape).collect();
        let node = |id: &str, parent: Option<&str>, active, children: &[&str]| {
            let children: Vec<String> = children.iter().map(|id| (*id).to_owned()).collect();
            (id.to_owned(), parent.map(str::to_owned), active, children)
        };
        let expected = [
            node("a", None, true, &["b"]),
            node("b", Some("a"), true, &["c", "c2"]),
            node("c", Some("b"), false, &["d"]),
            node("d", Some("c"), false, &[]),
            node("c2", Some("b"), true, &["d2"]),
            node("d2", Some("c2"), true, &[]),
        ];
        assert_eq!(shapes, expected);
        assert!(!serde_json::to_string(&tree).unwrap().contains("heron"));
    });
}

#[test]
fn the_title_is_what_was_said_on_the_path_and_on_no_other_branch() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let messages = ["About herons", "About bitterns"].map(|text| message("user", text)).to_vec();
        let request = AppendRequest { parent_ids: Some(vec![None, None]), ..append("c", messages) };
        engine.append(request).await.unwrap();
        assert_eq!(path(&engine).await, ["About bitterns"]);
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "About bitterns");
    });
}

#[test]
fn a_turn_is_refused_where_a_first_summary_was_made_meanwhile() {
    block_on(async {
        let store = FaultyStore::new(MemoryStore::default());
        let shared = store.clone();
        let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
        let engine = world.open().await;
        two_turns(&engine).await;
        edit(&engine, "c", message_with_id("c2", "user", "And the bittern?")).await.unwrap();
        // Refused once: in that moment another tab could have written one, and the next try would see it.
        store.refuse_next_commits(2);
        set_leaf(&engine, "d", false).await.unwrap();
        let turns = store.commits().into_iter().rev().take(4);
        let none = (Store::SummaryHeads, None);
        let mut checked =
            turns.filter(|turn| turn.checks.iter().any(|check| (check.store, check.body.clone()) == none));
        assert!(checked.nth(1).is_some(), "every try checks that there is no summary");
    });
}

#[test]
fn an_edit_again_is_a_no_op_and_one_with_a_taken_id_a_conflict() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        two_turns(&engine).await;
        let new = message_with_id("c2", "user", "And the bittern?");
        edit(&engine, "c", new.clone()).await.unwrap();
        let again = edit(&engine, "c", new).await.unwrap();
        assert_eq!((again.seq, again.invalidated), (5, Invalidated::default()));
        let taken = edit(&engine, "c", message_with_id("c", "user", "And the bittern?")).await.unwrap_err();
        assert_eq!(taken.code, Code::Conflict);
        assert!(!taken.message.contains("bittern"));
        assert_eq!(edit(&engine, "nowhere", message("user", "x")).await.unwrap_err().code, Code::NotFound);
        assert_eq!(all(&engine).await.len(), 5);
        let given = edit(&engine, "c2", message("user", "And the egret?")).await.unwrap();
        assert_eq!((given.id.as_str(), given.seq), ("seq:6", 6));
        // The first message has no parent: neither has what takes its place, and the title follows.
        edit(&engine, "a", message("user", "Let us talk about owls.")).await.unwrap();
        assert_eq!(path(&engine).await, ["Let us talk about owls."]);
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "Let us talk about owls.");
        set_leaf(&engine, "b", false).await.unwrap();
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "Which colour has the kingfisher?");
    });
}

#[test]
fn regenerating_is_going_back_and_appending() {
    block_on(async {
        let world = World::default().with_embedder();
        let engine = world.open().await;
        two_turns(&engine).await;
        engine.settled().await.unwrap();
        assert_eq!(set_leaf(&engine, "c", false).await.unwrap().invalidated.messages, 1);
        engine.append(append("c", vec![message_with_id("d2", "assistant", "It is ashen.")])).await.unwrap();
        assert_eq!(path(&engine).await[3], "It is ashen.");
        assert!(!finds(&engine, "greyish").await);
        // A branch is picked by its first message; its newest end is what a person means.
        set_leaf(&engine, "d", true).await.unwrap();
        assert!(finds(&engine, "greyish").await && !finds(&engine, "ashen").await);
        set_leaf(&engine, "b", true).await.unwrap();
        assert_eq!(path(&engine).await[3], "It is ashen.");
        assert!(finds(&engine, "ashen").await && !finds(&engine, "greyish").await);
        assert_eq!(set_leaf(&engine, "b", true).await.unwrap().invalidated, Invalidated::default());
        assert_eq!(set_leaf(&engine, "nowhere", false).await.unwrap_err().code, Code::NotFound);
        // What came back is found by meaning too: its vector is read again.
        engine.settled().await.unwrap();
        set_leaf(&engine, "d", false).await.unwrap();
        let request: RecallRequest = serde_json::from_value(json!({ "query": "greyish" })).unwrap();
        let groups = engine.recall(request).await.unwrap();
        let hit = groups[0].hits.iter().find(|hit| hit.id == "d").unwrap();
        assert!(hit.scores.cosine.is_some());
    });
}

#[test]
fn a_parent_elsewhere_begins_a_branch_and_an_unknown_one_nothing() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        two_turns(&engine).await;
        let branch =
            vec![message_with_id("x", "user", "Rather: the wren?"), message_with_id("y", "assistant", "Tiny.")];
        engine.append(under(Some("b"), branch.clone())).await.unwrap();
        assert_eq!(path(&engine).await[2..], ["Rather: the wren?", "Tiny."]);
        // Carried out again, whole or in part, it is the same.
        let longer = [branch, vec![message_with_id("z", "user", "How tiny?")]].concat();
        engine.append(under(Some("b"), longer)).await.unwrap();
        assert_eq!(path(&engine).await[2..], ["Rather: the wren?", "Tiny.", "How tiny?"]);
        let error = engine.append(under(Some("nowhere"), vec![message("user", "lost")])).await.unwrap_err();
        assert_eq!(error.code, Code::NotFound);
        assert_eq!(all(&engine).await.len(), 7);
        engine.append(under(None, vec![message("user", "A tree of its own.")])).await.unwrap();
        assert_eq!(path(&engine).await, ["A tree of its own."]);
        assert_eq!(engine.history("c", Some(1), Some(7), None).await.unwrap(), Vec::<String>::new());
        assert_eq!(engine.history_of_all_branches("c", Some(2), Some(4), Some(2)).await.unwrap().len(), 2);
        // The parent named is the leaf: nothing turns.
        engine.append(under(Some("seq:8"), vec![message("assistant", "Planted.")])).await.unwrap();
        assert_eq!(path(&engine).await, ["A tree of its own.", "Planted."]);
    });
}

/// Every record of a store, as text.
async fn dump(storage: &dyn Storage) -> String {
    let mut text = String::new();
    for store in Store::ALL {
        let query = Query::prefix(store, throughline::key![]);
        for (key, record) in storage.scan(query).await.unwrap() {
            text.push_str(&format!(
                "{} {key:?} {} {:?}\n",
                store.name(),
                record.body,
                record.blob.map(|blob| blob.len())
            ));
        }
    }
    text
}

#[test]
fn a_removed_message_is_nowhere_and_its_children_follow_its_parent() {
    block_on(async {
        let mut world = World::default().with_embedder().with_model(markers_model());
        world.policy.compaction.automatic = false;
        let engine = world.open().await;
        let storage = (world.storage)();
        two_turns(&engine).await;
        engine.settled().await.unwrap();
        assert!(dump(&*storage).await.contains("turquoise"));
        let tokens = engine.get_conversation("c").await.unwrap().tokens;
        let invalidated = remove(&engine, "b", false).await;
        assert_eq!(invalidated, Invalidated { summary: false, messages: 1, facts: 0, vectors: 1 });
        let rest = dump(&*storage).await;
        assert!(!rest.contains("turquoise") && !rest.contains("\"b\""), "{rest}");
        assert_eq!(remove(&engine, "b", false).await, Invalidated::default());
        assert_eq!(path(&engine).await.len(), 3);
        assert_eq!(engine.tree("c").await.unwrap()[1].parent_id.as_deref(), Some("a"));
        assert!(!finds(&engine, "turquoise").await && finds(&engine, "greyish").await);
        let view = engine.get_conversation("c").await.unwrap();
        assert_eq!(view.message_count, 3);
        assert!(view.tokens < tokens);
        let stats = engine.stats().await.unwrap();
        assert_eq!((stats.messages, stats.vectors, stats.tokens), (3, 3, view.tokens));
        // The leaf goes back to its parent; the title goes with the message that gave it.
        remove(&engine, "d", false).await;
        assert_eq!(path(&engine).await.len(), 2);
        remove(&engine, "a", false).await;
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "And the heron, which colour?");
        // The same text may be said again: nothing is left to conflict with.
        engine.append(append("c", vec![message_with_id("b", "assistant", "Blue, then.")])).await.unwrap();
        assert_eq!(path(&engine).await, ["And the heron, which colour?", "Blue, then."]);
        remove(&engine, "c", true).await;
        assert_eq!(path(&engine).await, Vec::<String>::new());
        assert_eq!(engine.get_conversation("c").await.unwrap().title, "Untitled");
        engine.append(append("c", vec![message("user", "Anew.")])).await.unwrap();
        assert_eq!(path(&world.open().await).await, ["Anew."]);
    });
}

#[test]
fn removal_with_all_that_follows_takes_every_branch_below_and_no_other() {
    block_on(async {
        let world = World::default();
        let engine = world.open().await;
        two_turns(&engine).await;
        engine.append(under(Some("b"), vec![message_with_id("x", "user", "the wren?")])).await.unwrap();
        engine.append(under(Some("a"), vec![message_with_id("y", "assistant", "the robin.")])).await.unwrap();
        set_leaf(&engine, "d", false).await.unwrap();
        let request = json!({ "conversationId": "c", "messageId": "x" });
        let erased = engine.erase(serde_json::from_value::<EraseRequest>(request.clone()).unwrap()).await.unwrap();
        assert_eq!(erased.erased["messages"], 1);
        assert!(engine.erase(serde_json::from_value(request).unwrap()).await.unwrap().erased.is_empty());
        assert_eq!(remove(&engine, "b", true).await.messages, 3);
        assert_eq!(all(&engine).await, ["Which colour has the kingfisher?", "the robin."]);
        assert_eq!(path(&engine).await, ["Which colour has the kingfisher?"]);
        remove(&engine, "a", false).await;
        assert_eq!(path(&engine).await, ["the robin."], "the newest of what is left");
        let missing = RemoveRequest { conversation_id: "nowhere".into(), message_id: "a".into(), descendants: false };
        assert_eq!(engine.remove(missing).await.unwrap_err().code, Code::NotFound);
    });
}

fn extracted(facts: &[(&str, &str, u32)]) -> Answer {
    let facts: Vec<Value> = facts
        .iter()
        .map(|(fact, quote, seq)| {
            json!({ "fact": fact, "category": "preference", "confidence": 0.9, "quote": quote, "seq": seq, "kind": "statement" })
        })
        .collect();
    Answer::Text(json!({ "facts": facts }).to_string())
}

async fn active_facts(engine: &Engine) -> Vec<String> {
    let facts = engine.list_facts(FactFilter::default()).await.unwrap();
    facts.into_iter().filter(|fact| fact.status == FactStatus::Active).map(|fact| fact.fact).collect()
}

#[test]
fn facts_of_an_edited_message_are_withdrawn_and_of_a_removed_one_erased() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        let other = world.open().await;
        conversation(&engine, "c").await;
        let say = async |id: &str, text: &str, answer: Answer| {
            model.then(Purpose::Extract, answer);
            engine.append(append("c", vec![message_with_id(id, "user", text)])).await.unwrap();
            engine.settled().await.unwrap();
        };
        say(
            "a",
            "I only drink green tea.",
            extracted(&[("The user only drinks green tea", "I only drink green tea", 1)]),
        )
        .await;
        say("b", "My team uses pnpm.", extracted(&[("The user's team uses pnpm", "My team uses pnpm", 2)])).await;
        say("c", "As I said, my team uses pnpm.", extracted(&[("The user's team uses pnpm", "my team uses pnpm", 3)]))
            .await;
        say("d", "I live in Graz.", extracted(&[("The user lives in Graz", "I live in Graz", 4)])).await;
        let kept = engine.add_fact(serde_json::from_value::<NewFact>(json!({ "fact": "Likes maps" })).unwrap()).await;
        assert_eq!(active_facts(&other).await.len(), 4);

        model.then(Purpose::Extract, extracted(&[]));
        let edited = edit(&engine, "d", message_with_id("d2", "user", "I live in Linz.")).await.unwrap();
        assert_eq!(edited.invalidated.facts, 1);
        engine.settled().await.unwrap();
        let facts = active_facts(&other).await;
        assert!(!facts.iter().any(|fact| fact.contains("Graz")) && facts.len() == 3);
        let withdrawn = engine.list_facts(FactFilter { status: Some(FactStatus::Deleted), ..FactFilter::default() });
        let withdrawn = withdrawn.await.unwrap();
        let audit = engine.fact_history(&withdrawn[0].id).await.unwrap();
        assert_eq!(audit.last().unwrap().reason.as_deref(), Some("edited"));

        // What the user confirmed stays: it is their word now.
        say("e", "I play the oboe.", extracted(&[("The user plays the oboe", "I play the oboe", 6)])).await;
        let facts = engine.list_facts(FactFilter::default()).await.unwrap();
        let oboe = facts.iter().find(|fact| fact.fact.contains("oboe")).unwrap();
        engine.approve_fact(&oboe.id).await.unwrap();
        model.then(Purpose::Extract, extracted(&[]));
        let edited = edit(&engine, "e", message_with_id("e2", "user", "I play the oboe and the flute.")).await.unwrap();
        assert_eq!(edited.invalidated.facts, 0);
        engine.settled().await.unwrap();
        assert_eq!(active_facts(&other).await.len(), 4);
        // Its message is gone for good: so is the fact, as with a conversation that is erased.
        assert_eq!(remove(&engine, "e", false).await.facts, 1);

        // Another branch is chosen: what was learned stays, and nothing is read twice.
        let calls = model.calls(Purpose::Extract);
        assert_eq!(set_leaf(&engine, "a", false).await.unwrap().invalidated.facts, 0);
        set_leaf(&engine, "d2", false).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!((active_facts(&engine).await.len(), model.calls(Purpose::Extract)), (3, calls));

        // Said twice: one of the two shows it still, and its words are no quotation of the removed one.
        assert_eq!(remove(&engine, "b", false).await.facts, 0);
        assert!(active_facts(&other).await.iter().any(|fact| fact.contains("pnpm")));
        assert_eq!(remove(&engine, "c", false).await.facts, 1);
        assert_eq!(remove(&engine, "a", false).await.facts, 1);
        assert_eq!(active_facts(&other).await, ["Likes maps"]);
        let rest = dump(&*(world.storage)()).await;
        assert!(!rest.contains("pnpm") && !rest.contains("green tea"), "{rest}");
        kept.unwrap();
    });
}

/// The words `mk<number>` of a text.
fn markers(text: &str) -> BTreeSet<u32> {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.filter_map(|word| word.strip_prefix("mk")?.parse().ok()).collect()
}

/// Summarises by naming every marker that it was shown, in the messages or the notes before.
fn markers_model() -> ScriptedModel {
    ScriptedModel::answering(|request: &ModelRequest| match request.purpose {
        Purpose::Summarize => {
            let seen: Vec<String> = markers(&request.prompt).iter().map(|number| format!("mk{number}")).collect();
            Some(
                json!({ "goal": ["Name the markers of all of these messages, one by one"], "confirmed": seen })
                    .to_string(),
            )
        }
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        _ => None,
    })
}

/// A long text with one marker.
fn marked(number: u32) -> String {
    format!(
        "Now mk{number} is talked about at some length, with step {number} of the plan and a reason for each of its parts, so that a few of these fill a small window and the older ones are folded."
    )
}

/// A world whose window is so small that a few messages are folded.
fn small_world() -> World {
    let mut world = World::default().with_model(markers_model());
    world.policy.budget.recent_tokens = 150;
    world.policy.compaction.high_water_tokens = 150;
    world
}

async fn say(engine: &Engine, numbers: std::ops::Range<u32>) {
    let messages = numbers.map(|number| {
        let role = if number % 2 == 0 { "user" } else { "assistant" };
        message_with_id(&format!("m{number}"), role, &marked(number))
    });
    engine.append(append("c", messages.collect())).await.unwrap();
    engine.settled().await.unwrap();
}

/// The summary says exactly what the active path says up to its cursor.
async fn check_summary(engine: &Engine) -> u32 {
    let summary = engine.summary("c").await.unwrap();
    let covered = engine.history("c", None, Some(summary.summarized_until_seq), None).await.unwrap();
    assert_eq!(markers(&summary.text), markers(&covered.concat()), "up to {}", summary.summarized_until_seq);
    summary.summarized_until_seq
}

#[test]
fn the_summary_never_says_what_another_branch_said() {
    block_on(async {
        let world = small_world();
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        for round in 0..6 {
            say(&engine, round * 4..round * 4 + 4).await;
        }
        let until = check_summary(&engine).await;
        assert!(until > 12, "{until}");
        let calls = model.calls(Purpose::Summarize);
        // An edit behind the cursor changes nothing that is summarised.
        let edited = edit(&engine, "m22", message_with_id("e22", "user", &marked(122))).await.unwrap();
        assert!(!edited.invalidated.summary);
        assert_eq!(engine.summary("c").await.unwrap().summarized_until_seq, until);
        // One before it takes the summary back to what is common, without asking the model.
        let edited = edit(&engine, "m14", message_with_id("e14", "user", &marked(114))).await.unwrap();
        assert!(edited.invalidated.summary);
        let common = check_summary(&engine).await;
        assert!(common > 0 && common <= 14, "{common}");
        assert_eq!(model.calls(Purpose::Summarize), calls);
        say(&engine, 200..208).await;
        assert!(check_summary(&engine).await > 14);
        // Back on the first branch, its own summary is in force again, without asking the model.
        let calls = model.calls(Purpose::Summarize);
        set_leaf(&engine, "m23", false).await.unwrap();
        assert_eq!(check_summary(&engine).await, until);
        assert_eq!(model.calls(Purpose::Summarize), calls);
        // A removed message is in no summary, however old, and not in its pieces.
        assert!(remove(&engine, "m3", false).await.summary);
        check_summary(&engine).await;
        engine.settled().await.unwrap();
        assert!(check_summary(&engine).await > 12);
        assert!(!dump(&*(world.storage)()).await.contains("mk3\""));
        // Removing from a branch that is not in force leaves the summary alone.
        let version = engine.summary("c").await.unwrap().version;
        assert!(!remove(&engine, "m201", false).await.summary);
        assert_eq!(engine.summary("c").await.unwrap().version, version);
    });
}

#[test]
fn a_compaction_under_way_loses_against_a_turn_of_the_path() {
    block_on(async {
        // The turn begins at every step of the compaction.
        for (which, lead) in (0..3).flat_map(|which| (0..24).map(move |lead| (which, lead))) {
            let store = FaultyStore::new(MemoryStore::default());
            let shared = store.clone();
            let mut world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..small_world() };
            world.policy.compaction.automatic = false;
            let engine = world.open().await;
            let other = world.open().await;
            conversation(&engine, "c").await;
            say(&engine, 0..16).await;
            store.delay_polls(1);
            let turn = async {
                for _ in 0..lead {
                    yield_once().await;
                }
                match which {
                    0 => edit(&other, "m4", message("user", &marked(104))).await.unwrap().invalidated,
                    1 => set_leaf(&other, "m5", false).await.unwrap().invalidated,
                    _ => remove(&other, "m4", false).await,
                }
            };
            let (compacted, invalidated) = futures_util::future::join(engine.compact("c", true), turn).await;
            compacted.unwrap();
            assert!(invalidated.messages > 0);
            check_summary(&engine).await;
            check_summary(&other).await;
        }
    });
}

#[test]
fn a_vector_or_a_fact_under_way_does_not_come_back_after_the_removal() {
    block_on(async {
        // The removal is carried out at every step of the work.
        for (lead, lag) in (0..40).map(|lead| (lead, 0)).chain((0..40).map(|lag| (0, lag))) {
            let store = FaultyStore::new(MemoryStore::default());
            let shared = store.clone();
            let model = ScriptedModel::answering(|request: &ModelRequest| {
                let is_said = request.prompt.contains("I only drink green tea");
                let fact = json!({ "fact": "The user only drinks green tea", "category": "preference", "confidence": 0.9,
                    "quote": "I only drink green tea", "seq": 1, "kind": "statement" });
                Some(json!({ "facts": if is_said { vec![fact] } else { Vec::new() } }).to_string())
            });
            let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
            let world = world.with_embedder().with_model(model);
            let engine = world.open().await;
            let other = world.open().await;
            conversation(&engine, "c").await;
            let said = ["I only drink green tea.", "And I like maps."];
            let messages = said.iter().zip(["a", "b"]).map(|(text, id)| message_with_id(id, "user", text)).collect();
            engine.append(append("c", messages)).await.unwrap();
            store.delay_polls(1);
            let removal = async {
                for _ in 0..lead {
                    yield_once().await;
                }
                remove(&other, "a", false).await
            };
            let work = async {
                for _ in 0..lag {
                    yield_once().await;
                }
                engine.settled().await
            };
            futures_util::future::join(work, removal).await.0.unwrap();
            engine.settled().await.unwrap();
            assert_eq!(engine.stats().await.unwrap().vectors, 1);
            assert_eq!(active_facts(&engine).await, Vec::<String>::new());
            assert!(!dump(store.inner()).await.contains("tea"), "{lead} {lag}");
        }
    });
}

/// Lets the others go on.
async fn yield_once() {
    let mut is_second = false;
    std::future::poll_fn(move |context| {
        if std::mem::replace(&mut is_second, true) {
            return std::task::Poll::Ready(());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .await;
}

#[test]
fn every_user_message_that_is_ever_on_the_path_is_read_once() {
    block_on(async {
        let mut world = World::default().with_model(markers_model());
        world.policy.facts.batch_messages = 3;
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        two_turns(&engine).await;
        // Edited away before it was read.
        edit(&engine, "c", message_with_id("e", "user", "And the bittern?")).await.unwrap();
        engine
            .append(append("c", vec![message("assistant", "Brown."), message("user", "And the wren?")]))
            .await
            .unwrap();
        engine.settled().await.unwrap();
        let prompts = || -> String {
            let requests = model.requests.borrow();
            let extract = requests.iter().filter(|request| request.purpose == Purpose::Extract);
            extract.map(|request| request.prompt.clone()).collect()
        };
        let times = |text: &str| prompts().matches(text).count();
        assert_eq!((times("kingfisher?"), times("bittern?"), times("wren?"), times("heron, which")), (1, 1, 1, 0));
        // Chosen again: it is read now, with two more, and the others are not read again.
        set_leaf(&engine, "d", false).await.unwrap();
        engine
            .append(append("c", vec![message("user", "And the gull?"), message("user", "And the stork?")]))
            .await
            .unwrap();
        engine.settled().await.unwrap();
        let birds = ["kingfisher?", "bittern?", "wren?", "heron, which", "gull?", "stork?"];
        assert_eq!(birds.map(times), [1; 6]);
        set_leaf(&engine, "e", true).await.unwrap();
        engine
            .append(append("c", vec![message("user", "1?"), message("user", "2?"), message("user", "3?")]))
            .await
            .unwrap();
        engine.settled().await.unwrap();
        assert_eq!(birds.map(times), [1; 6]);
    });
}

#[test]
fn another_tab_sees_the_turn_and_the_removal() {
    block_on(async {
        let world = World::default().with_embedder();
        let (one, other) = (world.open().await, world.open().await);
        two_turns(&one).await;
        one.settled().await.unwrap();
        assert!(finds(&other, "greyish").await);
        edit(&one, "c", message_with_id("c2", "user", "And the bittern?")).await.unwrap();
        assert!(!finds(&other, "greyish").await && finds(&other, "bittern").await);
        assert_eq!(path(&other).await.len(), 3);
        set_leaf(&other, "d", false).await.unwrap();
        assert!(finds(&one, "greyish").await && !finds(&one, "bittern").await);
        // Both turn at once: one of them is the last, and both tabs agree.
        let (first, second) =
            futures_util::future::join(set_leaf(&one, "c2", false), set_leaf(&other, "b", false)).await;
        first.unwrap();
        second.unwrap();
        assert_eq!(path(&one).await, path(&other).await);
        remove(&one, "b", false).await;
        assert!(!finds(&other, "turquoise").await);
        assert_eq!(other.tree("c").await.unwrap(), one.tree("c").await.unwrap());
        let context = other.build_context(ask("c", "What is turquoise here, kingfisher?")).await.unwrap();
        assert!(!context.messages.concat().contains("is turquoise."));
        other.append(append("c", vec![message("assistant", "Nobody knows.")])).await.unwrap();
        assert_eq!(path(&one).await, path(&other).await);
    });
}

#[test]
fn a_storage_that_fails_changes_nothing() {
    block_on(async {
        for fault in [Fault::FailBefore(Code::StorageUnavailable), Fault::Refuse] {
            for call in 0..4 {
                let store = FaultyStore::new(MemoryStore::default());
                let shared = store.clone();
                let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
                let engine = world.open().await;
                two_turns(&engine).await;
                let before = (path(&engine).await, engine.tree("c").await.unwrap());
                store.script_commits([fault]);
                let ended = match call {
                    0 => edit(&engine, "c", message("user", "And the bittern?")).await.map(|_| ()),
                    1 => set_leaf(&engine, "b", false).await.map(|_| ()),
                    2 => engine.append(under(Some("a"), vec![message("user", "x")])).await.map(|_| ()),
                    _ => {
                        let request =
                            RemoveRequest { conversation_id: "c".into(), message_id: "b".into(), descendants: true };
                        engine.remove(request).await.map(|_| ())
                    }
                };
                let after = (path(&engine).await, engine.tree("c").await.unwrap());
                // A tab that was faster is tried again; a failure is told, and everything is as it was.
                assert_eq!(ended.is_ok(), fault == Fault::Refuse);
                assert_eq!(before == after, fault != Fault::Refuse);
                assert_eq!(path(&world.open().await).await, after.0);
            }
        }
    });
}

#[test]
fn a_lost_answer_leaves_the_engine_with_what_is_stored() {
    block_on(async {
        let store = FaultyStore::new(MemoryStore::default());
        let shared = store.clone();
        let world = World { storage: Rc::new(move || Rc::new(shared.clone())), ..World::default() };
        let engine = world.open().await;
        two_turns(&engine).await;
        store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
        let request = RemoveRequest { conversation_id: "c".into(), message_id: "b".into(), descendants: false };
        assert!(engine.remove(request.clone()).await.is_err());
        assert_eq!(engine.remove(request).await.unwrap().invalidated, Invalidated::default());
        assert_eq!(path(&engine).await.len(), 3);
        assert!(!finds(&engine, "turquoise").await);
        store.script_commits([Fault::FailAfter(Code::StorageUnavailable)]);
        let new = message_with_id("c2", "user", "And the bittern?");
        assert!(edit(&engine, "c", new.clone()).await.is_err());
        edit(&engine, "c", new).await.unwrap();
        assert_eq!(path(&engine).await, ["Which colour has the kingfisher?", "And the bittern?"]);
        assert!(!finds(&engine, "greyish").await && finds(&engine, "bittern").await);
        // The text of what comes back cannot be read: the turn is made all the same, and the next call reads it.
        store.script_reads([Fault::Pass, Fault::Pass, Fault::FailBefore(Code::StorageUnavailable)]);
        set_leaf(&engine, "d", false).await.unwrap();
        assert!(finds(&engine, "greyish").await);
    });
}

#[test]
fn records_from_before_there_were_trees_open_as_one_line() {
    block_on(async {
        let world = World::default();
        let storage = (world.storage)();
        let put = |store, key, value: Value| (store, key, Record { body: value.to_string(), blob: None });
        let mut commit = Commit::default();
        commit.puts.push(put(Store::Conversations, throughline::key!["c"], json!({
            "id": "c", "born": 1, "title": null, "projectId": null, "remember": true, "createdAt": 1.0, "updatedAt": 1.0,
            "lastSeq": 3, "tokens": 9, "firstText": "one",
        })));
        for (seq, text) in [(1_u32, "one"), (2, "two"), (3, "three")] {
            let id = format!("i{seq}");
            commit.puts.push(put(
                Store::Messages,
                throughline::key!["c", seq],
                json!({
                    "conversationId": "c", "seq": seq, "id": id, "parentId": null, "role": "user", "format": "openai",
                    "raw": message("user", text), "text": text, "tokens": 3, "countedWith": "estimate/1",
                    "contentHash": "0", "createdAt": 1.0, "normalized": false, "opensGroup": true,
                }),
            ));
            let key = throughline::key!["c", id.as_str()];
            commit.puts.push(put(Store::MessageIds, key, json!({ "seq": seq, "contentHash": "0" })));
        }
        assert!(storage.commit(commit).await.unwrap());
        let engine = world.open().await;
        assert_eq!(path(&engine).await, ["one", "two", "three"]);
        let parents: Vec<_> = engine.tree("c").await.unwrap().into_iter().map(|node| node.parent_id).collect();
        assert_eq!(parents, [None, Some("i1".to_owned()), Some("i2".to_owned())]);
        edit(&engine, "i2", message("user", "zwei")).await.unwrap();
        assert_eq!(path(&world.open().await).await, ["one", "zwei"]);
    });
}

#[derive(Clone, Debug)]
enum Step {
    Append(u8),
    Branch(u8, u8),
    Root,
    Edit(u8),
    Leaf(u8, bool),
    Remove(u8, bool),
    Import(u8, bool),
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => (1_u8..5).prop_map(Step::Append),
        2 => (any::<u8>(), 1_u8..4).prop_map(|(at, count)| Step::Branch(at, count)),
        1 => Just(Step::Root),
        3 => any::<u8>().prop_map(Step::Edit),
        3 => (any::<u8>(), any::<bool>()).prop_map(|(at, descend)| Step::Leaf(at, descend)),
        2 => (any::<u8>(), any::<bool>()).prop_map(|(at, all)| Step::Remove(at, all)),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(at, activate)| Step::Import(at, activate)),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..24)
}

/// What the engine is compared with: a plain tree.
#[derive(Default)]
struct Model {
    /// By seq - 1: parent, or `None` once removed.
    parents: Vec<Option<u32>>,
    leaf: u32,
}

impl Model {
    fn live(&self) -> Vec<u32> {
        (1..=self.parents.len() as u32).filter(|seq| self.parents[*seq as usize - 1].is_some()).collect()
    }

    fn pick(&self, at: u8) -> Option<u32> {
        let live = self.live();
        live.get(usize::from(at) % live.len().max(1)).copied()
    }

    fn parent(&self, seq: u32) -> u32 {
        self.parents[seq as usize - 1].unwrap()
    }

    fn path_to(&self, mut seq: u32) -> Vec<u32> {
        let mut path = Vec::new();
        while seq != 0 {
            path.push(seq);
            seq = self.parent(seq);
        }
        path.reverse();
        path
    }

    fn path(&self) -> Vec<u32> {
        self.path_to(self.leaf)
    }

    fn below(&self, seq: u32) -> Vec<u32> {
        self.live().into_iter().filter(|other| self.path_to(*other).contains(&seq)).collect()
    }

    fn add(&mut self, parent: u32) -> u32 {
        self.parents.push(Some(parent));
        self.parents.len() as u32
    }

    fn remove(&mut self, seq: u32, all: bool) {
        let gone = if all { self.below(seq) } else { vec![seq] };
        let path = self.path();
        let parent = self.parent(seq);
        for other in self.live() {
            if gone.contains(&self.parent(other)) {
                self.parents[other as usize - 1] = Some(parent);
            }
        }
        for seq in &gone {
            self.parents[*seq as usize - 1] = None;
        }
        if gone.contains(&self.leaf) {
            let before = path.into_iter().rev().find(|seq| !gone.contains(seq));
            self.leaf = before.or(self.live().last().copied()).unwrap_or(0);
        }
    }
}

fn id_of(seq: u32) -> String {
    format!("seq:{seq}")
}

fn new_messages(model: &Model, count: u8) -> Vec<String> {
    let next = model.parents.len() as u32 + 1;
    (next..next + u32::from(count))
        .map(|seq| message(if seq % 3 == 1 { "user" } else { "assistant" }, &marked(seq)))
        .collect()
}

async fn take_step(engine: &Engine, model: &mut Model, step: &Step) {
    let append_to = async |model: &mut Model, request: AppendRequest, parent: u32| {
        let count = request.messages.len();
        engine.append(request).await.unwrap();
        model.leaf = (0..count).fold(parent, |parent, _| model.add(parent));
    };
    match *step {
        Step::Append(count) => append_to(model, append("c", new_messages(model, count)), model.leaf).await,
        Step::Root => append_to(model, under(None, new_messages(model, 1)), 0).await,
        Step::Branch(at, count) => {
            let Some(parent) = model.pick(at) else { return };
            append_to(model, under(Some(&id_of(parent)), new_messages(model, count)), parent).await;
        }
        Step::Edit(at) => {
            let Some(seq) = model.pick(at) else { return };
            edit(engine, &id_of(seq), new_messages(model, 1).remove(0)).await.unwrap();
            model.leaf = model.add(model.parent(seq));
        }
        Step::Leaf(at, descend) => {
            let Some(seq) = model.pick(at) else { return };
            let left = model.path();
            model.leaf = if descend { *model.below(seq).last().unwrap() } else { seq };
            let turned = set_leaf(engine, &id_of(seq), descend).await.unwrap();
            let path = model.path();
            let left = left.iter().filter(|seq| !path.contains(seq)).count();
            assert_eq!(turned.invalidated.messages, left);
        }
        Step::Remove(at, all) => {
            let Some(seq) = model.pick(at) else { return };
            remove(engine, &id_of(seq), all).await;
            model.remove(seq, all);
        }
        Step::Import(at, activate) => {
            // Two siblings under one parent.
            let parent = model.pick(at);
            let parent_ids = Some(vec![parent.map(id_of); 2]);
            let request = AppendRequest {
                parent_ids,
                activate: Some(activate),
                imported: true,
                ..append("c", new_messages(model, 2))
            };
            engine.append(request).await.unwrap();
            model.add(parent.unwrap_or(0));
            let last = model.add(parent.unwrap_or(0));
            if activate {
                model.leaf = last;
            }
        }
        Step::Reopen => {}
    }
}

/// Everything that can be seen of the conversation is what the model says.
async fn check(engine: &Engine, model: &Model) {
    let path = model.path();
    let said = |seqs: &[u32]| -> Vec<String> { seqs.iter().map(|seq| marked(*seq)).collect() };
    assert_eq!(texts(&engine.history("c", None, None, None).await.unwrap()), said(&path));
    assert_eq!(all(engine).await, said(&model.live()));
    let tree = engine.tree("c").await.unwrap();
    let seen: Vec<(u32, u32, bool)> = tree
        .iter()
        .map(|node| {
            let parent = node.parent_id.as_ref().map_or(0, |id| id[4..].parse().unwrap());
            (node.seq, parent, node.active)
        })
        .collect();
    let expected: Vec<_> = model.live().iter().map(|seq| (*seq, model.parent(*seq), path.contains(seq))).collect();
    assert_eq!(seen, expected);
    let half = path.get(path.len() / 2).copied().unwrap_or(1);
    let part: Vec<u32> = path.iter().copied().filter(|seq| *seq >= half).take(2).collect();
    assert_eq!(texts(&engine.history("c", Some(half), None, Some(2)).await.unwrap()), said(&part));
    let view = engine.get_conversation("c").await.unwrap();
    assert_eq!(view.message_count as usize, model.live().len());
}

async fn check_search(engine: &Engine, model: &Model) {
    let path = model.path();
    for seq in 1..=model.parents.len() as u32 {
        let request: RecallRequest =
            serde_json::from_value(json!({ "query": format!("mk{seq}"), "topK": 50 })).unwrap();
        let groups = engine.recall(request).await.unwrap();
        let mut seen = BTreeSet::new();
        for group in &groups {
            for hit in &group.hits {
                assert!(path.contains(&hit.seq));
            }
            seen.extend(markers(&group.messages.concat()));
        }
        assert!(seen.iter().all(|seq| path.contains(seq)), "{seen:?} for {path:?}");
        assert_eq!(seen.contains(&seq), path.contains(&seq), "message {seq}");
    }
}

async fn check_context(engine: &Engine, model: &Model) {
    let request = ContextRequest { window: Some(6_000.0), ..ask("c", "And what is next on the list?") };
    let context = engine.build_context(request).await.unwrap();
    let path = model.path();
    let raws = context.messages.iter().filter(|raw| raw.contains("length"));
    let sent: Vec<u32> = raws.flat_map(|raw| markers(raw)).collect();
    let in_order: Vec<u32> = path.iter().copied().filter(|seq| sent.contains(seq)).collect();
    assert_eq!(sent, in_order, "of {path:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_engine_is_the_plain_tree(steps in steps(), settles in any::<bool>()) {
        block_on(async {
            let mut world = small_world().with_embedder();
            let mut one = world.open().await;
            let other = world.open().await;
            conversation(&one, "c").await;
            let mut model = Model::default();
            for (index, step) in steps.iter().enumerate() {
                // Two tabs take turns, and each is looked at.
                let engine = if index % 3 == 2 { &other } else { &one };
                take_step(engine, &mut model, step).await;
                if settles {
                    engine.settled().await.unwrap();
                    check_summary(engine).await;
                }
                check(if index % 2 == 0 { &one } else { &other }, &model).await;
                if matches!(step, Step::Reopen) {
                    one = world.open().await;
                }
            }
            for engine in [&one, &other] {
                check(engine, &model).await;
                check_search(engine, &model).await;
                check_context(engine, &model).await;
            }
            one.settled().await.unwrap();
            check_summary(&other).await;
            // No user message is read twice, and none that was imported.
            let requests = world.model.take().unwrap().requests.take();
            let mut read = BTreeSet::new();
            for request in requests.iter().filter(|request| request.purpose == Purpose::Extract) {
                let shown = request.prompt.split("MESSAGES\n").nth(1).unwrap();
                for line in shown.lines().filter(|line| line.starts_with('[') && line.contains("] user")) {
                    assert!(read.insert(line.to_owned()), "{line} was read twice");
                }
            }
            let engine = world.open().await;
            check(&engine, &model).await;
            check_search(&engine, &model).await;
        });
    }
}
