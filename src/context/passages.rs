//! A long message reduced to the passages that say most about the question.
//!
//! A passage is what is never cut: a sentence, a line of code, a row of a table. Passages are taken word for word and
//! stand in their order; a mark shows where something was left out. The lines that open and close a block of code go
//! with its lines, and the head of a table with its rows.

use crate::tokens::TokenCounter;
use std::ops::Range;

/// What stands where something was left out.
pub const LEFT_OUT: &str = "[...]";
/// Tokens of the mark with the white space around it, at most.
const LEFT_OUT_TOKENS: u32 = 5;
/// A sentence of more bytes than this is cut between words.
const LONG_SENTENCE_BYTES: usize = 600;
const CUT_SENTENCE_BYTES: usize = 300;

struct Passage {
    range: Range<usize>,
    /// Passages without which it makes no sense.
    companions: Vec<usize>,
}

/// The text reduced to passages that fit `room_tokens`; `None` where not one does. What is most relevant is taken first,
/// then what stands nearest to it.
pub(super) fn reduce(
    text: &str,
    room_tokens: u32,
    counter: &dyn TokenCounter,
    relevance: &dyn Fn(&str) -> f32,
) -> Option<String> {
    let passages = passages(text);
    let tokens: Vec<u32> = passages.iter().map(|passage| counter.count(&text[passage.range.clone()])).collect();
    let mut choice = Choice { taken: vec![false; passages.len()], order: Vec::new(), tokens: 0, gaps: 1 };
    let mut ranked: Vec<(f32, usize)> =
        passages.iter().zip(0..).map(|(passage, at)| (relevance(&text[passage.range.clone()]), at)).collect();
    crate::sorting::sort_by(&mut ranked, &|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    for (relevance, at) in &ranked {
        if *relevance > 0.0 {
            choice.take(*at, &passages, &tokens, room_tokens);
        }
    }
    let mut around: Vec<(usize, usize)> = Vec::new();
    let (mut before, mut after) = (distances(choice.taken.iter()), distances(choice.taken.iter().rev()));
    after.reverse();
    if choice.order.is_empty() {
        // Nothing says more than the rest: the beginning.
        before = (0..passages.len()).collect();
    }
    around.extend(before.iter().zip(&after).map(|(before, after)| *before.min(after)).zip(0..));
    crate::sorting::sort(&mut around);
    for (_, at) in around {
        if !choice.taken[at] && !choice.take(at, &passages, &tokens, room_tokens) {
            break;
        }
    }
    while !choice.order.is_empty() {
        let reduced = choice.render(text, &passages);
        if counter.count(&reduced) <= room_tokens {
            return Some(reduced);
        }
        choice.drop_last();
    }
    None
}

/// For each place how far the last taken one is, walking along.
fn distances<'a>(taken: impl Iterator<Item = &'a bool>) -> Vec<usize> {
    let mut distance = usize::MAX;
    taken
        .map(|taken| {
            distance = if *taken { 0 } else { distance.saturating_add(1) };
            distance
        })
        .collect()
}

/// Which passages are taken.
struct Choice {
    taken: Vec<bool>,
    /// What was taken together, in the order of taking.
    order: Vec<Vec<usize>>,
    tokens: u32,
    /// Places where something is left out.
    gaps: u32,
}

impl Choice {
    /// Takes a passage with its companions if they fit.
    fn take(&mut self, at: usize, passages: &[Passage], tokens: &[u32], room_tokens: u32) -> bool {
        if self.taken[at] {
            return true;
        }
        let together: Vec<usize> =
            passages[at].companions.iter().copied().chain([at]).filter(|one| !self.taken[*one]).collect();
        let mut gaps = self.gaps;
        for one in &together {
            self.taken[*one] = true;
            let is_joined = |side: Option<usize>| side.is_none_or(|side| self.taken.get(side).copied().unwrap_or(true));
            gaps = gaps + 1 - u32::from(is_joined(one.checked_sub(1))) - u32::from(is_joined(Some(one + 1)));
        }
        let more: u32 = together.iter().map(|one| tokens[*one]).sum();
        if self.tokens + more + gaps * LEFT_OUT_TOKENS > room_tokens {
            together.iter().for_each(|one| self.taken[*one] = false);
            return false;
        }
        (self.tokens, self.gaps) = (self.tokens + more, gaps);
        self.order.push(together);
        true
    }

    fn drop_last(&mut self) {
        for at in self.order.pop().unwrap_or_default() {
            self.taken[at] = false;
        }
    }

