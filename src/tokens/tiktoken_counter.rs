//! `tiktoken-rs` as a second counter: the truth that our own is tested against, and an alternative on servers.

use super::{Encoding, TokenCounter};
use tiktoken_rs::CoreBPE;

/// Counts with `tiktoken-rs`. Unlike [`super::BytePairEncoder`] it panics on more than about a million spaces in a row.
pub struct TiktokenCounter {
    encoding: Encoding,
    tokenizer: &'static CoreBPE,
}

impl TiktokenCounter {
    /// The counter of an encoding. The first of each encoding takes about 150 ms to build, and stays for good.
    #[must_use]
    pub fn new(encoding: Encoding) -> Self {
        let tokenizer = match encoding {
            Encoding::O200kBase => tiktoken_rs::o200k_base_singleton(),
            Encoding::Cl100kBase => tiktoken_rs::cl100k_base_singleton(),
        };
        Self { encoding, tokenizer }
    }

    /// The ids of the tokens of `text`; special tokens are ordinary text.
    #[must_use]
    pub fn encode(&self, text: &str) -> Vec<u32> {
        self.tokenizer.encode_ordinary(text)
    }

    /// The bytes of a token, where there is such a token.
    #[must_use]
    pub fn token_bytes(&self, id: u32) -> Option<Vec<u8>> {
        self.tokenizer.decode_bytes(&[id]).ok()
    }
}

impl TokenCounter for TiktokenCounter {
    fn id(&self) -> &str {
        self.encoding.counter_id()
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn count(&self, text: &str) -> u32 {
        u32::try_from(self.tokenizer.count_ordinary(text)).unwrap_or(u32::MAX)
    }

    fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str {
        let mut allowed = max_tokens as usize;
        loop {
            let ids = self.encode(text);
            let bytes = self.tokenizer.decode_bytes(&ids[..allowed.min(ids.len())]).map_or(0, |bytes| bytes.len());
            let prefix = &text[..text.floor_char_boundary(bytes)];
            let excess = self.count(prefix).saturating_sub(max_tokens) as usize;
            if excess == 0 {
                return prefix;
            }
            allowed = allowed.saturating_sub(excess);
        }
    }
}
