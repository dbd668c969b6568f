//! Typed records to and from storage, with the exact text that an optimistic check compares.

use crate::error::{Error, Result};
use crate::json_reader::{FromJson, read_json};
use crate::ports::{Check, Key, Record, Store};
use serde::Serialize;

/// A value with the record body that it was read from or written as.
#[derive(Clone, Debug)]
pub(crate) struct Stored<T> {
    pub(crate) value: T,
    pub(crate) body: String,
}

impl<T: Serialize + FromJson> Stored<T> {
    /// Reads a record.
    pub(crate) fn read(store: Store, record: &Record) -> Result<Self> {
        Ok(Self { value: decode(store, record)?, body: record.body.clone() })
    }

    /// Reads a record of what is made anew, and written over, where it cannot be read.
    pub(crate) fn read_or_default(store: Store, record: Record) -> Self
    where
        T: Default,
    {
        Self { value: decode(store, &record).unwrap_or_default(), body: record.body }
    }

    /// Wraps a value that is about to be written.
    pub(crate) fn new(value: T) -> Result<Self> {
        let body = encode(&value)?.body;
        Ok(Self { value, body })
    }

    /// The record to write.
    pub(crate) fn record(&self) -> Record {
        Record { body: self.body.clone(), blob: None }
    }

    /// Holds as long as nobody else wrote the record.
    pub(crate) fn check(&self, store: Store, key: Key) -> Check {
        Check { store, key, body: Some(self.body.clone()) }
    }
}

/// A record's value.
pub(crate) fn decode<T: FromJson>(store: Store, record: &Record) -> Result<T> {
    read_json(&record.body).map_err(|problem| {
        Error::corrupt(format!(
            "a record of store {} cannot be read ({problem}); export what is readable and report this",
            store.name()
        ))
    })
}

/// A value as a record.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Record> {
    let body = crate::json_text::json_text(value)
        .map_err(|_| Error::invalid_argument("a number in the call is not finite; give finite numbers"))?;
    Ok(Record { body, blob: None })
}

/// The hash that tells a repeated message from another one with its id, hexadecimal.
pub(crate) fn content_hash(text: &str) -> String {
    format!("{:016x}", crate::hash::fnv1a(text.bytes()))
}
