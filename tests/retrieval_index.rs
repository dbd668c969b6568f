//! The message index: what is found, what is not, and that history leaves no trace.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use throughline::config::{RerankWeights, RetrievalPolicy};
use throughline::error::Code;
use throughline::lexical::Analyzer;
use throughline::message::Role;
use throughline::retrieval::{Document, MessageFilter, MessageIndex, Mode, SearchRequest, SearchResult};
use throughline::vector::{RowSegment, RowSegmentBuilder, TieredIndex, Tiers};

const DAY_MS: f64 = 86_400_000.0;

fn lexical_only() -> MessageIndex {
    MessageIndex::new(Analyzer::default(), None)
}

fn hybrid(dimensions: usize) -> MessageIndex {
    MessageIndex::new(Analyzer::default(), Some(Box::new(TieredIndex::new(dimensions, Tiers::EXACT))))
}

fn say(index: &mut MessageIndex, conversation: u32, seq: u32, role: Role, day: f64, text: &str) -> Option<u32> {
    index.add(&Document { conversation, seq, role, speaker: None, created_at_ms: day * DAY_MS, text })
}

struct Ask<'a> {
    text: &'a str,
    vector: Option<&'a [f32]>,
    conversation: Option<u32>,
    current: Option<u32>,
    top_k: usize,
    min_score: f32,
}

impl Default for Ask<'_> {
    fn default() -> Self {
        Self { text: "", vector: None, conversation: None, current: None, top_k: 10, min_score: 0.0 }
    }
}

fn ask(index: &MessageIndex, ask: &Ask<'_>) -> SearchResult {
    ask_with(index, ask, &RetrievalPolicy::default())
}

fn ask_with(index: &MessageIndex, ask: &Ask<'_>, policy: &RetrievalPolicy) -> SearchResult {
    index
        .search(&SearchRequest {
            text: ask.text,
            vector: ask.vector,
            conversation: ask.conversation,
            current_conversation: ask.current,
            filter: MessageFilter::default(),
            admits: None,
            top_k: ask.top_k,
            min_score: ask.min_score,
            now_ms: 400.0 * DAY_MS,
            policy,
        })
        .unwrap()
}

fn places(result: &SearchResult) -> Vec<(u32, u32)> {
    result.hits.iter().map(|hit| (hit.conversation, hit.seq)).collect()
}

fn small_talk(index: &mut MessageIndex, conversation: u32, from: u32, count: u32, day: f64) {
    for number in 0..count {
        let text = format!("Let us plan the garden work for row {number}, the roses need water");
        say(index, conversation, from + number, Role::User, day, &text);
    }
}

#[test]
fn an_empty_index_answers_nothing() {
    for index in [lexical_only(), hybrid(2)] {
        assert!(index.is_empty());
        let result = ask(&index, &Ask { text: "anything", vector: Some(&[1.0, 0.0]), ..Ask::default() });
        assert!(result.hits.is_empty() && result.candidates == 0);
        assert_eq!(result.mode, Mode::Lexical);
    }
}

#[test]
fn top_k_of_zero_and_of_a_billion() {
    let mut index = lexical_only();
    small_talk(&mut index, 1, 1, 20, 1.0);
    assert!(ask(&index, &Ask { text: "garden", top_k: 0, ..Ask::default() }).hits.is_empty());
    assert_eq!(ask(&index, &Ask { text: "garden", top_k: 1_000_000_000, ..Ask::default() }).hits.len(), 20);
}

#[test]
fn what_has_no_text_is_not_indexed() {
    let mut index = lexical_only();
    assert_eq!(say(&mut index, 1, 1, Role::User, 1.0, ""), None);
    assert_eq!(say(&mut index, 1, 2, Role::User, 1.0, " \n"), None);
    assert!(index.is_empty());
}

#[test]
fn an_answer_is_found_by_the_words_of_its_question() {
    let mut index = lexical_only();
    small_talk(&mut index, 1, 1, 30, 1.0);
    say(&mut index, 1, 31, Role::User, 9.0, "Which port should the gateway listen on?");
    say(&mut index, 1, 32, Role::Assistant, 9.0, "Let us take 8443, it is free on all three machines.");
    small_talk(&mut index, 1, 33, 30, 20.0);
    let result = ask(&index, &Ask { text: "gateway port", top_k: 2, ..Ask::default() });
    let mut found = places(&result);
    found.sort_unstable();
    assert_eq!(found, [(1, 31), (1, 32)]);
}

