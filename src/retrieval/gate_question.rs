//! A question as the gate reads it: what kind of request it is, and its words.

use super::gate_topics as topics;
use super::gate_words as words;
use super::question::{asks, is_technical, readable, stands_between_spaces};
use super::quotations::QUOTATION_MARKS;
use crate::lexical::{Analyzer, Side, TermKind, fold_into};
use std::borrow::Cow;

/// Small talk, and a request about the last answer, are at most so long, in characters.
const SHORT_CHARACTERS: usize = 80;
/// A text given along has at least so many words, or so many letters of a script without spaces.
const GIVEN_WORDS: usize = 5;
const GIVEN_LETTERS: usize = 10;
/// Of the request itself so much is read, in bytes; what follows is taken for a text given along.
const MOST_REQUEST_BYTES: usize = 1_000;

/// Words of any conversation count so much of others.
const LIGHT_WEIGHT: f32 = 0.3;

/// A content word of the question, or a piece of one.
#[derive(Clone, Copy)]
pub(super) struct Word {
    /// What it is indexed by.
    pub hash: u64,
    /// What it counts for, in words: pieces of a script without spaces overlap.
    pub weight: f32,
    pub kind: WordKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WordKind {
    Plain,
    /// Capitalised, and not because a sentence begins.
    Name,
    Identifier,
}

/// A question as the gate reads it.
#[derive(Default)]
pub(super) struct GateQuestion {
    pub words: Vec<Word>,
    pub points_back: bool,
    pub asks_detail: bool,
    /// It points at something without naming it.
    pub points_somewhere: bool,
    pub is_small_talk: bool,
    /// It goes on from what was just said: "what if".
    pub supposes: bool,
    /// It has no word that says what it is about.
    pub names_nothing: bool,
    /// It begins with thanks, agreement, surprise, and asks nothing.
    pub is_reaction: bool,
    /// It is about the last answer: to be put otherwise, gone on with, corrected.
    pub is_about_answer: bool,
    /// It brings all that it needs: a text with what to do with it, a calculation.
    pub is_self_contained: bool,
    /// It says what is to be done with a text that it brings.
    pub is_task: bool,
    /// It asks for a poem, a joke, or the like, or for a text that knows nothing of the user.
    pub is_creative: bool,
    /// It asks for what anybody may know.
    pub is_general: bool,
    /// It is about the user's own things.
    pub is_personal: bool,
    /// It asks for what depends on the user: advice, something written in their way.
    pub asks_for_user: bool,
    /// Most of it is in a script that is written without spaces.
    pub is_unspaced: bool,
}

impl GateQuestion {
    pub fn new(analyzer: &Analyzer, question: &str) -> Self {
        let question = readable(question);
        let (request, has_given_text) = without_given_text(question);
        let text = analyzer.normalized(request);
        let mut read = Self::default();
        let mut sequence = String::from(" ");
        let mut last_position = usize::MAX;
        let mut last_weighed = usize::MAX;
        let mut unspaced = 0.0;
        let mut only_small_talk = true;
        let mut names_something = false;
        analyzer.terms(request, Side::Question, &mut |term| {
            if term.kind == TermKind::Variant {
                return;
            }
            let is_first = term.position != last_position;
            last_position = term.position;
            if is_first {
                sequence.push_str(term.text);
                sequence.push(' ');
            }
            let is_function = is_in(topics::FUNCTION, term.text) || is_english_i(&text, term.position);
            let is_nothing = term.kind == TermKind::StopWord || is_function;
            only_small_talk &= is_nothing || term.kind == TermKind::Gram || is_in(words::SMALL_TALK, term.text);
            if !is_nothing {
                let kind = match term.kind {
                    TermKind::Identifier if is_technical(term.text) => WordKind::Identifier,
                    _ if is_first && is_name(&text, term.position) => WordKind::Name,
                    _ => WordKind::Plain,
                };
                let begins = last_weighed != term.position;
                let says_little = is_in(topics::LIGHT, term.text) || is_in(words::DETAIL, term.text);
                names_something |= !says_little;
                let weight = weight(term.kind, term.text, begins) * if says_little { LIGHT_WEIGHT } else { 1.0 };
                if weight > 0.0 {
                    last_weighed = term.position;
                }
                read.words.push(Word { hash: term.hash, weight, kind });
                unspaced += if term.kind == TermKind::Gram { weight } else { -weight };
            }
        });
        read.is_unspaced = unspaced > 0.0;
        let mut folded = String::new();
        fold_into(&text, &mut folded);
        let has = |table: &str| table.split('|').any(|phrase| has_phrase(&sequence, &folded, phrase));
        let characters = text.chars().count();
        let is_short = characters <= SHORT_CHARACTERS;
        let has_mark = text.contains(['?', '？']);
        read.asks_detail = has(words::DETAIL);
        read.points_back = has(words::PAST) || read.asks_detail && has(words::AGAIN);
        // Beside a name it points at that.
        let has_name = read.words.iter().any(|word| word.kind == WordKind::Name);
        read.points_somewhere =
            !has_name && has(words::POINTING) && !is_dummy_pronoun(&sequence) && !points_within(&folded);
        read.supposes = has(words::SUPPOSING);
        read.names_nothing = !names_something;
        read.is_reaction = !asks(&text) && is_short && begins_with_reaction(&sequence, &folded);
        read.is_small_talk = !has_given_text && is_short && only_small_talk && !has_mark && is_small_in_pieces(&folded);
        read.is_task = has_given_text && has(words::TASK);
        // "How many times" counts, and multiplies nothing.
        let calculates = has(words::ARITHMETIC) && !has("how many times");
        read.is_self_contained = read.is_task
            || has_given_text && request.len() < question.len() / 2
            || is_calculation(&text, calculates || text.contains('%'));
        // "What is the limit, and in which country must it be?": of two questions the first says what they are about.
        let first = first_question(&sequence);
        read.is_general = topics::KNOWLEDGE.split('|').any(|phrase| has_phrase(&first, &folded, phrase))
            && ![" and ", " und ", " et ", " y "].iter().any(|and| sequence.starts_with(and));
        read.is_creative = !has_mark && has(words::CREATIVE);
        read.is_about_answer = !read.is_self_contained && is_short && (has(words::EDIT) || has(words::CORRECTION));
        read.is_personal = has(words::PERSONAL);
        let is_own_task = read.is_self_contained || read.is_about_answer || read.is_creative;
        // "Write a letter of thanks" says all that it needs; "write the letter" and "write me a letter" do not.
        let is_for_anybody = has(words::COMPOSE_ANY) && !has(words::DEFINITE) && !read.is_personal && !has_name;
        let composes = !has_mark && has(words::COMPOSE) && !is_for_anybody;
        read.is_creative |= !has_mark && is_for_anybody;
        // "What should I change first?" names nothing that could have been told.
        let advises = has(words::ADVICE) && names_something;
        read.asks_for_user = has(words::US) || !is_own_task && (advises || composes);
        read
    }

