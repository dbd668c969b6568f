//! Kinds of answers: what a question wants to hear, and what a message tells.
//!
//! "When did we release it?" is answered by a message that names a time, "how many" by one with a number, "who" and
//! "where" by one with a name. A message's kinds are three bits, read once from its text; they say nothing of long texts,
//! which tell everything, and decide between short ones (+.6 recall@10 on chat turns, +3 on questions for a time).

use crate::lexical::{month_number, push_lower};

/// A set of kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct AnswerKinds(u8);

#[rustfmt::skip] // words in lines, not one to a line
const TIME_WORDS: &[&str] = &[
    "yesterday", "today", "tonight", "tomorrow", "ago", "since", "recently", "just", "last", "next", "morning", "evening",
    "day", "days", "week", "weeks", "weekend", "month", "months", "year", "years", "spring", "summer", "autumn", "winter",
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "gestern", "heute", "morgen", "seit", "vor", "tag", "tage", "tagen", "woche", "wochen", "monat", "monaten", "jahr",
    "jahren", "wochenende", "letzte", "letzten", "letztes", "montag", "dienstag", "mittwoch", "donnerstag", "freitag",
    "samstag", "sonntag", "märz",
    "hier", "aujourd'hui", "demain", "depuis", "jour", "jours", "semaine", "semaines", "mois", "an", "ans", "année",
    "dernier", "dernière", "prochain", "lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche", "février",
    "août", "décembre",
    "ayer", "hoy", "mañana", "hace", "desde", "día", "días", "semana", "semanas", "mes", "meses", "año", "años", "pasado",
    "pasada", "próximo", "lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo",
];

/// The same for scripts without spaces: looked for anywhere in the text.
#[rustfmt::skip] // words in lines, not one to a line
const TIME_PIECES: &[&str] = &[
    "어제", "오늘", "내일", "지난", "다음 주", "요일", "昨日", "今日", "明日", "先週", "来週", "先月", "来月", "去年", "今年", "来年",
    "曜日", "昨天", "今天", "明天", "上周", "下周", "上个月", "下个月", "明年", "星期",
];

/// What stands behind a number that is a time.
const TIME_UNITS: &[char] = &['年', '月', '日', '号', '時', '时', '点', '년', '월', '일', '시'];

#[rustfmt::skip] // words in lines, not one to a line
const NUMBER_WORDS: &[&str] = &[
    "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "dozen", "couple", "few", "several", "once",
    "twice", "half", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "deux", "trois", "quatre",
    "cinq", "dix", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez",
];

/// What asks for a time, at the beginning of a question. Folded, as [`NUMBER_QUESTIONS`] and [`NAME_QUESTIONS`].
const TIME_QUESTIONS: &[&str] = &["when", "wann", "quand", "cuando", "quando", "когда"];
/// What asks for a time, anywhere in a question.
#[rustfmt::skip] // words in lines, not one to a line
const TIME_PHRASES: &[&str] = &[
    " what date ", " what day ", " what month ", " what year ", " what time ", " which date ", " which day ",
    " which month ", " which year ", " how long ", " how old ", " seit wann ", " welchem tag ", " welchem jahr ",
    " wie lange ", " quel jour ", " quelle date ", " quelle heure ", " que dia ", " que fecha ", " que hora ",
];
const TIME_QUESTION_PIECES: &[&str] =
    &["언제", "몇 시", "며칠", "いつ", "何時", "何日", "什么时候", "何时", "几点", "哪天", "哪年"];

const NUMBER_QUESTIONS: &[&str] = &["combien", "cuantos", "cuantas", "cuanto", "quanti", "quante", "сколько"];
#[rustfmt::skip] // words in lines, not one to a line
const NUMBER_PHRASES: &[&str] = &[
    " how many ", " how much ", " how often ", " how long ", " how old ", " how far ", " wie viele ", " wie viel ",
    " wie oft ", " wie lange ", " wie alt ",
];
const NUMBER_QUESTION_PIECES: &[&str] = &["몇 ", "얼마", "いくつ", "いくら", "何人", "何回", "多少", "几个", "几次"];

#[rustfmt::skip] // words in lines, not one to a line
const NAME_QUESTIONS: &[&str] = &[
    "who", "whom", "where", "wer", "wem", "wen", "wo", "wohin", "woher", "qui", "ou", "quien", "donde", "chi", "dove", "кто",
    "где",
];
#[rustfmt::skip] // words in lines, not one to a line
const NAME_PHRASES: &[&str] = &[
    " what city ", " which city ", " what country ", " which country ", " what state ", " which state ", " what place ",
    " which place ", " what company ", " which company ", " whose ",
];
const NAME_QUESTION_PIECES: &[&str] = &["누가", "누구", "어디", "誰", "どこ", "谁", "哪里", "哪儿"];

/// A question word counts among so many words from the beginning: further on, "when" mostly joins two clauses.
const BEGINNING: usize = 3;

impl AnswerKinds {
    /// A day, a date, a stretch of time.
    pub const TIME: Self = Self(1);
    /// A number or how many.
    pub const NUMBER: Self = Self(2);
    /// A person, a place, a thing with a name.
    pub const NAME: Self = Self(4);
    const ALL: Self = Self(7);

