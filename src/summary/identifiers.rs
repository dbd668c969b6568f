//! The identifier ledger: exact names and numbers of a summarised range, kept beside the summary so that what the
//! summary drops can still be asked for, and found by retrieval.

use crate::lexical::lowercase;
use crate::sorted_map::SortedSet;

/// Most identifiers taken from one text; the last ones are kept.
const MOST_IDENTIFIERS: usize = 1_000;
/// Longest identifier, in bytes: longer runs are data, not names.
const LONGEST_BYTES: usize = 160;

const FILE_EXTENSIONS: &[&str] = &[
    "bat", "bin", "c", "cc", "cfg", "conf", "cpp", "cs", "css", "csv", "dart", "db", "dll", "doc", "docx", "env",
    "exe", "gif", "go", "gz", "h", "hpp", "html", "ini", "ipynb", "jar", "java", "jpeg", "jpg", "js", "json", "jsonl",
    "jsx", "kt", "lock", "log", "lua", "md", "mdx", "mjs", "mp3", "mp4", "onnx", "parquet", "pdf", "php", "pkl", "png",
    "pptx", "prisma", "proto", "ps1", "pt", "py", "r", "rb", "rs", "scala", "sh", "so", "sql", "sqlite", "svelte",
    "svg", "swift", "tar", "tex", "tf", "toml", "ts", "tsv", "tsx", "txt", "vue", "wasm", "wav", "webp", "xls", "xlsx",
    "xml", "yaml", "yml", "zig", "zip",
];

const UNITS: &[&str] = &[
    "%",
    "b",
    "bytes",
    "byte",
    "kb",
    "mb",
    "gb",
    "tb",
    "kib",
    "mib",
    "gib",
    "ms",
    "s",
    "sec",
    "secs",
    "second",
    "seconds",
    "min",
    "mins",
    "minute",
    "minutes",
    "h",
    "hour",
    "hours",
    "day",
    "days",
    "week",
    "weeks",
    "month",
    "months",
    "year",
    "years",
    "hz",
    "khz",
    "mhz",
    "ghz",
    "px",
    "pt",
    "em",
    "rem",
    "dpi",
    "mm",
    "cm",
    "m",
    "km",
    "g",
    "kg",
    "l",
    "ml",
    "w",
    "kw",
    "kwh",
    "v",
    "a",
    "°c",
    "°f",
    "usd",
    "eur",
    "gbp",
    "jpy",
    "krw",
    "euro",
    "euros",
    "dollars",
    "token",
    "tokens",
    "rps",
    "qps",
    "fps",
    "dimensions",
    "rows",
    "users",
    "requests",
    "messages",
    "people",
    "cores",
    "gpus",
    "percent",
    "ppm",
    "bpm",
];

/// Words that make a short number behind them a name.
const NUMBERED: &[&str] = &[
    "port", "error", "code", "status", "http", "line", "lines", "version", "issue", "pr", "ticket", "step", "chapter",
    "section", "room", "floor", "row", "id", "exit", "page", "phase", "gate",
];

const MONTHS: &[&str] = &[
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "jan",
    "feb",
    "mar",
    "apr",
    "jun",
    "jul",
    "aug",
    "sep",
    "sept",
    "oct",
    "nov",
    "dec",
];

/// The identifiers of a text in the order of their first mention: paths and files, URLs, e-mail addresses, ports and
/// error codes, versions, dates, numbers with units, commands in backticks, flags, `camelCase`, `snake_case` and
/// `name::paths`. Each once; of more than 1,000 the last ones.
///
/// A scan by rules: cheap, the same everywhere, and made to find too much rather than too little.
#[must_use]
pub fn identifiers(text: &str) -> Vec<String> {
    let mut seen = SortedSet::new();
    let mut kept: Vec<String> = Vec::new();
    // From the end, so that a long text costs no more than what is kept of it.
    for line in text.lines().rev() {
        let mut of_line = Vec::new();
        for (number, piece) in code_spans(line).into_iter().enumerate() {
            let span = piece.trim();
            if number % 2 == 1 && (2..=LONGEST_BYTES).contains(&span.len()) {
                of_line.push(span.to_owned());
            } else {
                of_words(piece, &mut of_line);
            }
        }
        kept.extend(of_line.into_iter().rev().filter(|identifier| seen.insert(identifier.clone())));
        if kept.len() >= MOST_IDENTIFIERS {
            kept.truncate(MOST_IDENTIFIERS);
            break;
        }
    }
    kept.reverse();
    kept
}