    fn render(&self, text: &str, passages: &[Passage]) -> String {
        let mut reduced = String::new();
        let mut end_of_last = 0;
        let mut runs: Vec<Range<usize>> = Vec::new();
        for (passage, _) in passages.iter().zip(&self.taken).filter(|(_, taken)| **taken) {
            match runs.last_mut().filter(|run| run.end == passage.range.start) {
                Some(run) => run.end = passage.range.end,
                None => runs.push(passage.range.clone()),
            }
        }
        for run in &runs {
            if run.start > 0 {
                mark(&mut reduced, &text[end_of_last..run.start]);
            }
            let shown = text[run.clone()].trim_end();
            reduced.push_str(if run.start > 0 { shown.trim_start_matches('\n') } else { shown });
            end_of_last = run.start + shown.len();
        }
        if !text[end_of_last..].trim().is_empty() {
            mark(&mut reduced, &text[end_of_last..]);
        }
        reduced.truncate(reduced.trim_end().len());
        reduced
    }
}

/// The mark for what was left out, on a line of its own where lines were.
fn mark(reduced: &mut String, left_out: &str) {
    let space = if left_out.contains('\n') { '\n' } else { ' ' };
    if !reduced.is_empty() {
        reduced.push(space);
    }
    reduced.push_str(LEFT_OUT);
    reduced.push(space);
}

/// The passages of a text; together they are the text.
fn passages(text: &str) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut start = 0;
    // Where the block of code that is open began, and the table.
    let mut code: Option<usize> = None;
    let mut table: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let range = start..start + line.len();
        start = range.end;
        let trimmed = line.trim_start();
        let is_fence = trimmed.starts_with("```") || trimmed.starts_with("~~~");
        let is_row = trimmed.starts_with('|');
        table = table.filter(|_| is_row);
        let at = passages.len();
        match code {
            Some(open) if is_fence => {
                passages.push(Passage { range, companions: vec![open] });
                passages[open..at].iter_mut().for_each(|passage| passage.companions.push(at));
                code = None;
            }
            Some(open) => passages.push(Passage { range, companions: vec![open] }),
            None if is_fence => {
                code = Some(at);
                passages.push(Passage { range, companions: Vec::new() });
            }
            None if is_row => {
                let head = *table.get_or_insert(at);
                // The head of a table is two lines.
                passages.push(Passage { range, companions: (head..at.min(head + 2)).collect() });
            }
            None => sentences(text, range, &mut passages),
        }
    }
    passages
}

