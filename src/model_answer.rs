//! The JSON in a language model's answer: found, repaired where that is safe, and never guessed where it was cut off.

use crate::error::{Error, Result};
use crate::prompt_text::strip_reasoning;
use serde_json::Value;

/// Longest answer that is looked at, in bytes. The longest useful one (a summary of some thousand tokens) is far below.
pub const MAX_ANSWER_BYTES: usize = 256 * 1024;

/// The answer without reasoning, byte order mark and surrounding space; refuses what is empty or absurdly long.
///
/// # Errors
/// [`crate::error::Code::ModelOutputInvalid`].
pub fn visible_answer(answer: &str) -> Result<String> {
    if answer.len() > MAX_ANSWER_BYTES {
        return Err(Error::model_output(format!(
            "the answer is {} bytes long; at most {MAX_ANSWER_BYTES} are accepted",
            answer.len()
        )));
    }
    let visible = strip_reasoning(answer.trim_start_matches('\u{FEFF}'));
    let visible = visible.trim();
    match visible {
        "" => Err(Error::model_output("the answer is empty")),
        "null" | "undefined" | "NaN" | "\"\"" | "[object Object]" => {
            Err(Error::model_output("the answer holds nothing"))
        }
        other => Ok(other.to_owned()),
    }
}

/// The first JSON object or array in the answer.
///
/// Text around it, a code fence, trailing commas and raw line breaks inside strings are tolerated. An object or array
/// that does not end is an error even when complete values are inside it: half an answer is never applied.
///
/// # Errors
/// [`crate::error::Code::ModelOutputInvalid`] when there is none, or it is cut off or broken.
pub fn json(answer: &str) -> Result<Value> {
    let mut rest = answer;
    let mut is_broken = false;
    while let Some(start) = json_start(rest) {
        let from = rest.get(start..).unwrap_or_default();
        let Some(length) = json_length(from) else {
            return Err(Error::model_output("the JSON of the answer is cut off; allow a longer answer"));
        };
        let piece = from.get(..length).unwrap_or_default();
        if let Ok(value) = serde_json::from_str(piece).or_else(|_| serde_json::from_str(&repair(piece))) {
            return Ok(value);
        }
        is_broken = true;
        rest = from.get(length..).unwrap_or_default();
    }
    Err(Error::model_output(if is_broken {
        "the JSON of the answer is broken"
    } else {
        "the answer holds no JSON object or array"
    }))
}

/// Where an object or array seems to begin: a bracket, and behind it what JSON allows there (so not `[1]` in prose).
fn json_start(text: &str) -> Option<usize> {
    text.char_indices().filter(|(_, c)| matches!(c, '{' | '[')).map(|(at, _)| at).find(|&at| {
        let inner = text.get(at + 1..).unwrap_or_default().trim_start();
        match text.as_bytes().get(at) {
            Some(b'{') => inner.starts_with(['"', '}']) || inner.is_empty(),
            _ => inner.starts_with(['{', '[', '"', ']']) || inner.is_empty(),
        }
    })
}

/// Length of the object or array at the start of `text`, in bytes; `None` when it does not end.
fn json_length(text: &str) -> Option<usize> {
    let mut depth = 0_u32;
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        if in_string {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => in_string = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// The text with trailing commas removed, and raw control characters inside strings escaped.
fn repair(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut in_string = false;
    let mut is_escaped = false;
    for (at, character) in text.char_indices() {
        if in_string {
            match character {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '"' => in_string = false,
                '\n' => {
                    out.push_str("\\n");
                    continue;
                }
                '\t' => {
                    out.push_str("\\t");
                    continue;
                }
                control if control.is_control() => continue,
                _ => {}
            }
        } else if character == '"' {
            in_string = true;
        } else if character == ',' {
            let next = text.get(at + 1..).unwrap_or_default().trim_start();
            if next.starts_with(['}', ']']) {
                continue;
            }
        }
        out.push(character);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json as value;

    #[test]
    fn finds_json_in_fences_prose_and_with_trailing_commas() {
        for text in [
            r#"{"a":[1,2]}"#,
            "```json\n{\"a\":[1,2,],}\n```",
            "Sure [1], here (see {x}) it is: {\"a\": [1, 2 , ] } Anything else?",
            "{\"a\":[1,2]} {\"b\":",
        ] {
            assert_eq!(json(text).unwrap(), value!({"a": [1, 2]}), "{text}");
        }
        assert_eq!(json("{\"a\":\"x\ny,]\"}").unwrap(), value!({"a": "x\ny,]"}));
    }

    #[test]
    fn a_cut_answer_is_an_error_even_with_whole_values_inside() {
        for text in [r#"{"facts":[{"fact":"a"},{"fact":"b"#, r#"[{"x":1},"#, "```json\n{", "{\"a\": [\"b\"]"] {
            assert!(json(text).unwrap_err().message.contains("cut off"), "{text}");
        }
        assert!(json("no json").is_err());
        assert!(json("{\"a\" 1}").unwrap_err().message.contains("broken"));
        assert!(json(&"[".repeat(100_000)).is_err());
        assert!(json(&format!("{}{}", "[".repeat(50_000), "]".repeat(50_000))).is_err());
    }

    #[test]
    fn empty_answers_are_refused() {
        for text in ["", " \n", "null", "\u{FEFF}null", "<think>only this</think>", "[object Object]"] {
            assert!(visible_answer(text).is_err(), "{text}");
        }
        assert!(visible_answer(&"x".repeat(5_000_000)).is_err());
        assert_eq!(visible_answer("<think>a</think>\n ok ").unwrap(), "ok");
    }
}