    /// How many words it has that mean something.
    pub fn weight(&self) -> f32 {
        self.words.iter().map(|word| word.weight).sum()
    }
}

/// Of two questions that an "and" joins the first, else all: words between spaces.
fn first_question(sequence: &str) -> Cow<'_, str> {
    let asks = |first: &str| {
        ["what", "how", "when", "where", "who", "which"].iter().any(|word| first.trim_start().starts_with(word))
    };
    match sequence.split_once(" and ") {
        Some((first, _)) if asks(first) => Cow::Owned(format!("{first} ")),
        _ => Cow::Borrowed(sequence),
    }
}

fn is_in(table: &str, word: &str) -> bool {
    table.split('|').any(|one| one == word)
}

fn has_phrase(sequence: &str, folded: &str, phrase: &str) -> bool {
    if !phrase.is_ascii() {
        return folded.contains(phrase);
    }
    stands_between_spaces(sequence, phrase)
}

/// A word counts one, a short one without a capital half: most of those say little in any language. Pieces of a script
/// without spaces overlap, so two or four of them count one; the first of a run more, since it begins a word for certain.
fn weight(kind: TermKind, text: &str, begins: bool) -> f32 {
    match (kind, text.chars().count()) {
        (TermKind::Part, _) | (TermKind::Gram, 4..) => 0.0,
        (TermKind::Gram, 2) if begins => 1.0,
        (TermKind::Gram, 3) if !is_thai(text) => 0.0,
        (TermKind::Gram, 3) => 0.25,
        (TermKind::Gram, _) => 0.5,
        (_, ..4) if text.bytes().all(|byte| byte.is_ascii_lowercase()) => 0.5,
        _ => 1.0,
    }
}

/// "Which database is it?" and "is there an allergy?" point at nothing: they say what is meant.
fn is_dummy_pronoun(sequence: &str) -> bool {
    let begins = |starts: &[&str]| starts.iter().any(|start| sequence.starts_with(start));
    let ends = |ends: &[&str]| ends.iter().any(|end| sequence.ends_with(end));
    let names = sequence.split(' ').filter(|word| !word.is_empty()).count() >= 4;
    names && begins(&[" which ", " what "]) && ends(&[" is it ", " was it ", " are they ", " were they "])
        || begins(&[" is there ", " are there ", " was there ", " were there "])
        || begins(&[" welche ", " welcher ", " welches "])
            && ends(&[" ist das ", " war das ", " sind das ", " waren das "])
}

/// "The parcel is late, where is it?" points at what it names itself, before a pause.
fn points_within(folded: &str) -> bool {
    let pauses = [", ", ": ", ". ", " and ", " und ", " y ", " et "];
    let Some(at) = pauses.iter().filter_map(|pause| folded.rfind(pause)).max() else { return false };
    let head = &folded[..at];
    let words = || head.split(|letter: char| !letter.is_alphanumeric());
    words().filter(|word| word.len() > 3).count() > 1 && !words().any(|word| is_in(words::POINTING, word))
}

