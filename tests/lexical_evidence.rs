//! The figures of a search by words against the same formulas worked out the slow way.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use proptest::prelude::*;
use std::collections::BTreeSet;
use throughline::lexical::{
    Analyzer, AskedTerm, Figures, LexicalIndex, LexicalSegment, NONE, Scope, SegmentBuilder, Side, Surroundings,
    Workspace, hash_term, inverse_document_frequency, saturation,
};

const WORDS: [&str; 6] = ["alpha", "beta", "gamma", "delta", "zeta", "kappa"];

/// A message: its words, whether it asks, whether it begins a session.
#[derive(Clone, Debug)]
struct Spoken {
    words: Vec<usize>,
    asks: bool,
    begins: bool,
}

fn spoken() -> impl Strategy<Value = Spoken> {
    (prop::collection::vec(0..WORDS.len(), 1..6), any::<bool>(), prop::bool::weighted(0.2))
        .prop_map(|(words, asks, begins)| Spoken { words, asks, begins })
}

fn text(spoken: &Spoken) -> String {
    spoken.words.iter().map(|word| WORDS[*word]).collect::<Vec<_>>().join(" ")
}

/// The messages as an index, the first ones in a sealed segment.
fn indexed(messages: &[Spoken], sealed: usize) -> (LexicalIndex, Surroundings) {
    let analyzer = Analyzer::default();
    let (mut index, mut surroundings) = (LexicalIndex::new(), Surroundings::default());
    let (first, rest) = messages.split_at(sealed.min(messages.len()));
    let mut builder = SegmentBuilder::new();
    first.iter().for_each(|message| builder.add(&analyzer, &text(message)));
    index.attach(LexicalSegment::open(builder.finish()).unwrap(), &|_| true);
    rest.iter().for_each(|message| {
        index.add(&analyzer, &text(message));
    });
    for (number, message) in (0..).zip(messages) {
        surroundings.push(message.asks);
        let previous = if message.begins || number == 0 { NONE } else { number - 1 };
        surroundings.put(number, previous, message.words.len() as u16);
    }
    (index, surroundings)
}

