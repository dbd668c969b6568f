//! The words of texts as two bytes each, in order: enough to tell words side by side from the same words apart.
//!
//! Postings say which words a text has, not where. Two bytes for each word that is no stop word are little beside them,
//! and follow the length of the text, so that long texts are told apart as well as short ones. Twelve bits of a mark are
//! the word's own, four are of the stop words in front of it: "port of the server" is another row than "port server", and
//! what stands in front of a whole row does not matter. Two words in a row are found by mistake in one text of a hundred
//! words in three million. A character of Korean, or of a script without spaces, has one byte: two of them in a row are
//! in question in one text of six hundred, three in none.

use super::analyzer::{Analyzer, Class, class_of, is_apostrophe};
use super::fold::{fold_into, hash_term};
use super::stop_words::is_stop_word;

/// Of a longer text so much is kept from its beginning, in bytes: some 25,000 letters of English.
const MOST_BYTES: usize = 4_096;
/// What pairs of neighbours count beside all words in a row.
const SHARE_OF_PAIRS: f32 = 0.5;
/// The bits of a word's first byte that are its own.
const OWN: u8 = 0xF0;

/// What is kept of the words of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imprint {
    /// A hash that is equal for texts that a reader would call the same: words in order, without regard to case, width,
    /// accents, spaces and punctuation. 0 for a text without words.
    pub content_hash: u64,
    /// The marks of its words, stop words left out.
    pub marks: Vec<u8>,
}

/// More than one word in a row, to be looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordRow {
    marks: Vec<u8>,
    /// Where each mark begins.
    starts: Vec<usize>,
    /// The bits of the first byte that count.
    first: u8,
}

/// A text being read.
#[derive(Default)]
struct Reading {
    content_hash: u64,
    marks: Vec<u8>,
    starts: Vec<usize>,
    /// The first mark is that of a word, not of a character.
    begins_with_word: bool,
    /// Hash of the stop words since the last mark, 0 for none.
    stop_words: u64,
}

impl Analyzer {
    /// Reads the words of a text.
    #[must_use]
    pub fn imprint(&self, text: &str) -> Imprint {
        let Reading { content_hash, mut marks, .. } = self.read(text);
        marks.shrink_to_fit();
        Imprint { content_hash, marks }
    }

    /// The words of a text as a row; `None` where there are fewer than two.
    #[must_use]
    pub fn word_row(&self, text: &str) -> Option<WordRow> {
        let Reading { marks, starts, begins_with_word, .. } = self.read(text);
        let first = if begins_with_word { OWN } else { u8::MAX };
        (starts.len() > 1).then_some(WordRow { marks, starts, first })
    }

    fn read(&self, text: &str) -> Reading {
        let text = self.normalized(text);
        let mut reading = Reading::default();
        let mut folded = String::new();
        for word in text.split(|character| class_of(character) == Class::Other && !is_apostrophe(character)) {
            folded.clear();
            fold_into(word, &mut folded);
            if !folded.is_empty() {
                let hash = hash_term(&folded);
                reading.content_hash = (reading.content_hash.rotate_left(5) ^ hash).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                reading.add(&folded, hash);
            }
        }
        reading
    }
}

impl Reading {
    /// Adds the marks of a folded run of letters: of a word, or of each character of a script without spaces.
    fn add(&mut self, folded: &str, hash: u64) {
        if folded.is_ascii() {
            return self.add_word(folded, hash);
        }
        let is_letter = |character: char| matches!(class_of(character), Class::Letter | Class::Other);
        let mut rest = folded;
        while let Some(first) = rest.chars().next() {
            let word = rest.find(|character| !is_letter(character)).unwrap_or(rest.len());
            let (unit, others) = rest.split_at(if word > 0 { word } else { first.len_utf8() });
            let hash = hash_term(unit);
            if word > 0 {
                self.add_word(unit, hash);
            } else {
                self.add_mark(None, hash);
            }
            rest = others;
        }
    }

    fn add_word(&mut self, word: &str, hash: u64) {
        if is_stop_word(word) {
            self.stop_words = self.stop_words.rotate_left(9) ^ hash;
            return;
        }
        let in_front = if self.stop_words == 0 { 0 } else { 1 + (self.stop_words % 15) as u8 };
        self.begins_with_word |= self.marks.is_empty();
        self.add_mark(Some((hash >> 56) as u8 & OWN | in_front), hash);
    }

    fn add_mark(&mut self, first: Option<u8>, hash: u64) {
        self.stop_words = 0;
        if self.marks.len() + 2 <= MOST_BYTES {
            self.starts.push(self.marks.len());
            self.marks.extend(first);
            // Not 0, which is what was wiped.
            self.marks.push((hash % 255) as u8 + 1);
        }
    }
}

impl WordRow {
    /// How much of it stands in a text with these marks: 1 for all of it, less for pairs of its words.
    #[must_use]
    pub fn share_in(&self, marks: &[u8]) -> f32 {
        if self.stands_in(marks) {
            return 1.0;
        }
        let ends = self.starts.iter().copied().skip(2).chain([self.marks.len()]);
        let pairs = self.starts.iter().zip(ends).filter(|(start, end)| has(marks, &self.marks[**start..*end], OWN));
        SHARE_OF_PAIRS * pairs.count() as f32 / (self.starts.len() - 1) as f32
    }

    /// Whether all of it stands in a text with these marks.
    #[must_use]
    pub fn stands_in(&self, marks: &[u8]) -> bool {
        has(marks, &self.marks, self.first)
    }
}

/// Whether these stand among marks; of the first byte these bits count.
fn has(marks: &[u8], wanted: &[u8], bits: u8) -> bool {
    let Some((first, others)) = wanted.split_first() else { return false };
    marks.windows(wanted.len()).any(|window| (window[0] ^ first) & bits == 0 && window[1..] == *others)
}

