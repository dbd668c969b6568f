//! What callbacks do wrong, and what the engine makes of it: a typed outcome, and nothing changed.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod host;

use futures_executor::block_on;
use futures_util::future::FutureExt;
use host::{Answer, EmbedFault, SUMMARY, ScriptedModel, World, append, ask, conversation, message};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use throughline::config::Policy;
use throughline::engine::Engine;
use throughline::error::{Code, Result};
use throughline::ports::{Clock, Embedder, Pending, Purpose};
use throughline::records::JobKind;

fn chat(count: usize) -> Vec<String> {
    (0..count)
        .map(|number| match number % 2 {
            0 => message("user", &format!("Question {number}: what about topic {number} and its details?")),
            _ => message(
                "assistant",
                &format!("Answer {number}: topic {number} is settled in file src/part{number}.rs."),
            ),
        })
        .collect()
}

async fn error_codes(world: &World) -> Vec<String> {
    let events = world.events.borrow();
    let errors = events.iter().filter(|event| event.name == "error");
    errors.map(|event| event.payload["code"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn unusable_vectors_are_refused_whole_and_asked_for_again() {
    let faults = [
        (EmbedFault::Fail, "embedding_failed"),
        (EmbedFault::TooFew, "embedding_failed"),
        (EmbedFault::TooMany, "embedding_failed"),
        (EmbedFault::NotFinite, "embedding_failed"),
        (EmbedFault::WrongLength, "embedding_dimension_mismatch"),
        (EmbedFault::Hang, "timeout"),
    ];
    for (fault, code) in faults {
        block_on(async {
            let world = World::default().with_embedder();
            let embedder = world.embedder.clone().unwrap();
            let engine = world.open().await;
            conversation(&engine, "c").await;
            engine.append(append("c", chat(10))).await.unwrap();
            embedder.script.borrow_mut().push_back(fault);
            engine.settled().await.unwrap();
            assert_eq!(error_codes(&world).await, [code]);
            assert_eq!(engine.stats().await.unwrap().vectors, 0, "{code}: nothing is stored");
            world.clock.advance(2_000.0);
            engine.settled().await.unwrap();
            assert_eq!(engine.stats().await.unwrap().vectors, 10, "{code}: the retry does it");
        });
    }
}

#[test]
fn a_job_that_keeps_failing_is_given_up_until_the_next_message() {
    block_on(async {
        let world = World::default().with_embedder();
        let embedder = world.embedder.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(2))).await.unwrap();
        // The last of five tries asks for two messages by themselves.
        (0..6).for_each(|_| embedder.script.borrow_mut().push_back(EmbedFault::Fail));
        for _ in 0..10 {
            engine.settled().await.unwrap();
            world.clock.advance(3_600_000.0);
        }
        assert_eq!(error_codes(&world).await.len(), 5);
        assert_eq!(engine.next_retry_at(), None);
        engine.append(append("c", chat(2))).await.unwrap();
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 4);
    });
}

#[test]
fn what_is_said_to_be_of_no_use_is_not_tried_again_until_it_is_asked_for() {
    block_on(async {
        let mut world = World::default().with_model(ScriptedModel::default());
        world.policy.facts.extract = true;
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        model.then(Purpose::Extract, Answer::Refuse);
        engine.append(append("c", vec![message("user", "I live in Oslo.")])).await.unwrap();
        for _ in 0..5 {
            engine.settled().await.unwrap();
            world.clock.advance(3_600_000.0);
        }
        assert_eq!(model.calls(Purpose::Extract), 1);
        let stats = engine.stats().await.unwrap();
        let [failed] = stats.failed_jobs.as_slice() else { panic!("{:?}", stats.failed_jobs) };
        assert_eq!((failed.job, failed.code.as_str(), failed.retry_at), (JobKind::Extract, "model_failed", None));
        assert_eq!(engine.next_retry_at(), None);
        let told: Vec<bool> = world
            .events
            .borrow()
            .iter()
            .filter(|event| event.name == "error")
            .map(|event| event.payload["retryable"] == true)
            .collect();
        assert_eq!(told, [false]);
        // Neither a reload tries it again, nor another tab; who asks for it gets a try.
        let reopened = world.open().await;
        reopened.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Extract), 1);
        model.then(Purpose::Extract, Answer::Text(r#"{"facts":[]}"#.into()));
        assert_eq!(reopened.retry_jobs().await.unwrap(), 1);
        reopened.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Extract), 2);
        assert_eq!(reopened.stats().await.unwrap().failed_jobs, []);
        assert_eq!(reopened.retry_jobs().await.unwrap(), 0);
    });
}

