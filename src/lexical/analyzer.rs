//! The analyzer: text to terms. Its version is stored with every index built by it.

use super::fold::{fold_into, hash_term, is_invisible, is_mark};
use super::stemmer::stem_into;
use super::stop_words::is_stop_word;
use super::written_forms::{common_forms, is_date_or_number, is_hash, is_uuid, other_umlauts, year_number};
use std::borrow::Cow;

/// Raised whenever the same text can give other terms, of either side: an index built by another version must be built
/// anew. It covers what this file, the folding, the stemmer and its irregular forms, the stop words and the function
/// words say. NFKC is the host's: newer Unicode tables change terms only for characters that were not assigned before.
/// Version 2 takes the endings off Hangul words and gives dates, numbers, versions and hashes in common forms.
/// Version 3: what a message tells and asks, which is kept beside its terms. Version 4: the marks of its words as well.
/// Version 5: texts come without their secrets. Version 6: also without keys that only a name in front of them tells.
pub const ANALYZER_VERSION: u32 = 6;

/// Longest piece that is cut into sub-words. Longer ones (base64, minified code) are one term.
const MAX_SPLIT_BYTES: usize = 64;

/// What kind of term it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TermKind {
    /// A plain word, stemmed where it is English.
    Word,
    /// A plain word without a topic.
    StopWord,
    /// A compound as a whole: path, call, error code, address, version, date.
    Identifier,
    /// A piece of a compound, stemmed like a word.
    Part,
    /// Another way to write what stands there: a date, a number, a version, a short hash, a name with umlauts. It counts
    /// only where it is found.
    Variant,
    /// An n-gram, or a whole Hangul word, of a script that is written without spaces or with particles.
    Gram,
}

impl TermKind {
    /// Whether it counts for the length of a text.
    #[must_use]
    pub fn has_length(self) -> bool {
        !matches!(self, Self::StopWord | Self::Variant)
    }
}

/// One term of a text.
#[derive(Clone, Copy, Debug)]
pub struct Term<'a> {
    /// What is indexed: [`hash_term`] of the folded, stemmed text.
    pub hash: u64,
    /// Its kind.
    pub kind: TermKind,
    /// The folded text before stemming.
    pub text: &'a str,
    /// Where the word that it comes from begins, in bytes of the text after normalisation and removal of invisible
    /// characters. Equal for all terms of one word.
    pub position: usize,
}

/// Whether a text is analyzed to be stored or to be looked for. They differ only for scripts without spaces: stored
/// text also gives single characters, which a question gives only when it has nothing longer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// To be stored.
    Document,
    /// To be looked for.
    Question,
}

/// Splits text into terms.
///
/// Unicode words, folded in case, width and accents, stemmed where they are English. Runs of letters, digits and
/// underscores joined by single `. - / : @ + # \` are kept whole and in parts (`src/main.rs:42`, `buildApiMessages`);
/// dates, numbers, versions and hashes give a common form as well ("10 March 2024" also 2024-03-10).
/// Hangul gives bigrams and the word without its endings, Han and Kana bigrams, Thai, Lao, Khmer and Burmese bi- and
/// trigrams; in a question the grams of Korean, Japanese, Chinese and Thai function words are stop words.
#[derive(Clone, Copy, Debug)]
pub struct Analyzer {
    normalize: fn(&str) -> String,
}

#[cfg(not(target_arch = "wasm32"))]
impl Default for Analyzer {
    /// With NFKC from the unicode-normalization crate.
    fn default() -> Self {
        use unicode_normalization::UnicodeNormalization;
        Self::new(|text| text.nfkc().collect())
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Letter,
    Han,
    Kana,
    Hangul,
    Unspaced,
    Other,
}

pub(super) fn class_of(character: char) -> Class {
    match u32::from(character) {
        0x30..=0x39 | 0x41..=0x5A | 0x5F | 0x61..=0x7A => Class::Letter,
        0..=0x7F => Class::Other,
        0x0E01..=0x0EDD | 0x1000..=0x109F | 0x1780..=0x17DD => Class::Unspaced,
        0x3040..=0x30FF | 0x31F0..=0x31FF if character != '・' => Class::Kana,
        0x3005..=0x3007 | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x3_FFFF => Class::Han,
        0x1100..=0x11FF | 0xAC00..=0xD7AF => Class::Hangul,
        _ if character.is_alphanumeric() || is_mark(character) => Class::Letter,
        _ => Class::Other,
    }
}

fn is_connector(character: char) -> bool {
    matches!(character, '.' | '-' | '/' | ':' | '@' | '+' | '#' | '\\')
}

/// What joins the pieces of an address behind its first slash.
fn is_query_connector(character: char) -> bool {
    matches!(character, '?' | '&' | '=' | '%')
}

/// What the pieces of a compound are joined by: a connector, or a comma within a number.
fn is_joint(character: char) -> bool {
    is_connector(character) || is_query_connector(character) || character == ','
}

pub(super) fn is_apostrophe(character: char) -> bool {
    matches!(character, '\'' | '’' | 'ʼ' | '＇')
}

impl Analyzer {
    /// An analyzer that brings text to NFKC with this function (in a browser `String.prototype.normalize`). It is only
    /// called for text that is not ASCII.
    #[must_use]
    pub fn new(normalize: fn(&str) -> String) -> Self {
        Self { normalize }
    }

