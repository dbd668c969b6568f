//! JSON text of values, in one way everywhere.
//!
//! Numbers are written by the standard library, which the messages need anyway: serde_json's own writer brings a table
//! of 12 KB that does not compress.

use serde::Serialize;
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};
use std::io::{self, Write};

/// Compact, keys in their order. A number that is not whole or was written with a fraction keeps one (`1.0`), so that it
/// is read back as the same kind of number.
struct Compact;

impl Formatter for Compact {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        write_fraction(&mut |text| writer.write_all(text.as_bytes()), &format!("{value}"))
    }

    fn write_f32<W: ?Sized + Write>(&mut self, writer: &mut W, value: f32) -> io::Result<()> {
        self.write_f64(writer, value.into())
    }
}

fn write_fraction(write: &mut dyn FnMut(&str) -> io::Result<()>, number: &str) -> io::Result<()> {
    write(number)?;
    if number.contains('.') { Ok(()) } else { write(".0") }
}

/// The JSON text of anything that can be serialised; numbers that are not finite become `null`.
///
/// # Errors
/// A map whose keys are not texts.
pub(crate) fn json_text<T: Serialize + ?Sized>(value: &T) -> serde_json::Result<String> {
    written(&mut |serializer| value.serialize(serializer))
}

type Writing<'a> = &'a mut dyn FnMut(&mut Serializer<&mut Vec<u8>, Compact>) -> serde_json::Result<()>;

/// What does not depend on the type, kept apart so that it is there once.
#[inline(never)]
fn written(write: Writing<'_>) -> serde_json::Result<String> {
    let mut bytes = Vec::new();
    write(&mut Serializer::with_formatter(&mut bytes, Compact))?;
    Ok(String::from_utf8(bytes).unwrap_or_default())
}

/// The JSON text of a JSON value.
pub(crate) fn value_text(value: &Value) -> String {
    json_text(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn writes_what_serde_json_writes() {
        let value =
            json!({ "b": [1, -2, 1.0, 0.1, 1.5e-7, null, true], "a": { "text": "\"\u{1}\n\u{e9}" }, "big": u64::MAX });
        assert_eq!(value_text(&value).replace("0.00000015", "1.5e-7"), value.to_string());
        assert_eq!(json_text(&f64::NAN).unwrap(), "null");
    }

    proptest! {
        #[test]
        fn a_number_is_read_back_as_it_was(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            let read: Value = serde_json::from_str(&json_text(&number).unwrap()).unwrap();
            prop_assert!(read.is_f64());
            prop_assert_eq!(read.as_f64().map(f64::to_bits), Some(bits));
        }
    }
}
