//! Which part of a long text asks. People and programs send more than the question: instructions, a log, the result of
//! a tool. Its words are hundreds, those of the question are six, so that a search by all of them finds the log.
//!
//! The text is read as sentences. Those that ask, nearest to its beginning or its end, are the question, with the short
//! paragraphs that they stand in; where none is near, those that ask anywhere, if they are few; else a short last
//! paragraph, else a short first one. Where nothing of this is there, all of the text is the question.

use crate::lexical::lowercase;
use std::borrow::Cow;

/// Texts of this length, in bytes, are a question as a whole.
const SHORT: usize = 1_000;
/// What is near the beginning or the end, and what a paragraph may have to be taken as a whole.
const NEAR: usize = 500;
/// Where sentences ask at both ends, the one that is so much nearer to its end is the question.
const BESIDE: usize = 40;
/// Sentences that ask, away from both ends, that may still be the question.
const FEW: usize = 3;

/// Folded words that begin a question in English, German, French and Spanish, where no question mark tells.
#[rustfmt::skip] // words in lines, not one to a line
const BEGINNINGS: &[&str] = &[
    "what", "what's", "which", "who", "whose", "when", "where", "why", "how", "did", "do", "does", "was", "were", "can",
    "could", "tell", "remind", "was", "welche", "welcher", "welches", "wer", "wann", "wo", "warum", "wie", "que", "quel",
    "quelle", "qui", "quand", "pourquoi", "comment", "cual", "quien", "cuando", "donde", "como",
];

/// Folded words that begin a condition.
const CONDITIONS: &[&str] = &["if", "unless", "wenn", "falls", "si", "만약", "如果", "もし", "ถ้า"];

/// What a question ends with where no question mark tells: Korean, Japanese, Chinese, Thai.
#[rustfmt::skip] // words in lines, not one to a line
const ENDINGS: &[&str] = &[
    "더라", "였지", "했지", "었지", "인가요", "나요", "까요", "습니까", "입니까", "던가", "뭐야", "っけ", "ですか", "ますか", "でしたか",
    "ましたか", "でしょうか", "吗", "呢", "来着", "什么", "多少", "哪里", "อะไร", "อะไรนะ", "ไหม", "ไหน", "ไหนนะ", "เท่าไร", "เท่าไรนะ",
    "อย่างไร", "เมื่อไร", "ใคร", "ทำไม", "บ้าง", "หรือเปล่า",
];

const ENDS: [char; 8] = ['.', '!', '?', '？', '。', '！', '؟', '\n'];

/// A stretch of a text, in bytes.
type Stretch = (usize, usize);

/// The part of a text that asks; all of a short one.
pub(super) fn asking_part(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let found = if text.len() <= SHORT { Vec::new() } else { stretches(text) };
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut question = String::new();
    let mut from = 0;
    for (start, end) in found {
        question.push_str(&text[start.clamp(from, end)..end]);
        question.push('\n');
        from = end.max(from);
    }
    Cow::Owned(question)
}

fn stretches(text: &str) -> Vec<Stretch> {
    let all = sentences(text);
    let clarities: Vec<u8> = all.iter().map(|(start, end)| clarity(&text[*start..*end])).collect();
    let clearest = clarities.iter().copied().max().unwrap_or(0).max(1);
    // From either end the first that asks so clearly, and those that follow it at once.
    let run = |order: &mut dyn Iterator<Item = usize>| -> Vec<Stretch> {
        let run = order.skip_while(|at| clarities[*at] < clearest).take_while(|at| clarities[*at] == clearest);
        run.map(|at| all[at]).collect()
    };
    let distance = |run: &[Stretch]| run.first().map_or(text.len(), |(start, end)| (*start).min(text.len() - end));
    let (first, last) = (run(&mut (0..all.len())), run(&mut (0..all.len()).rev()));
    let nearest = distance(&first).min(distance(&last));
    let mut chosen = Vec::new();
    if nearest <= NEAR {
        chosen.extend([first, last].into_iter().filter(|run| distance(run) <= nearest + BESIDE).flatten());
    } else if clarities.iter().filter(|clarity| **clarity == clearest).count() <= FEW {
        chosen.extend(
            all.iter().zip(&clarities).filter(|(_, clarity)| **clarity == clearest).map(|(stretch, _)| *stretch),
        );
    }
    if chosen.is_empty() {
        let short = |stretch: &Stretch| stretch.1 - stretch.0 <= NEAR && is_prose(&text[stretch.0..stretch.1]);
        chosen.extend([text.len(), 0].map(|at| paragraph(text, at)).into_iter().find(short));
    }
    for stretch in &mut chosen {
        let (start, end) = paragraph(text, stretch.0);
        if end - start <= NEAR && is_prose(&text[start..end]) {
            *stretch = (start, end.max(stretch.1));
        }
    }
    crate::sorting::sort(&mut chosen);
    chosen.dedup();
    chosen
}

