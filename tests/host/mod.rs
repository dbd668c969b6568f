//! A simulated host: scripted doubles of the five ports, for tests of the engine.

#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::expect_used, reason = "a test that cannot go on fails")]

use futures_util::future::FutureExt;
use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use throughline::config::Policy;
use throughline::engine::{AppendRequest, ContextRequest, Engine, Event, Host, NewConversation, Options};
use throughline::error::{Code, Error, Result};
use throughline::ports::{Clock, Embedder, LanguageModel, LockGuard, Locks, ModelRequest, Pending, Purpose};
use throughline::store::Storage;
use throughline::store::memory::MemoryStore;

#[path = "../cipher/mod.rs"]
pub mod cipher;
pub mod kept;

/// The suites that `engine_encrypted.rs` takes in run over encrypted stores.
const IS_ENCRYPTED: bool = starts_with(module_path!().as_bytes(), b"engine_encrypted");

const fn starts_with(text: &[u8], start: &[u8]) -> bool {
    let mut at = 0;
    while at < start.len() {
        if at >= text.len() || text[at] != start[at] {
            return false;
        }
        at += 1;
    }
    true
}

/// A handle on records in memory, through encryption where the suite runs encrypted.
pub fn handle_on(records: &MemoryStore) -> Rc<dyn Storage> {
    thread_local!(static OPENED: Cell<u64> = const { Cell::new(0) });
    let records = Rc::new(records.clone());
    if !IS_ENCRYPTED {
        return records;
    }
    OPENED.set(OPENED.get() + 1);
    let key = cipher::LibraryKey { nonce: OPENED.get() << 40, ..cipher::LibraryKey::new(7) };
    Rc::new(cipher::open_at_once(records, &key).expect("opens"))
}

/// A clock that only moves when told, and sleepers that wake when it does.
#[derive(Default)]
pub struct ManualClock {
    now_ms: Cell<f64>,
    /// Sleeps shorter than this end at once by moving the clock; longer ones (timeouts) end when the clock is moved.
    patience_ms: Cell<f64>,
}

impl ManualClock {
    pub fn at(now_ms: f64) -> Self {
        let clock = Self::default();
        clock.now_ms.set(now_ms);
        clock.patience_ms.set(1_000.0);
        clock
    }

    /// From now on no sleep ends at once.
    pub fn let_sleepers_wait(&self) {
        self.patience_ms.set(0.0);
    }

    pub fn advance(&self, ms: f64) {
        self.now_ms.set(self.now_ms.get() + ms);
    }
}

impl Clock for ManualClock {
    fn now_ms(&self) -> f64 {
        self.now_ms.get()
    }

    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        let until = self.now_ms.get() + ms;
        let mut polls = 0;
        Box::pin(std::future::poll_fn(move |context| {
            if ms <= self.patience_ms.get() {
                self.now_ms.set(self.now_ms.get().max(until));
            }
            polls += 1;
            if self.now_ms.get() >= until {
                return Poll::Ready(());
            }
            // A callback that never answers leaves only timers to wait for: time passes.
            if polls > 50 {
                self.now_ms.set(until);
            }
            context.waker().wake_by_ref();
            Poll::Pending
        }))
    }
}

/// Locks of one process, shared by the engines of several "tabs".
#[derive(Clone, Default)]
pub struct LocalLocks(Rc<RefCell<BTreeMap<String, ()>>>);

impl Locks for LocalLocks {
    fn try_lock<'a>(&'a self, name: &str) -> Pending<'a, Option<LockGuard>> {
        let name = name.to_owned();
        let held = Rc::clone(&self.0);
        async move {
            if held.borrow_mut().insert(name.clone(), ()).is_some() {
                return Ok(None);
            }
            Ok(Some(LockGuard::new(move || {
                held.borrow_mut().remove(&name);
            })))
        }
        .boxed_local()
    }
}

/// Bag-of-words vectors: equal texts have equal vectors, texts that share words are near.
pub struct WordEmbedder {
    pub id: String,
    pub dimensions: usize,
    pub batch: usize,
    /// Words that are read of a text; what is behind does not count, as with real models.
    pub max_input_tokens: usize,
    /// Words that mean the same as others.
    pub synonyms: Vec<(&'static str, &'static str)>,
    /// A call with a text that has this in it fails.
    pub refuses: Option<&'static str>,
    /// Texts of each call.
    pub calls: RefCell<Vec<usize>>,
    pub script: RefCell<VecDeque<EmbedFault>>,
    pub texts: RefCell<Vec<String>>,
}

