//! The five traits through which the engine talks to the world. Each has a scripted double for tests in
//! `tests/` (a simulated host), and [`Storage`] has one conformance suite that every implementation passes.

use crate::error::Result;
use std::future::Future;
use std::pin::Pin;

pub use crate::store::search::SearchPort;
pub use crate::store::{Check, Commit, Key, KeyPart, Query, Record, Storage, Store};

/// An answer that is still to come. The engine is single-threaded: a future need not be `Send`.
pub type Pending<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

/// Turns texts into vectors: the app's own model.
pub trait Embedder {
    /// Names the model; vectors of different ids are never compared.
    fn id(&self) -> &str;
    /// Length of every vector.
    fn dimensions(&self) -> usize;
    /// Most texts in one call.
    fn max_batch_size(&self) -> usize;
    /// Tokens of one text that the model reads, by its own tokenizer; longer messages are embedded in parts.
    fn max_input_tokens(&self) -> usize;
    /// Whether what it is given leaves the device: then it is given nothing that is to stay.
    fn is_remote(&self) -> bool {
        true
    }
    /// One vector per text, in order, of texts that are to be found. Dropping the future cancels the call.
    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>>;
    /// The same of texts that are asked with: some models, such as e5, tell the two apart.
    fn embed_questions<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        self.embed(texts)
    }
}

/// What a model call is for, so that the app can choose a cheap or a good model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Purpose {
    /// Fold messages into the rolling summary.
    Summarize,
    /// Fold the summaries of several parts into one.
    Compress,
    /// Say what happened in a session.
    Episode,
    /// Find candidate facts.
    Extract,
    /// Decide what becomes of candidate facts.
    Judge,
    /// Look through what is remembered for what is wrong.
    Audit,
}

impl Purpose {
    /// The wire name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Summarize => "summarize",
            Self::Compress => "compress",
            Self::Episode => "episode",
            Self::Extract => "extract",
            Self::Judge => "judge",
            Self::Audit => "audit",
        }
    }
}

/// A request to the app's language model.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ModelRequest {
    /// What it is for.
    pub purpose: Purpose,
    /// Instructions.
    pub system: String,
    /// The only user message: plain text, tools flattened.
    pub prompt: String,
    /// JSON Schema of the answer, where one is wanted.
    pub schema: Option<serde_json::Value>,
    /// Longest useful answer, in tokens.
    pub max_tokens: u32,
}

/// The app's language model.
pub trait LanguageModel {
    /// Names the model, where the app does: what it decides about facts is noted under it.
    fn id(&self) -> Option<&str> {
        None
    }
    /// Tokens that fit the model, input and output together.
    fn context_window_tokens(&self) -> u32;
    /// Whether what it is shown leaves the device: then it is shown nothing that is to stay.
    fn is_remote(&self) -> bool {
        true
    }
    /// The answer: text, or JSON text where the app's model answered with an object. Dropping the future cancels.
    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String>;
}

/// Time.
pub trait Clock {
    /// Milliseconds since 1970.
    fn now_ms(&self) -> f64;
    /// Resolves after `ms` milliseconds.
    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>>;
}

/// Mutual exclusion between tabs and workers of one user.
pub trait Locks {
    /// Takes the named lock if it is free now; `None` when another holder has it. Dropping the guard releases it.
    fn try_lock<'a>(&'a self, name: &str) -> Pending<'a, Option<LockGuard>>;
}

/// A held lock: runs its release when dropped.
pub struct LockGuard(Option<Box<dyn FnOnce()>>);

impl LockGuard {
    /// A guard that calls `release` once, when dropped.
    pub fn new(release: impl FnOnce() + 'static) -> Self {
        Self(Some(Box::new(release)))
    }
}

impl Drop for LockGuard {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            release();
        }
    }
}
