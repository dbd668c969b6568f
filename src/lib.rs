//! Throughline: a memory engine for AI chat that lives in the page.
//!
//! The crate is a pure core with a thin adapter. Everything below [`engine`] is synchronous and has no clock, no
//! randomness and no I/O; [`engine`] orchestrates over the ports of [`ports`]; the `wasm` feature adds the adapter to
//! JavaScript and the IndexedDB store. ARCHITECTURE.md is the map.

mod citation_marks;
pub mod config;
pub mod context;
mod embedded_data;
pub mod engine;
pub mod facts;
pub mod formats;
mod hash;
mod json_reader;
mod json_text;
pub mod message;
pub mod model_answer;
mod model_schema;
pub mod ports;
pub mod prompt_text;
pub mod records;
pub mod retrieval;
pub mod secrets;
pub mod segments;
pub mod session_records;
pub mod sorted_map;
mod sorting;
pub mod store;
pub mod summary;
mod text_parts;

#[cfg(feature = "wasm")]
pub mod wasm;

pub use throughline_lexical as lexical;
pub use throughline_tokens::error;
pub use throughline_vector as vector;

pub use error::{Code, Error, Result};

/// Counting tokens: see [`throughline_tokens`].
pub mod tokens {
    mod overhead;

    pub use overhead::{Overhead, overhead};
    pub use throughline_tokens::*;
}
