//! The one error type: a stable code, whether a retry can help, and a message that never holds the user's text.

use serde::Serialize;
use std::fmt;
use std::ops::{Deref, DerefMut};

/// What kind of failure it is. The wire form is snake_case (`budget_infeasible`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Code {
    /// An argument of this call is not usable; nothing was changed.
    InvalidArgument,
    /// An option given to `createMemory` is not usable.
    InvalidConfig,
    /// The named conversation, message or fact does not exist.
    NotFound,
    /// The same id is already there with other content; nothing was changed.
    Conflict,
    /// The memory was closed.
    Closed,
    /// The engine is not usable at this moment.
    EngineUnavailable,
    /// The storage of this browser or profile cannot be used.
    StorageUnavailable,
    /// Another tab holds the storage.
    StorageBlocked,
    /// The storage is full.
    StorageQuotaExceeded,
    /// Another tab wrote first, and went on doing so while this one retried.
    StorageConflict,
    /// What is in storage cannot be read back as it was written.
    StorageCorrupt,
    /// What is stored has another key, or none, or needs one and none was given.
    StorageKeyWrong,
    /// The stored data was written by a newer version of the engine.
    SchemaTooNew,
    /// The embedding callback failed, or answered with the wrong number of vectors or unusable numbers.
    EmbeddingFailed,
    /// The embedding callback answered with vectors of another length than it declared.
    EmbeddingDimensionMismatch,
    /// The language model callback failed.
    ModelFailed,
    /// The language model answered something that cannot be used; nothing was changed.
    ModelOutputInvalid,
    /// The question and what must go with it do not fit the window.
    BudgetInfeasible,
    /// The caller aborted.
    Aborted,
    /// A callback did not answer in time.
    Timeout,
}

impl Code {
    /// Whether the same call can succeed later without being changed.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        match self {
            Self::EngineUnavailable
            | Self::StorageBlocked
            | Self::StorageConflict
            | Self::EmbeddingFailed
            | Self::ModelFailed
            | Self::ModelOutputInvalid
            | Self::Timeout => true,
            Self::InvalidArgument
            | Self::InvalidConfig
            | Self::NotFound
            | Self::Conflict
            | Self::Closed
            | Self::StorageUnavailable
            | Self::StorageQuotaExceeded
            | Self::StorageCorrupt
            | Self::StorageKeyWrong
            | Self::SchemaTooNew
            | Self::EmbeddingDimensionMismatch
            | Self::BudgetInfeasible
            | Self::Aborted => false,
        }
    }

    /// The code as it goes over the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidArgument => "invalid_argument",
            Self::InvalidConfig => "invalid_config",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::Closed => "closed",
            Self::EngineUnavailable => "engine_unavailable",
            Self::StorageUnavailable => "storage_unavailable",
            Self::StorageBlocked => "storage_blocked",
            Self::StorageQuotaExceeded => "storage_quota_exceeded",
            Self::StorageConflict => "storage_conflict",
            Self::StorageCorrupt => "storage_corrupt",
            Self::StorageKeyWrong => "storage_key_wrong",
            Self::SchemaTooNew => "schema_too_new",
            Self::EmbeddingFailed => "embedding_failed",
            Self::EmbeddingDimensionMismatch => "embedding_dimension_mismatch",
            Self::ModelFailed => "model_failed",
            Self::ModelOutputInvalid => "model_output_invalid",
            Self::BudgetInfeasible => "budget_infeasible",
            Self::Aborted => "aborted",
            Self::Timeout => "timeout",
        }
    }
}

/// A failure, told in words that say what to do and never repeat what a user wrote.
///
/// One pointer: a result that may be one is handed on at every `?`, and most functions can fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error(Box<ErrorParts>);

/// What an [`Error`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorParts {
    /// The stable code.
    pub code: Code,
    /// What failed, with which value, and what to do about it.
    pub message: String,
    /// Messages that were acknowledged as not durable and are gone; 0 where nothing is known to be lost.
    pub lost: u64,
    /// The app's callback says that asking again cannot help, whatever the code says.
    pub is_final: bool,
}

impl Deref for Error {
    type Target = ErrorParts;

    fn deref(&self) -> &ErrorParts {
        &self.0
    }
}

impl DerefMut for Error {
    fn deref_mut(&mut self) -> &mut ErrorParts {
        &mut self.0
    }
}

impl Error {
    /// An error of this code. `message` must not contain user text.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::of(code, message.into())
    }

    #[cold]
    #[inline(never)]
    fn of(code: Code, message: String) -> Self {
        Self(Box::new(ErrorParts { code, message, lost: 0, is_final: false }))
    }

    /// Whether the same call can succeed later without being changed.
    #[must_use]
    pub fn is_retryable(&self) -> bool {
        self.code.is_retryable() && !self.is_final
    }

    /// The same words under another code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    /// [`Code::InvalidArgument`].
    pub fn invalid_argument(message: impl Into<String>) -> Self {
        Self::new(Code::InvalidArgument, message)
    }

    /// [`Code::NotFound`].
    pub fn not_found(message: impl Into<String>) -> Self {
        Self::new(Code::NotFound, message)
    }

    /// [`Code::StorageCorrupt`].
    pub fn corrupt(message: impl Into<String>) -> Self {
        Self::new(Code::StorageCorrupt, message)
    }

    /// [`Code::ModelOutputInvalid`].
    pub fn model_output(message: impl Into<String>) -> Self {
        Self::new(Code::ModelOutputInvalid, message)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code.as_str(), self.message)
    }
}

impl std::error::Error for Error {}

/// The result of anything that can fail.
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_form_equals_as_str() {
        for code in [Code::InvalidArgument, Code::StorageQuotaExceeded, Code::EmbeddingDimensionMismatch] {
            assert_eq!(serde_json::to_value(code).unwrap(), code.as_str());
        }
    }
}