/// What the embedder does wrong, once each.
pub enum EmbedFault {
    Fail,
    /// It says that asking again cannot help.
    Refuse,
    TooFew,
    TooMany,
    NotFinite,
    WrongLength,
    Hang,
    /// Right, but only after being polled so many times.
    Late(u32),
}

impl Default for WordEmbedder {
    fn default() -> Self {
        Self {
            id: "words".into(),
            dimensions: 64,
            batch: 16,
            max_input_tokens: 256,
            synonyms: Vec::new(),
            refuses: None,
            calls: RefCell::default(),
            script: RefCell::default(),
            texts: RefCell::default(),
        }
    }
}

impl WordEmbedder {
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; self.dimensions];
        let lower = text.to_lowercase();
        let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        for word in words.take(self.max_input_tokens) {
            let word = self.synonyms.iter().find(|(one, _)| *one == word).map_or(word, |(_, other)| other);
            let hash = word.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte));
            vector[hash % self.dimensions] += 1.0;
        }
        let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if norm > 0.0 {
            vector.iter_mut().for_each(|x| *x /= norm);
        }
        vector
    }
}

impl Embedder for WordEmbedder {
    fn id(&self) -> &str {
        &self.id
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn max_batch_size(&self) -> usize {
        self.batch
    }

    fn max_input_tokens(&self) -> usize {
        self.max_input_tokens
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        let fault = self.script.borrow_mut().pop_front();
        let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| self.vector(text)).collect();
        let is_refused = self.refuses.is_some_and(|refused| texts.iter().any(|text| text.contains(refused)));
        self.calls.borrow_mut().push(texts.len());
        self.texts.borrow_mut().extend(texts);
        match fault {
            None if is_refused => {
                return std::future::ready(Err(Error::new(Code::EmbeddingFailed, "refused"))).boxed_local();
            }
            None => {}
            Some(EmbedFault::Fail) => {
                return std::future::ready(Err(Error::new(Code::EmbeddingFailed, "scripted"))).boxed_local();
            }
            Some(EmbedFault::Refuse) => return std::future::ready(Err(refused(Code::EmbeddingFailed))).boxed_local(),
            Some(EmbedFault::TooFew) => drop(vectors.pop()),
            Some(EmbedFault::TooMany) => vectors.push(vec![0.0; self.dimensions]),
            Some(EmbedFault::NotFinite) => vectors[0][0] = f32::NAN,
            Some(EmbedFault::WrongLength) => vectors[0].push(0.0),
            Some(EmbedFault::Hang) => return std::future::pending().boxed_local(),
            Some(EmbedFault::Late(mut polls)) => {
                return std::future::poll_fn(move |context| {
                    if polls == 0 {
                        return Poll::Ready(Ok(std::mem::take(&mut vectors)));
                    }
                    polls -= 1;
                    context.waker().wake_by_ref();
                    Poll::Pending
                })
                .boxed_local();
            }
        }
        std::future::ready(Ok(vectors)).boxed_local()
    }
}

fn refused(code: Code) -> Error {
    let mut error = Error::new(code, "scripted");
    error.is_final = true;
    error
}

/// What the model answers next.
pub enum Answer {
    Text(String),
    Fail,
    /// It says that asking again cannot help.
    Refuse,
    Hang,
}

/// Answers a request that the script has no answer for.
pub type Answering = dyn Fn(&ModelRequest) -> Option<String>;

/// A language model that answers from a script; when the script is empty, by `otherwise`.
pub struct ScriptedModel {
    pub script: RefCell<VecDeque<(Purpose, Answer)>>,
    pub requests: RefCell<Vec<ModelRequest>>,
    pub otherwise: Box<Answering>,
    pub window: u32,
    pub is_local: bool,
    pub name: Option<String>,
}

impl Default for ScriptedModel {
    fn default() -> Self {
        Self {
            script: RefCell::default(),
            requests: RefCell::default(),
            otherwise: Box::new(|_| None),
            window: 32_000,
            is_local: false,
            name: None,
        }
    }
}

impl ScriptedModel {
    pub fn answering(otherwise: impl Fn(&ModelRequest) -> Option<String> + 'static) -> Self {
        Self { otherwise: Box::new(otherwise), ..Self::default() }
    }

    pub fn then(&self, purpose: Purpose, answer: Answer) {
        self.script.borrow_mut().push_back((purpose, answer));
    }

    pub fn calls(&self, purpose: Purpose) -> usize {
        self.requests.borrow().iter().filter(|request| request.purpose == purpose).count()
    }
}

impl LanguageModel for ScriptedModel {
    fn id(&self) -> Option<&str> {
        self.name.as_deref()
    }

    fn context_window_tokens(&self) -> u32 {
        self.window
    }

