//! Keys and records as JavaScript values, both ways.

use crate::error::Error;
use crate::store::range::{KeyRange, MAX_KEY_NUMBER};
use crate::store::{Key, KeyPart, Record};
use js_sys::{Array, Object, Uint8Array};
use std::ops::Bound;
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsCast, JsValue};

use super::failure::Failure;

#[wasm_bindgen]
extern "C" {
    /// `{ body: string, blob?: Uint8Array }`
    #[wasm_bindgen(extends = Object)]
    type StoredRecord;
    #[wasm_bindgen(method, getter, structural)]
    fn body(this: &StoredRecord) -> JsValue;
    #[wasm_bindgen(method, setter, structural)]
    fn set_body(this: &StoredRecord, body: &str);
    #[wasm_bindgen(method, getter, structural)]
    fn blob(this: &StoredRecord) -> JsValue;
    #[wasm_bindgen(method, setter, structural)]
    fn set_blob(this: &StoredRecord, blob: &Uint8Array);
}

fn corrupt(what: &str) -> Failure {
    Failure::Known(Error::corrupt(format!(
        "{what} in storage is not of the form in which it was written; export what can be read and import it anew"
    )))
}

/// A key as an array of numbers and strings.
pub(crate) fn key_to_js(key: &Key) -> JsValue {
    let array = Array::new();
    for part in &key.0 {
        array.push(&match part {
            // Exact for every stored key; above that only the order counts, and f64 keeps it.
            KeyPart::Number(number) => JsValue::from_f64(*number as f64),
            KeyPart::Text(text) => JsValue::from_str(text),
        });
    }
    array.into()
}

/// The key that an array holds.
pub(crate) fn key_from_js(value: &JsValue) -> Result<Key, Failure> {
    let Some(array) = value.dyn_ref::<Array>() else { return Err(corrupt("a key")) };
    let part = |part: JsValue| {
        if let Some(text) = part.as_string() {
            return Ok(KeyPart::Text(text));
        }
        match part.as_f64() {
            Some(number) if number.fract() == 0.0 && (0.0..=MAX_KEY_NUMBER as f64).contains(&number) => {
                Ok(KeyPart::Number(number as u64))
            }
            _ => Err(corrupt("a key")),
        }
    };
    array.iter().map(part).collect::<Result<Vec<_>, _>>().map(Key)
}

/// A range for requests; `None`: everything.
pub(super) fn range_to_js(range: &KeyRange) -> Result<Option<idb::Query>, Failure> {
    let of = |bound: &Bound<Key>| match bound {
        Bound::Unbounded => None,
        Bound::Included(key) => Some((key_to_js(key), false)),
        Bound::Excluded(key) => Some((key_to_js(key), true)),
    };
    let js_range = match (of(&range.lower), of(&range.upper)) {
        (None, None) => return Ok(None),
        (Some((lower, open)), None) => idb::KeyRange::lower_bound(&lower, Some(open))?,
        (None, Some((upper, open))) => idb::KeyRange::upper_bound(&upper, Some(open))?,
        (Some((lower, lower_open)), Some((upper, upper_open))) => {
            idb::KeyRange::bound(&lower, &upper, Some(lower_open), Some(upper_open))?
        }
    };
    Ok(Some(js_range.into()))
}

/// A record as it is stored.
pub(crate) fn record_to_js(record: &Record) -> JsValue {
    let stored: StoredRecord = Object::new().unchecked_into();
    stored.set_body(&record.body);
    if let Some(blob) = &record.blob {
        stored.set_blob(&Uint8Array::from(blob.as_slice()));
    }
    stored.into()
}

/// The record in an answer; `None` where there was none. What is not of our form has an empty body, which is no JSON: so
/// whoever asked sees that this one record is damaged, and can write over it.
pub(crate) fn record_from_js(value: &JsValue) -> Option<Record> {
    let body = body_from_js(value)?;
    let bytes = || value.unchecked_ref::<StoredRecord>().blob().dyn_ref::<Uint8Array>().map(Uint8Array::to_vec);
    let blob = if value.is_object() { bytes() } else { None };
    Some(Record { body, blob })
}

/// The body alone: bytes are not copied for a check.
pub(super) fn body_from_js(value: &JsValue) -> Option<String> {
    if value.is_undefined() {
        return None;
    }
    let body = if value.is_object() { value.unchecked_ref::<StoredRecord>().body().as_string() } else { None };
    Some(body.unwrap_or_default())
}

/// The answers of `getAllKeys` and `getAll` on the same range.
pub(super) fn records_from_js(keys: &JsValue, values: &JsValue) -> Result<Vec<(Key, Record)>, Failure> {
    let (Some(keys), Some(values)) = (keys.dyn_ref::<Array>(), values.dyn_ref::<Array>()) else {
        return Err(corrupt("a range"));
    };
    if keys.length() != values.length() {
        return Err(corrupt("a range"));
    }
    // Under a key that is not of our form there is nothing of ours.
    let record = |(key, value): (JsValue, JsValue)| Some((key_from_js(&key).ok()?, record_from_js(&value)?));
    Ok(keys.iter().zip(values.iter()).filter_map(record).collect())
}

/// The cursor in an answer; `None` at the range's end.
pub(super) fn cursor_from_js(value: &JsValue) -> Option<idb::KeyCursor> {
    idb::KeyCursor::try_from(value.clone()).ok()
}
