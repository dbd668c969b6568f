//! Counting tokens: exactly where a model's vocabulary is public, else by estimates that say what they are.
//!
//! [`BytePairEncoder`] is exact for `o200k_base` and `cl100k_base`; its vocabulary is a separate file that is loaded
//! when it is first needed. [`Estimator`] answers without one. [`resolve`] says which of them, and which factor,
//! belongs to a model. All are a [`TokenCounter`].
//!
//! Counts are kept raw (in the encoding, under [`TokenCounter::id`]) and turned into the tokens of a model when they
//! are read ([`Tokenization::model_tokens`]), so another model costs no recount.
//!
//! A crate of its own because optimisation levels are set by crate: this one is built for speed, the rest for size. It
//! holds the error type, too, since it is the lowest crate.

#[path = "../error.rs"]
pub mod error;

mod byte_pair_encoder;
mod byte_pair_merge;
mod character_class;
mod character_class_runs;
mod encoding;
mod estimator;
mod model_counter;
mod model_family;
mod piece_memo;
mod prefix;
mod script_class;
pub mod sha256;
mod solid_characters;
mod splitter;
#[cfg(feature = "tiktoken")]
mod tiktoken_counter;
mod tokenization;
mod vocabulary;
#[cfg(feature = "tiktoken")]
mod vocabulary_writer;

pub use byte_pair_encoder::BytePairEncoder;
pub use encoding::Encoding;
pub use estimator::Estimator;
pub use model_counter::ModelCounter;
pub use model_family::ModelFamily;
pub use script_class::{ClassHistogram, ScriptClass};
#[cfg(feature = "tiktoken")]
pub use tiktoken_counter::TiktokenCounter;
pub use tokenization::{Tokenization, resolve};
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

    /// A prefix of `text` that counts to at most `max_tokens` and ends at a character boundary. It is the longest such
    /// prefix, within a few tokens.
    fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str;
}