/// The ledger after a further range: a name that comes again moves to the end, and while the ledger is longer than
/// `cap_tokens` its oldest name is dropped.
#[must_use]
pub fn merge_identifiers(
    ledger: &[String],
    found: &[String],
    cap_tokens: u32,
    count_tokens: &dyn Fn(&str) -> u32,
) -> Vec<String> {
    let mut seen = SortedSet::new();
    let mut used_tokens = 0_u32;
    let mut kept = Vec::new();
    for identifier in ledger.iter().chain(found).rev() {
        if !seen.insert(identifier.as_str()) {
            continue;
        }
        // One more for the comma and the space behind it.
        used_tokens = used_tokens.saturating_add(count_tokens(identifier)).saturating_add(1);
        if used_tokens > cap_tokens {
            break;
        }
        kept.push(identifier.clone());
    }
    kept.reverse();
    kept
}

/// Splits at single backticks: odd pieces were between two. A fence, or an odd number of backticks, splits nothing.
fn code_spans(line: &str) -> Vec<&str> {
    let ticks = line.matches('`').count();
    if ticks == 0 || ticks % 2 == 1 || line.contains("``") { vec![line] } else { line.split('`').collect() }
}

fn of_words(text: &str, found: &mut Vec<String>) {
    // Scripts without spaces around Latin names and numbers: their letters end a word.
    let ends_word = |c: char| {
        c.is_whitespace()
            || matches!(c, '\u{E00}'..='\u{E7F}' | '\u{1100}'..='\u{11FF}' | '\u{3000}'..='\u{30FF}'
                | '\u{3130}'..='\u{318F}' | '\u{3400}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7AF}' | '\u{FF00}'..='\u{FF0F}'
                | '\u{FF1A}'..='\u{FF20}')
    };
    let words: Vec<&str> = text.split(ends_word).filter(|word| !word.is_empty()).collect();
    let mut at = 0;
    while let Some(raw) = words.get(at) {
        let neighbour = |offset: usize| words.get(at + offset).map_or("", |word| trimmed(word));
        let word = trimmed(raw);
        at += if let Some((date, length)) = date_in_words(word, neighbour(1), neighbour(2)) {
            found.push(date);
            length
        } else if is_short_number(word) {
            let before = at.checked_sub(1).and_then(|index| words.get(index)).map_or("", |word| trimmed(word));
            let unit = neighbour(1);
            if contains_word(UNITS, unit) {
                found.push(format!("{word} {unit}"));
                2
            } else {
                if contains_word(NUMBERED, before) {
                    found.push(format!("{before} {word}"));
                }
                1
            }
        } else {
            let is_call = raw.trim_end_matches([',', '.', ';', ':']).ends_with("()");
            of_word(word, is_call, found);
            1
        };
    }
}

/// A word, or its pieces where a bracket or quotation mark in it has no counterpart (`retrieve(question`).
fn of_word(word: &str, is_call: bool, found: &mut Vec<String>) {
    let count = |mark: char| word.matches(mark).count();
    let is_whole = word.contains("://")
        || [('(', ')'), ('{', '}'), ('[', ']'), ('<', '>')].iter().all(|(open, close)| count(*open) == count(*close))
            && count('"') % 2 == 0;
    let mut push = |word: &str, is_call: bool| {
        if word.len() <= LONGEST_BYTES && is_identifier(word, is_call) {
            found.push(word.to_owned());
        }
    };
    if is_whole {
        push(word, is_call);
    } else {
        word.split(['(', ')', '{', '}', '[', ']', '<', '>', '"']).for_each(|piece| push(trimmed(piece), false));
    }
}

fn trimmed(word: &str) -> &str {
    word.trim_start_matches(|c: char| {
        matches!(c, '(' | '{' | '[' | '<' | ',' | ';' | ':' | '!' | '?' | '*' | '|' | '=') || is_quote(c)
    })
    .trim_end_matches(|c: char| {
        matches!(c, '(' | ')' | '}' | ']' | '>' | ',' | ';' | ':' | '!' | '?' | '*' | '|' | '=' | '.') || is_quote(c)
    })
}