fn begins_with_reaction(sequence: &str, folded: &str) -> bool {
    let folded = folded.trim_start();
    words::REACTIONS.split('|').any(|start| match start.is_ascii() {
        true => sequence.trim_start().strip_prefix(start).is_some_and(|rest| rest.starts_with(' ')),
        false => folded.starts_with(start),
    })
}

fn is_thai(text: &str) -> bool {
    text.starts_with(|letter| ('\u{E00}'..'\u{3000}').contains(&letter))
}

/// "I" and "I'll" are capitalised and no names.
fn is_english_i(text: &str, position: usize) -> bool {
    let rest = text.get(position..).unwrap_or_default();
    rest.strip_prefix('I')
        .is_some_and(|rest| !rest.starts_with(char::is_alphanumeric) && !rest.starts_with(['-', '.', '/', ':']))
}

/// The request without a text that it brings, and whether it brings one: a code block, lines below the first, what
/// stands between quotation marks, what follows a colon and is no question.
fn without_given_text(question: &str) -> (&str, bool) {
    let end = question.floor_char_boundary(MOST_REQUEST_BYTES);
    let mut request = question;
    let mut cut = |at: Option<usize>| {
        if let Some(at) = at.filter(|at| is_given(&question[*at..])) {
            request = &question[..at.min(request.len())];
        }
    };
    cut(question.find("```"));
    cut(question.find('\n'));
    let is_told = |at: &usize| !question[*at..].trim_end().ends_with(['?', '？']) || begins_with_task(&question[..*at]);
    let after_colon = question.find([':', '：']).filter(is_told);
    cut(after_colon);
    // A question may well name a book.
    let quotes = if question.trim_end().ends_with(['?', '？']) { &[][..] } else { QUOTATION_MARKS };
    for (open, close) in quotes.iter().copied() {
        let begins = |at: &usize| *at == 0 || question[..*at].ends_with([' ', '(', ':', '：']);
        let Some(at) = question.match_indices(open).map(|(at, _)| at).find(begins) else { continue };
        let quoted = &question[at + open.len_utf8()..];
        cut(quoted.find(close).filter(|end| is_given(&quoted[..*end])).map(|_| at));
    }
    cut((end < question.len()).then_some(end));
    (request, request.len() < question.len())
}

fn begins_with_task(request: &str) -> bool {
    let mut folded = String::new();
    fold_into(request, &mut folded);
    words::TASK.split('|').any(|task| folded.starts_with(task))
}

fn is_given(text: &str) -> bool {
    let unspaced = text.chars().filter(|letter| u32::from(*letter) >= 0x0E00 && letter.is_alphabetic()).count();
    text.split_whitespace().count() >= GIVEN_WORDS || unspaced >= GIVEN_LETTERS
}

/// Numbers with what is to be done with them.
fn is_calculation(text: &str, has_words: bool) -> bool {
    let has_digit = text.contains(|letter: char| letter.is_ascii_digit());
    let bytes = text.as_bytes();
    let stands_between = |at: usize| {
        let before = text[..at].trim_end().as_bytes().last().is_some_and(|byte| byte.is_ascii_digit() || *byte == b')');
        let after =
            text[at + 1..].trim_start().as_bytes().first().is_some_and(|byte| byte.is_ascii_digit() || *byte == b'(');
        let is_spaced =
            bytes.get(at.wrapping_sub(1)) == Some(&b' ') || matches!(bytes.get(at), Some(b'*' | b'^' | b'+'));
        before && after && is_spaced
    };
    has_digit && (has_words || text.match_indices(['*', '+', '/', '^', '-']).any(|(at, _)| stands_between(at)))
}

/// Whether the word at this place is capitalised without beginning a sentence.
fn is_name(text: &str, position: usize) -> bool {
    let mut letters = text.get(position..).unwrap_or_default().chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase) && letters.next().is_some_and(char::is_alphabetic);
    let before = text.get(..position).unwrap_or_default().trim_end();
    is_capital && !before.is_empty() && !before.ends_with(['.', '!', '?', ':', '\n', '"', '“', '¿', '¡'])
}

/// Whether nothing is left of a text in Korean, Japanese, Chinese or Thai once its small talk is taken out.
fn is_small_in_pieces(folded: &str) -> bool {
    let is_spoken = |letter: &char| u32::from(*letter) >= 0x0E00 && letter.is_alphabetic();
    if !folded.contains(|letter: char| is_spoken(&letter)) {
        return true;
    }
    let mut rest = folded.to_owned();
    for piece in words::SMALL_TALK_PIECES.split('|') {
        rest = rest.replace(piece, "");
    }
    !rest.contains(|letter: char| is_spoken(&letter))
}