#[test]
fn of_a_batch_that_is_refused_for_good_only_the_text_at_fault_goes_without_a_vector() {
    block_on(async {
        let world = World::default().with_embedder();
        let embedder = world.embedder.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(4))).await.unwrap();
        // The batch, then its first text.
        (0..2).for_each(|_| embedder.script.borrow_mut().push_back(EmbedFault::Refuse));
        engine.settled().await.unwrap();
        assert_eq!(embedder.calls.borrow().as_slice(), [4, 1, 1, 1, 1]);
        assert_eq!(engine.stats().await.unwrap().vectors, 3);
        assert_eq!(engine.stats().await.unwrap().failed_jobs, []);
        // What is refused text by text is given up at once.
        engine.append(append("c", chat(2))).await.unwrap();
        (0..9).for_each(|_| embedder.script.borrow_mut().push_back(EmbedFault::Refuse));
        engine.settled().await.unwrap();
        let failed = engine.stats().await.unwrap().failed_jobs;
        assert_eq!(failed.iter().map(|job| (job.job, job.retry_at)).collect::<Vec<_>>(), [(JobKind::Embed, None)]);
        assert_eq!(embedder.calls.borrow().len(), 8);
    });
}

#[test]
fn a_clock_that_is_put_back_holds_no_work_up() {
    const DAY_MS: f64 = 86_400_000.0;
    block_on(async {
        // A try that failed.
        let world = World::default().with_embedder();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(2))).await.unwrap();
        world.embedder.clone().unwrap().script.borrow_mut().push_back(EmbedFault::Fail);
        engine.settled().await.unwrap();
        assert!(engine.next_retry_at().is_some() && engine.stats().await.unwrap().vectors == 0);
        world.clock.advance(-DAY_MS);
        assert_eq!((engine.next_retry_at(), engine.due_in_ms()), (None, None), "it does not wait");
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 2);
        // Extraction and an episode, which wait until nothing is said any more.
        let answering = ScriptedModel::answering(|request| match request.purpose {
            Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
            _ => Some(SUMMARY.to_owned()),
        });
        let world = World::default().with_model(answering);
        let model = world.model.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        // Without a label: a labelled line is somebody else's, and in no episode.
        let said = chat(6)
            .into_iter()
            .map(|message| message.replace("Question ", "About question ").replace(": what", ", what"));
        engine.append(append("c", said.collect())).await.unwrap();
        engine.settled().await.unwrap();
        assert!(engine.due_in_ms().is_some_and(|ms| ms > 1_000.0), "both wait");
        world.clock.advance(-DAY_MS);
        engine.settled().await.unwrap();
        assert_eq!(model.calls(Purpose::Extract), 1);
        assert_eq!(model.calls(Purpose::Episode), 1);
        assert_eq!(engine.due_in_ms(), None);
    });
}