/// Sessions as ranges of positions.
fn sessions(messages: &[Spoken]) -> Vec<std::ops::Range<usize>> {
    let mut begins: Vec<usize> =
        messages.iter().enumerate().filter(|(at, message)| *at == 0 || message.begins).map(|(at, _)| at).collect();
    begins.push(messages.len());
    begins.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

fn expected(messages: &[Spoken], question: &[usize], at: usize) -> Figures {
    let documents = messages.len() as f32;
    let sessions = sessions(messages);
    let own = sessions.iter().find(|session| session.contains(&at)).unwrap();
    let terms = |range: std::ops::Range<usize>| messages[range].iter().map(|one| one.words.len()).sum::<usize>() as f32;
    let total = terms(0..messages.len());
    let mean = total / documents;
    let neighbours = 1.0 - sessions.len() as f32 / documents;
    let seconds = (1.0 - 2.0 * sessions.len() as f32 / documents).max(0.0);
    // Sums over the message and its neighbours in the session, by distance.
    let around = |value: &dyn Fn(usize) -> f32, shares: [f32; 5]| {
        let share = |distance: usize| (at + distance).checked_sub(2).filter(|place| own.contains(place)).map(value);
        (0..5).filter_map(|distance| share(distance).map(|value| value * shares[distance])).sum::<f32>()
    };
    let window = [0.4, 0.7, 1.0, 0.7, 0.4];
    let length = |place: usize| messages[place].words.len() as f32;
    let mut figures = Figures::default();
    let mut ideal = 0.0;
    for word in question {
        let count = |place: usize| messages[place].words.iter().filter(|other| *other == word).count() as f32;
        let holders = (0..messages.len()).filter(|place| count(*place) > 0.0).count() as f32;
        let idf = inverse_document_frequency(documents, holders);
        ideal += idf.min(inverse_document_frequency(documents, 1.0));
        if count(at) > 0.0 {
            figures.message += idf * saturation(count(at), length(at), mean);
        }
        if around(&count, window) > 0.0 {
            let mean = mean * (1.0 + 1.4 * neighbours + 0.8 * seconds);
            figures.window += idf * saturation(around(&count, window), around(&length, window), mean);
            figures.coverage += idf * if count(at) > 0.0 { 1.0 } else { 0.5 };
        }
        if at > own.start && messages[at - 1].asks && count(at - 1) > 0.0 {
            figures.answered += idf * saturation(count(at - 1), length(at - 1), mean);
        }
        let holds = |session: &&std::ops::Range<usize>| (*session).clone().any(|place| count(place) > 0.0);
        let in_session: f32 = own.clone().map(count).sum();
        if in_session > 0.0 {
            let idf = inverse_document_frequency(sessions.len() as f32, sessions.iter().filter(holds).count() as f32);
            let mean = total / sessions.len() as f32;
            figures.session += idf * saturation(in_session, terms(own.clone()), mean);
        }
    }
    if ideal > 0.0 {
        figures.coverage /= ideal;
    }
    figures
}

fn asked(question: &[usize]) -> Vec<AskedTerm> {
    question.iter().map(|word| AskedTerm { hash: hash_term(WORDS[*word]), is_optional: false }).collect()
}

fn values(figures: &Figures) -> [f32; 5] {
    [figures.message, figures.window, figures.session, figures.answered, figures.coverage]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn figures_are_those_of_the_formulas(
        messages in prop::collection::vec(spoken(), 1..30),
        sealed in 0_usize..30,
        question in prop::collection::btree_set(0..WORDS.len(), 0..4),
        before in prop::collection::btree_set(0..WORDS.len(), 0..4),
    ) {
        let question: Vec<usize> = question.into_iter().collect();
        let (index, surroundings) = indexed(&messages, sealed);
        let scope = Scope::all(&index, &surroundings, sessions(&messages).len() as u64);
        let mut workspace = Workspace::default();
        // A search leaves nothing to the next.
        workspace.gather(&scope, &asked(&before.into_iter().collect::<Vec<_>>()));
        workspace.gather(&scope, &asked(&question));
        let numbers: Vec<u32> = (0..messages.len() as u32).collect();
        let found = workspace.figures(&scope, &numbers);
        let mut touched = BTreeSet::new();
        for (at, figures) in found.iter().enumerate() {
            let expected = expected(&messages, &question, at);
            for (value, wanted) in values(figures).into_iter().zip(values(&expected)) {
                prop_assert!((value - wanted).abs() <= 1e-4 * wanted.max(1.0), "{at}: {figures:?} {expected:?}");
            }
            if expected.window > 0.0 {
                touched.insert(at as u32);
            }
        }
        let best: BTreeSet<u32> = workspace.best(&scope, 1_000, &|_| true).into_iter().collect();
        prop_assert_eq!(&best, &touched);
        let only: BTreeSet<u32> = workspace.best(&scope, 1, &|document| document % 3 == 1).into_iter().collect();
        prop_assert!(only.iter().all(|document| document % 3 == 1 && touched.contains(document)));
        prop_assert_eq!(only.is_empty(), !touched.iter().any(|document| document % 3 == 1));
    }

    /// What is asked of some documents is answered as if there were no others, but for how common a word is.
    #[test]
    fn a_scope_counts_its_own_documents_alone(
        messages in prop::collection::vec(spoken(), 1..20),
        question in prop::collection::btree_set(0..WORDS.len(), 1..4),
    ) {
        // The same conversation twice, message by message: no word is rarer in one of them than in both.
        let question: Vec<usize> = question.into_iter().collect();
        let analyzer = Analyzer::default();
        let (mut index, mut surroundings) = (LexicalIndex::new(), Surroundings::default());
        for (number, message) in (0..).zip(&messages) {
            for own in [2 * number, 2 * number + 1] {
                index.add(&analyzer, &text(message));
                surroundings.push(message.asks);
                let previous = if message.begins || number == 0 { NONE } else { own - 2 };
                surroundings.put(own, previous, message.words.len() as u16);
            }
        }
        let terms: usize = messages.iter().map(|message| message.words.len()).sum();
        let documents: Vec<u32> = (0..messages.len() as u32).map(|number| 2 * number + 1).collect();
        let scope = Scope::only(&index, &surroundings, &documents, sessions(&messages).len() as u32, terms as u64);
        let mut workspace = Workspace::default();
        workspace.gather(&scope, &asked(&question));
        for (at, figures) in workspace.figures(&scope, &documents).iter().enumerate() {
            let expected = expected(&messages, &question, at);
            for (value, wanted) in values(figures).into_iter().zip(values(&expected)) {
                prop_assert!((value - wanted).abs() <= 1e-4 * wanted.max(1.0), "{at}: {figures:?} {expected:?}");
            }
        }
        prop_assert!(workspace.best(&scope, 1_000, &|_| true).iter().all(|document| document % 2 == 1));
    }
}

#[test]
fn a_word_is_looked_for_with_the_hash_of_the_analyzer() {
    let mut hashes = Vec::new();
    Analyzer::default().terms("alpha kappa", Side::Document, &mut |term| hashes.push(term.hash));
    assert_eq!(hashes, ["alpha", "kappa"].map(hash_term));
}
