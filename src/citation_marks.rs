//! Marks that chat apps leave in a model's text for their own display: citations of ChatGPT (`U+E200 cite U+E202 … U+E201`,
//! `【4†source】`) and cards of Grok (`<grok:render …>…</grok:render>`). They stay in the raw message and are no words.

/// How ChatGPT's marks begin and end, and what stands between their fields.
const BEGIN: char = '\u{e200}';
const END: char = '\u{e201}';
const FIELD: char = '\u{e202}';
const CARD: (&str, &str) = ("<grok:render", "</grok:render>");
/// A mark is no longer than this; what begins like one and goes on is text.
const LONGEST_BYTES: usize = 2048;

/// Appends `text` without its marks. Of a name that ChatGPT has marked as an entity the name stays.
pub(crate) fn push_without_marks(out: &mut String, text: &str) {
    let mut rest = text;
    while let Some(at) = rest.find([BEGIN, '【', '<']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        let length = mark_bytes(from).unwrap_or(0);
        let (mark, after) = from.split_at(length);
        out.push_str(entity_name(mark).unwrap_or_default());
        rest = after;
        if length == 0 {
            // No mark after all: its first character is text.
            let first = from.chars().next().map_or(0, char::len_utf8);
            let (first, after) = from.split_at(first);
            out.push_str(first);
            rest = after;
        }
    }
    out.push_str(rest);
}

/// Bytes of the mark that `text` begins with.
fn mark_bytes(text: &str) -> Option<usize> {
    // Only so much is looked at: a text of nothing but beginnings must not be searched to its end for each.
    let end = (0..=LONGEST_BYTES.min(text.len())).rev().find(|&end| text.is_char_boundary(end))?;
    let text = text.get(..end)?;
    if text.starts_with(BEGIN) {
        Some(text.find(END)? + END.len_utf8())
    } else if let Some(inside) = text.strip_prefix('【') {
        let end = text.find('】')?;
        if !inside.starts_with(|first: char| first.is_ascii_digit()) || text.find('†')? > end {
            return None;
        }
        Some(end + '】'.len_utf8())
    } else if text.starts_with(CARD.0) {
        Some(text.find(CARD.1)? + CARD.1.len())
    } else {
        None
    }
}

/// The name in `entity U+E202 ["kind","name",…]`.
fn entity_name(mark: &str) -> Option<&str> {
    mark.strip_prefix(BEGIN)?.strip_prefix("entity")?.strip_prefix(FIELD)?.split('"').nth(3)
}

#[cfg(test)]
mod tests {
    use super::push_without_marks;

    fn without(text: &str) -> String {
        let mut out = String::new();
        push_without_marks(&mut out, text);
        out
    }

    #[test]
    fn marks_are_no_words() {
        for (text, left) in [
            ("It rains\u{e200}cite\u{e202}turn0search1\u{e202}turn0search2\u{e201}, a lot.", "It rains, a lot."),
            ("At \u{e200}entity\u{e202}[\"company\",\"Acme\",\"maker\"]\u{e201} now", "At Acme now"),
            ("Port 8471【4†source】【12:0†notes.txt】.", "Port 8471."),
            ("Yes <grok:render card_id=\"1\"><argument>2</argument></grok:render>indeed", "Yes indeed"),
        ] {
            assert_eq!(without(text), left);
        }
    }

    #[test]
    fn what_only_looks_like_a_mark_is_text() {
        for text in [
            "",
            "a < b, <grok> and <grok:render without an end",
            "open \u{e200}cite\u{e202}turn0",
            "【注意】 and 【4】 and 【4 without an end †",
            "\u{e201} \u{e202} 【",
        ] {
            assert_eq!(without(text), text);
        }
        let long = format!("\u{e200}{}\u{e201}", "x".repeat(5_000));
        assert_eq!(without(&long), long);
    }
}
