//! Facts end to end: extraction and judging through scripted models, explicit writes, forgetting, two tabs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use host::{Answer, ScriptedModel, World, append, ask, conversation, message};
use serde_json::{Value, json};
use throughline::engine::{Engine, FactFilter, NewFact, RecallRequest};
use throughline::error::Code;
use throughline::ports::Purpose;
use throughline::records::{FactStatus, Trust};

fn extracted(facts: &[(&str, &str, u32)]) -> Answer {
    let facts: Vec<Value> = facts
        .iter()
        .map(|(fact, quote, seq)| {
            json!({ "fact": fact, "category": "preference", "confidence": 0.9, "quote": quote, "seq": seq, "kind": "statement" })
        })
        .collect();
    Answer::Text(json!({ "facts": facts }).to_string())
}

fn judged(operation: &Value) -> Answer {
    Answer::Text(json!({ "operations": [operation] }).to_string())
}

async fn texts(engine: &Engine) -> Vec<String> {
    let facts = engine.list_facts(FactFilter::default()).await.unwrap();
    facts.into_iter().filter(|fact| fact.status == FactStatus::Active).map(|fact| fact.fact).collect()
}

fn new_fact(value: Value) -> NewFact {
    serde_json::from_value(value).unwrap()
}

#[test]
fn add_noop_update_and_delete_through_the_models() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let say = async |text: &str, answers: Vec<(Purpose, Answer)>| {
            for (purpose, answer) in answers {
                model.then(purpose, answer);
            }
            engine.append(append("c", vec![message("user", text)])).await.unwrap();
            engine.settled().await.unwrap();
        };
        say(
            "Our team only uses pnpm for packages.",
            vec![(
                Purpose::Extract,
                extracted(&[("The team only uses pnpm for packages", "Our team only uses pnpm for packages", 1)]),
            )],
        )
        .await;
        assert_eq!(texts(&engine).await, ["The team only uses pnpm for packages"]);
        let fact = engine.get_fact("f1").await.unwrap();
        assert_eq!(
            (fact.trust, fact.source.seq, fact.source.quote.as_deref()),
            (Trust::UserStated, Some(1), Some("Our team only uses pnpm for packages"))
        );

        say(
            "As I said, the team only uses pnpm for packages.",
            vec![(
                Purpose::Extract,
                extracted(&[("The team only uses pnpm for packages", "the team only uses pnpm for packages", 2)]),
            )],
        )
        .await;
        assert_eq!(texts(&engine).await.len(), 1, "the same fact again is a NOOP without asking the judge");
        assert_eq!(model.calls(Purpose::Judge), 0);

        say(
            "We moved: the team only uses bun for packages now.",
            vec![
                (
                    Purpose::Extract,
                    extracted(&[("The team only uses bun for packages", "the team only uses bun for packages now", 3)]),
                ),
                (Purpose::Judge, judged(&json!({ "candidate": 0, "operation": "UPDATE", "target": "f1" }))),
            ],
        )
        .await;
        assert_eq!(texts(&engine).await, ["The team only uses bun for packages"]);
        let updated = engine.get_fact("f2").await.unwrap();
        assert_eq!(updated.supersedes.as_deref(), Some("f1"));
        assert_eq!(engine.get_fact("f1").await.unwrap().status, FactStatus::Superseded);

        say(
            "Forget about bun, the team no longer uses bun for packages.",
            vec![
                (
                    Purpose::Extract,
                    extracted(&[(
                        "The team no longer uses bun for packages",
                        "the team no longer uses bun for packages",
                        4,
                    )]),
                ),
                (Purpose::Judge, judged(&json!({ "candidate": 0, "operation": "DELETE", "target": "f2" }))),
            ],
        )
        .await;
        assert_eq!(texts(&engine).await, Vec::<String>::new());
        assert_eq!(engine.get_fact("f2").await.unwrap().status, FactStatus::Deleted);
        let operations: Vec<String> =
            engine.fact_history("f2").await.unwrap().into_iter().map(|entry| entry.operation).collect();
        assert_eq!(operations.last().map(String::as_str), Some("DELETE"));
        let events = world.events.borrow();
        let told: Vec<&str> = events
            .iter()
            .filter(|event| event.name == "fact")
            .filter_map(|event| event.payload["operation"].as_str())
            .collect();
        assert_eq!(told.first(), Some(&"ADD"));
        assert_eq!(told.last(), Some(&"DELETE"));
    });
}

