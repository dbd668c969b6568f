//! Cuts text into the pieces that byte pairs are merged in: the two patterns of `tiktoken`, written out by hand.
//!
//! No piece depends on what stands before it, so any suffix that begins at a piece boundary is cut as it was before.
//! Offsets are bytes. Every piece has at least one character, and the pieces cover the text.

use super::Encoding;
use super::character_class::{CharacterClass, CharacterClasses, decode};

/// The longest contraction of the patterns: an apostrophe and two letters, or an apostrophe and U+017F.
const LONG_S: u32 = 0x17f;

/// Cuts the text of one encoding.
#[derive(Clone, Copy)]
pub struct Splitter {
    classes: &'static CharacterClasses,
    encoding: Encoding,
}

impl Splitter {
    /// A splitter with the pattern of `encoding`.
    pub fn new(encoding: Encoding) -> Self {
        Self { classes: CharacterClasses::get(), encoding }
    }

    /// The end of the piece that begins at `start`. Behind the end of the text it is the end of the text.
    #[inline]
    pub fn piece_end(&self, text: &[u8], start: usize) -> usize {
        let Some((class, next)) = self.classes.at(text, start) else { return text.len() };
        let end = match self.encoding {
            Encoding::O200kBase => self.o200k_word(text, start, class, next),
            Encoding::Cl100kBase => self.cl100k_word(text, start, class, next),
        };
        if let Some(end) = end {
            return end;
        }
        if class == CharacterClass::Number {
            return self.numbers(text, next);
        }
        let is_space = text.get(start) == Some(&b' ');
        if let Some(end) = self.symbols(text, if is_space { next } else { start }) {
            return end;
        }
        self.whitespace(text, start)
    }

    /// The first two alternatives of o200k:
    ///
    /// ```text
    /// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
    /// ```
    ///
    /// The first backs off: where no lower-case letter follows the upper run, it gives capitals back until the run
    /// ends in a caseless letter or a mark. Only where there is none does the second take the whole run.
    #[inline]
    fn o200k_word(&self, text: &[u8], start: usize, class: CharacterClass, next: usize) -> Option<usize> {
        use CharacterClass::{Caseless, Lower, Mark, Newline, Number, Upper};
        let run = match class {
            Newline | Number => return None,
            Upper | Lower | Caseless => start,
            CharacterClass::Other | CharacterClass::Whitespace | Mark => next,
        };
        let mut at = run;
        // A mark that is not needed as the prefix is itself a lower run of one.
        let mut last_lower_end = (class == Mark).then_some(next);
        while let Some((class, next)) = self.classes.at(text, at) {
            match class {
                Upper => {}
                Caseless | Mark => last_lower_end = Some(next),
                Lower => return Some(self.contraction(text, self.lower_run(text, next))),
                _ => break,
            }
            at = next;
        }
        let end = match last_lower_end {
            Some(end) => end,
            None if at > run => at,
            None => return None,
        };
        Some(self.contraction(text, end))
    }

    /// `[\p{Ll}\p{Lm}\p{Lo}\p{M}]*`
    #[inline]
    fn lower_run(&self, text: &[u8], mut at: usize) -> usize {
        use CharacterClass::{Caseless, Lower, Mark};
        while let Some((Lower | Caseless | Mark, next)) = self.classes.at(text, at) {
            at = next;
        }
        at
    }

    /// The contraction that stands at `at` and belongs to the word before; `at` where there is none.
    #[inline]
    fn contraction(&self, text: &[u8], at: usize) -> usize {
        if text.get(at) != Some(&b'\'') {
            return at;
        }
        contraction_end(text, at).unwrap_or(at)
    }

    /// The first two alternatives of cl100k: `'(?i:[sdmt]|ll|ve|re)` and `[^\r\n\p{L}\p{N}]?+\p{L}++`.
    #[inline]
    fn cl100k_word(&self, text: &[u8], start: usize, class: CharacterClass, next: usize) -> Option<usize> {
        use CharacterClass::{Newline, Number};
        if text.get(start) == Some(&b'\'')
            && let Some(end) = contraction_end(text, start)
        {
            return Some(end);
        }
        let run = match class {
            Newline | Number => return None,
            class if class.is_letter() => start,
            _ => next,
        };
        let mut at = run;
        while let Some((class, next)) = self.classes.at(text, at)
            && class.is_letter()
        {
            at = next;
        }
        (at > run).then_some(at)
    }

    /// `\p{N}{1,3}`, of which the first has been read.
    fn numbers(&self, text: &[u8], mut at: usize) -> usize {
        for _ in 1..3 {
            match self.classes.at(text, at) {
                Some((CharacterClass::Number, next)) => at = next,
                _ => break,
            }
        }
        at
    }