    /// The text in NFKC without invisible characters; ASCII text as it is.
    #[must_use]
    pub fn normalized<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut text = (self.normalize)(text);
        text.retain(|character| !is_invisible(character));
        Cow::Owned(text)
    }

    /// Calls `emit` with every term of the text, in order; a term that occurs twice comes twice.
    pub fn terms(&self, text: &str, side: Side, emit: &mut dyn FnMut(Term<'_>)) {
        let text = self.normalized(text);
        let mut scan = Scan {
            text: &text,
            side,
            folded: String::new(),
            stemmed: String::new(),
            covered: Vec::new(),
            before: [""; 2],
            words: [""; 3],
            emit,
        };
        scan.run();
    }
}

/// A text being read.
pub(super) struct Scan<'a> {
    pub text: &'a str,
    pub side: Side,
    folded: String,
    stemmed: String,
    /// Of the run that is read: which characters are parts of function words. Empty for a document.
    pub covered: Vec<bool>,
    /// The last two compounds, without "of" and "de".
    before: [&'a str; 2],
    /// The last three plain words of a question.
    words: [&'a str; 3],
    emit: &'a mut dyn FnMut(Term<'_>),
}

impl<'a> Scan<'a> {
    fn run(&mut self) {
        let text = self.text;
        let mut position = 0;
        while let Some(rest) = text.get(position..).filter(|rest| !rest.is_empty()) {
            let class = rest.chars().next().map_or(Class::Other, class_of);
            let length = match class {
                Class::Other => rest.find(|character| class_of(character) != Class::Other).unwrap_or(rest.len()),
                Class::Letter => {
                    let length = compound_length(rest);
                    self.compound(&rest[..length], position);
                    length
                }
                Class::Hangul => {
                    let length = run_length(rest, |class| class == Class::Hangul);
                    self.hangul(&rest[..length], position);
                    length
                }
                Class::Han | Class::Kana => {
                    let length = run_length(rest, |class| matches!(class, Class::Han | Class::Kana));
                    self.han_and_kana(&rest[..length], position);
                    length
                }
                Class::Unspaced => {
                    let length = run_length(rest, |class| class == Class::Unspaced);
                    self.unspaced(&rest[..length], position);
                    length
                }
            };
            position += length.max(1);
        }
    }

    fn emit_folded(&mut self, kind: TermKind, position: usize) {
        if !self.folded.is_empty() {
            (self.emit)(Term { hash: hash_term(&self.folded), kind, text: &self.folded, position });
        }
    }

    pub(super) fn emit_raw(&mut self, text: &str, kind: TermKind, position: usize) {
        self.folded.clear();
        fold_into(text, &mut self.folded);
        self.emit_folded(kind, position);
    }

    /// A word that people write by itself or inside a compound: stemmed, and told from a stop word.
    fn emit_word(&mut self, text: &str, kind: TermKind, position: usize) {
        self.folded.clear();
        fold_into(text, &mut self.folded);
        if self.folded.is_empty() {
            return;
        }
        if kind == TermKind::Word && is_stop_word(&self.folded) {
            self.emit_folded(TermKind::StopWord, position);
            return;
        }
        stem_into(&self.folded, &mut self.stemmed);
        (self.emit)(Term { hash: hash_term(&self.stemmed), kind, text: &self.folded, position });
        if let Some(other) =
            Some(self.side).filter(|side| *side == Side::Question).and_then(|_| other_umlauts(text, &self.folded))
        {
            stem_into(&other, &mut self.stemmed);
            (self.emit)(Term { hash: hash_term(&self.stemmed), kind: TermKind::Variant, text: &other, position });
        }
    }

