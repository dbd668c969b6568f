//! From the caller's JSON text to the canonical message.

use super::choice::FormatChoice;
use super::json::{self, Object, field_error};
use super::read::{self, Block};
use super::time::read_time_ms;
use crate::error::{Error, Result};
use crate::message::{Format, Message, Role};
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
    let role = read_role(&object, format)?;
    let parts = read::blocks(&object, format, role)?.into_iter().map(|block: Block| block.part).collect();
    let (created_at_ms, unusable_time) = read_created_at(&object);
    let message = Message {
        id: read_id(&object)?,
        role,
        name: read_name(&object, format, role),
        parts,
        created_at_ms,
        normalized: replaced || unusable_time,
    };
    Ok(Parsed { message, format })
}

fn read_role(object: &Object, format: Format) -> Result<Role> {
    let name = json::required_text(object, "role", "role")?;
    let role = match (name, format) {
        ("user", _) => Role::User,
        ("assistant", _) => Role::Assistant,
        ("system", _) | ("developer", Format::OpenAi) => Role::System,
        ("tool", Format::OpenAi | Format::AiSdkModel) | ("function", Format::OpenAi) => Role::Tool,
        _ => {
            let known = match format {
                Format::OpenAi => "system, developer, user, assistant, tool or function",
                Format::Anthropic | Format::AiSdkUi => "system, user or assistant",
                Format::AiSdkModel => "system, user, assistant or tool",
            };
            return Err(Error::invalid_argument(format!("message field `role` is not known; it must be {known}")));
        }
    };
    Ok(role)
}

fn read_id(object: &Object) -> Result<Option<String>> {
    match object.get("id") {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(id)) if id.is_empty() => Ok(None),
        Some(Value::String(id)) => Ok(Some(id.clone())),
        other => Err(field_error("id", "a string", other)),
    }
}

/// OpenAI's speaker name. On its `function` role the same field names the tool instead.
fn read_name(object: &Object, format: Format, role: Role) -> Option<String> {
    if format != Format::OpenAi || role == Role::Tool {
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
