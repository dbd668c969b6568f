//! From the caller's JSON text to the canonical message.

use super::choice::FormatChoice;
use super::json::{self, Object, field_error};
use super::read::{self, Block};
use super::time::read_time_ms;
use crate::error::Result;
use crate::message::{Format, Message, Part, Role};
use serde_json::Value;

/// Deepest nesting of objects and arrays that a message may have. `structuredClone` and IndexedDB throw at about
/// 10,000, serde_json at 128.
pub const MAX_NESTING: usize = 64;

/// Fields that may hold a message's own time, first usable one wins.
const TIME_FIELDS: [&str; 3] = ["created_at", "createdAt", "timestamp"];

/// A message that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// The message in canonical form.
    pub message: Message,
    /// The format it is in.
    pub format: Format,
}

/// Reads one message. `raw` is the caller's object as JSON text; `format` says which format it is in, or how that is
/// decided ([`FormatChoice`], a [`Format`], or an `Option` of it where `None` means by shape).
///
/// Fails with `invalid_argument` on text that is not a JSON object, nesting beyond [`MAX_NESTING`], an unknown role, or
/// a shape that the format does not have; the error names the field and never holds content. Unpaired surrogates are
/// read as U+FFFD and unusable times are ignored; both set `normalized`. Parts of a kind that is not known are kept as
/// [`Part::Other`](crate::message::Part::Other).
pub fn parse(raw: &str, format: impl Into<FormatChoice>) -> Result<Parsed> {
    let (object, replaced) = json::read_object(raw, MAX_NESTING)?;
    let format = format.into().resolve(&object)?;
    let role = read::role(&object, format)?;
    let parts: Vec<Part> = read::blocks(&object, format, role)?.into_iter().map(|block: Block| block.part).collect();
    let body = read::body(&object, format);
    let (created_at_ms, unusable_time) = read_created_at(body);
    let message = Message {
        id: read_id(body, &parts)?,
        role,
        name: read_name(body, format, role),
        parts,
        created_at_ms,
        normalized: replaced || unusable_time,
    };
    Ok(Parsed { message, format })
}

/// The id, where it is the message's own: a reference has the id of the item that it stands for.
fn read_id(object: &Object, parts: &[Part]) -> Result<Option<String>> {
    match object.get("id") {
        _ if matches!(parts, [Part::Other { kind }] if kind == "item_reference") => Ok(None),
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if id.is_empty() => Ok(None),
        Some(Value::String(id)) => Ok(Some(id.clone())),
        other => Err(field_error("id", "a string", other)),
    }
}

/// The speaker's name. On tool messages the same field names the tool instead.
fn read_name(object: &Object, format: Format, role: Role) -> Option<String> {
    if !matches!(format, Format::OpenAi | Format::LangChain) || role == Role::Tool {
        return None;
    }
    json::text(object, "name").map(str::to_owned)
}

/// The time, and whether a time field was there that could not be used.
fn read_created_at(object: &Object) -> (Option<f64>, bool) {
    let mut present = TIME_FIELDS.iter().filter_map(|key| object.get(*key)).peekable();
    let any = present.peek().is_some();
    let time = present.find_map(read_time_ms);
    (time, any && time.is_none())
}