    fn compound(&mut self, compound: &'a str, position: usize) {
        let has_connector = compound.contains(is_joint);
        if has_connector {
            self.emit_raw(compound, TermKind::Identifier, position);
        }
        let is_one = is_date_or_number(compound);
        let is_whole = is_uuid(compound);
        for piece in compound.split(is_joint).filter(|piece| !piece.is_empty()) {
            if is_one && year_number(piece).is_none() {
                continue;
            }
            let piece = without_elision(piece);
            if is_whole || is_hash(piece) {
                let kind = if has_connector { TermKind::Part } else { TermKind::Identifier };
                self.emit_raw(piece, kind, position);
                continue;
            }
            self.piece(piece, has_connector, position);
            if let Some((head, tail)) = split_at_apostrophe(piece) {
                self.emit_word(head, TermKind::Part, position);
                self.emit_word(tail, TermKind::Part, position);
            }
        }
        self.variants(compound, position);
    }

    fn variants(&mut self, compound: &'a str, position: usize) {
        let rest = &self.text[position + compound.len()..];
        let Self { folded, emit, before, .. } = self;
        common_forms(compound, *before, rest, &mut |form| {
            folded.clear();
            fold_into(form, folded);
            emit(Term { hash: hash_term(folded), kind: TermKind::Variant, text: folded, position });
        });
        if !matches!(compound, "of" | "de") {
            self.before = [self.before[1], compound];
        }
    }

    fn piece(&mut self, piece: &'a str, is_part: bool, position: usize) {
        let kind = if is_part { TermKind::Part } else { TermKind::Word };
        let mut start = next_sub_word(piece, 0);
        if piece.len() > MAX_SPLIT_BYTES || start >= piece.len() {
            self.emit_word(piece, kind, position);
            if !is_part {
                self.joined_words(piece, position);
            }
            return;
        }
        // Stemmed, because in lower case nobody can tell it from a word.
        self.emit_word(piece, TermKind::Identifier, position);
        if piece.trim_matches('_').contains('_') {
            self.emit_joined(&[piece], position);
        }
        self.sub_word(&piece[..start], position);
        while start < piece.len() {
            let end = next_sub_word(piece, start);
            self.sub_word(&piece[start..end], position);
            start = end;
        }
    }

    /// What words would be as one identifier, or as one word: "spliceCouponRoster" is asked for as "splice coupon roster".
    fn joined_words(&mut self, word: &'a str, position: usize) {
        if self.side == Side::Document {
            return;
        }
        let [third, second, first] = self.words;
        let rows: [&[&str]; 3] = [&[first, word], &[second, first, word], &[third, second, first, word]];
        for row in rows.iter().take_while(|row| !row[0].is_empty()) {
            self.emit_joined(row, position);
        }
        self.words = [second, first, word];
    }

    fn emit_joined(&mut self, pieces: &[&str], position: usize) {
        self.folded.clear();
        for piece in pieces {
            fold_into(piece, &mut self.folded);
        }
        self.folded.retain(|letter| letter != '_');
        if self.folded.len() <= MAX_SPLIT_BYTES && !is_stop_word(&self.folded) {
            stem_into(&self.folded, &mut self.stemmed);
            let hash = hash_term(&self.stemmed);
            (self.emit)(Term { hash, kind: TermKind::Variant, text: &self.folded, position });
        }
    }