#[test]
fn scores_are_in_range_and_explain_themselves() {
    let mut index = hybrid(2);
    for seq in 1..=40 {
        let angle = seq as f32 / 10.0;
        let document =
            say(&mut index, 1, seq, Role::User, f64::from(seq), &format!("topic{} is about item {seq}", seq % 7));
        index.set_vector(document.unwrap(), &[angle.cos(), angle.sin()]).unwrap();
    }
    let result =
        ask(&index, &Ask { text: "latest topic3 item", vector: Some(&[1.0, 0.0]), top_k: 40, ..Ask::default() });
    assert_eq!(result.mode.as_str(), "hybrid");
    assert!(!result.hits.is_empty());
    for hit in &result.hits {
        for signal in [
            Some(hit.score),
            hit.scores.semantic,
            Some(hit.scores.keyword),
            hit.scores.recency,
            Some(hit.scores.reference),
        ] {
            assert!((0.0..=1.0).contains(&signal.unwrap()), "{hit:?}");
        }
        assert!((-1.0..=1.0).contains(&hit.scores.cosine.unwrap()));
    }
    assert!(result.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
}

#[test]
fn words_decide_where_there_is_no_vector() {
    let mut index = hybrid(2);
    let document = say(&mut index, 1, 1, Role::User, 1.0, "the zeppelin landed").unwrap();
    say(&mut index, 1, 2, Role::User, 1.0, "nothing else happened");
    assert_eq!(ask(&index, &Ask { text: "zeppelin", vector: Some(&[1.0, 0.0]), ..Ask::default() }).mode, Mode::Lexical);
    index.set_vector(document, &[0.0, 0.0]).unwrap();
    assert_eq!(ask(&index, &Ask { text: "zeppelin", vector: Some(&[1.0, 0.0]), ..Ask::default() }).mode, Mode::Lexical);
    index.set_vector(document, &[1.0, 0.0]).unwrap();
    let result = ask(&index, &Ask { text: "zeppelin", vector: Some(&[1.0, 0.0]), ..Ask::default() });
    assert_eq!((result.mode, result.hits[0].document), (Mode::Hybrid, document));
}

#[test]
fn meaning_finds_what_words_do_not() {
    let mut index = hybrid(3);
    for seq in 1..=50 {
        let document = say(&mut index, seq, 1, Role::User, 1.0, &format!("row {seq} of the garden")).unwrap();
        let vector = if seq == 17 { [1.0, 0.1, 0.0] } else { [0.0, 1.0, seq as f32 / 100.0] };
        index.set_vector(document, &vector).unwrap();
    }
    let result =
        ask(&index, &Ask { text: "airship", vector: Some(&[1.0, 0.0, 0.0]), min_score: 0.15, ..Ask::default() });
    assert_eq!(places(&result), [(17, 1)]);
}

#[test]
fn nothing_relevant_is_nothing() {
    let mut index = lexical_only();
    small_talk(&mut index, 1, 1, 50, 1.0);
    let noise = Ask { text: "Which kernel version fixes the scheduler deadlock?", min_score: 0.15, ..Ask::default() };
    assert!(ask(&index, &noise).hits.is_empty());
}

#[test]
fn a_conversation_can_be_searched_alone_and_others_count_less() {
    let mut index = lexical_only();
    for conversation in 1..=3 {
        small_talk(&mut index, conversation, 1, 10, 1.0);
        say(&mut index, conversation, 11, Role::User, 1.0, "the zeppelin landed in the garden");
    }
    let alone = ask(&index, &Ask { text: "zeppelin", conversation: Some(2), ..Ask::default() });
    assert!(alone.hits.iter().all(|hit| hit.conversation == 2) && alone.hits[0].seq == 11);
    let all = ask(&index, &Ask { text: "zeppelin", current: Some(2), ..Ask::default() });
    assert_eq!(all.hits[0].conversation, 2);
    let (first, second) = (all.hits[0].score, all.hits.iter().find(|hit| hit.conversation == 1).unwrap().score);
    assert!((second / first - 0.6).abs() < 1e-3);
    assert!(ask(&index, &Ask { text: "zeppelin", conversation: Some(9), ..Ask::default() }).hits.is_empty());
}

#[test]
fn age_counts_only_when_the_newest_is_asked_for() {
    let mut index = lexical_only();
    say(&mut index, 1, 1, Role::User, 100.0, "we decided on the blue design for the shop");
    say(&mut index, 2, 1, Role::User, 399.0, "we decided on the red design for the shop");
    let plain = ask(&index, &Ask { text: "shop design decided", ..Ask::default() });
    assert!(plain.hits.iter().all(|hit| hit.scores.recency.is_none()));
    assert_eq!(places(&plain), [(2, 1), (1, 1)], "newest first among equals");
    let newest = ask(&index, &Ask { text: "latest shop design decided", ..Ask::default() });
    assert!(newest.hits[0].score > newest.hits[1].score && newest.hits[0].conversation == 2);
}

#[test]
fn a_named_day_or_role_counts() {
    let mut index = lexical_only();
    // 2023-05-08 and 2023-07-20.
    say(&mut index, 1, 1, Role::User, 19_485.0, "we talked about the museum visit");
    say(&mut index, 1, 2, Role::Assistant, 19_558.0, "we talked about the museum visit");
    assert_eq!(ask(&index, &Ask { text: "museum visit on 8 May 2023", ..Ask::default() }).hits[0].seq, 1);
    assert_eq!(ask(&index, &Ask { text: "museum visit in July", ..Ask::default() }).hits[0].seq, 2);
    assert_eq!(ask(&index, &Ask { text: "what did I say about the museum", ..Ask::default() }).hits[0].seq, 1);
    assert_eq!(ask(&index, &Ask { text: "what did you say about the museum", ..Ask::default() }).hits[0].seq, 2);
}

#[test]
fn a_message_said_again_replaces_itself() {
    let mut index = lexical_only();
    let first = say(&mut index, 1, 1, Role::User, 1.0, "the zeppelin landed").unwrap();
    say(&mut index, 1, 2, Role::User, 1.0, "good");
    let second = say(&mut index, 1, 1, Role::User, 1.0, "the balloon landed").unwrap();
    assert_eq!((index.len(), index.find(1, 1), index.place(first)), (2, Some(second), None));
    assert!(ask(&index, &Ask { text: "zeppelin", ..Ask::default() }).hits.is_empty());
}

#[test]
fn a_vector_needs_a_message_and_the_right_form() {
    let mut index = hybrid(2);
    let document = say(&mut index, 1, 1, Role::User, 1.0, "hello world").unwrap();
    assert_eq!(index.set_vector(document + 1, &[1.0, 0.0]).unwrap_err().code, Code::NotFound);
    assert_eq!(index.set_vector(document, &[1.0]).unwrap_err().code, Code::EmbeddingDimensionMismatch);
    assert_eq!(index.set_vector(document, &[1.0, f32::NAN]).unwrap_err().code, Code::EmbeddingFailed);
    let mut words = lexical_only();
    let document = say(&mut words, 1, 1, Role::User, 1.0, "hello world").unwrap();
    assert_eq!(words.set_vector(document, &[1.0]).unwrap_err().code, Code::InvalidArgument);
}

#[test]
fn odd_weights_and_times_are_survived() {
    let mut index = lexical_only();
    for (seq, time) in (1..).zip([f64::NAN, f64::INFINITY, -1e300, 1e300, 0.0]) {
        index.add(&Document {
            conversation: 1,
            seq,
            role: Role::User,
            speaker: Some(""),
            created_at_ms: time,
            text: "odd time",
        });
    }
    let zero = RetrievalPolicy {
        weights: RerankWeights { semantic: 0.0, keyword: 0.0, recency: 0.0, reference: 0.0 },
        ..RetrievalPolicy::default()
    };
    assert!(ask_with(&index, &Ask { text: "latest odd time", ..Ask::default() }, &zero).hits.is_empty());
    assert_eq!(ask(&index, &Ask { text: "latest odd time in May", ..Ask::default() }).hits.len(), 5);
}

#[test]
fn a_thousand_equal_messages_are_a_thousand_hits() {
    let mut index = hybrid(2);
    for seq in 1..=1_000 {
        let document = say(&mut index, 1, seq, Role::User, 1.0, "the same words again and again").unwrap();
        index.set_vector(document, &[1.0, 0.5]).unwrap();
    }
    let result = ask(&index, &Ask { text: "same words", vector: Some(&[1.0, 0.5]), top_k: 50, ..Ask::default() });
    let mut found = places(&result);
    found.sort_unstable();
    found.dedup();
    assert_eq!(found.len(), 50);
}

#[test]
fn a_long_log_that_has_every_word_comes_before_short_turns_with_the_commonest() {
    let mut index = lexical_only();
    for seq in 1..=600 {
        let text =
            if seq % 2 == 0 { format!("The ticket number {seq} is open") } else { format!("Lunch at {seq}, fine") };
        say(&mut index, 1, seq, Role::User, 1.0, &text);
    }
    let line = |at: usize| format!("{at} info worker {} finished batch {} in {} ms\n", at % 7, at * 13 % 997, at % 211);
    let (before, after): (String, String) = ((0..120).map(line).collect(), (120..240).map(line).collect());
    let log = format!("{before}ticket rejected because of stale basket\n{after}");
    let log = say(&mut index, 2, 1, Role::User, 1.0, &log).unwrap();
    for question in ["ticket stale basket", "Which ticket was rejected because of a stale basket?"] {
        let result = ask(&index, &Ask { text: question, ..Ask::default() });
        assert_eq!(result.hits.first().map(|hit| hit.document), Some(log), "{question}");
    }
}

#[test]
fn a_message_is_as_near_as_its_nearest_part() {
    let mut index = hybrid(2);
    let long = say(&mut index, 1, 1, Role::User, 1.0, "the long story of the harbour").unwrap();
    let short = say(&mut index, 1, 2, Role::User, 1.0, "a short note").unwrap();
    index.set_vector(short, &[1.0, 0.2]).unwrap();
    for part in [2, 0, 1] {
        index.set_part_vector(long, part, if part == 1 { &[1.0, 0.0] } else { &[0.0, 1.0] }).unwrap();
    }
    let ask_airship =
        |index: &MessageIndex| ask(index, &Ask { text: "airship", vector: Some(&[1.0, 0.0]), ..Ask::default() });
    let result = ask_airship(&index);
    assert_eq!(places(&result), [(1, 1), (1, 2)]);
    assert_eq!(result.hits[0].scores.cosine, Some(1.0));
    index.remove(long);
    assert_eq!(index.vectors().unwrap().len(), 1);
    assert_eq!(places(&ask_airship(&index)), [(1, 2)]);
}

#[test]
fn messages_of_many_parts_leave_places_for_others() {
    let mut index = hybrid(2);
    for seq in 1..=40 {
        let document = say(&mut index, seq, 1, Role::User, 1.0, &format!("story {seq}")).unwrap();
        for part in 0..40 {
            index.set_part_vector(document, part, &[1.0, part as f32 / 1e4]).unwrap();
        }
    }
    for seq in 41..=60 {
        let document = say(&mut index, seq, 1, Role::User, 1.0, &format!("note {seq}")).unwrap();
        index.set_vector(document, &[1.0, 0.1]).unwrap();
    }
    let result = ask(&index, &Ask { text: "airship", vector: Some(&[1.0, 0.0]), top_k: 100, ..Ask::default() });
    assert_eq!(result.hits.len(), 60, "40 stories have 1,600 rows in front of the notes");
}

#[test]
fn a_segment_gives_messages_the_vectors_of_their_parts() {
    let mut builder = RowSegmentBuilder::new(2, None);
    for vector in [[0.0, 1.0], [1.0, 0.0], [0.6, 0.8], [1.0, 0.0]] {
        builder.push(&vector).unwrap();
    }
    let segment = RowSegment::open(builder.finish()).unwrap();
    let mut index = hybrid(2);
    let long = say(&mut index, 1, 1, Role::User, 1.0, "the long story of the harbour").unwrap();
    let short = say(&mut index, 1, 2, Role::User, 1.0, "a short note").unwrap();
    let parts = [Some((long, 0)), Some((long, 1)), Some((short, 0)), Some((77, 0))];
    index.attach_vectors(&segment, &|row| parts[row as usize]).unwrap();
    assert_eq!(index.vectors().unwrap().len(), 3, "the row of a document that is not there is left out");
    let result = ask(&index, &Ask { text: "airship", vector: Some(&[1.0, 0.0]), ..Ask::default() });
    assert_eq!(places(&result), [(1, 1), (1, 2)]);
    assert_eq!(lexical_only().attach_vectors(&segment, &|_| None).unwrap_err().code, Code::InvalidArgument);
    assert_eq!(hybrid(3).attach_vectors(&segment, &|_| None).unwrap_err().code, Code::EmbeddingDimensionMismatch);
}

#[test]
fn a_pasted_log_is_a_question_too() {
    let mut index = lexical_only();
    small_talk(&mut index, 1, 1, 50, 1.0);
    say(&mut index, 1, 51, Role::User, 1.0, "the zeppelin landed on port_8443");
    let words = (0..400).map(|number| format!("word{number} garden row")).collect::<Vec<_>>().join(" ");
    let pasted = format!("{words} zeppelin port_8443 {}", "e\u{301}rror ".repeat(100_000));
    assert_eq!(ask(&index, &Ask { text: &pasted, top_k: 1, ..Ask::default() }).hits[0].seq, 51);
}

#[test]
fn importing_and_deleting_over_and_over_holds_no_more_than_once() {
    let mut index = lexical_only();
    small_talk(&mut index, 1, 1, 20, 1.0);
    let cycle = |index: &mut MessageIndex| {
        small_talk(index, 2, 1, 500, 2.0);
        assert!(!ask(index, &Ask { text: "garden", ..Ask::default() }).hits.is_empty());
        let held = index.memory_bytes();
        index.remove_conversation(2);
        index.sweep();
        held
    };
    let first = cycle(&mut index);
    let rest: Vec<usize> = (0..10).map(|_| cycle(&mut index)).collect();
    assert!(rest.iter().all(|held| *held <= first), "{first} {rest:?}");
    assert_eq!(say(&mut index, 3, 1, Role::User, 3.0, "the zeppelin landed"), Some(20));
    assert_eq!(places(&ask(&index, &Ask { text: "zeppelin", ..Ask::default() })), [(3, 1)]);
}

#[derive(Clone, Debug)]
struct Spoken {
    conversation: u32,
    seq: u32,
    words: Vec<usize>,
    hour: u32,
    vector: Option<(f32, f32)>,
}

const WORDS: [&str; 10] =
    ["alpha", "beta", "gamma?", "delta", "the", "port_8443", "서버를", "running", "you said", "latest"];

fn spoken() -> impl Strategy<Value = Spoken> {
    let words = prop::collection::vec(0..WORDS.len(), 1..6);
    let vector = prop::option::of((-1.0_f32..1.0, -1.0_f32..1.0));
    (0_u32..3, 1_u32..25, words, 0_u32..60, vector).prop_map(|(conversation, seq, words, hour, vector)| Spoken {
        conversation,
        seq,
        words,
        hour,
        vector,
    })
}

fn put(index: &mut MessageIndex, spoken: &Spoken) {
    let text = spoken.words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
    let document = index.add(&Document {
        conversation: spoken.conversation,
        seq: spoken.seq,
        role: if spoken.seq.is_multiple_of(2) { Role::Assistant } else { Role::User },
        speaker: (spoken.words[0] == 1).then_some("Alpha"),
        created_at_ms: f64::from(spoken.hour) * 3_600_000.0,
        text: &text,
    });
    if let (Some(document), Some((x, y))) = (document, spoken.vector) {
        index.set_vector(document, &[x, y]).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Messages come in any order, are replaced and removed, conversations go: what is left answers as if it had come
    /// in order and alone.
    #[test]
    fn history_leaves_no_trace(
        steps in prop::collection::vec((spoken(), 0_u8..10), 1..60),
        question in prop::collection::vec(0..WORDS.len(), 0..5),
        with_vector in any::<bool>(),
        restrict in prop::option::of(0_u32..3),
    ) {
        let mut index = hybrid(2);
        let mut live: Vec<Spoken> = Vec::new();
        for (spoken, action) in &steps {
            match action {
                0 => {
                    index.remove_conversation(spoken.conversation);
                    live.retain(|other| other.conversation != spoken.conversation);
                }
                1..=3 => {
                    if let Some(document) = index.find(spoken.conversation, spoken.seq) {
                        prop_assert!(index.remove(document));
                        prop_assert!(!index.remove(document));
                    }
                    live.retain(|other| (other.conversation, other.seq) != (spoken.conversation, spoken.seq));
                }
                4 => {
                    let goes = |other: &Spoken| other.conversation == spoken.conversation && other.seq >= spoken.seq;
                    let gone = live.iter().filter(|other| goes(other));
                    let documents: Vec<u32> =
                        gone.filter_map(|other| index.find(other.conversation, other.seq)).collect();
                    index.remove_all(spoken.conversation, &documents);
                    live.retain(|other| !goes(other));
                }
                _ => {
                    put(&mut index, spoken);
                    live.retain(|other| (other.conversation, other.seq) != (spoken.conversation, spoken.seq));
                    live.push(spoken.clone());
                }
            }
        }
        live.sort_by_key(|spoken| (spoken.conversation, spoken.seq));
        let mut fresh = hybrid(2);
        for spoken in &live {
            put(&mut fresh, spoken);
        }
        prop_assert_eq!(index.len(), live.len());
        let text = question.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ");
        let vector = [0.6_f32, 0.8];
        let request = Ask {
            text: &text, vector: with_vector.then_some(&vector[..]), conversation: restrict, top_k: 100, ..Ask::default()
        };
        let (result, expected) = (ask(&index, &request), ask(&fresh, &request));
        prop_assert_eq!(result.mode, expected.mode);
        prop_assert_eq!(places(&result), places(&expected));
        for (hit, other) in result.hits.iter().zip(&expected.hits) {
            prop_assert_eq!((hit.score, hit.scores, hit.content_hash), (other.score, other.scores, other.content_hash));
        }
    }
}
