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

/// What the summariser answers; the distinctive words of what it read are in it too.
const SUMMARY: &str = r#"{"goal":["Ship it"],"confirmed":["MARKS"],"decisions":["Use it"],"constraints":[],"failed":[],"open":[],"next":[],"identifiers":[]}"#;

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

/// A model that fails now and then; `read`: distinctive words that a summary call which it answered has read.
pub fn language_model(seed: u64, read: &Rc<RefCell<BTreeSet<String>>>) -> Late<ScriptedModel> {
    let read = Rc::clone(read);
    let random = RefCell::new(Random::part(seed, u64::MAX - 1));
    let scripted = ScriptedModel::answering(move |request| match request.purpose {
        Purpose::Summarize => {
            let marks = truth::marks_of(&request.prompt);
            let answer = match random.borrow_mut().below(10) {
                0 => return None,
                1 => return Some("<html>".to_owned()),
                2 => return Some(String::new()),
                _ => SUMMARY.replace("MARKS", &marks.iter().take(3).cloned().collect::<Vec<_>>().join(" ")),
            };
            read.borrow_mut().extend(marks);
            Some(answer)
        }
        Purpose::Extract => Some(r#"{"facts":[]}"#.to_owned()),
        // Its answers to everything else are none.
        Purpose::Judge | Purpose::Audit | Purpose::Compress | Purpose::Episode => None,
    });
    Late::new(scripted, Random::part(seed, u64::MAX - 4))
}