#[test]
fn a_finished_batch_is_never_asked_for_again() {
    block_on(async {
        let world = World::default().with_embedder();
        let embedder = world.embedder.clone().unwrap();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(60))).await.unwrap();
        embedder.script.borrow_mut().extend([None, None, Some(EmbedFault::Fail)].into_iter().flatten());
        engine.settled().await.unwrap();
        world.clock.advance(5_000.0);
        engine.settled().await.unwrap();
        let asked = |start: &str| embedder.texts.borrow().iter().filter(|text| text.starts_with(start)).count();
        assert_eq!(asked("Question 0:"), 2, "the failed batch, once more");
        assert_eq!(asked("Question 58:"), 1);
        // Another tab, or the next visit, finds nothing left to do.
        let calls = embedder.texts.borrow().len();
        let other = world.open().await;
        other.settled().await.unwrap();
        assert_eq!(embedder.texts.borrow().len(), calls);
    });
}

#[test]
fn a_question_that_cannot_be_embedded_is_searched_by_words_and_the_receipt_says_so() {
    block_on(async {
        let mut world = World::default().with_embedder();
        world.policy.recent.max_messages = Some(4);
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(60))).await.unwrap();
        engine.settled().await.unwrap();
        world.embedder.clone().unwrap().script.borrow_mut().push_back(EmbedFault::Hang);
        let context = engine.build_context(ask("c", "Which file settles topic 7, src/part7.rs?")).await.unwrap();
        assert_eq!(context.receipt.retrieval.mode, "lexical");
        assert_eq!(context.receipt.retrieval.embedding_error, Some("timeout"));
        assert!(context.receipt.notes.iter().any(|note| note.contains("timeout")), "{:?}", context.receipt.notes);
        assert!(context.messages.last().unwrap().contains("src/part7.rs."));
        let context = engine.build_context(ask("c", "Which file settles topic 9, src/part9.rs?")).await.unwrap();
        assert_eq!((context.receipt.retrieval.mode, context.receipt.retrieval.embedding_error), ("hybrid", None));
    });
}

#[test]
fn a_question_waits_two_seconds_for_its_vector_and_background_work_two_minutes() {
    block_on(async {
        for (limit, callback_limit, waited_ms) in
            [(None, None, 2_000.0), (Some(350.0), None, 350.0), (None, Some(90.0), 90.0)]
        {
            let mut world = World::default().with_embedder();
            let limits = &mut world.policy.limits;
            limits.query_embedding_timeout_ms = limit.unwrap_or(limits.query_embedding_timeout_ms);
            limits.callback_timeout_ms = callback_limit.unwrap_or(limits.callback_timeout_ms);
            let engine = world.open().await;
            conversation(&engine, "c").await;
            engine.append(append("c", chat(60))).await.unwrap();
            engine.settled().await.unwrap();
            let embedder = world.embedder.clone().unwrap();
            embedder.script.borrow_mut().extend([EmbedFault::Hang, EmbedFault::Hang]);
            let began_ms = world.clock.now_ms();
            let request = serde_json::json!({ "query": "Which file settles topic 7?" });
            let found = engine.recall(serde_json::from_value(request).unwrap()).await.unwrap();
            assert!(found[0].hits.iter().all(|hit| hit.scores.cosine.is_none()));
            assert!((world.clock.now_ms() - began_ms - waited_ms).abs() < 1.0);
            // What nobody waits for has the long time.
            engine.append(append("c", chat(2))).await.unwrap();
            let began_ms = world.clock.now_ms();
            engine.settled().await.unwrap();
            let spent_ms = world.clock.now_ms() - began_ms;
            assert!(spent_ms >= callback_limit.unwrap_or(120_000.0), "{spent_ms}");
        }
        let mut world = World::default();
        world.policy.limits.query_embedding_timeout_ms = 0.0;
        assert_eq!(world.try_open().await.map(|_| ()).unwrap_err().code, Code::InvalidConfig);
    });
}

