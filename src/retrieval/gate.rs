//! Whether a question needs old messages at all.
//!
//! When in doubt it retrieves: the floor on the score keeps noise out, but nothing brings back what was not looked for.
//! Every decision comes with its reasons.

use super::gate_words::{
    DETAIL, DETAIL_PIECES, PAST, PAST_PIECES, POINTING, POINTING_PIECES, SMALL_TALK, SMALL_TALK_PIECES,
};
use super::message_index::MessageIndex;
use super::question::{is_technical, readable};
use crate::lexical::{Analyzer, Side, TermKind, fold_into};
use serde::Serialize;

/// What the caller asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RetrievalChoice {
    /// The gate decides.
    #[default]
    Auto,
    /// Look, if there is anything to look through.
    Always,
    /// Do not look.
    Never,
}

crate::json_reader::json_names!(RetrievalChoice { Auto: "auto", Always: "always", Never: "never" });

/// The question and what the model sees anyway.
#[derive(Clone, Copy)]
pub struct GateRequest<'a> {
    /// The question.
    pub question: &'a str,
    /// What the caller asked for.
    pub choice: RetrievalChoice,
    /// Documents of the recent window, oldest first: what the model sees anyway.
    pub recent: &'a [u32],
    /// Messages that could be retrieved ([`MessageIndex::messages_outside`]).
    pub messages_outside: usize,
    /// The index that would be searched: gives the analyzer, and the best lexical evidence where the question looks
    /// like a follow-up.
    pub index: &'a MessageIndex,
}

/// Whether to retrieve, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// Retrieve.
    pub retrieve: bool,
    /// Why, at least one. For: `always`, `past_reference`, `exact_detail`, `identifier`, `unresolved_mention`,
    /// `topic_shift`, `older_match`, `in_doubt`. Against: `never`, `nothing_older`, `small_talk`, `answered_by_recent`.
    pub reasons: Vec<&'static str>,
    /// The question asks for an exact detail: retrieved history deserves more room.
    pub exact_detail: bool,
}

/// Share of a question's content terms that must stand together, in one recent message or two neighbouring ones, for the
/// question to be a follow-up: all. Terms scattered over a long window answer nothing: pooled, a window of 150 messages
/// "answered" a quarter of the sample conversation's questions about something older.
const FOLLOW_UP_SHARE: f32 = 0.99;
/// Below this share the topic has shifted.
const SHIFT_SHARE: f32 = 0.5;
/// An older message that has so much more of the question than the recent window is worth a look.
const OLDER_LEAD: f32 = 0.2;
/// Small talk is at most so long, in characters.
const SMALL_TALK_CHARACTERS: usize = 80;

/// Decides.
#[must_use]
pub fn decide(request: &GateRequest<'_>) -> Decision {
    let analyzer = request.index.analyzer();
    let reading = Reading::new(analyzer, request.question);
    let exact_detail = reading.asks_detail || reading.has_identifier;
    let decision = |retrieve: bool, reasons: Vec<&'static str>| Decision { retrieve, reasons, exact_detail };
    if request.choice == RetrievalChoice::Never {
        return decision(false, vec!["never"]);
    }
    if request.messages_outside == 0 {
        return decision(false, vec!["nothing_older"]);
    }
    if request.choice == RetrievalChoice::Always {
        return decision(true, vec!["always"]);
    }
    if reading.is_small_talk && !reading.points_back {
        return decision(false, vec!["small_talk"]);
    }
    let recent = reading.terms_in(request.index, request.recent);
    let known = |hash: u64| recent.iter().any(|terms| terms.contains(&hash));
    let share = reading.share(&known);
    let share_together = share.map(|_| reading.best_share_together(&recent));
    let mut reasons = Vec::new();
    let mut add = |holds: bool, reason: &'static str| {
        if holds {
            reasons.push(reason);
        }
    };
    let is_missing = share.is_some_and(|share| share < FOLLOW_UP_SHARE);
    add(reading.points_back, "past_reference");
    add(reading.asks_detail && share.is_some(), "exact_detail");
    add(reading.has_identifier && is_missing, "identifier");
    let has_unknown_name = reading.names.iter().any(|name| !known(*name));
    let points_nowhere = reading.points_somewhere && request.recent.is_empty();
    add(has_unknown_name || points_nowhere, "unresolved_mention");
    let points_at_recent = reading.points_somewhere && !request.recent.is_empty() && reading.word_count() <= 2;
    add(share.is_some_and(|share| share < SHIFT_SHARE) && !points_at_recent, "topic_shift");
    if let Some(share) = share_together.filter(|_| reasons.is_empty()) {
        // The recent window's own messages cannot lead it, so what leads is older.
        if request.index.best_coverage(request.question) - share > OLDER_LEAD {
            reasons.push("older_match");
        }
    }
    if !reasons.is_empty() {
        return decision(true, reasons);
    }
    let is_follow_up =
        points_at_recent || share_together.is_none_or(|share| share >= FOLLOW_UP_SHARE) && !request.recent.is_empty();
    if is_follow_up { decision(false, vec!["answered_by_recent"]) } else { decision(true, vec!["in_doubt"]) }
}