    /// `[^\s\p{L}\p{N}]+[\r\n/]*` (o200k) or `[^\s\p{L}\p{N}]+[\r\n]*` (cl100k), from behind the optional space.
    fn symbols(&self, text: &[u8], start: usize) -> Option<usize> {
        let mut at = start;
        while let Some((CharacterClass::Other | CharacterClass::Mark, next)) = self.classes.at(text, at) {
            at = next;
        }
        if at == start {
            return None;
        }
        let takes_slash = self.encoding == Encoding::O200kBase;
        while let Some(&byte) = text.get(at)
            && (matches!(byte, b'\r' | b'\n') || takes_slash && byte == b'/')
        {
            at += 1;
        }
        Some(at)
    }

    /// o200k: `\s*[\r\n]+`, then `\s+(?!\S)`, then `\s+`. cl100k: `\s++$`, `\s*[\r\n]`, `\s+(?!\S)`, `\s`.
    fn whitespace(&self, text: &[u8], start: usize) -> usize {
        let (mut at, mut last, mut newline_end) = (start, start, None);
        while let Some((class, next)) = self.classes.at(text, at)
            && class.is_whitespace()
        {
            if class == CharacterClass::Newline {
                newline_end = Some(next);
            }
            (last, at) = (at, next);
        }
        let is_end = at == text.len();
        if is_end && self.encoding == Encoding::Cl100kBase {
            return at;
        }
        // The last whitespace character goes with the word behind it, unless it stands alone.
        newline_end.unwrap_or(if is_end || last == start { at } else { last })
    }
}

/// The end of `'(?i:[sdmt]|ll|ve|re)` at `at`, where the apostrophe stands. `(?i:s)` also matches U+017F.
fn contraction_end(text: &[u8], at: usize) -> Option<usize> {
    let first = *text.get(at + 1)?;
    if first >= 0x80 {
        let (character, next) = decode(text, at + 1, first);
        return (character == LONG_S).then_some(next);
    }
    let second = text.get(at + 2).map(u8::to_ascii_lowercase);
    match (first.to_ascii_lowercase(), second) {
        (b's' | b'd' | b'm' | b't', _) => Some(at + 2),
        (b'l', Some(b'l')) | (b'v' | b'r', Some(b'e')) => Some(at + 3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(encoding: Encoding, text: &str) -> Vec<&str> {
        let splitter = Splitter::new(encoding);
        let mut pieces = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = splitter.piece_end(text.as_bytes(), start);
            pieces.push(&text[start..end]);
            start = end;
        }
        pieces
    }

    #[test]
    fn o200k_takes_contractions_with_the_word_and_slashes_with_symbols() {
        assert_eq!(
            pieces(Encoding::O200kBase, "We'll do 12345 //\n/x"),
            ["We'll", " do", " ", "123", "45", " //\n/", "x"]
        );
        assert_eq!(pieces(Encoding::O200kBase, "it'ſ"), ["it'ſ"]);
        assert_eq!(pieces(Encoding::Cl100kBase, "We'LL a"), ["We", "'LL", " a"]);
        assert_eq!(pieces(Encoding::Cl100kBase, "it'ſx"), ["it", "'ſ", "x"]);
    }

    #[test]
    fn o200k_backs_off_to_the_last_caseless_letter_or_mark() {
        assert_eq!(pieces(Encoding::O200kBase, "中ABCd"), ["中ABCd"]);
        assert_eq!(pieces(Encoding::O200kBase, "中ABC d"), ["中", "ABC", " d"]);
        assert_eq!(pieces(Encoding::O200kBase, "\u{301}AB."), ["\u{301}", "AB", "."]);
        assert_eq!(pieces(Encoding::O200kBase, "HTTPServer"), ["HTTPServer"]);
        assert_eq!(pieces(Encoding::O200kBase, "camelCase"), ["camel", "Case"]);
    }

    #[test]
    fn whitespace_leaves_its_last_character_to_the_word_behind() {
        assert_eq!(pieces(Encoding::O200kBase, "a   b"), ["a", "  ", " b"]);
        assert_eq!(pieces(Encoding::O200kBase, "a\n "), ["a", "\n", " "]);
        assert_eq!(pieces(Encoding::Cl100kBase, "a\n "), ["a", "\n "]);
        assert_eq!(pieces(Encoding::O200kBase, "a \r\n\r\n  b"), ["a", " \r\n\r\n", " ", " b"]);
    }
}
