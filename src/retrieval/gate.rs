//! Whether a question needs old messages at all.
//!
//! When in doubt it retrieves, if a search could find anything: the floor on the score keeps noise out, but nothing brings
//! back what was not looked for. Where only words are compared, and no older message has more than a little of the
//! question's, a search finds nothing, and that is told from the postings. Every decision comes with its reasons.
//!
//! Two things are read. The question says by its words whether it points back, is about the user's own things, is small
//! talk, is about the last answer, or brings all that it needs. The index says which of its words stand in the recent
//! window, and which stand in an older message and not there. A decision to retrieve is *sure* where one of these speaks
//! for it; then the floor is lowered to what the search itself is sure of ([`Decision::floor`]). Else nothing speaks for
//! or against it, and what a search finds above the floor decides.

use super::gate_overlap::Overlap;
use super::gate_question::{GateQuestion, WordKind};
use super::message_index::MessageIndex;
use super::question::{quoted_rows, readable};
use crate::message::Seq;
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
    /// Whether a message could be retrieved, by conversation and seq: the recent window is not.
    pub admits: &'a dyn Fn(u32, Seq) -> bool,
    /// The index that would be searched.
    pub index: &'a MessageIndex,
    /// Messages are compared by vectors too: that no message has a word of the question does not say that none is like it.
    pub has_vectors: bool,
    /// One sentence of a summary that is looked through, of this conversation or of another one of its project, tells of it:
    /// it leads to messages that may have other words.
    pub told_by_summary: bool,
}

/// Whether to retrieve, and why.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Retrieve.
    pub retrieve: bool,
    /// How much speaks for it, 0 to 1. At 0 it is only tried, and a search that finds little brings nothing.
    pub certainty: f64,
    /// Why, at least one.
    ///
    /// For, sure: `always` (the caller says so), `past_reference` (it points at something said before, or turns back to
    /// it), `identifier` and `unresolved_mention` (it names what an older message has and the recent window has not),
    /// `personal` (it is about the user's own things or names somebody who takes part, or asks for advice or a text that
    /// depends on them), `older_match` (an older message has more of its words, or what it quotes). For, not sure: `exact_detail`, `topic_shift` (its words are not those
    /// of the recent window), `in_doubt`.
    ///
    /// Against: `never`, `nothing_older`, `no_older_match` (only words are compared, and no older message has more than a
    /// little of them), `small_talk`, `about_last_answer` (that is to be put otherwise, gone on with or
    /// corrected), `self_contained` (it brings its text, or asks for a calculation or a poem), `general_knowledge`,
    /// `answered_by_recent`.
    pub reasons: Vec<&'static str>,
    /// The question asks for an exact detail: retrieved history deserves more room.
    pub exact_detail: bool,
}

impl Decision {
    /// The score from which on a hit is worth its room, for a search of this confidence
    /// ([`super::SearchResult::confidence`], part of every score) whose best hit has this score.
    ///
    /// Confidence says whether anything like the question was said. Where the question itself says so, it is not asked
    /// again: then what counts is the score without it, and how near a hit is to the best one.
    #[must_use]
    pub fn floor(&self, min_score: f64, confidence: f64, best: f64) -> f64 {
        let lowered = min_score * (1.0 - self.certainty * (1.0 - confidence));
        let floor = if lowered < min_score { min_score.min(lowered.max(best * NEAR_BEST)) } else { min_score };
        if min_score > 0.0 { floor.max(best * self.least_share()).max(LEAST_SCORE.min(min_score)) } else { floor }
    }
}

impl Decision {
    /// Share of the best hit's score that others must have.
    fn least_share(&self) -> f64 {
        LEAST_SHARE + self.certainty * (LEAST_SHARE_IF_SURE - LEAST_SHARE)
    }
}

