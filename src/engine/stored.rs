//! Typed records to and from storage, with the exact text that an optimistic check compares.
//!
//! A record ends with a checksum of its own text, so that one changed bit on the disk makes it one that cannot be read,
//! and not one that says something else. A damaged message is worth reading all the same (`readable.rs`). Vectors have
//! theirs over their bytes.

use crate::error::{Error, Result};
use crate::hash::checksum;
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

    /// Whether the record is what it should be, and nothing stands in for it.
    pub(crate) fn is_readable(&self, store: Store) -> bool {
        decode::<T>(store, &self.record()).is_ok()
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
    if is_as_sealed(&record.body) {
        decode_unsealed(store, record)
    } else {
        Err(unreadable(store, "its checksum is another"))
    }
}

/// What a record says, whatever its checksum is.
pub(super) fn decode_unsealed<T: FromJson>(store: Store, record: &Record) -> Result<T> {
    read_json(&record.body).map_err(|problem| unreadable(store, &problem))
}

fn unreadable(store: Store, problem: &str) -> Error {
    Error::corrupt(format!(
        "a record of store {} cannot be read ({problem}); export what is readable and report this",
        store.name()
    ))
}

/// A value as a record that ends with its checksum.
pub(crate) fn encode<T: Serialize>(value: &T) -> Result<Record> {
    let mut record = encode_plain(value)?;
    seal(&mut record.body);
    Ok(record)
}

/// What stands in front of a checksum.
const SUM: &str = ",\"sum\":\"";
/// Bytes of a checksum with its name, and of the end of the object.
const SEAL_BYTES: usize = SUM.len() + 18;

/// Adds the checksum to the text of an object that has fields.
fn seal(body: &mut String) {
    if body.len() > 2 && body.pop().is_some() {
        let sum = checksum(body.as_bytes());
        *body += &format!("{SUM}{sum:016x}\"}}");
    }
}

/// A text without its checksum, and the checksum; `None` for one of before there were checksums.
pub(super) fn unsealed(body: &str) -> Option<(&str, &str)> {
    let (text, seal) = body.split_at_checked(body.len().checked_sub(SEAL_BYTES)?)?;
    Some((text, seal.strip_prefix(SUM)?.get(..16)?))
}

/// Whether a text is the one that was given its checksum, as far as one can know.
pub(super) fn is_as_sealed(body: &str) -> bool {
    unsealed(body).is_none_or(|(text, sum)| sum == format!("{:016x}", checksum(text.as_bytes())))
}

/// A value as a record without a checksum.
pub(crate) fn encode_plain<T: Serialize>(value: &T) -> Result<Record> {
    let body = crate::json_text::json_text(value)
        .map_err(|_| Error::invalid_argument("a number in the call is not finite; give finite numbers"))?;
    Ok(Record { body, blob: None })
}

/// The hash that tells a repeated message from another one with its id, hexadecimal.
pub(crate) fn content_hash(text: &str) -> String {
    format!("{:016x}", crate::hash::fnv1a(text.bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_reader::{Fields, FromFields};

    #[derive(Debug, PartialEq, Serialize)]
    struct Sample {
        text: String,
        number: u32,
    }

    impl FromFields for Sample {
        fn from_fields(fields: &mut Fields) -> Self {
            Self { text: fields.take("text"), number: fields.take("number") }
        }
    }

    #[test]
    fn any_changed_bit_is_noticed_or_changes_nothing_that_is_said() {
        let sample = Sample { text: "Berlin, \u{e9}".into(), number: 117 };
        let whole = encode(&sample).unwrap();
        assert_eq!(decode::<Sample>(Store::Jobs, &whole).unwrap(), sample);
        let mut hidden = 0;
        for bit in 0..whole.body.len() * 8 {
            let mut bytes = whole.body.clone().into_bytes();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let Ok(body) = String::from_utf8(bytes) else { continue };
            if let Ok(read) = decode::<Sample>(Store::Jobs, &Record { body, blob: None }) {
                assert_eq!(read, sample, "bit {bit}");
                hidden += 1;
            }
        }
        // Only the three letters of the checksum's own name may change.
        assert!(hidden <= 3 * 8, "{hidden} changes are not noticed");
    }

    #[test]
    fn what_has_no_checksum_is_read_as_it_is() {
        let sample = Sample { text: "Bern".into(), number: 1 };
        assert_eq!(decode::<Sample>(Store::Jobs, &encode_plain(&sample).unwrap()).unwrap(), sample);
        let longer = Record { body: r#"{"text":"a longer text than a checksum is","number":1}"#.into(), blob: None };
        assert!(decode::<Sample>(Store::Jobs, &longer).is_ok());
        assert_eq!(encode(&serde_json::json!({})).unwrap().body, "{}");
    }
}
