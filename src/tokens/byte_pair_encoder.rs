//! The exact counter.

use super::byte_pair_merge::MergeScratch;
use super::piece_memo::PieceMemo;
use super::splitter::Splitter;
use super::vocabulary::{NO_RANK, Vocabulary, hash};
use super::{Encoding, TokenCounter};
use crate::error::Result;
use std::cell::RefCell;

/// Counts, encodes and cuts text exactly as OpenAI's `tiktoken` does in one encoding.
///
/// Special tokens do not exist for it: `<|endoftext|>` in a text is seven ordinary tokens, never an error. It holds
/// about 5 MB for `o200k_base` and 3 MB for `cl100k_base`, whatever is counted with it.
pub struct BytePairEncoder {
    encoding: Encoding,
    splitter: Splitter,
    vocabulary: Vocabulary,
    /// Borrowed inside one call only; nothing is called out from there.
    workspace: RefCell<Workspace>,
}

struct Workspace {
    scratch: MergeScratch,
    memo: PieceMemo,
}

impl BytePairEncoder {
    /// Makes the counter from the bytes of a vocabulary file (`o200k_base.bin`, not compressed).
    ///
    /// # Errors
    /// [`crate::error::Code::InvalidArgument`] where the file is not a vocabulary of this layout version, was cut or changed,
    /// or was made from unknown ranks.
    pub fn from_asset(bytes: &[u8]) -> Result<Self> {
        let (encoding, vocabulary) = Vocabulary::from_asset(bytes)?;
        Ok(Self::new(encoding, vocabulary))
    }

    pub(super) fn new(encoding: Encoding, vocabulary: Vocabulary) -> Self {
        Self {
            encoding,
            splitter: Splitter::new(encoding),
            vocabulary,
            workspace: RefCell::new(Workspace { scratch: MergeScratch::default(), memo: PieceMemo::new() }),
        }
    }

    /// The encoding.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Number of tokens of `text`.
    #[must_use]
    pub fn count(&self, text: &str) -> u32 {
        let mut workspace = self.workspace.borrow_mut();
        let mut tokens = 0_u32;
        let mut start = 0;
        while start < text.len() {
            let end = self.splitter.piece_end(text.as_bytes(), start);
            tokens = tokens.saturating_add(self.count_piece(&mut workspace, &text.as_bytes()[start..end]));
            start = end;
        }
        tokens
    }

    #[inline]
    fn count_piece(&self, workspace: &mut Workspace, piece: &[u8]) -> u32 {
        if piece.len() == 1 {
            return 1;
        }
        if piece.len() > self.vocabulary.longest_token_bytes() {
            return workspace.scratch.count(&self.vocabulary, piece);
        }
        let hash = hash(piece);
        if self.vocabulary.rank_by_hash(piece, hash) != NO_RANK {
            return 1;
        }
        let Workspace { scratch, memo } = workspace;
        memo.count(piece, hash, || scratch.count(&self.vocabulary, piece))
    }

    /// The ids of the tokens of `text`.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let mut workspace = self.workspace.borrow_mut();
        let mut ids = Vec::new();
        let mut start = 0;
        while start < text.len() {
            let end = self.splitter.piece_end(text.as_bytes(), start);
            let piece = &text.as_bytes()[start..end];
            start = end;
            match self.vocabulary.rank(piece) {
                NO_RANK => {
                    let mut token_start = 0;
                    for token_end in workspace.scratch.ends(&self.vocabulary, piece) {
                        let token_end = token_end as usize;
                        ids.push(self.rank_of_part(&piece[token_start..token_end]));
                        token_start = token_end;
                    }
                }
                rank => ids.push(rank),
            }
        }
        ids
    }

    /// A part that comes out of a merge is a token, or a single byte that merged with nothing.
    fn rank_of_part(&self, part: &[u8]) -> u32 {
        match *part {
            [byte] => self.vocabulary.byte_rank(byte),
            _ => self.vocabulary.rank(part),
        }
    }

    /// The bytes of a token, where there is such a token. Tokens may cut through a character.
    #[must_use]
    pub fn token_bytes(&self, id: u32) -> Option<&[u8]> {
        self.vocabulary.token(id)
    }

    /// The longest prefix, within a few tokens, that counts to at most `max_tokens`. It ends at a character boundary.
    ///
    /// It is cut at a token boundary; where what is left is cut into other pieces than before and so has more tokens,
    /// it is shortened until it fits.
    #[must_use]
    pub fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str {
        if text.len() <= max_tokens as usize {
            return text;
        }
        let mut allowed = max_tokens;
        loop {
            let prefix = &text[..self.cut(text, allowed)];
            let excess = self.count(prefix).saturating_sub(max_tokens);
            if excess == 0 {
                return prefix;
            }
            allowed = allowed.saturating_sub(excess);
        }
    }

    /// The last character boundary that is also one of the first `max_tokens` token ends of `text`, or 0.
    fn cut(&self, text: &str, max_tokens: u32) -> usize {
        let mut workspace = self.workspace.borrow_mut();
        let mut left = max_tokens;
        let mut start = 0;
        while start < text.len() {
            let end = self.splitter.piece_end(text.as_bytes(), start);
            let piece = &text.as_bytes()[start..end];
            let tokens = self.count_piece(&mut workspace, piece);
            if tokens > left {
                if tokens == 1 || left == 0 {
                    return start;
                }
                let ends = workspace.scratch.ends(&self.vocabulary, piece);
                let cuts = ends.iter().take(left as usize).rev().map(|&end| start + end as usize);
                return cuts.into_iter().find(|&cut| text.is_char_boundary(cut)).unwrap_or(start);
            }
            left -= tokens;
            start = end;
        }
        start
    }

    /// Bytes of memory that the vocabulary holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.vocabulary.memory_bytes()
    }
}

impl TokenCounter for BytePairEncoder {
    fn id(&self) -> &str {
        self.encoding.counter_id()
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn count(&self, text: &str) -> u32 {
        self.count(text)
    }

    fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str {
        self.truncate(text, max_tokens)
    }
}
