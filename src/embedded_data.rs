//! Bytes that stand in a text as base64: what is indexed, embedded, summarised or searched for facts gets a short note in
//! their place (R22).
//!
//! Media parts never reach a text; this is for what was pasted, put into Markdown, or handed to or answered by a tool.
//! A stored message is not changed, and what is sent as text is counted as text: providers do so too, and the budget
//! must hold.

use std::borrow::Cow;

/// A shorter payload of a base64 data URL stays: it is an icon at most, and may be what the talk is about.
const SHORTEST_BASE64: usize = 64;
/// The same for a data URL whose payload is escaped text.
const SHORTEST_ESCAPED: usize = 256;
/// A run of base64 without a data URL around it must be longer: it could be a key, a hash or a path.
const SHORTEST_BARE: usize = 512;
/// Longest head of a data URL: media type and parameters.
const LONGEST_HEAD: usize = 200;
/// Base64 may be broken into lines (of 64 or 76 characters); a shorter line is text that follows.
const SHORTEST_LINE: usize = 40;

/// The text with notes such as `[image/png data, 1.0 MB]` in place of data URLs and of long runs of base64.
#[must_use]
pub fn without_data(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut kept, mut at) = (0, 0);
    while at < bytes.len() {
        let end = run_end(bytes, at);
        let found = match data_url(text, at, end) {
            Some(found) => Some(found),
            None if end - at >= SHORTEST_BARE && is_mixed(bytes.get(at..end).unwrap_or_default()) => {
                Some(Found { start: at, end, note: note("base64", (end - at) / 4 * 3) })
            }
            None => None,
        };
        let Some(found) = found else {
            at = end.max(at + 1);
            continue;
        };
        out.push_str(text.get(kept..found.start).unwrap_or_default());
        out.push_str(&found.note);
        (kept, at) = (found.end, found.end);
    }
    if kept == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

struct Found {
    start: usize,
    end: usize,
    note: String,
}

/// A data URL whose `data` is the end of the run from `at` to `end`.
fn data_url(text: &str, at: usize, end: usize) -> Option<Found> {
    if !text.get(at..end)?.ends_with("data") || text.as_bytes().get(end) != Some(&b':') {
        return None;
    }
    let rest = text.as_bytes().get(end + 1..)?;
    let comma = rest.iter().take(LONGEST_HEAD).position(|&byte| byte == b',')?;
    let head = text.get(end + 1..end + 1 + comma)?;
    if head.bytes().any(|byte| byte.is_ascii_whitespace() || b"\"'()<>\\".contains(&byte)) {
        return None;
    }
    let media_type = head.split(';').next().unwrap_or_default();
    let start = end + 2 + comma;
    let is_base64 = head.to_ascii_lowercase().ends_with(";base64");
    let (end_of_payload, shortest) = match is_base64 {
        true => (base64_end(text.as_bytes(), start), SHORTEST_BASE64),
        false => (escaped_end(text.as_bytes(), start), SHORTEST_ESCAPED),
    };
    let length = end_of_payload - start;
    let size = if is_base64 { length / 4 * 3 } else { length };
    let name = if media_type.is_empty() { "text" } else { media_type };
    (length >= shortest).then(|| Found { start: end - 4, end: end_of_payload, note: note(name, size) })
}

/// End of base64 from `start` on, over line breaks between full lines, also such as are escaped in JSON text.
fn base64_end(bytes: &[u8], start: usize) -> usize {
    let mut end = run_end(bytes, start);
    loop {
        let rest = bytes.get(end..).unwrap_or_default();
        let breaks: [&[u8]; 5] = [b"\r\n", b"\n", b"\\r\\n", b"\\n", b"%0A"];
        let Some(length) = breaks.iter().find(|found| rest.starts_with(found)).map(|found| found.len()) else {
            return end;
        };
        let next = run_end(bytes, end + length);
        if next - (end + length) < SHORTEST_LINE {
            return end;
        }
        end = next;
    }
}

fn escaped_end(bytes: &[u8], start: usize) -> usize {
    let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'()<>\\".contains(byte) || !byte.is_ascii();
    let rest = bytes.get(start..).unwrap_or_default();
    start + rest.iter().position(is_end).unwrap_or(rest.len())
}

/// End of the run of base64 characters, of either alphabet, at `at`.
fn run_end(bytes: &[u8], at: usize) -> usize {
    let is_base64 = |byte: &u8| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte);
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| !is_base64(byte)).unwrap_or(rest.len())
}

/// Capital and small letters and digits: base64 of anything of that length has them all, a word or a line has not.
fn is_mixed(run: &[u8]) -> bool {
    let has = |class: fn(&u8) -> bool| run.iter().any(class);
    has(u8::is_ascii_uppercase) && has(u8::is_ascii_lowercase) && has(u8::is_ascii_digit)
}

fn note(name: &str, size_bytes: usize) -> String {
    let (tenths, unit) = match size_bytes {
        0..1_000 => return format!("[{name} data, {size_bytes} bytes]"),
        1_000..1_000_000 => (size_bytes / 100, "kB"),
        _ => (size_bytes / 100_000, "MB"),
    };
    format!("[{name} data, {}.{} {unit}]", tenths / 10, tenths % 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn base64(length: usize) -> String {
        "iVBORw0KGgoAAAANSUhEUgAA".chars().cycle().take(length).collect()
    }

    #[test]
    fn a_data_url_becomes_a_note_wherever_it_stands() {
        let data = base64(1_400_000);
        let url = format!("data:image/png;base64,{data}");
        for (before, after) in
            [("", ""), ("see ![x](", ") there"), ("{\"u\":\"", "\"}"), ("src=", " 안녕"), ("안", "\n")]
        {
            let text = format!("{before}{url}{after}");
            assert_eq!(without_data(&text), format!("{before}[image/png data, 1.0 MB]{after}"));
        }
        assert_eq!(without_data(&format!("a {data} b")), "a [base64 data, 1.0 MB] b");
        let svg = format!("url(data:image/svg+xml,{})", "%3Csvg%20".repeat(100));
        assert_eq!(without_data(&svg), "url([image/svg+xml data, 900 bytes])");
    }

    #[test]
    fn lines_of_base64_are_one_payload_and_the_text_behind_it_stays() {
        let line = base64(76);
        for line_break in ["\n", "\r\n", "\\n"] {
            let text = format!("data:application/pdf;base64,{line}{line_break}{line}{line_break}Hello there");
            assert_eq!(without_data(&text), format!("[application/pdf data, 114 bytes]{line_break}Hello there"));
        }
    }

    #[test]
    fn what_is_no_data_stays() {
        let long_path = "/usr/share/".repeat(100);
        for text in
            ["", "data: a, b", "the data:image/png;base64,AAAA icon", "metadata:x", &long_path, &"x".repeat(5_000)]
        {
            assert!(matches!(without_data(text), Cow::Borrowed(same) if same == text));
        }
    }

    proptest! {
        #[test]
        fn text_without_base64_is_untouched_and_nothing_panics(text in any::<String>(), data in "[ -~\\n]{0,200}") {
            prop_assert_eq!(without_data(&text), text.as_str());
            let _ = without_data(&format!("data:{data}data:a/b;base64,{data}"));
        }
    }
}
