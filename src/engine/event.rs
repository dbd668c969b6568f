//! What an app may listen to.

use crate::error::Error;
use serde::Serialize;
use serde_json::{Value, json};

/// Something that happened. `name` is the event's name in `memory.on(name, listener)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// `append`, `stream`, `context`, `compaction`, `conversation`, `fact`, `job`, `storage` or `error`.
    pub name: &'static str,
    /// Plain data about it; never a user's text.
    pub payload: Value,
}

impl Event {
    pub(crate) fn new(name: &'static str, payload: Value) -> Self {
        Self { name, payload }
    }

    /// A conversation is another than before, without a new message.
    pub(crate) fn conversation(id: &str, state: &str) -> Self {
        Self::new("conversation", json!({ "conversationId": id, "state": state }))
    }

    /// Something failed in the background. `details`, an object, is added to what is told of every error.
    pub(crate) fn error(error: &Error, is_retryable: bool, mut details: Value) -> Self {
        details["code"] = json!(error.code.as_str());
        details["message"] = json!(error.message);
        details["retryable"] = json!(is_retryable);
        Self::new("error", details)
    }
}