/// However sure it is that something was said: below this score nothing of the question was found.
const LEAST_SCORE: f64 = 0.02;
/// Hits of less than this share of the best one's score are not worth their room where nothing speaks for retrieval but
/// that they were found.
const LEAST_SHARE: f64 = 0.5;
/// The same where something does: what is asked for may be in several messages, and a list has its weaker ones. From .5
/// down to this 3,000 tokens hold .6 points more of the evidence of LoCoMo, from here to .2 another .1 for more tokens.
const LEAST_SHARE_IF_SURE: f64 = 0.35;
/// Where only a lowered floor lets anything through, hits of less than this share of the best one's score are noise.
const NEAR_BEST: f64 = 0.6;
/// From this share of the question's words in one recent message and the next, it is about them. Words scattered over a
/// long window answer nothing.
const FOLLOW_UP_SHARE: f32 = 0.5;
/// So many, where it asks for an exact detail.
const DETAIL_SHARE: f32 = 0.65;
/// So many, where an older message has just one more of its words.
const PART_SHARE: f32 = 0.2;
/// Most of them; all of them.
const MOST_SHARE: f32 = 0.75;
const ALL: f32 = 0.99;
/// An older message that has so many of the question's words which the recent window has not, and this share of them, is
/// worth a look. Pieces of a script without spaces include many that say nothing.
const LEAD_WORDS: f32 = 0.9;
const LEAD_SHARE: f32 = 0.25;
const UNSPACED_LEAD_SHARE: f32 = 0.15;
/// So many, where the question is about the recent window or the last answer, or brings all that it needs.
const LARGE_LEAD_WORDS: f32 = 1.9;
/// A question of so few words that points at something points at the last answer.
const FEW_WORDS: f32 = 2.0;
/// Of a question that nothing speaks for one older message has so much, by rarity of words, or a search by words finds
/// nothing that is worth its room; so it is with one about the user's own things.
const PART_KNOWN: f32 = 0.2;
/// So much is enough where it has a word that the recent window has not.
const LEADING_KNOWN: f32 = 0.14;
/// The same in a script without spaces, of which each word brings pieces that no message has.
const UNSPACED_KNOWN: f32 = 0.1;
/// Where no older message has a word of its own, and the recent window has more of the question by rarity, and this much, it
/// is about what is talked of.
const LEAST_SHOWN: f32 = 0.2;
/// Certainty where all that speaks for it is one word of an older message.
const BY_ONE_WORD: f64 = 0.5;
/// Decides.
#[must_use]
pub fn decide(request: &GateRequest<'_>) -> Decision {
    let question = GateQuestion::new(request.index.analyzer(), request.question);
    let is_technical = question.words.iter().any(|word| word.kind == WordKind::Identifier);
    let exact_detail = question.asks_detail || is_technical;
    let decision = |retrieve: bool, certainty: f64, reasons: Vec<&'static str>| Decision {
        retrieve,
        certainty,
        reasons,
        exact_detail,
    };
    let skip = |reason: &'static str| decision(false, 0.0, vec![reason]);
    if request.choice == RetrievalChoice::Never {
        return skip("never");
    }
    if request.messages_outside == 0 {
        return skip("nothing_older");
    }
    if request.choice == RetrievalChoice::Always {
        return decision(true, 1.0, vec!["always"]);
    }
    if question.is_small_talk && !question.points_back {
        return skip("small_talk");
    }
    let overlap = Overlap::new(request, &question);
    let has_window = !request.recent.is_empty();
    let total = question.weight();
    let least_share = if question.is_unspaced { UNSPACED_LEAD_SHARE } else { LEAD_SHARE };
    let has_lead = overlap.lead >= LEAD_WORDS && overlap.lead >= total * least_share;
    let follow_up_share = if question.asks_detail { DETAIL_SHARE } else { FOLLOW_UP_SHARE };
    let leads_little = has_lead && overlap.lead < LARGE_LEAD_WORDS && !question.is_unspaced && !question.asks_detail;
    let is_about_recent = overlap.inside >= follow_up_share && overlap.inside > overlap.outside
        || overlap.inside >= PART_SHARE && overlap.inside >= overlap.outside && leads_little
        || overlap.lead < LEAD_WORDS && overlap.shown >= LEAST_SHOWN && overlap.shown > overlap.known;
    let is_follow_up = has_window
        && (is_about_recent
            || question.names_nothing
            || question.supposes && overlap.lead < LARGE_LEAD_WORDS
            || question.points_somewhere
                && (!has_lead
                    || total <= FEW_WORDS && overlap.lead < total * MOST_SHARE && overlap.outside <= overlap.inside));
    let is_reaction = question.is_reaction
        && !(question.points_back || question.asks_detail || question.asks_for_user || question.is_personal)
        && overlap.lead < LARGE_LEAD_WORDS
        && !overlap.leads.iter().any(|kind| *kind != WordKind::Plain);
    let reason_against = match () {
        () if is_reaction => Some("small_talk"),
        () if question.is_self_contained => Some("self_contained"),
        () if question.is_about_answer && has_window => Some("about_last_answer"),
        () if question.is_creative => Some("self_contained"),
        () if is_follow_up => Some("answered_by_recent"),
        () if question.is_general => Some("general_knowledge"),
        () => None,
    };
    let names = |kind: WordKind| overlap.leads.contains(&kind);
    // "Remind me who wrote Dune": nobody spoke of Dune.
    let is_foreign = question.is_general && overlap.has_unknown_name;
    let is_anybodys = question.is_self_contained || is_foreign || question.is_general && overlap.lead < LEAD_WORDS;
    let may_name = !is_anybodys && (is_follow_up || !question.is_about_answer);
    let is_older = match reason_against {
        None => has_lead,
        Some(_) => !question.is_self_contained && overlap.lead >= LARGE_LEAD_WORDS,
    };
    let points_nowhere = question.points_somewhere && !has_window;
    let mut reasons = chosen(&[
        (question.points_back && !(is_foreign && overlap.lead < LARGE_LEAD_WORDS), "past_reference"),
        // One that was spoken of before too: a recent mention of it may be less than what was said then.
        (names(WordKind::Identifier) && may_name || overlap.has_older_identifier && overlap.inside < ALL, "identifier"),
        (names(WordKind::Name) && may_name || points_nowhere, "unresolved_mention"),
        (
            request.names_speaker(&question)
                || question.is_personal && overlap.inside < ALL
                || question.asks_for_user && overlap.inside < FOLLOW_UP_SHARE,
            "personal",
        ),
        (is_older || overlap.has_older_quotation && !question.is_task, "older_match"),
    ]);
    let speaks_for = !reasons.is_empty();
    // What only words are compared for and no message has is not there; what the user's advice or text depends on is told
    // in other words, and is looked for all the same.
    let finds_nothing = !request.has_vectors && !request.told_by_summary;
    let least_known = match question.is_unspaced {
        true => UNSPACED_KNOWN,
        false if overlap.lead >= LEAD_WORDS => LEADING_KNOWN,
        false => PART_KNOWN,
    };
    let knows_little = overlap.known < least_known;
    let is_lookup = reasons == ["personal"] && !question.asks_for_user && !request.names_speaker(&question);
    let certainty = match () {
        () if !speaks_for => 0.0,
        () if is_lookup && knows_little => BY_ONE_WORD,
        () if reasons == ["older_match"] && !question.is_unspaced && overlap.lead < LARGE_LEAD_WORDS => BY_ONE_WORD,
        () => 1.0,
    };
    let is_tried = is_about_recent && has_lead && question.asks_detail && !question.is_self_contained;
    if let Some(reason) = reason_against.filter(|_| !speaks_for && !is_tried) {
        return skip(reason);
    }
    if finds_nothing && knows_little && (!speaks_for || is_lookup) {
        return skip("no_older_match");
    }
    reasons.extend(chosen(&[
        (question.asks_detail, "exact_detail"),
        (!speaks_for && overlap.inside == 0.0, "topic_shift"),
    ]));
    if reasons.is_empty() {
        reasons.push("in_doubt");
    }
    decision(true, certainty, reasons)
}