    /// As bits, to be stored.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// From stored bits; unknown ones are left out.
    pub fn from_bits(bits: u8) -> Self {
        Self(bits & Self::ALL.0)
    }

    fn add(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// The kinds in both.
    pub fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// 1 where this kind is in it, else 0.
    pub fn share(self, kind: Self) -> f32 {
        f32::from(u8::from(self.0 & kind.0 != 0))
    }

    /// What a message tells.
    pub fn told(text: &str) -> Self {
        let mut told = Self::default();
        let mut word = String::new();
        let mut before = ['.', '.'];
        let mut is_name = false;
        for letter in text.chars().chain([' ']) {
            if letter.is_alphanumeric() || letter == '\'' {
                if word.is_empty() {
                    // A capital in the middle of a sentence.
                    is_name =
                        letter.is_uppercase() && before[1] == ' ' && (before[0].is_lowercase() || before[0] == ',');
                } else if is_name && letter.is_uppercase() {
                    is_name = false;
                }
                if before[1].is_ascii_digit() && TIME_UNITS.contains(&letter) {
                    told.add(Self::TIME);
                }
                push_lower(letter, &mut word);
            } else if !word.is_empty() {
                told.read_word(&word, is_name);
                word.clear();
                if told == Self::ALL {
                    return told;
                }
            }
            before = [before[1], letter];
        }
        if TIME_PIECES.iter().any(|piece| text.contains(piece)) {
            told.add(Self::TIME);
        }
        told
    }

    /// `is_name`: it begins with a capital, in the middle of a sentence.
    fn read_word(&mut self, word: &str, is_name: bool) {
        if is_name && word.chars().nth(1).is_some() {
            self.add(Self::NAME);
        }
        if word.contains(|letter: char| letter.is_ascii_digit()) || NUMBER_WORDS.contains(&word) {
            self.add(Self::NUMBER);
        }
        // "May" is a month where it is written large.
        if TIME_WORDS.contains(&word) || (word != "may" || is_name) && month_number(word).is_some() {
            self.add(Self::TIME);
        }
    }

    /// What a question asks for: `words` are its words in order, folded; `text` is the whole, folded.
    pub fn asked(words: &[&str], text: &str) -> Self {
        let sentence = format!(" {} ", words.join(" "));
        let beginning = &words[..words.len().min(BEGINNING)];
        let mut asked = Self::default();
        for (kind, first, phrases, pieces) in [
            (Self::TIME, TIME_QUESTIONS, TIME_PHRASES, TIME_QUESTION_PIECES),
            (Self::NUMBER, NUMBER_QUESTIONS, NUMBER_PHRASES, NUMBER_QUESTION_PIECES),
            (Self::NAME, NAME_QUESTIONS, NAME_PHRASES, NAME_QUESTION_PIECES),
        ] {
            if beginning.iter().any(|word| first.contains(word))
                || phrases.iter().any(|phrase| sentence.contains(phrase))
                || pieces.iter().any(|piece| text.contains(piece))
            {
                asked.add(kind);
            }
        }
        asked
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> [f32; 3] {
        let kinds = AnswerKinds::told(text);
        [AnswerKinds::TIME, AnswerKinds::NUMBER, AnswerKinds::NAME].map(|kind| kinds.share(kind))
    }

    fn asked(text: &str) -> [f32; 3] {
        let folded = text.to_lowercase();
        let words: Vec<&str> =
            folded.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
        let kinds = AnswerKinds::asked(&words, &folded);
        [AnswerKinds::TIME, AnswerKinds::NUMBER, AnswerKinds::NAME].map(|kind| kinds.share(kind))
    }

    #[test]
    fn messages_tell_times_numbers_and_names() {
        assert_eq!(told("We moved the release to last Friday"), [1.0, 0.0, 1.0]);
        assert_eq!(told("It took three attempts"), [0.0, 1.0, 0.0]);
        assert_eq!(told("Ask Maria, she knows"), [0.0, 0.0, 1.0]);
        assert_eq!(told("You may try it. Then I will."), [0.0, 0.0, 0.0]);
        assert_eq!(told("Wir treffen uns gestern"), [1.0, 0.0, 0.0]);
        assert_eq!(told("회의는 3월이야"), [1.0, 1.0, 0.0]);
        assert_eq!(told("昨日話した"), [1.0, 0.0, 0.0]);
        assert_eq!(told(""), [0.0; 3]);
    }

    #[test]
    fn questions_ask_for_them() {
        assert_eq!(asked("When did we ship?"), [1.0, 0.0, 0.0]);
        assert_eq!(asked("And in what year was that?"), [1.0, 0.0, 0.0]);
        assert_eq!(asked("What did I say about it when we met?"), [0.0, 0.0, 0.0]);
        assert_eq!(asked("How many servers are there"), [0.0, 1.0, 0.0]);
        assert_eq!(asked("Where does she live?"), [0.0, 0.0, 1.0]);
        assert_eq!(asked("회의가 언제야?"), [1.0, 0.0, 0.0]);
        assert_eq!(asked("服务器有多少"), [0.0, 1.0, 0.0]);
    }
}