fn is_quote(c: char) -> bool {
    matches!(c, '"' | '\'' | '`' | '\u{2018}'..='\u{201F}' | '\u{AB}' | '\u{BB}')
}

fn contains_word(list: &[&str], word: &str) -> bool {
    !word.is_empty() && list.contains(&lowercase(word).as_str())
}

/// One or two digits: a name only with a unit behind them or a telling word before them.
fn is_short_number(word: &str) -> bool {
    (1..=2).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

/// `July 28, 2026`, `28 July 2026`, `July 28`: the date and the number of words it takes.
fn date_in_words(first: &str, second: &str, third: &str) -> Option<(String, usize)> {
    let is_day = |word: &str| {
        let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
        (1..=2).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit()) && word.len() <= 4
    };
    let is_year = |word: &str| word.len() == 4 && word.bytes().all(|b| b.is_ascii_digit());
    let is_month = |word: &str| word.starts_with(|c: char| c.is_ascii_uppercase()) && contains_word(MONTHS, word);
    if !(is_month(first) && (is_day(second) || is_year(second)) || is_day(first) && is_month(second)) {
        return None;
    }
    let has_year = is_year(third) && !is_year(second);
    Some(if has_year { (format!("{first} {second} {third}"), 3) } else { (format!("{first} {second}"), 2) })
}

fn is_identifier(word: &str, is_call: bool) -> bool {
    if word.len() < 2 || !word.bytes().any(|b| b.is_ascii_alphanumeric()) {
        return false;
    }
    is_call
        || word.contains("://")
        || word.contains("::")
        || is_email(word)
        || is_path(word)
        || has_file_extension(word)
        || is_flag(word)
        || has_telling_digits(word)
        || is_snake_case(word)
        || is_camel_case(word)
}

fn is_email(word: &str) -> bool {
    word.split_once('@')
        .is_some_and(|(local, domain)| !local.is_empty() && domain.contains('.') && !domain.contains('@'))
}

fn is_path(word: &str) -> bool {
    let slashes = word.matches(['/', '\\']).count();
    let is_anchored =
        ["/", "./", "../", "~/", "@", "\\\\"].iter().any(|start| word.starts_with(start)) || word.contains(":\\");
    slashes > 0 && is_anchored || slashes > 1 && !word.contains("//") || slashes > 0 && has_file_extension(word)
}

fn has_file_extension(word: &str) -> bool {
    // `index.ts:42` and `index.ts:42:7`
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == ':' || c == '-');
    let name = if name.is_empty() { word } else { name };
    name.rsplit_once('.').is_some_and(|(stem, extension)| {
        stem.bytes().next_back().is_some_and(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b']')
            && stem.len() + usize::from(extension.len() > 1) > 1
            && FILE_EXTENSIONS.contains(&extension.to_ascii_lowercase().as_str())
    }) || word.starts_with('.')
        && word.len() > 3
        && !word.starts_with("..")
        && word.bytes().skip(1).all(|b| b.is_ascii_lowercase() || b == b'-' || b == b'.')
}

fn is_flag(word: &str) -> bool {
    word.strip_prefix("--")
        .is_some_and(|name| name.len() > 1 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'='))
}

/// Numbers of three digits or more, versions, dates, times, money, percentages, and letters mixed with digits; not
/// ordinals (`2nd`).
fn has_telling_digits(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    if digits == 0 {
        return false;
    }
    let letters = lowercase(word.trim_matches(|c: char| c.is_ascii_digit()));
    let is_ordinal =
        matches!(letters.as_str(), "st" | "nd" | "rd" | "th") && word.starts_with(|c: char| c.is_ascii_digit());
    digits >= 3 || !is_ordinal && word.chars().any(|c| !c.is_ascii_digit() && c != ',')
}

fn is_snake_case(word: &str) -> bool {
    let is_dunder = word.len() > 5 && word.starts_with("__") && word.ends_with("__");
    let is_inner = word
        .as_bytes()
        .windows(3)
        .any(|w| matches!(w, [a, b'_', b] if a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()));
    is_dunder || is_inner
}

/// A capital right behind a small letter (`buildApiMessages`, `SharedWorker`).
fn is_camel_case(word: &str) -> bool {
    word.is_ascii()
        && word.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'#'))
        && word.as_bytes().windows(2).any(|w| matches!(w, [a, b] if a.is_ascii_lowercase() && b.is_ascii_uppercase()))
}
