//! R12: whatever the app's callbacks do, by every fault of rows 39 to 48 at random, a summary's cursor never passes a message
//! that no successful summary read. Each message of the active path is in the context as it was said, or was read for a summary
//! that was taken; what was refused, erased or turned away from is in none.
//!
//! 500 seeds, or `CALLBACK_SEEDS` of them from `CALLBACK_FIRST` on (`npm run test:long -- callbacks`); one that fails is named.

#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test that cannot go on fails, and names its seed")]
#![cfg(not(target_arch = "wasm32"))]

mod embedder;
#[path = "../host/mod.rs"]
mod host;
mod model;
#[path = "../simulation/random.rs"]
mod random;

use embedder::WrongEmbedder;
use futures_executor::block_on;
use host::{World, append, ask, conversation, message};
use model::{Fault, WrongModel, marks_of};
use random::Random;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::{Rc, Weak};
use throughline::engine::{ContextRequest, EditRequest, Engine, Host, Options, RecallRequest, RemoveRequest};
use throughline::error::{Code, Result};

const ID: &str = "c";

/// What the callbacks may call of the engine, and with it everything of a run that they see.
struct Shared {
    engine: RefCell<Weak<Engine>>,
    random: RefCell<Random>,
    /// Nothing goes wrong any more.
    is_healed: Cell<bool>,
    /// Of the messages, in the order in which they were said.
    said: Cell<u32>,
    /// Of messages that were removed.
    gone: RefCell<BTreeSet<String>>,
}

impl Shared {
    /// A message with a word that no other has.
    fn say(&self) -> String {
        self.said.set(self.said.get() + 1);
        let number = self.said.get();
        let words = "of the importer and its many cases ".repeat(1 + self.random.borrow_mut().below(9));
        match number % 2 {
            1 => message("user", &format!("I like marker{number:06} {words}")),
            _ => message("assistant", &format!("Noted, marker{number:06} {words}")),
        }
    }

    /// One of the messages of the active path, if there is one.
    async fn any_message(&self, engine: &Engine) -> Result<Option<(String, String)>> {
        let path = engine.history_entries(ID, None, None, None).await?;
        let entry = self.random.borrow_mut().pick(&path).cloned();
        Ok(entry.map(|entry| (entry.id, entry.message)))
    }

    async fn edit_any(&self, engine: &Engine) -> Result<()> {
        let Some((message_id, _)) = self.any_message(engine).await? else { return Ok(()) };
        let request =
            EditRequest { conversation_id: ID.into(), message_id, message: self.say(), format: None, call: None };
        match engine.edit(request).await {
            // It was removed meanwhile.
            Err(error) if error.code == Code::NotFound => Ok(()),
            edited => edited.map(|_| ()),
        }
    }

    async fn remove_any(&self, engine: &Engine) -> Result<()> {
        let Some((message_id, text)) = self.any_message(engine).await? else { return Ok(()) };
        engine.remove(RemoveRequest { conversation_id: ID.into(), message_id, descendants: false }).await?;
        self.gone.borrow_mut().extend(marks_of(&text));
        Ok(())
    }
}

struct Run {
    world: World,
    shared: Rc<Shared>,
    model: Rc<WrongModel>,
    embedder: Rc<WrongEmbedder>,
    engine: Rc<Engine>,
}

fn recall(query: &str) -> RecallRequest {
    serde_json::from_value(serde_json::json!({ "query": query, "topK": 50 })).unwrap()
}

fn context() -> ContextRequest {
    ContextRequest { window: Some(200_000.0), ..ask(ID, "and what now?") }
}

impl Run {
    async fn of(seed: u64) -> Self {
        let mut world = World::default();
        let policy = &mut world.policy;
        // All that is not summarised has room in the context, and is summarised once nothing was said for a while.
        policy.budget.recent_tokens = 400;
        policy.compaction.high_water_tokens = 12_000;
        policy.compaction.cold_ratio = 0.1;
        let shared = Rc::new(Shared {
            engine: Default::default(),
            random: RefCell::new(Random::part(seed, 1)),
            is_healed: Default::default(),
            said: Default::default(),
            gone: Default::default(),
        });
        let model = Rc::new(WrongModel::new(Rc::clone(&shared)));
        let embedder = Rc::new(WrongEmbedder::new(Rc::clone(&shared)));
        let engine = opened(&world, &model, &embedder).await;
        *shared.engine.borrow_mut() = Rc::downgrade(&engine);
        conversation(&engine, ID).await;
        Self { world, shared, model, embedder, engine }
    }

    async fn reopen(&mut self) {
        self.engine.close();
        self.engine = opened(&self.world, &self.model, &self.embedder).await;
        *self.shared.engine.borrow_mut() = Rc::downgrade(&self.engine);
    }

    async fn step(&mut self) {
        let choice = self.shared.random.borrow_mut().below(12);
        let done = match choice {
            0..=3 => {
                let count = 1 + self.shared.random.borrow_mut().below(12);
                let messages = (0..count).map(|_| self.shared.say()).collect();
                self.engine.append(append(ID, messages)).await.map(|_| ())
            }
            4..=6 => {
                let force = self.shared.random.borrow_mut().happens(700);
                self.engine.compact(ID, force).await.map(|_| ())
            }
            7..=8 => {
                self.world.clock.advance(self.shared.random.borrow_mut().below(4_000_000) as f64);
                self.engine.settled().await
            }
            9 => self.shared.edit_any(&self.engine).await,
            10 => self.shared.remove_any(&self.engine).await,
            _ => {
                self.reopen().await;
                Ok(())
            }
        };
        if let Err(error) = done {
            let is_a_callbacks =
                matches!(error.code, Code::ModelFailed | Code::ModelOutputInvalid | Code::Timeout | Code::Closed);
            assert!(is_a_callbacks, "step {choice}: {error}");
            assert!(!error.message.contains("marker"), "an error tells a text: {error}");
        }
        if self.model.has_closed.take() {
            self.reopen().await;
        }
    }