    fn is_remote(&self) -> bool {
        !self.is_local
    }

    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String> {
        let at = self.script.borrow().iter().position(|(purpose, _)| *purpose == request.purpose);
        let scripted = at.and_then(|at| self.script.borrow_mut().remove(at)).map(|(_, answer)| answer);
        let otherwise = (self.otherwise)(&request);
        self.requests.borrow_mut().push(request);
        match scripted {
            Some(Answer::Text(text)) => std::future::ready(Ok(text)).boxed_local(),
            Some(Answer::Hang) => std::future::pending().boxed_local(),
            Some(Answer::Refuse) => std::future::ready(Err(refused(Code::ModelFailed))).boxed_local(),
            Some(Answer::Fail) => std::future::ready(Err(Error::new(Code::ModelFailed, "scripted"))).boxed_local(),
            None => {
                std::future::ready(otherwise.ok_or_else(|| Error::new(Code::ModelFailed, "no answer"))).boxed_local()
            }
        }
    }
}

/// A summary answer that every validation accepts.
pub const SUMMARY: &str = r#"{"goal":["Ship the importer"],"confirmed":["The port is 8471"],"decisions":["Use SQLite, because it needs no server"],"constraints":[],"failed":[],"open":[],"next":["Write the tests"],"identifiers":["8471"]}"#;

/// Everything that a test's engines share: two engines opened on one world are two tabs.
pub struct World {
    pub storage: Rc<dyn Fn() -> Rc<dyn Storage>>,
    pub clock: Rc<ManualClock>,
    pub locks: LocalLocks,
    pub embedder: Option<Rc<WordEmbedder>>,
    pub model: Option<Rc<ScriptedModel>>,
    pub events: Rc<RefCell<Vec<Event>>>,
    pub policy: Policy,
}

impl Default for World {
    fn default() -> Self {
        let store = MemoryStore::default();
        Self {
            storage: Rc::new(move || handle_on(&store)),
            clock: Rc::new(ManualClock::at(1_750_000_000_000.0)),
            locks: LocalLocks::default(),
            embedder: None,
            model: None,
            events: Rc::default(),
            policy: one_at_a_time(),
        }
    }
}

/// The defaults, but that facts are looked for in every message at once: scripted answers come message by message.
fn one_at_a_time() -> Policy {
    let mut policy = Policy::default();
    policy.facts.batch_messages = 1;
    policy
}

impl World {
    pub fn with_embedder(mut self) -> Self {
        self.embedder = Some(Rc::default());
        self
    }

    pub fn with_model(mut self, model: ScriptedModel) -> Self {
        self.model = Some(Rc::new(model));
        self
    }

    pub async fn open(&self) -> Engine {
        self.try_open().await.expect("opens")
    }

    pub async fn try_open(&self) -> Result<Engine> {
        let events = Rc::clone(&self.events);
        let host = Host {
            storage: (self.storage)(),
            embedder: self.embedder.clone().map(|embedder| embedder as Rc<dyn Embedder>),
            model: self.model.clone().map(|model| model as Rc<dyn LanguageModel>),
            clock: Rc::clone(&self.clock) as Rc<dyn Clock>,
            locks: Rc::new(self.locks.clone()),
            on_event: Rc::new(move |event| events.borrow_mut().push(event.clone())),
            normalize: |text| unicode_normalization::UnicodeNormalization::nfkc(text).collect(),
        };
        let options = Options { user_id: "alex".into(), tokenizer: "estimate".into(), policy: self.policy.clone() };
        Engine::open(host, options).await
    }
}

/// The text of a stored record with something else in it, as another version or a repair would have written it: without the
/// checksum that the change makes wrong.
pub fn changed(body: &str, from: &str, to: &str) -> String {
    let text = body.rfind(",\"sum\":\"").map_or_else(|| body.to_owned(), |at| format!("{}}}", &body[..at]));
    text.replace(from, to)
}

pub async fn conversation(engine: &Engine, id: &str) {
    engine.create_conversation(NewConversation { id: id.into(), ..NewConversation::default() }).await.expect("is new");
}

pub fn message(role: &str, text: &str) -> String {
    serde_json::json!({ "role": role, "content": text }).to_string()
}

pub fn message_with_id(id: &str, role: &str, text: &str) -> String {
    serde_json::json!({ "id": id, "role": role, "content": text }).to_string()
}

pub fn append(conversation_id: &str, messages: Vec<String>) -> AppendRequest {
    AppendRequest { conversation_id: conversation_id.into(), messages, ..AppendRequest::default() }
}

pub fn ask(conversation_id: &str, question: &str) -> ContextRequest {
    ContextRequest {
        conversation_id: conversation_id.into(),
        question: Some(question.into()),
        ..ContextRequest::default()
    }
}
