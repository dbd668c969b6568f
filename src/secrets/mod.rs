//! Secrets in a text: passwords, keys, card and account numbers. What is indexed, embedded, summarised or searched for
//! facts goes without them, and no fact may hold one; a stored message is not changed.
//!
//! A scan by rules, without a network or a model. It sees through hidden characters, full-width and other digits, odd
//! spaces and dashes; it does not see a number spelled in words, or a password that nothing introduces.

mod beginnings;
mod key_names;
mod keys;
mod numbers;
mod phrases;

use crate::lexical::lower;
use crate::prompt_text::{is_hidden, narrow};
use std::borrow::Cow;

/// Longer texts are looked through in pieces of this size, cut at a line break where there is one.
const PIECE_BYTES: usize = 16 * 1024;

/// What kind of secret it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SecretKind {
    /// A private key in PEM form.
    PrivateKey,
    /// A key of a known service, by how it begins.
    ServiceKey,
    /// A JSON web token.
    WebToken,
    /// What follows `Bearer` or `Basic`.
    Authorization,
    /// The password in an address (`scheme://user:password@host`).
    Connection,
    /// A value that a configuration names as secret.
    Assignment,
    /// An address that is itself the key to a channel.
    Webhook,
    /// A password that words introduce.
    Password,
    /// A PIN that words introduce.
    Pin,
    /// A code for one login.
    OneTimeCode,
    /// The words of a wallet.
    RecoveryPhrase,
    /// A payment card's number.
    Card,
    /// A payment card's code of three or four digits.
    CardCode,
    /// An account number: an IBAN by its form, others by their name.
    Iban,
    /// A number of a person: of the United States, Korea or China by its form, a passport's or another by its name.
    NationalId,
}

impl SecretKind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::PrivateKey,
        Self::ServiceKey,
        Self::WebToken,
        Self::Authorization,
        Self::Connection,
        Self::Assignment,
        Self::Webhook,
        Self::Password,
        Self::Pin,
        Self::OneTimeCode,
        Self::RecoveryPhrase,
        Self::Card,
        Self::CardCode,
        Self::Iban,
        Self::NationalId,
    ];

    /// The name in error messages and figures.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::PrivateKey => "private_key",
            Self::ServiceKey => "service_key",
            Self::WebToken => "web_token",
            Self::Authorization => "authorization",
            Self::Connection => "connection",
            Self::Assignment => "assignment",
            Self::Webhook => "webhook",
            Self::Password => "password",
            Self::Pin => "pin",
            Self::OneTimeCode => "one_time_code",
            Self::RecoveryPhrase => "recovery_phrase",
            Self::Card => "card",
            Self::CardCode => "card_code",
            Self::Iban => "iban",
            Self::NationalId => "national_id",
        }
    }
}

/// Where a secret stands in a text, in bytes: the secret itself, not what introduces it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Secret {
    /// Its kind.
    pub kind: SecretKind,
    /// First byte.
    pub start: usize,
    /// Behind the last byte.
    pub end: usize,
}

/// The secrets of a text, in order; none overlaps another.
#[must_use]
pub fn secrets(text: &str) -> Vec<Secret> {
    let mut found: Vec<Secret> = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let end = piece_end(text, start);
        let shown = Shown::new(text, start, end);
        let mut at = 0;
        while at < shown.len() {
            let Some((kind, from, to)) = secret_at(&shown, at) else {
                at += 1;
                continue;
            };
            at = to.max(at + 1);
            let start = shown.start(from);
            let end = match kind {
                SecretKind::PrivateKey => keys::private_key_end(text, shown.end(to)),
                _ => shown.end(to),
            };
            if found.last().is_none_or(|last| last.end <= start) {
                found.push(Secret { kind, start, end });
            }
        }
        start = end;
    }
    found
}

/// The kind of a secret in a text, where there is one.
#[must_use]
pub fn has_secret(text: &str) -> Option<SecretKind> {
    secrets(text).first().map(|secret| secret.kind)
}