/// A question as the gate reads it.
struct Reading {
    /// Hashes of its content terms, by word.
    content: Vec<(usize, u64)>,
    /// Hashes of capitalised words that do not begin a sentence.
    names: Vec<u64>,
    points_back: bool,
    asks_detail: bool,
    has_identifier: bool,
    points_somewhere: bool,
    is_small_talk: bool,
}

impl Reading {
    fn new(analyzer: &Analyzer, question: &str) -> Self {
        let question = readable(question);
        let text = analyzer.normalized(question);
        let mut content = Vec::new();
        let mut names = Vec::new();
        let mut words = String::from(" ");
        let mut last_position = usize::MAX;
        let mut has_identifier = has_quotation(&text);
        let mut only_small_talk = true;
        analyzer.terms(question, Side::Question, &mut |term| {
            if term.kind == TermKind::Variant {
                return;
            }
            let is_first = term.position != last_position;
            last_position = term.position;
            if is_first {
                words.push_str(term.text);
                words.push(' ');
            }
            has_identifier |= term.kind == TermKind::Identifier && is_technical(term.text);
            let is_small = term.kind == TermKind::StopWord || SMALL_TALK.contains(&term.text);
            only_small_talk &= is_small || term.kind == TermKind::Gram;
            if term.kind == TermKind::StopWord {
                return;
            }
            content.push((term.position, term.hash));
            if is_first && is_name(&text, term.position) {
                names.push(term.hash);
            }
        });
        let mut folded = String::new();
        fold_into(&text, &mut folded);
        let has = |phrases: &[&str], pieces: &[&str]| {
            phrases.iter().any(|phrase| has_phrase(&words, phrase)) || pieces.iter().any(|piece| folded.contains(piece))
        };
        let is_short = text.chars().count() <= SMALL_TALK_CHARACTERS;
        Self {
            points_back: has(PAST, PAST_PIECES),
            asks_detail: has(DETAIL, DETAIL_PIECES),
            points_somewhere: has(POINTING, POINTING_PIECES),
            is_small_talk: is_short && only_small_talk && !text.contains(['?', '？']) && is_small_in_pieces(&folded),
            content,
            names,
            has_identifier,
        }
    }

    /// Content words.
    fn word_count(&self) -> usize {
        self.content.chunk_by(|left, right| left.0 == right.0).count()
    }

    /// For each of these documents, which of the question's terms it has: read off the postings of those few terms.
    fn terms_in(&self, index: &MessageIndex, documents: &[u32]) -> Vec<Vec<u64>> {
        let mut places: Vec<(u32, usize)> = documents.iter().copied().zip(0..).collect();
        crate::sorting::sort(&mut places);
        let mut terms = vec![Vec::new(); documents.len()];
        for hash in self.content.iter().map(|(_, hash)| hash).chain(&self.names) {
            index.lexical.for_each_posting(*hash, |document, _| {
                if let Ok(found) = places.binary_search_by_key(&document, |(place, _)| *place) {
                    terms[places[found].1].push(*hash);
                }
            });
        }
        terms
    }

