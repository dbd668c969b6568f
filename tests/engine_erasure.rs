//! Erasing while work is in flight, and while another tab looks on: nothing returns.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::{FutureExt, join};
use host::{Answer, SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use throughline::engine::{Engine, EraseRequest, FactFilter, Host, NewFact, Options};
use throughline::error::Result;
use throughline::ports::{Embedder, LanguageModel, ModelRequest, Pending, Purpose};

fn erase(value: Value) -> EraseRequest {
    serde_json::from_value(value).unwrap()
}

fn new_fact(value: Value) -> NewFact {
    serde_json::from_value(value).unwrap()
}

async fn facts(engine: &Engine) -> Vec<String> {
    engine.list_facts(FactFilter::default()).await.unwrap().into_iter().map(|fact| fact.fact).collect()
}

/// A model whose answer comes only when it is let go.
#[derive(Default)]
struct HeldModel {
    answers: RefCell<VecDeque<futures_util::future::LocalBoxFuture<'static, String>>>,
}

impl LanguageModel for HeldModel {
    fn context_window_tokens(&self) -> u32 {
        32_000
    }
    fn generate<'a>(&'a self, _request: ModelRequest) -> Pending<'a, String> {
        let answer = self.answers.borrow_mut().pop_front();
        async move { Result::Ok(answer.unwrap().await) }.boxed_local()
    }
}

/// Ends when the flag is set.
fn held(flag: &Rc<RefCell<bool>>, text: &str) -> futures_util::future::LocalBoxFuture<'static, String> {
    let (flag, text) = (Rc::clone(flag), text.to_owned());
    std::future::poll_fn(move |context| {
        if *flag.borrow() {
            return std::task::Poll::Ready(text.clone());
        }
        context.waker().wake_by_ref();
        std::task::Poll::Pending
    })
    .boxed_local()
}

async fn open_held(world: &World, model: Rc<HeldModel>) -> Engine {
    let host = Host {
        storage: (world.storage)(),
        embedder: None,
        model: Some(model),
        // The real time does not matter here, and held answers must not time out.
        clock: Rc::new(StandingClock),
        locks: Rc::new(world.locks.clone()),
        on_event: Rc::new(|_| {}),
        normalize: str::to_owned,
    };
    let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: world.policy.clone() };
    Engine::open(host, options).await.unwrap()
}

struct StandingClock;

impl throughline::ports::Clock for StandingClock {
    fn now_ms(&self) -> f64 {
        1_750_000_000_000.0
    }
    fn sleep<'a>(&'a self, ms: f64) -> std::pin::Pin<Box<dyn Future<Output = ()> + 'a>> {
        if ms < 1_000.0 { std::future::ready(()).boxed_local() } else { std::future::pending().boxed_local() }
    }
}