#[test]
fn summaries_that_cannot_be_used_change_nothing() {
    let answers = [
        (Answer::Fail, Code::ModelFailed),
        (Answer::Hang, Code::Timeout),
        (Answer::Text(String::new()), Code::ModelOutputInvalid),
        (Answer::Text("null".into()), Code::ModelOutputInvalid),
        (Answer::Text("<!DOCTYPE html><html><body>502</body></html>".into()), Code::ModelOutputInvalid),
        (Answer::Text("x".repeat(5_000_000)), Code::ModelOutputInvalid),
        (Answer::Text("I'm sorry, but I can't help with that.".into()), Code::ModelOutputInvalid),
    ];
    for (answer, code) in answers {
        block_on(async {
            let world = World::default().with_model(ScriptedModel::default());
            let engine = world.open().await;
            conversation(&engine, "c").await;
            engine.append(append("c", chat(1_000))).await.unwrap();
            world.model.clone().unwrap().then(Purpose::Summarize, answer);
            let error = engine.compact("c", false).await.unwrap_err();
            assert_eq!(error.code, code);
            let summary = engine.summary("c").await.unwrap();
            assert_eq!((summary.version, summary.summarized_until_seq), (0, 0));
            // The next good answer is taken.
            world.model.clone().unwrap().then(Purpose::Summarize, Answer::Text(SUMMARY.into()));
            let summary = engine.compact("c", false).await.unwrap();
            assert_eq!(summary.version, 1);
            assert!(summary.summarized_until_seq > 0);
        });
    }
}

/// Row 47: an embedder that appends to the memory while it is asked.
struct ReentrantEmbedder(RefCell<Option<Weak<Engine>>>);

impl Embedder for ReentrantEmbedder {
    fn id(&self) -> &str {
        "reentrant"
    }
    fn dimensions(&self) -> usize {
        2
    }
    fn max_batch_size(&self) -> usize {
        8
    }
    fn max_input_tokens(&self) -> usize {
        256
    }
    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        let engine = self.0.borrow_mut().take().and_then(|engine| engine.upgrade());
        async move {
            if let Some(engine) = engine {
                engine.append(append("c", chat(1))).await?;
                engine.recall(serde_json::from_value(serde_json::json!({ "query": "topic" })).unwrap()).await?;
            }
            Result::Ok(texts.iter().map(|_| vec![1.0, 0.0]).collect())
        }
        .boxed_local()
    }
}

#[test]
fn a_callback_may_call_the_engine() {
    block_on(async {
        let world = World::default();
        let embedder = Rc::new(ReentrantEmbedder(RefCell::default()));
        let host = throughline::engine::Host {
            storage: (world.storage)(),
            embedder: Some(Rc::clone(&embedder) as Rc<dyn Embedder>),
            model: None,
            clock: Rc::clone(&world.clock) as _,
            locks: Rc::new(world.locks.clone()),
            on_event: Rc::new(|_| {}),
            normalize: str::to_owned,
        };
        let options = throughline::engine::Options {
            user_id: "alex".into(),
            tokenizer: "estimate".into(),
            policy: Policy::default(),
        };
        let engine = Rc::new(Engine::open(host, options).await.unwrap());
        conversation(&engine, "c").await;
        engine.append(append("c", chat(3))).await.unwrap();
        *embedder.0.borrow_mut() = Some(Rc::downgrade(&engine));
        engine.settled().await.unwrap();
        assert_eq!(engine.stats().await.unwrap().vectors, 4);
    });
}

#[test]
fn another_model_starts_over_and_its_vectors_are_never_mixed() {
    block_on(async {
        let mut world = World::default().with_embedder();
        let engine = world.open().await;
        conversation(&engine, "c").await;
        engine.append(append("c", chat(20))).await.unwrap();
        engine.settled().await.unwrap();
        engine.close();
        let other = host::WordEmbedder { id: "other".into(), dimensions: 32, ..host::WordEmbedder::default() };
        world.embedder = Some(Rc::new(other));
        let engine = world.open().await;
        engine.settled().await.unwrap();
        assert_eq!(world.embedder.clone().unwrap().texts.borrow().len(), 20);
        let stats = engine.stats().await.unwrap();
        assert_eq!((stats.vectors, stats.waiting_for_vectors), (20, 0));
    });
}
