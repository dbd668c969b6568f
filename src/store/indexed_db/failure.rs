//! What a browser's exception means to us. Exceptions are recognised by name: their classes differ between browsers,
//! and their texts may name databases and so users.

use crate::error::{Code, Error};
use crate::store::read_only::too_new;
use js_sys::Reflect;
use wasm_bindgen::JsValue;

/// Why an operation failed. Nothing of it was committed, unless it failed while it was being committed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An exception of IndexedDB, by its name; empty where the browser gave none.
    Exception(String),
    /// The database is gone though it was there when it was opened first.
    Deleted,
    /// Already in our words.
    Known(Error),
}

impl Failure {
    /// Reads the name of an exception, or of a transaction's error, which is null when it has none.
    pub(super) fn of(exception: &JsValue) -> Self {
        let name = if exception.is_object() { Reflect::get(exception, &"name".into()).ok() } else { None };
        Self::Exception(name.and_then(|name| name.as_string()).unwrap_or_default())
    }

    /// A transaction ended before all was asked of it, because its task was held up.
    pub(super) fn too_late() -> Self {
        Self::Exception("TransactionInactiveError".to_owned())
    }

    /// Whether the same operation may succeed in another transaction of the same connection.
    pub(super) fn is_too_late(&self) -> bool {
        matches!(self, Self::Exception(name) if name == "TransactionInactiveError")
    }

    /// Whether the same operation may succeed on a new connection.
    ///
    /// A closed connection throws `InvalidStateError` or aborts its transactions with `AbortError` or nothing; Safari's
    /// lost server and Chromium's backing store say `UnknownError`; after a full disk Firefox fails the next transaction
    /// once with `InvalidStateError`. `TimeoutError` is our own word too, for a browser that says nothing.
    pub(super) fn is_connection_lost(&self) -> bool {
        match self {
            Self::Exception(name) => {
                matches!(name.as_str(), "" | "AbortError" | "InvalidStateError" | "TimeoutError" | "UnknownError")
            }
            Self::Deleted | Self::Known(_) => false,
        }
    }

    /// The browser said nothing in time.
    pub(super) fn silent() -> Self {
        Self::Exception("TimeoutError".to_owned())
    }
}

/// The database was deleted while it was open.
pub(super) fn deleted() -> Error {
    Error::new(
        Code::StorageUnavailable,
        "the stored data was deleted while it was open, by another tab or by clearing site data; open the memory again \
         to start anew",
    )
}

/// A write failed while it was being committed, and so did every look whether it was.
pub(super) fn unknown() -> Error {
    Error::new(
        Code::StorageUnavailable,
        "the browser lost its storage during a write, and whether it was carried out cannot be told at the moment: reload \
         the page and look before writing it again",
    )
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Known(error)
    }
}

impl From<JsValue> for Failure {
    fn from(exception: JsValue) -> Self {
        Self::of(&exception)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Known(error) => error,
            Failure::Deleted => deleted(),
            Failure::Exception(name) => from_exception(&name),
        }
    }
}

fn from_exception(name: &str) -> Error {
    let (code, advice) = match name {
        "QuotaExceededError" => (
            Code::StorageQuotaExceeded,
            "the storage is full; nothing was written: delete conversations or free space on the device, and try again",
        ),
        "VersionError" => return too_new(),
        "SecurityError" => {
            (Code::StorageUnavailable, "this page may not use storage; allow site data for it, or use memory storage")
        }
        "InvalidStateError" | "UnknownError" | "AbortError" | "TimeoutError" | "TransactionInactiveError" | "" => (
            Code::StorageUnavailable,
            "the browser cannot use its storage at the moment; nothing was written: reload the page, and free space on \
             the device if it happens again",
        ),
        "DataError" | "DataCloneError" => {
            (Code::InvalidArgument, "the browser refused to store a key or value of this kind; nothing was written")
        }
        _ => (Code::StorageUnavailable, "the browser's storage failed; nothing was written: reload the page"),
    };
    let name = if name.is_empty() { "no exception" } else { name };
    Error::new(code, format!("{advice} ({name})"))
}

impl From<idb::Error> for Failure {
    fn from(error: idb::Error) -> Self {
        use idb::Error as E;
        match error {
            E::DomException(exception) => Self::of(&exception),
            E::IndexedDbNotFound(_) => Self::Known(Error::new(
                Code::StorageUnavailable,
                "there is no IndexedDB in this environment; use memory storage, or a storage of your own",
            )),
            E::AddFailed(value)
            | E::ClearFailed(value)
            | E::CountFailed(value)
            | E::CursorAdvanceFailed(value)
            | E::CursorContinueFailed(value)
            | E::CursorKeyNotFound(value)
            | E::CursorPrimaryKeyNotFound(value)
            | E::CursorValueNotFound(value)
            | E::DeleteFailed(value)
            | E::GetAllFailed(value)
            | E::GetAllKeysFailed(value)
            | E::GetFailed(value)
            | E::GetKeyFailed(value)
            | E::IndexCreateFailed(value)
            | E::IndexDeleteFailed(value)
            | E::IndexedDbDeleteFailed(value)
            | E::IndexedDbOpenFailed(value)
            | E::IndexNotFound(value)
            | E::KeyPathNotFound(value)
            | E::KeyRangeBoundNotFound(value)
            | E::KeyRangeCreateFailed(value)
            | E::KeyRangeIncludesFailed(value)
            | E::ObjectStoreCreateFailed(value)
            | E::ObjectStoreDeleteFailed(value)
            | E::ObjectStoreNotFound(value)
            | E::OpenCursorFailed(value)
            | E::OpenKeyCursorFailed(value)
            | E::RequestErrorNotFound(value)
            | E::RequestResultNotFound(value)
            | E::TransactionAbortError(value)
            | E::TransactionCommitError(value)
            | E::TransactionModeNotFound(value)
            | E::TransactionOpenFailed(value)
            | E::UnexpectedJsType(_, value)
            | E::UpdateFailed(value) => Self::of(&value),
            E::CursorFinished
            | E::DomExceptionNotFound
            | E::EventTargetNotFound
            | E::InvalidCursorDirection
            | E::InvalidKeyPath
            | E::InvalidReqeustReadyState
            | E::InvalidStorageType
            | E::InvalidTransactionMode
            | E::NumberConversionError
            | E::RequestSourceNotFound
            | E::OneshotChannelReceiveError
            | E::TransactionNotFound => Self::Exception(String::new()),
        }
    }
}
