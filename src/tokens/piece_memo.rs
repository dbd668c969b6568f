//! Remembers how many tokens a piece has: words that are not tokens themselves come back again and again.

/// Longer pieces are not kept: they seldom come back.
const MAX_PIECE_BYTES: usize = 30;
const ENTRIES: usize = 1 << 13;

#[derive(Clone, Copy)]
struct Entry {
    /// 0: free.
    length: u8,
    tokens: u8,
    bytes: [u8; MAX_PIECE_BYTES],
}

/// One entry for each value of 13 hash bits, the newest wins: 256 KB whatever is counted. Bytes are compared, so two
/// pieces with the same hash are not mixed up.
pub(super) struct PieceMemo {
    entries: Vec<Entry>,
}

impl PieceMemo {
    pub fn new() -> Self {
        Self { entries: vec![Entry { length: 0, tokens: 0, bytes: [0; MAX_PIECE_BYTES] }; ENTRIES] }
    }

    /// The remembered number of tokens of `piece`, or what `count` says, which is then remembered.
    #[inline]
    pub fn count(&mut self, piece: &[u8], hash: u64, count: impl FnOnce() -> u32) -> u32 {
        let Some(entry) = self.entries.get_mut(hash as usize % ENTRIES).filter(|_| piece.len() <= MAX_PIECE_BYTES)
        else {
            return count();
        };
        if usize::from(entry.length) == piece.len() && entry.bytes[..piece.len()] == *piece {
            return u32::from(entry.tokens);
        }
        let tokens = count();
        // At most 30 bytes have at most 30 tokens.
        (entry.length, entry.tokens) = (piece.len() as u8, tokens as u8);
        entry.bytes[..piece.len()].copy_from_slice(piece);
        tokens
    }
}
