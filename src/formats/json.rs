//! Reading the caller's JSON text: nesting limit, lone surrogates, and typed errors that name a field and no content.

use crate::error::{Error, Result};
use crate::json_text::value_text;
use serde_json::{Map, Value};
use std::borrow::Cow;

/// A JSON object.
pub(super) type Object = Map<String, Value>;

/// The object in `raw`, and whether an unpaired surrogate escape had to be replaced by U+FFFD to read it.
/// `raw` itself is not changed. Fails on text that is not JSON, nests deeper than `max_nesting`, or is not an object.
pub(super) fn read_object(raw: &str, max_nesting: usize) -> Result<(Object, bool)> {
    let scan = Scan::of(raw);
    if scan.deepest > max_nesting {
        return Err(Error::invalid_argument(format!(
            "message nests {} levels deep; the limit is {max_nesting}: flatten it or keep the data outside the message",
            scan.deepest
        )));
    }
    let text = scan.replaced(raw);
    match serde_json::from_str(&text) {
        Ok(Value::Object(object)) => Ok((object, !scan.lone.is_empty())),
        Ok(other) => Err(Error::invalid_argument(format!("message is {}; give an object", type_name(&other)))),
        Err(error) => Err(Error::invalid_argument(format!(
            "message is not JSON text (line {}, column {}); give the text of one JSON object",
            error.line(),
            error.column()
        ))),
    }
}

/// JSON text in which every unpaired surrogate escape became that of U+FFFD, so that it can be read.
#[cfg(feature = "wasm")]
pub(crate) fn well_formed(text: &str) -> Cow<'_, str> {
    Scan::of(text).replaced(text)
}

/// Any JSON value in `text`, read as leniently as [`read_object`] reads; `None` where it is none.
pub(super) fn read_value(text: &str, max_nesting: usize) -> Option<Value> {
    let scan = Scan::of(text);
    if scan.deepest > max_nesting {
        return None;
    }
    serde_json::from_str(&scan.replaced(text)).ok()
}

/// What one pass over the text tells before it is parsed.
struct Scan {
    /// Deepest nesting of objects and arrays.
    deepest: usize,
    /// Byte offsets of the six-byte escapes (`\ud800`) that are half of a pair without the other half.
    lone: Vec<usize>,
}

impl Scan {
    fn of(raw: &str) -> Self {
        let bytes = raw.as_bytes();
        let (mut depth, mut deepest, mut lone) = (0_usize, 0, Vec::new());
        let (mut in_string, mut at) = (false, 0);
        while let Some(&byte) = bytes.get(at) {
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => {
                    at += match (surrogate_half(bytes, at), surrogate_half(bytes, at + 6)) {
                        (Some(Half::High), Some(Half::Low)) => 12,
                        (Some(_), _) => {
                            lone.push(at);
                            6
                        }
                        (None, _) => 2,
                    };
                    continue;
                }
                b'{' | b'[' if !in_string => {
                    depth += 1;
                    deepest = deepest.max(depth);
                }
                b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
                _ => {}
            }
            at += 1;
        }
        Self { deepest, lone }
    }

    fn replaced<'a>(&self, raw: &'a str) -> Cow<'a, str> {
        if self.lone.is_empty() {
            return Cow::Borrowed(raw);
        }
        let mut out = String::with_capacity(raw.len());
        let mut from = 0;
        for &at in &self.lone {
            out.push_str(raw.get(from..at).unwrap_or_default());
            out.push_str("\\ufffd");
            from = at + 6;
        }
        out.push_str(raw.get(from..).unwrap_or_default());
        Cow::Owned(out)
    }
}

enum Half {
    High,
    Low,
}

/// Which half of a surrogate pair the escape at `at` names, if it is one.
fn surrogate_half(bytes: &[u8], at: usize) -> Option<Half> {
    let escape = bytes.get(at..at + 6)?;
    let [b'\\', b'u', digits @ ..] = escape else { return None };
    let code = std::str::from_utf8(digits).ok().and_then(|digits| u32::from_str_radix(digits, 16).ok())?;
    match code {
        0xD800..=0xDBFF => Some(Half::High),
        0xDC00..=0xDFFF => Some(Half::Low),
        _ => None,
    }
}

/// What a value is, in words for an error message.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

/// An error about one field: which one, what is wanted there, and what is there by type only.
pub(super) fn field_error(field: &str, wanted: &str, found: Option<&Value>) -> Error {
    let found = found.map_or("missing", type_name);
    Error::invalid_argument(format!("message field `{field}` is {found}; it must be {wanted}"))
}

/// A string field, or nothing.
pub(super) fn text<'a>(object: &'a Object, key: &str) -> Option<&'a str> {
    object.get(key).and_then(Value::as_str)
}

/// A string field that must be there. `field` is its full name for the error.
pub(super) fn required_text<'a>(object: &'a Object, key: &str, field: &str) -> Result<&'a str> {
    let value = object.get(key);
    value.and_then(Value::as_str).ok_or_else(|| field_error(field, "a string", value))
}

/// A field of a nested value, step by step.
pub(super) fn at<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.get(*first)?, |value, key| value.get(*key))
}

/// JSON text of a value: a string as it is, anything else compact, keys in their order.
pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => value_text(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_unpaired_surrogates_are_replaced() {
        let raw = r#"{"a":"x\ud800y\ud83d\ude00\udc00","b":"\\ud800","c":"\ud800\ud83d\ude00"}"#;
        let (object, replaced) = read_object(raw, 64).unwrap();
        assert!(replaced);
        assert_eq!(object["a"], "x\u{fffd}y\u{1f600}\u{fffd}");
        assert_eq!(object["b"], "\\ud800");
        assert_eq!(object["c"], "\u{fffd}\u{1f600}");
        assert!(!read_object(r#"{"b":"\\ud800 \ud83d\ude00"}"#, 64).unwrap().1);
    }

    #[test]
    fn nesting_counts_brackets_outside_strings_only() {
        assert_eq!(Scan::of(r#"{"a":"[[[[\"[[","b":[{}]}"#).deepest, 3);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert!(read_object(&deep, 64).unwrap_err().message.contains("1000001 levels"));
    }

    #[test]
    fn errors_name_no_content() {
        for raw in ["", "secret", "[\"secret\"]", "\"secret\"", "{\"secret\":", "{\"secret\":1e999}", "null"] {
            let error = read_object(raw, 64).unwrap_err();
            assert!(!error.message.contains("secret"), "{error}");
        }
    }
}