fn sentences(text: &str, line: Range<usize>, passages: &mut Vec<Passage>) {
    let mut start = line.start;
    let mut characters = text[line.clone()].char_indices().peekable();
    let mut has_ended = false;
    while let Some((offset, character)) = characters.next() {
        let end = line.start + offset + character.len_utf8();
        let next = characters.peek().map(|(_, next)| *next);
        has_ended = match character {
            '。' | '！' | '？' | '．' => true,
            '.' | '!' | '?' | '…' => next.is_some_and(char::is_whitespace),
            // What closes a quotation, and white space, belong to the sentence before.
            '"' | '”' | '’' | '」' | '』' | ')' | '）' | '*' => has_ended,
            _ => has_ended && character.is_whitespace(),
        };
        let goes_on = next.is_none_or(|next| {
            next.is_whitespace()
                || next.is_lowercase()
                || matches!(next, '"' | '”' | '’' | '」' | '』' | ')' | '）' | '*')
        });
        let length = end - start;
        let is_between = character.is_whitespace() || matches!(character, '，' | '、' | '；');
        let is_cut = length >= CUT_SENTENCE_BYTES && is_between && next.is_some_and(|next| !next.is_whitespace());
        let is_long = is_cut && (line.end - start > LONG_SENTENCE_BYTES) && length >= CUT_SENTENCE_BYTES;
        if has_ended && !goes_on || is_long {
            passages.push(Passage { range: start..end, companions: Vec::new() });
            start = end;
            has_ended = false;
        }
    }
    if start < line.end {
        passages.push(Passage { range: start..line.end, companions: Vec::new() });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts words and marks of punctuation; of scripts without spaces each letter.
    struct Words;

    impl TokenCounter for Words {
        fn id(&self) -> &str {
            "words"
        }

        fn count(&self, text: &str) -> u32 {
            let is_wide = |c: &char| u32::from(*c) >= 0x3000;
            let words =
                text.split(|c: char| !c.is_alphanumeric() || is_wide(&c)).filter(|word| !word.is_empty()).count();
            (words + text.chars().filter(|c| c.is_ascii_punctuation() || is_wide(c)).count()) as u32
        }

        fn is_exact(&self) -> bool {
            true
        }

        fn truncate<'t>(&self, text: &'t str, _: u32) -> &'t str {
            text
        }
    }

    fn about(word: &'static str) -> impl Fn(&str) -> f32 {
        move |text| text.matches(word).count() as f32
    }

    #[test]
    fn the_sentence_asked_for_is_shown_first_and_in_its_place() {
        let text = "One day it rained. We met Dr. Lee there. The port is 8471. Then we ate. It was late.";
        let reduced = reduce(text, 15, &Words, &about("port")).unwrap();
        assert_eq!(reduced, "[...] The port is 8471. [...]");
        let reduced = reduce(text, 18, &Words, &about("port")).unwrap();
        assert_eq!(reduced, "[...] Lee there. The port is 8471. [...]");
        assert_eq!(reduce(text, 3, &Words, &about("port")), None);
        assert_eq!(reduce("", 3, &Words, &about("port")), None);
    }

    #[test]
    fn code_keeps_its_fences_and_a_table_its_head() {
        let text = "Look:\n\n```rust\nlet a = 1;\nlet c = 3;\nlet port = 8471;\nlet b = 2;\nlet d = 4;\n```\n\nDone.\n";
        let reduced = reduce(text, 32, &Words, &about("port")).unwrap();
        assert!(
            reduced.contains("```rust\n") && reduced.contains("\nlet port = 8471;") && reduced.ends_with("```\n[...]"),
            "{reduced}"
        );
        let text = "| name | port |\n| --- | --- |\n| a | 1 |\n| b | 2 |\n| gateway | 3 |\n";
        let reduced = reduce(text, 25, &Words, &about("gateway")).unwrap();
        assert_eq!(reduced, "| name | port |\n| --- | --- |\n[...]\n| gateway | 3 |");
    }

    #[test]
    fn scripts_without_spaces_are_cut_at_their_full_stops() {
        let text = "今日は雨です。ポートは8471です。明日は晴れます。";
        let reduced = reduce(text, 18, &Words, &about("ポート")).unwrap();
        assert_eq!(reduced, "[...] ポートは8471です。 [...]");
    }

    fn lines() -> impl Strategy<Value = String> {
        let sentence = "([A-Za-z]{1,9} ){1,12}[a-z]{1,9}[.!?] ";
        let line = prop_oneof![
            proptest::collection::vec(sentence, 1..5).prop_map(|all| all.concat()),
            Just("```".to_owned()),
            "\\| [a-z]{1,5} \\| [0-9]{1,5} \\|",
            "    let [a-z]{1,5} = [0-9]{1,5};",
            "[あ-ん]{1,30}。[あ-ん]{1,9}",
            "\\PC{0,40}",
            Just(String::new()),
        ];
        proptest::collection::vec(line, 0..14).prop_map(|lines| lines.join("\n"))
    }

    proptest! {
        #[test]
        fn passages_are_the_text(text in lines()) {
            let whole: String = passages(&text).iter().map(|passage| &text[passage.range.clone()]).collect();
            prop_assert_eq!(whole, text);
        }

        #[test]
        fn what_is_shown_fits_and_is_word_for_word_in_order(text in lines(), room in 0_u32..120, word in "[a-z]{1,2}") {
            prop_assume!(!text.contains(LEFT_OUT));
            let relevance = |passage: &str| passage.matches(&*word).count() as f32;
            let Some(reduced) = reduce(&text, room, &Words, &relevance) else { return Ok(()) };
            prop_assert!(Words.count(&reduced) <= room);
            prop_assert_eq!(reduce(&text, room, &Words, &relevance), Some(reduced.clone()));
            let edges: Vec<usize> = passages(&text).iter().flat_map(|p| [p.range.start, p.range.end]).collect();
            let mut from = 0;
            for shown in reduced.split(LEFT_OUT).map(|shown| shown.trim_matches([' ', '\n'])).filter(|s| !s.is_empty()) {
                let found = text[from..].find(shown).map(|at| from + at);
                prop_assert!(found.is_some(), "{shown:?} is not in the text");
                from = found.unwrap() + shown.len();
                let is_edge = |at: usize, skip: &dyn Fn(&str) -> usize| edges.iter().any(|edge| *edge == at || skip(&text[(*edge).min(at)..(*edge).max(at)]) == 0);
                let blank = |between: &str| between.trim().len();
                prop_assert!(is_edge(from, &blank), "cut inside a passage");
            }
        }
    }
}
