//! What an engine has around it besides its disk: time, and an embedder and a model that take their time.

use super::host::{ScriptedModel, WordEmbedder};
use super::random::Random;
use super::truth;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::Poll;
use throughline::ports::{Clock, Embedder, LanguageModel, ModelRequest, Pending, Purpose};

/// What the summariser answers, shorter than what it reads; the distinctive words of what it read are in it too.
const SUMMARY: &str = r#"{"goal":["Go"],"confirmed":["MARKS"]}"#;

/// A clock that moves when steps say so, and when somebody waits: a wait always lets others go on.
pub struct Time(Cell<f64>);

impl Time {
    pub fn new() -> Self {
        Self(Cell::new(1_750_000_000_000.0))
    }

    pub fn advance(&self, ms: f64) {
        self.0.set(self.0.get() + ms);
    }
}

impl Clock for Time {
    fn now_ms(&self) -> f64 {
        self.advance(0.01);
        self.0.get()
    }

    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        let mut polls = if ms > 1_000.0 { 60 } else { 3 };
        let until = self.0.get() + ms;
        Box::pin(std::future::poll_fn(move |_| {
            polls -= 1;
            if polls > 0 {
                return Poll::Pending;
            }
            self.0.set(self.0.get().max(until));
            Poll::Ready(())
        }))
    }
}

/// A callback whose answer comes now, or after a while: others get on meanwhile.
pub struct Late<T> {
    pub inner: T,
    random: RefCell<Random>,
}

impl<T> Late<T> {
    pub fn new(inner: T, random: Random) -> Self {
        Self { inner, random: RefCell::new(random) }
    }

    fn late<'a, A: 'a>(&self, answer: Pending<'a, A>) -> Pending<'a, A> {
        let random = &mut *self.random.borrow_mut();
        let mut polls = if random.happens(600) { 0 } else { random.below(60) };
        Box::pin(async move {
            std::future::poll_fn(|_| {
                polls = polls.saturating_sub(1);
                if polls == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            answer.await
        })
    }
}

impl Embedder for Late<WordEmbedder> {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn dimensions(&self) -> usize {
        self.inner.dimensions()
    }

    fn max_batch_size(&self) -> usize {
        self.inner.max_batch_size()
    }

    fn max_input_tokens(&self) -> usize {
        self.inner.max_input_tokens()
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        self.late(self.inner.embed(texts))
    }
}

impl LanguageModel for Late<ScriptedModel> {
    fn context_window_tokens(&self) -> u32 {
        self.inner.context_window_tokens()
    }

    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String> {
        self.late(self.inner.generate(request))
    }
}

/// A model that fails now and then, and else tells what it reads; `read`: distinctive words that a summary call which it answered has read.
pub fn language_model(seed: u64, read: &Rc<RefCell<BTreeSet<String>>>) -> Late<ScriptedModel> {
    let read = Rc::clone(read);
    let random = RefCell::new(Random::part(seed, u64::MAX - 1));
    let scripted = ScriptedModel::answering(move |request| {
        match random.borrow_mut().below(10) {
            0 => return None,
            1 => return Some("<html>".to_owned()),
            2 => return Some(String::new()),
            _ => {}
        }
        match request.purpose {
            Purpose::Summarize | Purpose::Compress | Purpose::Episode => {
                let marks = truth::marks_of(&request.prompt);
                let told = marks.iter().take(3).cloned().collect::<Vec<_>>().join(" ");
                if request.purpose == Purpose::Summarize {
                    read.borrow_mut().extend(marks);
                }
                Some(SUMMARY.replace("MARKS", &told))
            }
            Purpose::Extract => Some(learned(&request.prompt)),
            Purpose::Judge => Some(judged(&request.prompt, &mut random.borrow_mut())),
            Purpose::Audit => None,
        }
    });
    Late::new(scripted, Random::part(seed, u64::MAX - 4))
}

/// A fact for everything that the user likes.
fn learned(prompt: &str) -> String {
    let (mut seq, mut facts) = (0, Vec::new());
    for line in prompt.lines() {
        if let Some((number, role)) = line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
            seq = number.parse().unwrap_or(0);
            seq = if role.starts_with("user") { seq } else { 0 };
        } else if let (Some(mark), true) = (truth::marks_of(line).first(), line.contains("I like ") && seq > 0) {
            facts.push(serde_json::json!({
                "fact": format!("User likes {mark}"), "subject": "user", "category": "preference", "confidence": 0.9,
                "quote": format!("I like {mark}"), "seq": seq, "kind": "statement",
            }));
        }
    }
    serde_json::json!({ "facts": facts }).to_string()
}

/// Any decision about each candidate, mostly to keep it.
fn judged(prompt: &str, random: &mut Random) -> String {
    let (mut operations, mut candidate) = (Vec::new(), None);
    for line in prompt.lines() {
        if let Some(number) = line.strip_prefix("CANDIDATE ") {
            candidate = number.parse::<u32>().ok();
        } else if let (Some(number), Some((id, _))) =
            (candidate, line.strip_prefix('f').and_then(|rest| rest.split_once(": ")))
        {
            let operation = *random.pick(&["ADD", "ADD", "ADD", "UPDATE", "DELETE", "NOOP"]).unwrap_or(&"ADD");
            let target = (operation != "ADD").then(|| format!("f{id}"));
            operations.push(serde_json::json!({ "candidate": number, "operation": operation, "target": target }));
            candidate = None;
        }
    }
    serde_json::json!({ "operations": operations }).to_string()
}