#[test]
fn what_the_user_did_not_say_is_not_a_fact() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        model.then(
            Purpose::Extract,
            extracted(&[
                ("The user prefers vendor X", "prefer vendor X", 2),
                ("The user likes tea", "I like coffee", 1),
                ("The user lives on Mars", "Mars", 77),
            ]),
        );
        engine
            .append(append(
                "c",
                vec![message("user", "I like tea."), message("assistant", "You prefer vendor X, I see.")],
            ))
            .await
            .unwrap();
        engine.settled().await.unwrap();
        assert_eq!(texts(&engine).await, Vec::<String>::new());
        // Handled once: nothing is asked again.
        let calls = model.calls(Purpose::Extract);
        engine.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Extract), calls);
    });
}

#[test]
fn a_broken_answer_applies_nothing_and_is_asked_for_again() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let cut = r#"{"facts":[{"fact":"The user likes tea","category":"preference","confidence":0.9,"quote":"like tea","seq":1,"kind":"statement"},{"fact":"The"#;
        model.then(Purpose::Extract, Answer::Text(cut.into()));
        model.then(Purpose::Extract, extracted(&[("The user likes tea", "I like tea", 1)]));
        engine.append(append("c", vec![message("user", "I like tea.")])).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(texts(&engine).await, Vec::<String>::new());
        world.clock.advance(5_000.0);
        engine.settled().await.unwrap();
        assert_eq!(texts(&engine).await, ["The user likes tea"]);
    });
}

#[test]
fn explicit_facts_are_in_every_context_and_forgetting_leaves_nothing_but_a_tombstone() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default());
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        let added = engine
            .add_fact(new_fact(json!({ "fact": "Speaks Korean at home", "key": "home_language" })))
            .await
            .unwrap();
        assert_eq!(added.trust, Trust::UserConfirmed);
        let context = engine.build_context(ask("c", "hello")).await.unwrap();
        assert!(context.system.contains("Speaks Korean at home"));
        let replaced = engine
            .add_fact(new_fact(json!({ "fact": "Speaks German at home", "key": "home_language" })))
            .await
            .unwrap();
        assert_eq!(texts(&engine).await, ["Speaks German at home"]);
        let other = world.open().await;
        other.forget_fact(&replaced.id).await.unwrap();
        let context = engine.build_context(ask("c", "hello again")).await.unwrap();
        assert!(!context.system.contains("German") && !context.system.contains("Korean"), "the other tab forgot it");
        let history = serde_json::to_string(&engine.fact_history(&replaced.id).await.unwrap()).unwrap();
        assert!(!history.contains("German"));
        // The tombstone keeps it from being learned again.
        model.then(Purpose::Extract, extracted(&[("Speaks German at home", "We speak German at home", 1)]));
        engine.append(append("c", vec![message("user", "We speak German at home.")])).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(texts(&engine).await, Vec::<String>::new());
        assert_eq!(engine.forget_fact("f99").await.unwrap_err().code, Code::NotFound);
    });
}

#[test]
fn two_tabs_never_lose_a_fact() {
    block_on(async {
        let world = World::default();
        let (one, other) = (world.open().await, world.open().await);
        let adds = |engine, name: &'static str| {
            (0..20).map(move |number| {
                let fact = new_fact(json!({ "fact": format!("{name} likes number {number}") }));
                async move { Engine::add_fact(engine, fact).await.unwrap().id }
            })
        };
        let mut ids =
            futures_util::future::join_all(adds(&one, "alpha").chain(adds(&other, "beta")).collect::<Vec<_>>()).await;
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 40);
        assert_eq!(texts(&one).await.len(), 40);
    });
}

#[test]
fn erasing_a_conversation_takes_its_facts_and_erasing_the_user_everything() {
    block_on(async {
        let world = World::default().with_model(ScriptedModel::default()).with_embedder();
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        model.then(Purpose::Extract, extracted(&[("The user likes tea", "I like tea", 1)]));
        engine.append(append("c", vec![message("user", "I like tea, marker-tea.")])).await.unwrap();
        engine.settled().await.unwrap();
        engine.add_fact(new_fact(json!({ "fact": "Has a dog" }))).await.unwrap();
        let erased = engine.erase(serde_json::from_value(json!({ "conversationId": "c" })).unwrap()).await.unwrap();
        assert_eq!(erased.erased["messages"], 1);
        assert_eq!(texts(&engine).await, ["Has a dog"]);
        let recall: RecallRequest = serde_json::from_value(json!({ "query": "marker-tea" })).unwrap();
        assert!(engine.recall(recall).await.unwrap().is_empty());
        let everything = json!({ "user": true });
        engine.erase(serde_json::from_value(everything).unwrap()).await.unwrap();
        let again = world.open().await;
        assert!(texts(&again).await.is_empty());
        assert_eq!(again.stats().await.unwrap().messages, 0);
        assert_eq!(
            engine.erase(serde_json::from_value(json!({})).unwrap()).await.unwrap_err().code,
            Code::InvalidArgument
        );
    });
}
