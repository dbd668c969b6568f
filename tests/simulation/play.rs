//! One seed: random steps on engines over the simulated disk, each compared with the model.

use super::backups::Backup;
use super::disk::{Disk, Weather};
use super::host::{LocalLocks, ScriptedModel, WordEmbedder};
use super::model::Model;
use super::random::Random;
use super::running::finish;
use super::surroundings::{Late, Time, language_model};
use super::truth;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::rc::Rc;
use throughline::config::Policy;
use throughline::engine::{Engine, Host, Options};
use throughline::ports::{Clock, Embedder, LanguageModel};

pub const TABS: usize = 2;
const DAY_MS: f64 = 86_400_000.0;
/// Everything is compared so often; in between, answers are.
const COMPARE_EVERY: u64 = 50;

/// An open tab.
pub struct Tab {
    pub number: u32,
    pub engine: Rc<Engine>,
}

/// A message that somebody streams, or did.
pub struct Stream {
    pub conversation: String,
    pub id: String,
    pub seq: u32,
    pub raw_start: String,
}

pub struct Play {
    pub random: Random,
    pub disk: Disk,
    pub clock: Rc<Time>,
    pub locks: LocalLocks,
    pub model: Rc<Late<ScriptedModel>>,
    pub embedder: Rc<Late<WordEmbedder>>,
    /// Distinctive words that a successful summary call has read.
    pub read: Rc<RefCell<BTreeSet<String>>>,
    pub tabs: Vec<Tab>,
    pub next_tab: u32,
    pub believed: Model,
    /// What a power cut may leave: the states since the last one that is surely on disk, that one included.
    pub may_be_left: Vec<Model>,
    pub streams: Vec<Stream>,
    /// The last files that were written.
    pub backups: Vec<Rc<Backup>>,
    pub marks: u32,
    /// Most that there was at once of what a model makes ([`truth::derived`]).
    pub derived: [usize; 3],
    pub known: truth::Known,
    pub policy: Policy,
    /// What happened in this step, for whoever reads a failure.
    pub log: Vec<String>,
}

impl Play {
    pub fn new(seed: u64) -> Self {
        let mut random = Random::part(seed, u64::MAX);
        let read = Rc::new(RefCell::new(BTreeSet::new()));
        let mut policy = Policy::default();
        policy.budget.recent_tokens = 120;
        policy.compaction.high_water_tokens = 150;
        policy.facts.extract = random.happens(300);
        policy.episodes.idle_ms = 60_000.0;
        policy.episodes.min_messages = 2;
        let sealing = random.happens(200).then(Rc::default);
        let embedder = WordEmbedder { dimensions: 16, ..WordEmbedder::default() };
        Self {
            disk: Disk::new(Random::part(seed, u64::MAX - 2), sealing),
            clock: Rc::new(Time::new()),
            locks: LocalLocks::default(),
            model: Rc::new(language_model(seed, &read)),
            embedder: Rc::new(Late::new(embedder, Random::part(seed, u64::MAX - 3))),
            read,
            tabs: Vec::new(),
            next_tab: 0,
            believed: Model::default(),
            may_be_left: vec![Model::default()],
            streams: Vec::new(),
            backups: Vec::new(),
            marks: 0,
            derived: [0; 3],
            known: truth::Known::default(),
            policy,
            log: Vec::new(),
            random,
        }
    }

    /// One step, decided by its own random numbers, so that steps can be left out.
    pub fn step(&mut self, seed: u64, number: u64) -> Result<(), String> {
        self.random = Random::part(seed, number);
        self.log.clear();
        match self.random.below(100) {
            0 => self.crash_somebody(),
            1 | 2 => self.reopen_somebody(),
            3 => self.cut_power(),
            4 | 5 => {
                let jump = *self.random.pick(&[3_650.0, -3_650.0, 1.0, -1.0]).unwrap_or(&0.0) * DAY_MS;
                self.log.push(format!("the clock jumps by {jump} ms"));
                self.clock.advance(jump);
                Ok(())
            }
            _ => {
                self.clock.advance(1.0 + self.random.below(20_000) as f64);
                self.batch()
            }
        }?;
        if number % COMPARE_EVERY == COMPARE_EVERY - 1 { self.compare_everything() } else { Ok(()) }
    }

    // What happens to tabs.

    pub fn open(&mut self) -> Result<(), String> {
        self.disk.set_weather(Weather::FAIR);
        while self.tabs.len() < TABS {
            self.next_tab += 1;
            let number = self.next_tab;
            let storage = finish(Box::pin(self.disk.tab(number)))?.map_err(|error| format!("opening: {error}"))?;
            let host = Host {
                storage,
                embedder: Some(Rc::clone(&self.embedder) as Rc<dyn Embedder>),
                model: Some(Rc::clone(&self.model) as Rc<dyn LanguageModel>),
                clock: Rc::clone(&self.clock) as Rc<dyn Clock>,
                locks: Rc::new(self.locks.clone()),
                on_event: Rc::new(|_| ()),
                normalize: |text| unicode_normalization::UnicodeNormalization::nfkc(text).collect(),
            };
            let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: self.policy.clone() };
            let engine = finish(Box::pin(Engine::open(host, options)))?.map_err(|error| format!("opening: {error}"))?;
            self.log.push(format!("tab {number} opens"));
            self.tabs.push(Tab { number, engine: Rc::new(engine) });
        }
        Ok(())
    }

    /// A tab is gone, with what it was doing.
    pub fn drop_tab(&mut self, at: usize) {
        let tab = self.tabs.remove(at);
        self.log.push(format!("tab {} crashes", tab.number));
        self.disk.crash(tab.number);
    }

    fn crash_somebody(&mut self) -> Result<(), String> {
        if self.tabs.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.tabs.len());
        self.drop_tab(at);
        self.see_what_is_there(vec![self.believed.clone()])
    }

    fn reopen_somebody(&mut self) -> Result<(), String> {
        if self.tabs.is_empty() {
            return Ok(());
        }
        let at = self.random.below(self.tabs.len());
        let tab = self.tabs.remove(at);
        self.log.push(format!("tab {} closes", tab.number));
        tab.engine.close();
        Ok(())
    }

    fn cut_power(&mut self) -> Result<(), String> {
        self.log.push("the power is cut".into());
        self.tabs.clear();
        self.disk.cut_power();
        let left = std::mem::take(&mut self.may_be_left);
        self.see_what_is_there(left)?;
        self.may_be_left = vec![self.believed.clone()];
        self.compare_everything()
    }
}
