//! JSON Schemas of the answers that language models are asked for.
//!
//! Written as text and read once: a value that is put together field by field is several times the code.

use serde_json::Value;

/// The schema of a text.
pub(crate) const TEXT: &str = r#"{"type":"string"}"#;
/// Of a text or null.
pub(crate) const TEXT_OR_NULL: &str = r#"{"type":["string","null"]}"#;
/// Of a list of texts.
pub(crate) const TEXTS: &str = r#"{"type":"array","items":{"type":"string"}}"#;

/// The schema of an object whose one field `name` is a list of objects with these fields. Each field is given with the
/// JSON text of its own schema; every one is required and none may be added, as strict modes of providers want it. Names
/// are plain words.
pub(crate) fn list_schema(name: &str, fields: &[(&str, &str)]) -> Value {
    let items = format!(r#"{{"type":"array","items":{}}}"#, object_text(fields));
    object_schema(&[(name, &items)])
}

/// The schema of an object with these fields, as in [`list_schema`].
pub(crate) fn object_schema(fields: &[(&str, &str)]) -> Value {
    serde_json::from_str(&object_text(fields)).unwrap_or_default()
}

fn object_text(fields: &[(&str, &str)]) -> String {
    let mut properties = String::new();
    let mut required = String::new();
    for (name, schema) in fields {
        let comma = if properties.is_empty() { "" } else { "," };
        properties += &format!("{comma}\"{name}\":{schema}");
        required += &format!("{comma}\"{name}\"");
    }
    format!(r#"{{"type":"object","properties":{{{properties}}},"required":[{required}],"additionalProperties":false}}"#)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn writes_a_strict_schema_with_the_fields_in_their_order() {
        let schema = list_schema("rows", &[("b", TEXT), ("a", TEXT_OR_NULL)]);
        let row = json!({
            "type": "object",
            "properties": { "b": { "type": "string" }, "a": { "type": ["string", "null"] } },
            "required": ["b", "a"],
            "additionalProperties": false,
        });
        let rows = json!({
            "type": "object",
            "properties": { "rows": { "type": "array", "items": row } },
            "required": ["rows"],
            "additionalProperties": false,
        });
        assert_eq!(schema.to_string(), rows.to_string());
    }
}
