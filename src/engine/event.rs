//! What an app may listen to.

use serde::Serialize;
use serde_json::Value;

/// Something that happened. `name` is the event's name in `memory.on(name, listener)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    /// `append`, `stream`, `context`, `compaction`, `fact`, `job`, `storage` or `error`.
    pub name: &'static str,
    /// Plain data about it; never a user's text.
    pub payload: Value,
}

impl Event {
    pub(crate) fn new(name: &'static str, payload: Value) -> Self {
        Self { name, payload }
    }
}
