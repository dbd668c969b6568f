//! What a question asks by: terms, identifiers, speakers and roles, named times.

use super::answer_kinds::AnswerKinds;
use super::asking::asking_part;
use super::dates::{NamedTime, named_times};
use super::quotations::quotations;
use crate::lexical::{Analyzer, QuestionTerm, Side, TermKind, WordRow, hash_term, question_terms};
use crate::message::Role;
use std::borrow::Cow;

/// Folded words that ask for what is newest. Only with one of them does a message's age count.
#[rustfmt::skip] // words in lines, not one to a line
const NEWEST_WORDS: &[&str] = &[
    "last", "latest", "recent", "recently", "newest", "lately", "currently", "yesterday", "today", "tonight",
    "zuletzt", "letzte", "letzten", "letztes", "neueste", "neuesten", "aktuell", "gestern", "heute", "kurzlich",
    "ultimo", "ultima", "reciente", "recientemente", "ayer", "hoy", "dernier", "derniere", "recent", "recemment",
    "hier",
];

/// The same for scripts without spaces: looked for anywhere in the text.
#[rustfmt::skip] // words in lines, not one to a line
const NEWEST_PIECES: &[&str] = &[
    "최근", "마지막", "방금", "어제", "오늘", "最近", "最新", "最後", "先ほど", "昨日", "今日", "最后", "刚才",
    "昨天", "今天",
];

/// Word pairs that name the assistant as the one who said it, and the person. Folded; looked for between spaces.
#[rustfmt::skip] // words in lines, not one to a line
const ASSISTANT_SAID: &[&str] = &[
    "you said", "you say", "you told", "you tell", "you suggested", "you suggest", "you recommended", "you recommend",
    "you wrote", "you gave", "you give", "you mentioned", "you mention", "you proposed", "you propose",
    "you explained", "your answer", "your suggestion", "your advice", "your recommendation", "your proposal",
    "you advised", "you advise", "you warned", "you warn", "your idea", "your plan", "hast du", "du hast", "hattest du",
    "dein vorschlag", "deine empfehlung", "as-tu", "quas-tu", "tu as", "avais-tu", "ta proposition", "dijiste", "sugeriste",
    "recomendaste", "propusiste", "tu consejo",
];
#[rustfmt::skip] // words in lines, not one to a line
const USER_SAID: &[&str] = &[
    "i said", "i say", "i told", "i tell", "i asked", "i ask", "i mentioned", "i mention", "i wrote", "i gave",
    "i wanted", "i decided", "i decide", "habe ich", "ich habe", "hatte ich", "ai-je", "quai-je", "ai dit", "te dije", "dije",
    "mencione", "pregunte",
];
/// The same for scripts without spaces: looked for anywhere in the text, which is in NFKC (it takes Thai SARA AM apart).
#[rustfmt::skip] // words in lines, not one to a line
const ASSISTANT_SAID_PIECES: &[&str] = &[
    "네가", "니가", "당신이", "추천해 줬", "추천해줬", "알려 줬", "알려줬", "제안해 줬", "あなたが", "君が", "薦めてくれ", "勧めてくれ", "教えてくれ",
    "言ってくれ", "提案してくれ", "你说", "你建议", "你推荐", "你提议", "你提到", "你告诉", "你的建议", "คุณบอก", "คุณแนะน\u{E4D}\u{E32}", "คุณเสนอ",
    "คุณพูด",
];
#[rustfmt::skip] // words in lines, not one to a line
const USER_SAID_PIECES: &[&str] = &[
    "내가", "제가", "私が", "私は", "僕が", "俺が", "我说", "我提到", "我告诉", "我问", "我决定", "我写", "ฉันบอก", "ฉันพูด", "ผมบอก", "ผมพูด",
    "ฉันถาม",
];

/// A question, read once for one search.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Distinct terms to look up.
    pub terms: Vec<QuestionTerm>,
    /// Compounds in it, as a whole and in their common forms, hyphenated words left out.
    pub identifiers: Vec<u64>,
    /// Hashes of all its words, stop words included, sorted: names are looked up here.
    words: Vec<u64>,
    /// Who is said to have said it.
    pub role: Option<Role>,
    /// Times that it names.
    pub times: Vec<NamedTime>,
    /// It asks for what is newest.
    pub asks_for_newest: bool,
    /// What kind of answer it wants.
    pub asks_for: AnswerKinds,
    /// What it quotes, where that is more than one word.
    pub quoted: Vec<WordRow>,
}

/// So much of a text is read.
const MAX_QUESTION_BYTES: usize = 32 * 1024;

/// So many quotations of a text are looked for.
const MOST_QUOTATIONS: usize = 8;

/// Fewer terms than this say too little by themselves.
const LEAST_TERMS: usize = 2;

/// A text, or of a very long one its beginning and its end, where the question may be.
fn ends(text: &str) -> Cow<'_, str> {
    let half = MAX_QUESTION_BYTES / 2;
    if text.len() <= 2 * half {
        return Cow::Borrowed(text);
    }
    let (head, tail) = (text.floor_char_boundary(half), text.ceil_char_boundary(text.len() - half));
    Cow::Owned([&text[..head], &text[tail..]].join("\n\n"))
}

/// The beginning of a text that is too long to be a question.
pub(super) fn readable(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_QUESTION_BYTES)]
}

