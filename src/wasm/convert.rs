//! Values across the boundary: plain data as JSON text, errors as `{ code, message, retryable, details? }`.

use crate::error::{Code, Error, Result};
use crate::formats::well_formed;
use crate::json_reader::{Fields, FromFields, FromJson};
use crate::json_text::json_text;
use serde::Serialize;
use wasm_bindgen::JsValue;

/// The JSON text of a plain object as a typed request.
pub(super) fn from_json<T: FromFields>(text: &str) -> Result<T> {
    let mut fields = request_fields(text);
    let request = T::from_fields(&mut fields);
    ended(fields, T::STRICT)?;
    Ok(request)
}

#[inline(never)]
fn request_fields(text: &str) -> Fields {
    Fields::of_text(&well_formed(text))
}

#[inline(never)]
fn ended(fields: Fields, strict: bool) -> Result<()> {
    fields.end(strict).map_err(unreadable)
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err gives")]
#[inline(never)]
fn unreadable(problem: String) -> Error {
    Error::invalid_argument(format!("an option cannot be read: {problem}"))
}

/// The options of an engine, a plain object, as their type.
pub(super) fn from_js<T: FromFields>(options: &JsValue) -> Result<T> {
    let text = js_sys::JSON::stringify(options).ok().and_then(|text| text.as_string());
    from_json(&text.ok_or_else(|| Error::invalid_argument("the options are not plain data"))?)
}

/// The policy, every field of which may be left out and none misspelt.
pub(super) fn policy(value: serde_json::Value) -> Result<crate::config::Policy> {
    if value.is_null() {
        return Ok(crate::config::Policy::default());
    }
    FromJson::read(value).map_err(|problem| Error::new(Code::InvalidConfig, format!("policy: {problem}")))
}

/// An answer as JSON text.
pub(super) fn to_json<T: Serialize>(value: &T) -> Result<String> {
    json_text(value).ok().ok_or_else(not_handed_over)
}

/// JSON text as plain data.
pub(super) fn parsed(text: &str) -> Result<JsValue> {
    js_sys::JSON::parse(text).map_err(|_| not_handed_over())
}

/// Plain data out.
pub(super) fn to_js<T: Serialize>(value: &T) -> Result<JsValue> {
    parsed(&to_json(value)?)
}

fn not_handed_over() -> Error {
    Error::new(Code::EngineUnavailable, "the answer could not be handed over; please report this")
}

/// An error as the facade reads it.
pub(super) fn to_js_error(error: &Error) -> JsValue {
    #[derive(Serialize)]
    struct Wire<'a> {
        code: Code,
        message: &'a str,
        retryable: bool,
        details: Option<Lost>,
    }
    #[derive(Serialize)]
    struct Lost {
        lost: u64,
    }
    let details = (error.lost > 0).then_some(Lost { lost: error.lost });
    let wire = Wire { code: error.code, message: &error.message, retryable: error.is_retryable(), details };
    to_js(&wire).unwrap_or_else(|_| JsValue::from_str(error.code.as_str()))
}

/// What only a storage may say of itself: from a model it would read as a failure of the engine's own.
fn storage_code(name: &str) -> Code {
    let codes =
        [Code::StorageBlocked, Code::StorageConflict, Code::StorageQuotaExceeded, Code::InvalidArgument, Code::Timeout];
    codes.into_iter().find(|code| code.as_str() == name).unwrap_or(Code::StorageUnavailable)
}

/// An error that the facade made of a failed callback; `otherwise` where it is something else.
pub(super) fn error_from_js(value: &JsValue, otherwise: Code) -> Error {
    let text =
        |name: &str| js_sys::Reflect::get(value, &JsValue::from_str(name)).ok().and_then(|value| value.as_string());
    let code = match text("code").as_deref() {
        Some("embedding_failed") => Code::EmbeddingFailed,
        Some("embedding_dimension_mismatch") => Code::EmbeddingDimensionMismatch,
        Some("model_output_invalid") => Code::ModelOutputInvalid,
        Some("storage_key_wrong") => Code::StorageKeyWrong,
        Some("storage_corrupt") => Code::StorageCorrupt,
        Some("schema_too_new") => Code::SchemaTooNew,
        Some("closed") => Code::Closed,
        Some("aborted") => Code::Aborted,
        Some(name) if otherwise == Code::StorageUnavailable => storage_code(name),
        _ => otherwise,
    };
    // Only a typed error's message is ours; anything else may quote what a user wrote.
    let message = if code == otherwise && text("code").is_none() { None } else { text("message") };
    let mut error =
        Error::new(code, message.unwrap_or_else(|| "a callback of the app failed; see the error's cause".to_owned()));
    let retryable = js_sys::Reflect::get(value, &JsValue::from_str("retryable")).ok().and_then(|value| value.as_bool());
    error.is_final = code.is_retryable() && retryable == Some(false);
    error
}
