//! A language model that does anything: rows 39 to 45 and 47.

use super::{ID, Shared};
use futures_util::future::FutureExt;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;
use throughline::engine::Engine;
use throughline::error::{Code, Error};
use throughline::ports::{LanguageModel, ModelRequest, Pending, Purpose};

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// It throws, or rejects with nothing.
    Throws,
    Silent,
    /// Later than others get on, in time.
    Late,
    Null,
    Empty,
    Huge,
    Object,
    Html,
    LongerThanItsInput,
    Refusal,
    Broken,
    Cut,
    Fenced,
    TrailingComma,
    Calls,
}

impl Fault {
    pub const ALL: [Self; 15] = [
        Self::Throws,
        Self::Silent,
        Self::Late,
        Self::Null,
        Self::Empty,
        Self::Huge,
        Self::Object,
        Self::Html,
        Self::LongerThanItsInput,
        Self::Refusal,
        Self::Broken,
        Self::Cut,
        Self::Fenced,
        Self::TrailingComma,
        Self::Calls,
    ];

    /// The answer is what was asked for, however it is dressed and whatever happened before it came.
    fn is_usable(fault: Option<Self>) -> bool {
        matches!(fault, None | Some(Self::Late | Self::Fenced | Self::TrailingComma | Self::Calls))
    }
}

pub struct WrongModel {
    shared: Rc<Shared>,
    calls: Cell<u32>,
    /// Calls that are under way.
    pub pending: Rc<Cell<u32>>,
    pub met: RefCell<BTreeSet<&'static str>>,
    /// Words of the messages that were read by a call whose answer is a summary.
    pub read: RefCell<BTreeSet<String>>,
    /// Those calls, by what their summaries begin with.
    pub usable: RefCell<BTreeSet<String>>,
    /// A callback has closed the engine.
    pub has_closed: Cell<bool>,
}