impl Question {
    pub fn new(analyzer: &Analyzer, text: &str, now_ms: f64) -> Self {
        let whole = ends(text);
        let mut text = asking_part(&whole);
        let mut terms = question_terms(analyzer, &text);
        let count = terms.iter().filter(|term| term.kind.has_length()).count();
        if count == 0 {
            text = Cow::Borrowed(&whole);
            terms = question_terms(analyzer, &text);
        } else if count < LEAST_TERMS && text.len() < whole.len() {
            // "Why does this fail?" says little: what it is about is in what was pasted.
            let named = question_terms(analyzer, &whole).into_iter().filter(is_technical_term);
            terms.extend(named.filter(|term| !text.contains(&term.text)));
        }
        let text = text.as_ref();
        let identifiers = terms
            .iter()
            .filter(|term| {
                is_technical_term(term)
                    || term.kind == TermKind::Variant && term.text.contains(|letter: char| letter.is_ascii_digit())
            })
            .map(|term| term.hash)
            .collect();
        let mut words = Vec::new();
        let mut sequence: Vec<(usize, String)> = Vec::new();
        analyzer.terms(text, Side::Question, &mut |term| {
            words.push(term.hash);
            if sequence.last().is_none_or(|(position, _)| *position != term.position) {
                sequence.push((term.position, term.text.to_owned()));
            }
        });
        crate::sorting::sort(&mut words);
        words.dedup();
        let sequence: Vec<&str> = sequence.iter().map(|(_, word)| word.as_str()).collect();
        let normalized = analyzer.normalized(text);
        let times = named_times(&sequence, &normalized, now_ms);
        Self {
            terms,
            identifiers,
            words,
            role: role_named(&sequence, &normalized),
            // "Last week" names a time: what is newer is not better.
            asks_for_newest: times.is_empty() && asks_for_newest(&sequence, &normalized),
            times,
            asks_for: AnswerKinds::asked(&sequence, &normalized),
            quoted: quoted_rows(analyzer, text),
        }
    }

    /// Whether a word of this hash is in it.
    pub fn has_word(&self, hash: u64) -> bool {
        self.words.binary_search(&hash).is_ok()
    }
}

/// Hashes of the words of a speaker's name, as they would stand in a question.
pub(super) fn name_words(analyzer: &Analyzer, name: &str) -> Vec<u64> {
    let mut words = Vec::new();
    analyzer.terms(name, Side::Question, &mut |term| words.push(term.hash));
    if words.is_empty() && !name.is_empty() {
        words.push(hash_term(name));
    }
    words
}

fn asks_for_newest(sequence: &[&str], text: &str) -> bool {
    sequence.iter().any(|word| NEWEST_WORDS.contains(word)) || NEWEST_PIECES.iter().any(|piece| text.contains(piece))
}

fn role_named(sequence: &[&str], whole: &str) -> Option<Role> {
    let text = format!(" {} ", sequence.join(" "));
    let names = |phrases: &[&str], pieces: &[&str]| {
        pieces.iter().any(|piece| whole.contains(piece))
            || phrases.iter().any(|phrase| stands_between_spaces(&text, phrase))
    };
    match (names(ASSISTANT_SAID, ASSISTANT_SAID_PIECES), names(USER_SAID, USER_SAID_PIECES)) {
        (true, false) => Some(Role::Assistant),
        (false, true) => Some(Role::User),
        _ => None,
    }
}

/// What a text quotes, where that is more than one word; the first quotations alone.
pub(super) fn quoted_rows(analyzer: &Analyzer, text: &str) -> Vec<WordRow> {
    quotations(text).into_iter().filter_map(|quoted| analyzer.word_row(quoted)).take(MOST_QUOTATIONS).collect()
}

/// Whether words in a row stand in a text as whole words; the text has a space between words and at both ends.
pub(super) fn stands_between_spaces(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let bytes = text.as_bytes();
        bytes.get(at.wrapping_sub(1)) == Some(&b' ') && bytes.get(at + words.len()) == Some(&b' ')
    })
}

fn is_technical_term(term: &QuestionTerm) -> bool {
    term.kind == TermKind::Identifier && is_technical(&term.text)
}

/// A compound that is no hyphenated word: with a digit, an underscore, a path, a dot, or upper case within.
pub(super) fn is_technical(compound: &str) -> bool {
    compound
        .contains(|letter: char| letter.is_ascii_digit() || matches!(letter, '_' | '/' | '\\' | '.' | ':' | '@' | '#'))
        || !compound.contains('-')
}

/// Words that ask in Thai, which is written without question marks.
const THAI_ASKS: &[&str] = &["ไหม", "อะไร", "ที่ไหน", "เมื่อไ", "เท่าไ", "ใคร", "ทำไม", "ยังไง", "อย่างไร", "กี่", "หรือเปล่า"];

/// Whether a text asks something: a question mark of any script in it, or in Thai a word that asks.
pub(super) fn asks(text: &str) -> bool {
    text.contains(['?', '？', '؟', '\u{37E}', '⸮']) || THAI_ASKS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Question {
        Question::new(&Analyzer::default(), text, 0.0)
    }

    #[test]
    fn roles_and_newest() {
        assert_eq!(read("What did you suggest for the cache?").role, Some(Role::Assistant));
        assert_eq!(read("What port did I mention?").role, Some(Role::User));
        assert_eq!(read("Which port is it?").role, None);
        assert!(read("the latest decision").asks_for_newest && read("최근에 뭐라고 했지").asks_for_newest);
        assert!(!read("the first decision").asks_for_newest);
    }

    #[test]
    fn dates_survive_the_analyzer() {
        assert_eq!(read("on May 8th, 2023?").times.len(), 1);
        assert_eq!(read("the 2023-05-08 deploy").times.len(), 1);
    }
}