    async fn check(&self) {
        let engine = &self.engine;
        // What looks must not change what it looks at.
        let was_healed = self.shared.is_healed.replace(true);
        let summary = engine.summary(ID).await.unwrap();
        let path = engine.history_entries(ID, None, None, None).await.unwrap();
        let sent = marks_of(&engine.build_context(context()).await.unwrap().messages.concat());
        self.shared.is_healed.set(was_healed);
        let read = self.model.read.borrow();
        let is_users = |text: &str| text.contains(r#""role":"user""#);
        let is_after = |seq: u32| seq > summary.summarized_until_seq;
        // What stands in front of the first user message is left out of a prompt (docs/formats.md, R9).
        let first =
            path.iter().find(|entry| is_after(entry.seq) && is_users(&entry.message)).map_or(u32::MAX, |one| one.seq);
        for entry in &path {
            let mark = marks_of(&entry.message).pop_first().unwrap();
            if is_after(entry.seq) {
                assert!(
                    entry.seq < first || sent.contains(&mark),
                    "{mark} is neither summarised nor in the context: {sent:?}"
                );
            } else {
                assert!(read.contains(&mark), "the cursor passed message {}, and no summary read it", entry.seq);
            }
        }
        let on_path: BTreeSet<String> = path.iter().flat_map(|entry| marks_of(&entry.message)).collect();
        assert!(marks_of(&summary.text).is_subset(&on_path), "the summary tells what is not on the path");
        assert_eq!(summary.version > 0 && !summary.text.is_empty(), summary.text.contains("call"), "{}", summary.text);
        for call in summary.text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.starts_with("call")) {
            assert!(self.model.usable.borrow().contains(call), "what {call} answered is no summary: {}", summary.text);
        }
        let gone = self.shared.gone.borrow();
        assert!(sent.is_disjoint(&gone), "what was removed is sent");
    }

    /// With callbacks that work, all that was left undone is done.
    async fn end_well(&mut self) {
        self.shared.is_healed.set(true);
        for _ in 0..4 {
            self.world.clock.advance(7_200_000.0);
            self.engine.settled().await.unwrap();
            self.engine.retry_jobs().await.unwrap();
        }
        self.engine.settled().await.unwrap();
        self.engine.compact(ID, true).await.unwrap();
        self.check().await;
        let stats = self.engine.stats().await.unwrap();
        assert_eq!((stats.waiting_for_vectors, stats.failed_jobs.len()), (0, 0));
        let Some((_, text)) = self.shared.any_message(&self.engine).await.unwrap() else { return };
        let said = serde_json::from_str::<serde_json::Value>(&text).unwrap();
        let groups = self.engine.recall(recall(said["content"].as_str().unwrap())).await.unwrap();
        let nearest = groups.iter().flat_map(|group| &group.hits).filter_map(|hit| hit.scores.cosine);
        let nearest = nearest.fold(0.0_f32, |best, cosine| best.max(cosine));
        assert!(nearest > 0.99, "the vector of a message is another's: {nearest}");
        assert_eq!(self.model.pending.get(), 0, "a call that nobody waits for any more was not given up");
    }
}

async fn opened(world: &World, model: &Rc<WrongModel>, embedder: &Rc<WrongEmbedder>) -> Rc<Engine> {
    let host = Host {
        storage: (world.storage)(),
        embedder: Some(Rc::clone(embedder) as _),
        model: Some(Rc::clone(model) as _),
        clock: Rc::clone(&world.clock) as _,
        locks: Rc::new(world.locks.clone()),
        on_event: Rc::new(|_| {}),
        normalize: str::to_owned,
    };
    let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: world.policy.clone() };
    Rc::new(Engine::open(host, options).await.unwrap())
}

fn number_of(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Names the seed when the run panics.
struct Naming(u64);

impl Drop for Naming {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("again: CALLBACK_SEEDS=1 CALLBACK_FIRST={} cargo test --test callback_faults", self.0);
        }
    }
}

#[test]
fn no_message_is_lost_between_the_window_and_the_summary_whatever_callbacks_do() {
    let (first, seeds) = (number_of("CALLBACK_FIRST", 1), number_of("CALLBACK_SEEDS", 500));
    let (mut met, mut summaries) = (BTreeSet::new(), 0);
    for seed in first..first + seeds {
        let _naming = Naming(seed);
        block_on(async {
            let mut run = Run::of(seed).await;
            for _ in 0..14 {
                run.step().await;
                run.check().await;
            }
            run.end_well().await;
            summaries += u32::from(run.engine.summary(ID).await.unwrap().version > 0);
            met.extend(run.model.met.borrow().iter().copied());
            met.extend(run.embedder.met.borrow().iter().copied());
        });
    }
    if seeds >= 500 {
        assert_eq!(met.len(), Fault::ALL.len() + embedder::FAULTS.len(), "not every fault was met: {met:?}");
        assert!(u64::from(summaries) > seeds / 2, "summaries were made in {summaries} runs only");
    }
}