/// The text with `instead` in the place of each secret.
#[must_use]
pub fn without_secrets<'a>(text: &'a str, instead: &str) -> Cow<'a, str> {
    let found = secrets(text);
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for secret in found {
        out.push_str(text.get(kept..secret.start).unwrap_or_default());
        out.push_str(instead);
        kept = secret.end;
    }
    out.push_str(text.get(kept..).unwrap_or_default());
    Cow::Owned(out)
}

/// What stands in prompts in the place of a secret.
pub const LEFT_OUT: &str = "[secret left out]";

/// A kind, and first character and end of the secret among those shown.
type Place = (SecretKind, usize, usize);

fn secret_at(shown: &Shown<'_>, at: usize) -> Option<Place> {
    let character = shown.get(at);
    match character {
        '-' => return keys::private_key(shown, at).or_else(|| keys::option(shown, at)),
        ':' => return keys::connection(shown, at),
        _ => {}
    }
    // Scripts without spaces have no beginnings of words.
    if character.is_ascii() && !(shown.is_start(at) && is_word(character)) {
        return None;
    }
    if character.is_ascii_digit() {
        let number =
            numbers::card(shown, at).or_else(|| numbers::national_id(shown, at)).or_else(|| keys::bot_token(shown, at));
        let told = number.or_else(|| phrases::told_behind(shown, at)).or_else(|| phrases::introduced(shown, at));
        return told.or_else(|| phrases::named_behind(shown, at));
    }
    let in_letters = || {
        keys::service_key(shown, at)
            .or_else(|| keys::web_token(shown, at))
            .or_else(|| keys::dotted_token(shown, at))
            .or_else(|| keys::webhook(shown, at))
            .or_else(|| numbers::iban(shown, at))
            .or_else(|| keys::assignment(shown, at))
    };
    let in_letters = character.is_ascii().then(in_letters).flatten();
    in_letters.or_else(|| phrases::introduced(shown, at)).or_else(|| phrases::named_behind(shown, at))
}

/// Behind the last line break within a piece, else behind the last space, else where the piece is full.
fn piece_end(text: &str, start: usize) -> usize {
    let most = text.floor_char_boundary(start + PIECE_BYTES);
    if most >= text.len() {
        return text.len();
    }
    let piece = text.get(start..most).unwrap_or_default();
    piece.rfind('\n').or_else(|| piece.rfind(' ')).map_or(most, |at| start + at + 1)
}

/// The characters of a piece that can be seen, in one form: ASCII for full-width letters, any digit as an ASCII one, any
/// space but a line break as a space, any dash as a hyphen.
struct Shown<'a> {
    text: &'a str,
    chars: Vec<char>,
    starts: Vec<usize>,
}

impl<'a> Shown<'a> {
    fn new(text: &'a str, start: usize, end: usize) -> Self {
        let piece = text.get(start..end).unwrap_or_default();
        let mut shown = Self { text, chars: Vec::with_capacity(piece.len()), starts: Vec::with_capacity(piece.len()) };
        for (at, character) in piece.char_indices() {
            if character.is_ascii_graphic() || !is_hidden(character) {
                shown.chars.push(plain(character));
                shown.starts.push(start + at);
            }
        }
        shown
    }

    fn len(&self) -> usize {
        self.chars.len()
    }

    /// The character at a place; behind the end, a NUL.
    fn get(&self, at: usize) -> char {
        self.chars.get(at).copied().unwrap_or('\0')
    }

    fn lower(&self, at: usize) -> char {
        lower(self.get(at))
    }

    /// Nothing of a word stands before this place.
    fn is_start(&self, at: usize) -> bool {
        !at.checked_sub(1).is_some_and(|before| is_word(self.get(before)))
    }

    fn start(&self, at: usize) -> usize {
        self.starts.get(at).copied().unwrap_or(self.text.len())
    }

