//! N-grams of the scripts that are written without spaces, or with particles glued to the words.

use super::analyzer::{Class, Scan, Side, TermKind, class_of};
use super::function_words::{cover, hangul_stem, is_hangul_function_word};

impl Scan<'_> {
    /// Emits the n-grams of a run. In a question those that have to do with function words are stop words, but for what
    /// is too short to have a gram of its own.
    fn grams(&mut self, run: &str, size: usize, position: usize) {
        let mut starts = run.char_indices().map(|(start, _)| start);
        let mut ends = run.char_indices().map(|(start, _)| start).chain([run.len()]).skip(size);
        let mut first = 0;
        while let (Some(start), Some(end)) = (starts.next(), ends.next()) {
            let kind = self.gram_kind(first, &run[start..end], size);
            self.emit_raw(&run[start..end], kind, position);
            first += 1;
        }
    }

    fn gram_kind(&self, first: usize, gram: &str, size: usize) -> TermKind {
        let covered = self.covered.get(first..first + size).unwrap_or_default();
        let Some(open) = covered.iter().position(|covered| !covered).filter(|_| covered.contains(&true)) else {
            return if covered.first() == Some(&true) { TermKind::StopWord } else { TermKind::Gram };
        };
        // It crosses a border: it stands for the open piece only where that has no gram of its own.
        let is_open = |covered: &&bool| !**covered;
        let before = self.covered[..first + open].iter().rev().take_while(is_open).count();
        let after = self.covered[first + open..].iter().take_while(is_open).count();
        let stands_alone = gram.chars().nth(open).is_some_and(|open| class_of(open) == Class::Han);
        if before + after < size && !stands_alone { TermKind::Gram } else { TermKind::StopWord }
    }

    pub(super) fn hangul(&mut self, run: &str, position: usize) {
        let stem = hangul_stem(run);
        let (all, kept) = (run.chars().count(), stem.chars().count());
        let is_function_word =
            self.side == Side::Question && (self.is_unit(run, position) || is_hangul_function_word(run, stem));
        self.covered.clear();
        self.covered.resize(all, is_function_word);
        for covered in &mut self.covered[kept..] {
            *covered = true;
        }
        // A stem of two syllables is its own bigram.
        if kept != 2 {
            let kind = if is_function_word { TermKind::StopWord } else { TermKind::Gram };
            self.emit_raw(stem, kind, position);
        }
        self.grams(run, 2, position);
    }

    /// A character behind a number is its unit ("3월", "5個"): without a topic.
    fn is_unit(&self, run: &str, position: usize) -> bool {
        run.chars().nth(1).is_none() && self.text[..position].ends_with(|before: char| before.is_ascii_digit())
    }

    /// Finds the function words of a question's run.
    fn cover(&mut self, run: &str) {
        self.covered.clear();
        if self.side == Side::Question {
            cover(run, &mut self.covered);
        }
    }

    pub(super) fn han_and_kana(&mut self, run: &str, position: usize) {
        self.cover(run);
        if self.is_unit(run, position) {
            self.emit_raw(run, TermKind::StopWord, position);
            return;
        }
        let is_single = run.chars().nth(1).is_none();
        if !is_single {
            self.grams(run, 2, position);
        }
        for (index, (start, character)) in run.char_indices().enumerate() {
            let is_alone = self.side == Side::Question && self.is_alone(index);
            if is_single || (class_of(character) == Class::Han && (is_alone || self.side == Side::Document)) {
                self.emit_raw(&run[start..start + character.len_utf8()], TermKind::Gram, position);
            }
        }
    }

    /// Whether a character stands alone between function words.
    fn is_alone(&self, index: usize) -> bool {
        let is_open = |index: usize| self.covered.get(index) == Some(&false);
        is_open(index) && !is_open(index.wrapping_sub(1)) && !is_open(index + 1)
    }

    pub(super) fn unspaced(&mut self, run: &str, position: usize) {
        self.cover(run);
        let length = run.chars().take(3).count();
        if length < 3 || self.side == Side::Document {
            self.grams(run, length.min(2), position);
        }
        if length == 3 {
            self.grams(run, 3, position);
        }
    }
}