    /// The largest share of the content words that one message and the next have together.
    fn best_share_together(&self, recent: &[Vec<u64>]) -> f32 {
        let pairs = (0..recent.len()).map(|index| (recent.get(index), recent.get(index + 1)));
        let share = |(one, next): (Option<&Vec<u64>>, Option<&Vec<u64>>)| {
            let is_in = |terms: Option<&Vec<u64>>, hash| terms.is_some_and(|terms| terms.contains(&hash));
            self.share(&|hash| is_in(one, hash) || is_in(next, hash)).unwrap_or(0.0)
        };
        pairs.map(share).fold(0.0, f32::max)
    }

    /// Share of the content words of which a term is known; `None` when there is no content word.
    fn share(&self, known: &dyn Fn(u64) -> bool) -> Option<f32> {
        let mut shares = Vec::new();
        for word in self.content.chunk_by(|left, right| left.0 == right.0) {
            let found = word.iter().filter(|(_, hash)| known(*hash)).count();
            shares.push(found as f32 / word.len() as f32);
        }
        (!shares.is_empty()).then(|| shares.iter().sum::<f32>() / shares.len() as f32)
    }
}

fn has_phrase(words: &str, phrase: &str) -> bool {
    words.match_indices(phrase).any(|(at, _)| {
        let bytes = words.as_bytes();
        bytes.get(at.wrapping_sub(1)) == Some(&b' ') && bytes.get(at + phrase.len()) == Some(&b' ')
    })
}

/// Something between quotation marks or backticks.
fn has_quotation(text: &str) -> bool {
    let pairs = [('"', '"'), ('“', '”'), ('`', '`'), ('「', '」'), ('«', '»'), ('„', '“')];
    pairs.iter().any(|(open, close)| {
        text.split_once(*open)
            .is_some_and(|(_, rest)| rest.split_once(*close).is_some_and(|(inner, _)| inner.len() > 1))
    })
}

/// Whether the word at this place is capitalised without beginning a sentence.
fn is_name(text: &str, position: usize) -> bool {
    let is_capital = text.get(position..).and_then(|rest| rest.chars().next()).is_some_and(char::is_uppercase);
    let before = text.get(..position).unwrap_or_default().trim_end();
    is_capital && !before.is_empty() && !before.ends_with(['.', '!', '?', ':', '\n', '"', '“', '¿', '¡'])
}

/// Whether nothing is left of a text in Korean, Japanese or Chinese once its small talk is taken out.
fn is_small_in_pieces(folded: &str) -> bool {
    let mut rest: String = folded.chars().filter(|letter| letter.is_alphabetic() && !letter.is_ascii()).collect();
    for piece in SMALL_TALK_PIECES {
        rest = rest.replace(piece, "");
    }
    // What is left must be in a script that the terms have judged already.
    !rest.chars().any(|letter| u32::from(letter) >= 0x0E00 && !letter.is_lowercase() && !letter.is_uppercase())
}