/// The paragraph, between blank lines, that this place is in.
fn paragraph(text: &str, at: usize) -> Stretch {
    let start = text[..at].rfind("\n\n").map_or(0, |end| end + 2);
    let end = text[at..].find("\n\n").map_or(text.len(), |length| at + length);
    (start, end)
}

/// Sentences, and lines, with the marks at their ends.
fn sentences(text: &str) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut characters = text.char_indices().peekable();
    while let Some((at, character)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        // A mark within a word ends nothing: "example.com", "/search?q=1".
        let is_inside = character.is_ascii() && character != '\n' && next.is_some_and(|next| !next.is_whitespace());
        if ENDS.contains(&character) && !is_inside {
            found.push((start, at + character.len_utf8()));
            start = at + character.len_utf8();
        }
    }
    found.push((start, text.len()));
    found
}

/// Whether this is written for people: data and programs are full of brackets, quotes and equals signs.
fn is_prose(text: &str) -> bool {
    let signs =
        text.bytes().filter(|byte| matches!(byte, b'{' | b'}' | b'[' | b']' | b'"' | b'=' | b';' | b'<' | b'>' | b'|'));
    signs.count() * 20 <= text.len()
}

/// How clearly a sentence asks. 3: by a mark or a word at its end; 2: so, but it begins with "if", as instructions do
/// ("If it is unclear, ask: what do you mean?"); 1: by its first word alone, as "When somebody asks, answer." does too;
/// 0: not at all.
fn clarity(sentence: &str) -> u8 {
    let sentence = sentence.trim();
    if sentence.is_empty() || sentence.len() > NEAR || !is_prose(sentence) {
        return 0;
    }
    let words = sentence.trim_end_matches(['.', '。', '!', '！']);
    let first = lowercase(words.split_whitespace().next().unwrap_or_default());
    let is_marked = sentence.ends_with(['?', '？', '؟']) || ENDINGS.iter().any(|ending| words.ends_with(ending));
    match (is_marked, CONDITIONS.contains(&first.as_str())) {
        (true, false) => 3,
        (true, true) => 2,
        (false, _) => u8::from(BEGINNINGS.contains(&first.as_str())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSTRUCTIONS: &str = "You are the assistant of a travel agency. Answer in short sentences and stay polite. ";

    #[test]
    fn a_short_text_asks_as_a_whole() {
        let text = "My cat is ill. It eats nothing.\n\nWhat did you say about soup?";
        assert_eq!(asking_part(text), text);
    }

    #[test]
    fn the_question_is_found_in_front_behind_and_in_line() {
        let pasted = INSTRUCTIONS.repeat(40);
        for question in [
            "When did we open port 8443?",
            "remind me of the port",
            "포트가 뭐였지",
            "ポートは何番でしたっけ",
            "พอร์ตอะไรนะ",
        ] {
            let texts =
                [format!("{question}\n\n{pasted}"), format!("{pasted}\n\n{question}"), format!("{pasted}\n{question}")];
            for text in texts {
                assert_eq!(asking_part(&text).trim(), question, "{text:.80}");
            }
        }
        assert_eq!(asking_part(&format!("{pasted} Which port is it? {pasted}")).trim(), "Which port is it?");
    }

    #[test]
    fn what_stands_beside_the_question_stays_with_it() {
        let text = format!("{}\n\nThe build breaks in src/main.rs:42. Why is that?", "{\"a\": [1, 2, 3]}, ".repeat(99));
        assert_eq!(asking_part(&text).trim(), "The build breaks in src/main.rs:42. Why is that?");
    }

    #[test]
    fn without_a_question_all_of_it_asks() {
        let text = INSTRUCTIONS.repeat(40);
        assert_eq!(asking_part(&text), text.trim());
    }
}