#[test]
fn a_fact_of_an_erased_conversation_does_not_come_back_into_one_of_the_same_id() {
    block_on(async {
        for everything in [json!({ "user": true }), json!({ "conversationId": "c" })] {
            let world = World::default();
            let model = Rc::new(HeldModel::default());
            let engine = open_held(&world, Rc::clone(&model)).await;
            conversation(&engine, "c").await;
            engine.append(append("c", vec![message("user", "I like tea a lot.")])).await.unwrap();
            let let_go = Rc::new(RefCell::new(false));
            let late = json!({ "facts": [{ "fact": "The user likes tea a lot", "category": "preference", "confidence": 0.9,
                "quote": "I like tea a lot", "seq": 1, "kind": "statement" }] });
            let nothing = Rc::new(RefCell::new(true));
            model.answers.borrow_mut().push_back(held(&let_go, &late.to_string()));
            model.answers.borrow_mut().push_back(held(&nothing, r#"{"facts":[]}"#));
            let replace = async {
                engine.erase(erase(everything)).await.unwrap();
                conversation(&engine, "c").await;
                engine.append(append("c", vec![message("user", "I like tea a lot.")])).await.unwrap();
                *let_go.borrow_mut() = true;
            };
            join(engine.work(), replace).await;
            engine.settled().await.unwrap();
            assert_eq!(facts(&engine).await, Vec::<String>::new(), "only what the new conversation's answer said");
        }
    });
}

#[test]
fn a_summary_of_an_erased_conversation_does_not_become_that_of_the_next() {
    block_on(async {
        let mut world = World::default();
        world.policy.facts.extract = false;
        world.policy.compaction.automatic = false;
        let model = Rc::new(HeldModel::default());
        let engine = open_held(&world, Rc::clone(&model)).await;
        let chat = || {
            (0..900).map(|n| {
                message(
                    if n % 2 == 0 { "user" } else { "assistant" },
                    &format!("Word {n} and some more words to fill the line."),
                )
            })
        };
        conversation(&engine, "c").await;
        engine.append(append("c", chat().collect())).await.unwrap();
        let let_go = Rc::new(RefCell::new(false));
        let replace = async {
            engine.erase(erase(json!({ "user": true }))).await.unwrap();
            conversation(&engine, "c").await;
            engine.append(append("c", chat().take(4).collect())).await.unwrap();
            *let_go.borrow_mut() = true;
        };
        model.answers.borrow_mut().push_back(held(&let_go, SUMMARY));
        let (_, ()) = join(engine.compact("c", true), replace).await;
        assert_eq!(engine.summary("c").await.unwrap().version, 0);
    });
}

#[test]
fn another_tab_forgets_what_was_erased_and_numbers_are_never_used_twice() {
    block_on(async {
        let world = World::default();
        let (one, other) = (world.open().await, world.open().await);
        conversation(&one, "c").await;
        one.append(append("c", vec![message("user", "stalemark")])).await.unwrap();
        let first = one.add_fact(new_fact(json!({ "fact": "Secret one" }))).await.unwrap();
        assert_eq!(facts(&other).await, ["Secret one"]);
        assert!(other.build_context(ask("c", "hello")).await.unwrap().system.contains("Secret one"));
        one.erase(erase(json!({ "user": true }))).await.unwrap();
        let second = one.add_fact(new_fact(json!({ "fact": "Fresh two" }))).await.unwrap();
        assert_ne!(first.id, second.id);
        assert_eq!(facts(&other).await, ["Fresh two"]);
        conversation(&one, "c").await;
        one.append(append("c", vec![message("user", "freshmark")])).await.unwrap();
        let context = other.build_context(ask("c", "what about stalemark?")).await.unwrap();
        let sent = context.messages.concat() + &context.system;
        assert!(!sent.contains("Secret one") && sent.contains("freshmark"));
        assert_eq!(sent.matches("stalemark").count(), 1, "only the question says it");
    });
}

#[test]
fn no_audit_entry_keeps_the_text_of_a_forgotten_fact() {
    block_on(async {
        let world = World::default();
        for by_erasure in [false, true] {
            let engine = world.open().await;
            let old = engine.add_fact(new_fact(json!({ "fact": "Lives in Oldtown", "key": "city" }))).await.unwrap();
            let new = engine.add_fact(new_fact(json!({ "fact": "Lives in Newtown", "key": "city" }))).await.unwrap();
            if by_erasure {
                engine.erase(erase(json!({ "factId": old.id }))).await.unwrap();
            } else {
                engine.forget_fact(&old.id).await.unwrap();
            }
            let history = serde_json::to_string(&engine.fact_history(&new.id).await.unwrap()).unwrap();
            assert!(!history.contains("Oldtown") && history.contains("Newtown"), "{history}");
            engine.erase(erase(json!({ "user": true }))).await.unwrap();
        }
    });
}

#[test]
fn an_embedder_of_the_same_id_and_another_length_starts_over() {
    block_on(async {
        let mut world = World::default().with_embedder();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", (0..60).map(|n| message("user", &format!("word {n}"))).collect())).await.unwrap();
        engine.settled().await.unwrap();
        engine.close();
        world.embedder = Some(Rc::new(host::WordEmbedder { dimensions: 48, ..host::WordEmbedder::default() }));
        let engine = world.open().await;
        engine.settled().await.unwrap();
        let embedder = world.embedder.clone().unwrap();
        assert_eq!((embedder.dimensions(), embedder.texts.borrow().len()), (48, 60));
        let context = engine.build_context(ask("c", "which word is 33?")).await.unwrap();
        assert!(context.tokens > 0);
    });
}

#[test]
fn a_context_built_across_an_erasure_holds_nothing_erased() {
    block_on(async {
        let world = World::default().with_embedder().with_model(ScriptedModel::default());
        world.model.clone().unwrap().then(Purpose::Extract, Answer::Text(r#"{"facts":[]}"#.into()));
        let engine = world.open().await;
        conversation(&engine, "c").await;
        conversation(&engine, "d").await;
        engine.append(append("c", vec![message("user", "The vault code is 9911-erasable.")])).await.unwrap();
        engine.append(append("d", vec![message("user", "Hello there.")])).await.unwrap();
        engine.settled().await.unwrap();
        world.embedder.clone().unwrap().script.borrow_mut().push_back(host::EmbedFault::Late(20));
        let (context, erased) = join(
            engine.build_context(ask("d", "What is the vault code, 9911-something?")),
            engine.erase(erase(json!({ "conversationId": "c" }))),
        )
        .await;
        erased.unwrap();
        assert!(!context.unwrap().messages.concat().contains("9911-erasable"));
    });
}