crate::json_reader::deserialize_as_json!(RetrievalChoice);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Role;
    use crate::retrieval::Document;

    const RECENT: &[&str] = &[
        "The cache layer uses Redis with a TTL of five minutes.",
        "Why does the cache miss so often? The Redis TTL is too short.",
        "캐시는 레디스로 구현했습니다",
    ];

    /// An index with two older messages and these recent ones, and the documents of those.
    fn index(recent_texts: &[&str]) -> (MessageIndex, Vec<u32>) {
        let mut index = MessageIndex::new(Analyzer::default(), None);
        let mut add = |conversation: u32, seq: u32, text: &str| {
            index.add(&Document { conversation, seq, role: Role::User, speaker: None, created_at_ms: 0.0, text })
        };
        for (text, seq) in ["Where shall we host it?", "Which cache do you like?"].into_iter().zip(1..) {
            add(1, seq, text);
        }
        let recent = recent_texts.iter().zip(1..).filter_map(|(text, seq)| add(2, seq, text)).collect();
        (index, recent)
    }

    fn decide_with(
        question: &str,
        choice: RetrievalChoice,
        recent_texts: &[&str],
        messages_outside: usize,
    ) -> Decision {
        let (index, recent) = index(recent_texts);
        decide(&GateRequest { question, choice, recent: &recent, messages_outside, index: &index })
    }

    fn ask(question: &str) -> Decision {
        decide_with(question, RetrievalChoice::Auto, RECENT, 2)
    }

    #[test]
    fn past_references_in_many_languages() {
        for question in [
            "What did you say about the cache earlier?",
            "Do you remember the cache TTL?",
            "Was hatten wir vorhin zum Cache besprochen?",
            "¿Recuerdas el cache?",
            "Tu te souviens du cache Redis ?",
            "Le cache dont on parlait tout à l’heure",
            "As-tu dit le TTL du cache ?",
            "아까 캐시 얘기했던 거 뭐였지?",
            "さっきのキャッシュの話は?",
            "之前说的缓存方案是什么?",
        ] {
            let decision = ask(question);
            assert!(decision.retrieve && decision.reasons.contains(&"past_reference"), "{question}: {decision:?}");
        }
    }

    #[test]
    fn small_talk_in_many_languages() {
        for question in [
            "Thanks, that's great!",
            "ok",
            "Good morning",
            "Danke, super!",
            "¡Muchas gracias!",
            "Merci beaucoup",
            "고마워요!",
            "ありがとうございます。",
            "谢谢你!",
            "👍",
            "",
            "Hello there",
        ] {
            let decision = ask(question);
            assert!(!decision.retrieve, "{question}: {decision:?}");
        }
    }

    #[test]
    fn questions_out_of_the_blue_retrieve() {
        for (question, reason) in [
            ("When did Caroline go to the museum?", "exact_detail"),
            ("What did Jon research?", "topic_shift"),
            ("Which port does the gateway use?", "exact_detail"),
            ("why does src/gateway/main.rs:42 fail", "identifier"),
            ("Tell me about Berlin", "unresolved_mention"),
            ("데이터베이스 포트가 몇 번이야?", "exact_detail"),
            ("データベースの番号は?", "exact_detail"),
            ("数据库的端口是多少?", "exact_detail"),
            ("Wann fahren wir nach Hamburg?", "exact_detail"),
            ("¿Cuál es el puerto de la base de datos?", "exact_detail"),
            ("Quel est le port de la passerelle ?", "exact_detail"),
        ] {
            let decision = ask(question);
            assert!(decision.retrieve && decision.reasons.contains(&reason), "{question}: {decision:?}");
        }
        assert!(ask("Which port does the gateway use?").exact_detail);
    }

    #[test]
    fn follow_ups_do_not() {
        for question in ["Why is the Redis TTL too short?", "Why?", "Which one?", "Can you make it shorter?"] {
            let decision = ask(question);
            assert_eq!(decision.reasons, ["answered_by_recent"].to_vec(), "{question}");
        }
    }

    #[test]
    fn the_caller_and_the_store_come_first() {
        assert_eq!(decide_with("thanks", RetrievalChoice::Always, RECENT, 2).reasons, ["always"]);
        assert_eq!(decide_with("Which port?", RetrievalChoice::Never, RECENT, 2).reasons, ["never"]);
        assert_eq!(decide_with("Which port?", RetrievalChoice::Always, RECENT, 0).reasons, ["nothing_older"]);
        let blank = decide_with("Can you make it shorter?", RetrievalChoice::Auto, &[], 2);
        assert!(blank.reasons.contains(&"unresolved_mention"));
    }

    #[test]
    fn an_older_message_that_says_more_counts() {
        // Points at the recent window, so not a new topic; but the only message with its words is older.
        assert_eq!(ask("Shall we host it?").reasons, ["older_match"]);
    }
}
