//! Checking a request outside a memory.

use super::convert::{from_json, to_js, to_js_error};
use crate::error::Result;
use crate::formats::{self, FormatChoice, Profile, Violation};
use crate::json_reader::{Fields, FromFields};
use serde_json::Value;
use wasm_bindgen::prelude::*;

/// What is checked, and for whom.
struct Request {
    system: String,
    messages: Vec<Value>,
    format: Option<String>,
    profile: String,
}

impl FromFields for Request {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            system: fields.take_or("system", String::new()),
            messages: fields.take("messages"),
            format: fields.take("format"),
            profile: fields.take("profile"),
        }
    }
}

/// What the profile would refuse, as `[{ rule, index, message }]`. Takes the JSON text of `{ system?, messages, format?,
/// profile }`.
///
/// # Errors
/// `invalid_argument`: a profile or format that is not known, or that do not go together.
#[wasm_bindgen(js_name = validateContext)]
pub fn validate_context(request: &str) -> std::result::Result<JsValue, JsValue> {
    violations(request).and_then(|found| to_js(&found)).map_err(|error| to_js_error(&error))
}

fn violations(request: &str) -> Result<Vec<Violation>> {
    let request: Request = from_json(request)?;
    let profile = Profile::from_name(&request.profile)?;
    let choice = request.format.as_deref().map_or(Ok(FormatChoice::Detect), FormatChoice::from_name)?;
    let format = formats::format_of(&request.messages, choice, profile);
    profile.check(format)?;
    Ok(formats::validate_context(&request.system, &request.messages, format, profile))
}