fn chosen(reasons: &[(bool, &'static str)]) -> Vec<&'static str> {
    reasons.iter().filter(|(holds, _)| *holds).map(|(_, reason)| *reason).collect()
}

impl GateRequest<'_> {
    /// The question names, as a name, somebody who speaks in the messages: it is about them as "my" is about the user.
    fn names_speaker(&self, question: &GateQuestion) -> bool {
        let mut names = question.words.iter().filter(|word| word.kind == WordKind::Name);
        names.any(|name| self.index.speakers.iter().any(|speaker| speaker.words.contains(&name.hash)))
    }

    pub(super) fn quotes_older(&self) -> bool {
        let marks = self.index.timeline.marks();
        quoted_rows(self.index.analyzer(), readable(self.question)).iter().any(|row| {
            !self.recent.iter().any(|document| row.stands_in(marks.of(*document)))
                && marks.holders(row, (0, u32::MAX)).into_iter().any(|document| self.may_bring(document))
        })
    }

    pub(super) fn may_bring(&self, document: u32) -> bool {
        self.index.place(document).is_some_and(|(conversation, seq)| (self.admits)(conversation, seq))
    }
}

crate::json_reader::deserialize_as_json!(RetrievalChoice);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lexical::Analyzer;
    use crate::message::Role;
    use crate::retrieval::Document;
    use proptest::prelude::*;

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
        let older = ["The gateway listens on 7001, see src/gateway/main.rs:42.", "Let us host it in Berlin."];
        for (text, seq) in older.into_iter().zip(1..) {
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
        decide_beside(question, choice, recent_texts, messages_outside, (true, false))
    }

    /// With vectors or without, and a summary that tells of the question or does not.
    fn decide_beside(
        question: &str,
        choice: RetrievalChoice,
        recent_texts: &[&str],
        messages_outside: usize,
        (has_vectors, told_by_summary): (bool, bool),
    ) -> Decision {
        let (index, recent) = index(recent_texts);
        let admits = |conversation: u32, _: Seq| conversation == 1;
        decide(&GateRequest {
            question,
            choice,
            recent: &recent,
            messages_outside,
            admits: &admits,
            index: &index,
            has_vectors,
            told_by_summary,
        })
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
            ("Which port does the gateway use?", "older_match"),
            ("why does src/gateway/main.rs:42 fail", "identifier"),
            ("Tell me about Berlin", "unresolved_mention"),
            ("Suggest a name for the cat", "personal"),
            ("Where is my umbrella?", "personal"),
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
        assert!(
            ask("What is the limit for the gateway, and in which country must it be?").retrieve,
            "of two questions"
        );
    }

    #[test]
    fn what_needs_no_memory_is_skipped_with_its_reason() {
        for (question, reason) in [
            ("Why is the Redis TTL too short?", "answered_by_recent"),
            ("Why?", "answered_by_recent"),
            ("Which one?", "answered_by_recent"),
            ("Can you make it shorter?", "about_last_answer"),
            ("Sorry, I meant the other TTL", "about_last_answer"),
            ("What is 7 * 12?", "self_contained"),
            ("Tell me a joke about owls", "self_contained"),
            ("Explain:\n```\nlet gateway = 7001; let berlin = gateway + 1; print(berlin)\n```", "self_contained"),
            ("What is a monad?", "general_knowledge"),
        ] {
            let decision = ask(question);
            assert_eq!((decision.retrieve, &*decision.reasons), (false, &[reason][..]), "{question}");
        }
    }

    #[test]
    fn words_that_no_message_has_are_not_searched_for_by_words() {
        let by_words = |question: &str, told_by_summary: bool| {
            decide_beside(question, RetrievalChoice::Auto, RECENT, 2, (false, told_by_summary))
        };
        for question in
            ["Which database is it?", "Was there a food allergy?", "Where is the wedding venue?", "예식장이 어디야?"]
        {
            assert_eq!(by_words(question, false).reasons, ["no_older_match"], "{question}");
            assert!(by_words(question, true).retrieve, "the summary speaks of it: {question}");
            assert!(ask(question).retrieve, "vectors may find what has other words: {question}");
        }
        assert_eq!(by_words("What is my blood type?", false).reasons, ["no_older_match"]);
        // What somebody has told may decide, in other words.
        assert_eq!(by_words("Suggest a dinner for tonight", false).reasons, ["personal"]);
        assert!(by_words("Do you remember the wedding venue?", false).retrieve);
        assert!(by_words("Which port does the gateway use?", false).retrieve);
    }

    #[test]
    fn pronouns_that_point_at_nothing_said_before() {
        for question in
            ["Which database is it?", "Was there a food allergy?", "The parcel is late again, where is it now?"]
        {
            assert!(ask(question).retrieve, "{question}");
        }
        for question in ["Is it safe?", "What if I raise it?", "So what should I do first?"] {
            assert_eq!(ask(question).reasons, ["answered_by_recent"], "{question}");
        }
    }

    #[test]
    fn reactions_are_small_talk_and_requests_behind_them_are_not() {
        for question in
            ["Thanks for listening", "Oh, strange!", "Genau so", "Vale, entendido", "なるほど、面白いですね"]
        {
            assert_eq!(ask(question).reasons, ["small_talk"], "{question}");
        }
        for question in
            ["Thanks, and which port does the gateway use?", "ok, look at src/gateway/main.rs:42", "Yes, in Berlin"]
        {
            assert!(ask(question).retrieve, "{question}");
        }
    }

    #[test]
    fn what_is_quoted_from_an_older_message_is_looked_for() {
        for question in ["Find \"the gateway listens on 7001, see src\"", "«Let us host it in Berlin» wer war das"] {
            let decision = ask(question);
            assert!(decision.retrieve && decision.reasons.contains(&"older_match"), "{question}: {decision:?}");
        }
        for question in
            ["Translate \"the gateway listens on 7001, see src\"", "Find \"the gateway on 7001 listens, see src\""]
        {
            assert_eq!(ask(question).reasons, ["self_contained"], "{question}");
        }
        let recent = ["Let us host it in Berlin."];
        let again = decide_with("Find \"let us host it in Berlin\"", RetrievalChoice::Auto, &recent, 2);
        assert!(!again.reasons.contains(&"older_match"), "{again:?}");
    }

    #[test]
    fn a_question_that_names_who_takes_part_is_about_them() {
        let ask_about = |speaker: Option<&str>| {
            let mut index = MessageIndex::new(Analyzer::default(), None);
            let mut add = |seq: u32, text: &str| {
                let document = Document { conversation: 1, seq, role: Role::User, speaker, created_at_ms: 0.0, text };
                index.add(&document).unwrap()
            };
            add(1, "I finished a sunset last week.");
            let recent = [add(2, "Now I am painting a horse for my daughter.")];
            let admits = |_: u32, seq: Seq| seq == 1;
            decide(&GateRequest {
                question: "What has Melanie painted?",
                choice: RetrievalChoice::Auto,
                recent: &recent,
                messages_outside: 1,
                admits: &admits,
                index: &index,
                has_vectors: true,
                told_by_summary: false,
            })
        };
        assert_eq!(ask_about(Some("Melanie")).reasons, ["personal"]);
        assert_eq!(ask_about(None).reasons, ["answered_by_recent"]);
    }

    #[test]
    fn what_is_brought_along_is_not_searched_for() {
        let pasted = format!("Summarise this: {}", "we said yesterday that my gateway is in Berlin. ".repeat(2_000));
        assert_eq!(ask(&pasted).reasons, ["self_contained"]);
        assert!(ask(&format!("What did you say about this: {}", "a b c d e f ".repeat(50))).retrieve);
    }

    #[test]
    fn the_floor_falls_with_certainty_only() {
        let decision = |certainty: f64| Decision { retrieve: true, certainty, reasons: vec!["x"], exact_detail: false };
        assert_eq!(decision(0.0).floor(0.15, 0.1, 0.05), 0.15);
        // Sure: the search's own doubt is taken out, and what is far below the best stays out.
        assert!((decision(1.0).floor(0.15, 0.1, 0.05) - 0.03).abs() < 1e-9);
        assert_eq!(decision(1.0).floor(0.15, 0.1, 0.01), 0.02);
        // A search that is sure itself has the usual floor, or a share of its best hit's score where that is more: a larger
        // one where nothing speaks for it.
        assert_eq!(decision(1.0).floor(0.15, 1.0, 0.2), 0.15);
        assert!((decision(1.0).floor(0.15, 1.0, 0.9) - 0.315).abs() < 1e-9);
        assert_eq!(decision(0.0).floor(0.15, 1.0, 0.9), 0.45);
        // A caller that wants everything gets everything.
        assert_eq!(decision(0.0).floor(0.0, 1.0, 0.9), 0.0);
    }

    proptest! {
        #[test]
        fn any_question_has_a_reason_and_adds_up(question in "(\\PC|[a-z ?:'\"`\n*]){0,200}") {
            let decision = ask(&question);
            prop_assert!(!decision.reasons.is_empty());
            prop_assert!((0.0..=1.0).contains(&decision.certainty));
            prop_assert!(decision.retrieve || decision.certainty == 0.0);
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
}