    /// Byte behind the character before this place.
    fn end(&self, to: usize) -> usize {
        let last = to.checked_sub(1).map_or(0, |last| self.start(last));
        last + self.text.get(last..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8)
    }

    /// Whether this word or phrase, in small letters, stands at a place; answers where it ends.
    fn reads(&self, at: usize, phrase: &str) -> Option<usize> {
        let mut end = at;
        for wanted in phrase.chars() {
            if self.lower(end) != wanted {
                return None;
            }
            end += 1;
        }
        Some(end)
    }

    /// End of the run of characters from a place on that are of a kind; at most `most` of them.
    fn run(&self, at: usize, most: usize, is_of_kind: impl Fn(char) -> bool) -> usize {
        let most = at.saturating_add(most).min(self.len());
        (at..most).find(|at| !is_of_kind(self.get(*at))).unwrap_or(most.max(at))
    }

    fn slice(&self, from: usize, to: usize) -> &[char] {
        self.chars.get(from..to).unwrap_or_default()
    }
}

fn is_word(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn plain(character: char) -> char {
    if character.is_ascii() {
        return character;
    }
    match narrow(character) {
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{FE58}' | '\u{FE63}' => '-',
        '\u{2018}' | '\u{2019}' => '\'',
        '\u{201C}' | '\u{201D}' => '"',
        '\u{2028}' | '\u{2029}' => '\n',
        '\u{2024}' | '\u{FF0E}' => '.',
        other if other.is_whitespace() => ' ',
        other => digit(other),
    }
}

/// Decimal digits of other scripts and of mathematics as ASCII.
fn digit(character: char) -> char {
    let code = u32::from(character);
    let value = match code {
        0x660..=0x669 | 0x6F0..=0x6F9 => code & 0xF,
        0x966..=0x96F => code - 0x966,
        0x1D7CE..=0x1D7FF => (code - 0x1D7CE) % 10,
        _ => return character,
    };
    char::from_digit(value, 10).unwrap_or(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<SecretKind> {
        secrets(text).into_iter().map(|secret| secret.kind).collect()
    }

    #[test]
    fn what_is_left_out_is_the_secret_alone() {
        for (text, without) in [
            ("my password is hunter2, ok", "my password is *, ok"),
            ("card 4111 1111 1111 1111 12/27", "card * 12/27"),
            ("use AKIAIOSFODNN7EXAMPLE.", "use *."),
            ("postgres://app:s3cr3tpw@db:5432/x", "postgres://app:*@db:5432/x"),
            ("비밀번호는 hunter2야", "비밀번호는 *야"),
            ("-----BEGIN RSA PRIVATE KEY-----\nMIIE\nabc\n-----END RSA PRIVATE KEY-----\nthanks", "*\nthanks"),
            ("two: sk-abcdefghijklmnop1234 and GB82WEST12345698765432", "two: * and *"),
        ] {
            assert_eq!(without_secrets(text, "*"), without);
        }
        // The second is an account number but for its form: country, check digits, length.
        for text in ["nothing here, 2026", "Now mk35 is talked about at some length"] {
            assert!(matches!(without_secrets(text, "*"), Cow::Borrowed(_)));
        }
    }

    #[test]
    fn secrets_are_seen_through_disguises() {
        for text in [
            "4\u{200B}111.1111.1111.1111",
            "４１１１１１１１１１１１１１１１",
            "4111\u{A0}1111\u{2009}1111\u{202F}1111",
            "4111–1111–1111–1111",
            "٤١١١١١١١١١١١١١١١",
            "sk-\u{2060}abcdefgh\u{200D}ijklmnop12",
        ] {
            assert_eq!(kinds(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn long_texts_are_looked_through_whole() {
        let filler = "words of no weight, 12 of them.\n".repeat(2_000);
        let text = format!("{filler}my pin is 4821\n{filler}{}\n", "x".repeat(40_000));
        assert_eq!(kinds(&text), [SecretKind::Pin]);
    }
}
