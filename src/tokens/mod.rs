//! tokens
mod byte_pair_encoder;
mod byte_pair_merge;
mod character_class;
mod character_class_runs;
mod encoding;
mod piece_memo;
#[cfg(feature = "tiktoken")]
mod sha256;
mod splitter;
#[cfg(feature = "tiktoken")]
mod tiktoken_counter;
mod vocabulary;
#[cfg(feature = "tiktoken")]
mod vocabulary_writer;

pub use byte_pair_encoder::BytePairEncoder;
pub use encoding::Encoding;
#[cfg(feature = "tiktoken")]
pub use tiktoken_counter::TiktokenCounter;
#[cfg(feature = "tiktoken")]
pub use vocabulary_writer::vocabulary_asset;

/// Counts tokens, and cuts text to a number of them.
pub trait TokenCounter {
    /// Name and version, stored beside every count: counts of different ids are not comparable.
    fn id(&self) -> &str;

    /// Whether the counts are those of the model's own tokenizer. Otherwise they are estimates, and are shown as such.
    fn is_exact(&self) -> bool;

    /// Number of tokens of `text`. User text is ordinary text: nothing in it is a special token.
    fn count(&self, text: &str) -> u32;

    /// A prefix of `text` that counts to at most `max_tokens` and ends at a character boundary.
    fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str;
}