    fn sub_word(&mut self, text: &str, position: usize) {
        let text = text.trim_matches('_');
        if !text.is_empty() {
            self.emit_word(text, TermKind::Part, position);
        }
    }
}

fn run_length(text: &str, belongs: impl Fn(Class) -> bool) -> usize {
    text.find(|character| !belongs(class_of(character))).unwrap_or(text.len())
}

/// Length of the compound at the start of `text`: letters joined by single connectors or apostrophes; `c++` and `c#`
/// too.
fn compound_length(text: &str) -> usize {
    let mut characters = text.char_indices().peekable();
    let mut letters = 0;
    while let Some((start, character)) = characters.next() {
        if class_of(character) == Class::Letter {
            letters += 1;
            continue;
        }
        let joins = is_connector(character) || is_apostrophe(character);
        let next = characters.peek().map(|(_, next)| *next);
        let goes_on = next.is_some_and(|next| class_of(next) == Class::Letter);
        let is_digit = |character: Option<char>| character.is_some_and(|character| character.is_ascii_digit());
        let is_number = character == ',' && is_digit(text[..start].chars().next_back()) && is_digit(next);
        let is_query = is_query_connector(character) && goes_on && text[..start].contains('/');
        if (joins && goes_on) || is_number || is_query {
            continue;
        }
        if letters == 1 && start == 1 {
            for suffix in ["++", "#"] {
                if text[1..].starts_with(suffix) {
                    return 1 + suffix.len();
                }
            }
        }
        return start;
    }
    text.len()
}

/// The word without a possessive `'s` at its end and without a French or Italian elided article at its start.
fn without_elision(piece: &str) -> &str {
    let Some((head, tail)) = piece.split_once(is_apostrophe) else { return piece };
    if matches!(tail, "s" | "S") && !head.is_empty() {
        return head;
    }
    let is_article = ["l", "d", "j", "m", "n", "s", "t", "c", "qu"].iter().any(|one| head.eq_ignore_ascii_case(one));
    if is_article && tail.chars().count() > 1 { tail } else { piece }
}

/// The parts of "İstanbul'da" or "O'Brien"; `None` for a word without apostrophe or an English contraction ("don't").
fn split_at_apostrophe(piece: &str) -> Option<(&str, &str)> {
    let (head, tail) = piece.split_once(is_apostrophe)?;
    let is_contraction = ["t", "re", "ve", "ll", "d", "m"].iter().any(|one| tail.eq_ignore_ascii_case(one));
    (!is_contraction).then_some((head, tail))
}

/// Where the sub-word after the one at `from` begins: at an underscore, a change from lower to upper case, between
/// upper case and a capitalised word, and between letters and digits.
fn next_sub_word(piece: &str, from: usize) -> usize {
    let mut characters = piece[from..].char_indices().peekable();
    let mut previous: Option<char> = None;
    while let Some((offset, character)) = characters.next() {
        if let Some(before) = previous {
            let next = characters.peek().map(|(_, next)| *next);
            let is_boundary = (before == '_') != (character == '_')
                || (before.is_lowercase() && character.is_uppercase())
                || (before.is_uppercase() && character.is_uppercase() && next.is_some_and(char::is_lowercase))
                || (before.is_numeric() != character.is_numeric() && before != '_' && character != '_');
            if is_boundary && !is_mark(character) {
                return from + offset;
            }
        }
        previous = Some(character);
    }
    piece.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(text: &str, side: Side) -> Vec<String> {
        let mut out = Vec::new();
        Analyzer::default().terms(text, side, &mut |term| {
            if term.kind != TermKind::StopWord {
                out.push(term.text.to_owned());
            }
        });
        out
    }

    #[test]
    fn identifiers_whole_and_in_parts() {
        assert_eq!(terms("HTTPServerError2", Side::Document), ["httpservererror2", "http", "server", "error", "2"]);
        assert_eq!(terms("src/main.rs:42", Side::Document), ["src/main.rs:42", "src", "main", "rs", "42"]);
        assert_eq!(
            terms("ERR_HTTP2_STREAM", Side::Document),
            ["err_http2_stream", "errhttp2stream", "err", "http", "2", "stream"]
        );
        assert_eq!(terms("std::mem", Side::Document), ["std", "mem"]);
        assert_eq!(terms("C++ and C# (x.)", Side::Document), ["c++", "c", "c#", "c", "x"]);
        assert_eq!(terms("__init__", Side::Document), ["__init__", "init"]);
    }

    #[test]
    fn apostrophes_and_elisions() {
        assert_eq!(terms("Caroline's l’école didn't", Side::Document), ["caroline", "ecole"]);
    }

    #[test]
    fn scripts_without_spaces() {
        assert_eq!(terms("서버를", Side::Question), ["서버"]);
        assert_eq!(terms("데이터베이스에서는", Side::Question).len(), 6);
        assert_eq!(terms("데이터베이스", Side::Document).len(), 6);
        assert_eq!(terms("数据库", Side::Question), ["数据", "据库"]);
        assert_eq!(terms("数据库", Side::Document), ["数据", "据库", "数", "据", "库"]);
        assert_eq!(terms("猫", Side::Question), ["猫"]);
        assert_eq!(terms("แมว", Side::Question), ["แมว"]);
        assert_eq!(terms("ปี", Side::Question), ["ปี"]);
    }

    #[test]
    fn long_runs_are_one_term() {
        assert_eq!(terms(&"aB1".repeat(10_000), Side::Document).len(), 1);
    }
}