/// The marks of documents by number.
#[derive(Clone, Debug, Default)]
pub struct WordMarks {
    /// Where the marks of each document end.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

impl WordMarks {
    /// Adds those of the next document.
    pub fn push(&mut self, marks: &[u8]) {
        if self.bytes.capacity() - self.bytes.len() < marks.len() {
            // By a quarter, not twice as much: there may be megabytes.
            self.bytes.reserve_exact(marks.len().max(self.bytes.len() / 4));
        }
        self.bytes.extend(marks);
        self.ends.push(u32::try_from(self.bytes.len()).unwrap_or(u32::MAX));
    }

    /// Makes room for so many more documents with so many bytes in all, and for no more.
    pub fn reserve(&mut self, documents: usize, bytes: usize) {
        self.ends.reserve_exact(documents);
        self.bytes.reserve_exact(bytes);
    }

    /// Those of a document; none where there is none.
    #[must_use]
    pub fn of(&self, document: u32) -> &[u8] {
        self.bytes.get(self.range(document)).unwrap_or_default()
    }

    fn range(&self, document: u32) -> std::ops::Range<usize> {
        let end = |at: usize| self.ends.get(at).copied().unwrap_or(0) as usize;
        (document as usize).checked_sub(1).map_or(0, end)..end(document as usize)
    }

    /// Wipes those of a document that was removed.
    pub fn wipe(&mut self, document: u32) {
        let range = self.range(document);
        self.bytes.get_mut(range).unwrap_or_default().fill(0);
    }

    /// Forgets the documents from this number on.
    pub fn truncate(&mut self, documents: usize) {
        self.ends.truncate(documents);
        self.bytes.truncate(self.ends.last().copied().unwrap_or(0) as usize);
    }

    /// The documents, of those from `range.0` on and before `range.1`, in which all of a row stands.
    #[must_use]
    pub fn holders(&self, row: &WordRow, range: (u32, u32)) -> Vec<u32> {
        let most = u32::try_from(self.ends.len()).unwrap_or(u32::MAX);
        (range.0..range.1.min(most)).filter(|document| row.stands_in(self.of(*document))).collect()
    }

    /// Bytes held.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.ends.capacity() * size_of::<u32>() + self.bytes.capacity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn marks(text: &str) -> Vec<u8> {
        Analyzer::default().imprint(text).marks
    }

    fn row(text: &str) -> WordRow {
        Analyzer::default().word_row(text).unwrap()
    }

    #[test]
    fn content_hash_ignores_form() {
        let hash = |text: &str| Analyzer::default().imprint(text).content_hash;
        assert_eq!(hash("Café, “Straße”!"), hash("cafe\u{301}  STRASSE"));
        assert_ne!(hash("a b"), hash("b a"));
        assert_eq!(hash(" … "), 0);
    }

    #[test]
    fn words_in_a_row_are_told_from_the_same_words_apart() {
        for (text, wanted, share) in [
            ("The gateway listens on the PORT of the staging server.", "Port of the staging, server", 1.0),
            ("The staging port of the server", "port staging server", 0.0),
            ("The port of the server", "port server", 0.0),
            ("A port of the server", "the port of the server", 1.0),
            ("The port is closed, the staging server is up", "port staging server", 0.25),
            ("결제 서버는 내일 점검합니다", "서버는 내일", 1.0),
            ("内日は決済サーバーの点検", "決済サーバー", 1.0),
            ("明天检查付款服务器", "付款服务器", 1.0),
            ("付款在服务器上", "付款服务器", 0.375),
            ("พรุ่งนี้ตรวจเซิร์ฟเวอร์", "ตรวจเซิร์ฟเวอร์", 1.0),
            ("data库 is full", "data库", 1.0),
        ] {
            assert_eq!(row(wanted).share_in(&marks(text)), share, "{wanted} in {text}");
        }
        let analyzer = Analyzer::default();
        assert!(["port", "the port", "of the", "猫", ""].iter().all(|text| analyzer.word_row(text).is_none()));
        assert_eq!(marks("of the").len(), 0);
        assert_eq!(marks(&"word ".repeat(9_000)).len(), MOST_BYTES);
    }

    #[test]
    fn marks_by_document() {
        let mut all = WordMarks::default();
        for text in ["red blue green", "", "blue green red", "green red blue"] {
            all.push(&marks(text));
        }
        let row = row("red blue");
        assert_eq!(all.holders(&row, (0, 9)), [0, 3]);
        assert_eq!(all.holders(&row, (1, 9)), [3]);
        all.wipe(0);
        assert_eq!(all.holders(&row, (0, 9)), [3]);
        assert_eq!((all.of(0), all.of(1), all.of(9)), (&[0; 6][..], &[][..], &[][..]));
        all.truncate(3);
        all.push(&marks("red blue"));
        assert_eq!(all.holders(&row, (0, 9)), [3]);
        all.truncate(0);
        assert_eq!(all.bytes.len(), 0);
    }

    proptest! {
        #[test]
        fn what_stands_in_a_row_is_always_seen(
            words in prop::collection::vec("[a-zäß]{1,7}|[가-힣]{2,3}|[一-龠]{2}|[ก-ฮ]{3}|the|of", 3..30),
            from in 0_usize..20, length in 2_usize..9,
        ) {
            let from = from.min(words.len() - 2);
            let part = &words[from..(from + length).min(words.len())];
            if let Some(row) = Analyzer::default().word_row(&part.join(", ")) {
                prop_assert_eq!(row.share_in(&marks(&words.join(" "))), 1.0);
            }
        }
    }
}