/// Counts a call from where it is made to where it has ended or is given up.
struct Counted(Rc<Cell<u32>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

impl WrongModel {
    pub fn new(shared: Rc<Shared>) -> Self {
        Self {
            shared,
            calls: Cell::default(),
            pending: Rc::default(),
            met: RefCell::default(),
            read: RefCell::default(),
            usable: RefCell::default(),
            has_closed: Cell::default(),
        }
    }

    fn fault(&self) -> Option<Fault> {
        let mut random = self.shared.random.borrow_mut();
        if self.shared.is_healed.get() || random.happens(300) {
            return None;
        }
        random.pick(&Fault::ALL).copied()
    }

    /// What a model that works would answer.
    fn right(&self, request: &ModelRequest, call: &str) -> String {
        match request.purpose {
            Purpose::Summarize | Purpose::Compress | Purpose::Episode => {
                let told: Vec<String> = marks_of(&request.prompt).into_iter().rev().take(3).collect();
                let told = told.join(" ");
                serde_json::json!({ "goal": [call], "confirmed": [format!("It is about {told}.")] }).to_string()
            }
            Purpose::Extract => r#"{"facts":[]}"#.to_owned(),
            Purpose::Judge => r#"{"operations":[]}"#.to_owned(),
            Purpose::Audit => r#"{"findings":[]}"#.to_owned(),
        }
    }

    /// The answer that this fault makes of the right one.
    fn spoiled(fault: Option<Fault>, right: String, prompt: &str) -> String {
        match fault {
            Some(Fault::Null) => "null".to_owned(),
            Some(Fault::Empty) => String::new(),
            Some(Fault::Huge) => format!("{{\"goal\":[\"call999999\"],\"confirmed\":[\"{}\"]}}", "x ".repeat(20_000)),
            Some(Fault::Object) => r#"{"choices":[{"message":{"content":"call999999"}}]}"#.to_owned(),
            Some(Fault::Html) => "<!DOCTYPE html><html><body>call999999: 502</body></html>".to_owned(),
            Some(Fault::LongerThanItsInput) => {
                let words = prompt.replace(|c: char| !c.is_alphanumeric(), " ");
                serde_json::json!({ "goal": ["call999999"], "confirmed": [words, words] }).to_string()
            }
            Some(Fault::Refusal) => "I'm sorry, but I can't help with call999999.".to_owned(),
            Some(Fault::Broken) => right.replacen("\":", "\" ", 1),
            Some(Fault::Cut) => right[..right.len() * 2 / 3].to_owned(),
            Some(Fault::Fenced) => format!("Here it is:\n```json\n{right}\n```"),
            Some(Fault::TrailingComma) => right.replace("]}", ",]}").replace("[,]", "[]"),
            _ => right,
        }
    }

    /// What a callback does that calls the engine, of what is being summarised too.
    async fn call_engine(&self, engine: &Engine) {
        let choice = self.shared.random.borrow_mut().below(9);
        let message = self.shared.say();
        let done = match choice {
            0 => engine.append(super::append(ID, vec![message])).await.map(|_| ()),
            1 => engine.recall(super::recall("importer")).await.map(|_| ()),
            2 => engine.build_context(super::context()).await.map(|_| ()),
            3 => self.shared.edit_any(engine).await,
            4 => self.shared.remove_any(engine).await,
            5 => engine.summary(ID).await.map(|_| ()),
            6 => engine.stats().await.map(|_| ()),
            // The same at once: it waits for itself, or is told that it is being done, until nobody waits for it any more.
            7 => engine.compact(ID, true).await.map(|_| ()),
            _ => {
                engine.close();
                self.has_closed.set(true);
                Ok(())
            }
        };
        if let Err(error) = done {
            let is_known =
                matches!(error.code, Code::ModelFailed | Code::ModelOutputInvalid | Code::Timeout | Code::Closed);
            assert!(is_known, "called from a callback, {choice}: {error}");
        }
    }
}

impl LanguageModel for WrongModel {
    fn context_window_tokens(&self) -> u32 {
        32_000
    }

    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String> {
        self.calls.set(self.calls.get() + 1);
        let name = format!("call{:06}", self.calls.get());
        let fault = self.fault();
        self.met.borrow_mut().extend(fault.map(name_of));
        let answer = Self::spoiled(fault, self.right(&request, &name), &request.prompt);
        self.pending.set(self.pending.get() + 1);
        let counted = Counted(Rc::clone(&self.pending));
        async move {
            let _counted = counted;
            match fault {
                Some(Fault::Throws) => return Err(Error::new(Code::ModelFailed, "scripted")),
                Some(Fault::Silent) => return std::future::pending().await,
                Some(Fault::Late) => later(10).await,
                Some(Fault::Calls) => {
                    let engine = self.shared.engine.borrow().upgrade();
                    if let Some(engine) = engine {
                        self.call_engine(&engine).await;
                    }
                }
                _ => {}
            }
            if Fault::is_usable(fault) && request.purpose == Purpose::Summarize {
                self.read.borrow_mut().extend(marks_of(&request.prompt));
            }
            if Fault::is_usable(fault) {
                self.usable.borrow_mut().insert(name);
            }
            Ok(answer)
        }
        .boxed_local()
    }
}

/// Is pending for so many polls.
pub async fn later(mut polls: u32) {
    poll_fn(|context| {
        if polls == 0 {
            return Poll::Ready(());
        }
        polls -= 1;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

fn name_of(fault: Fault) -> &'static str {
    match fault {
        Fault::Throws => "throws",
        Fault::Silent => "silent",
        Fault::Late => "late",
        Fault::Null => "null",
        Fault::Empty => "empty",
        Fault::Huge => "huge",
        Fault::Object => "object",
        Fault::Html => "html",
        Fault::LongerThanItsInput => "longer",
        Fault::Refusal => "refusal",
        Fault::Broken => "broken",
        Fault::Cut => "cut",
        Fault::Fenced => "fenced",
        Fault::TrailingComma => "comma",
        Fault::Calls => "calls",
    }
}

/// The words of a text that stand for one message each.
pub fn marks_of(text: &str) -> BTreeSet<String> {
    let ends = text.match_indices("marker").filter_map(|(at, _)| text.get(at..at + 12));
    ends.filter(|mark| mark[6..].bytes().all(|byte| byte.is_ascii_digit())).map(str::to_owned).collect()
}
