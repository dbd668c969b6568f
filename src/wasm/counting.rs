//! Counting outside a memory.

use super::convert::to_js_error;
use crate::error::{Error, Result};
use crate::tokens::{self, BytePairEncoder};
use std::rc::Rc;
use wasm_bindgen::prelude::*;

/// Counts exactly in one encoding.
#[wasm_bindgen]
pub struct TokenCounter(BytePairEncoder);

#[wasm_bindgen]
impl TokenCounter {
    /// From a vocabulary file's bytes.
    ///
    /// # Errors
    /// `invalid_argument` when the bytes are not the vocabulary of this encoding.
    #[wasm_bindgen(constructor)]
    pub fn new(encoding: &str, bytes: &[u8]) -> std::result::Result<TokenCounter, JsValue> {
        encoder(encoding, bytes).map(Self).map_err(|error| to_js_error(&error))
    }

    /// Tokens of a text; special-token text is ordinary text.
    #[must_use]
    pub fn count(&self, text: &str) -> u32 {
        self.0.count(text)
    }
}

/// Tokens of `text` for a model without a public tokenizer. `counted`: its exact `o200k_base` count, where known.
#[wasm_bindgen(js_name = estimateTokens)]
#[must_use]
pub fn estimate_tokens(text: &str, encoding_or_model: &str, counted: Option<u32>) -> u32 {
    tokens::estimate(text, encoding_or_model, counted)
}

/// The counter of a vocabulary file.
pub(super) fn counter_from(encoding: &str, bytes: &[u8]) -> Result<Rc<dyn tokens::TokenCounter>> {
    Ok(Rc::new(encoder(encoding, bytes)?))
}

fn encoder(encoding: &str, bytes: &[u8]) -> Result<BytePairEncoder> {
    let encoder = BytePairEncoder::from_asset(bytes)?;
    if encoder.encoding().as_str() != encoding {
        return Err(Error::invalid_argument(format!(
            "this vocabulary is {}, not the one asked for; give the file of the right encoding",
            encoder.encoding().as_str()
        )));
    }
    Ok(encoder)
}
