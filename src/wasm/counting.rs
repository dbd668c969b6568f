//! Counting outside a memory.

use super::convert::{to_js, to_js_error};
use crate::error::{Error, Result};
use crate::tokens::{self, BytePairEncoder, Estimator, TokenCounter as _};
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

/// How a model's tokens are counted: `{ encoding, exact }`. `encoding` is the vocabulary to load, null for the estimator
/// alone; undefined for a name that says nothing.
#[wasm_bindgen]
#[must_use]
pub fn tokenization(encoding_or_model: &str) -> JsValue {
    #[derive(serde::Serialize)]
    struct Wire {
        encoding: Option<&'static str>,
        exact: bool,
    }
    let resolved = tokens::resolve(encoding_or_model);
    resolved
        .map(|found| Wire { encoding: found.encoding.map(tokens::Encoding::as_str), exact: found.is_exact() })
        .and_then(|wire| to_js(&wire).ok())
        .unwrap_or(JsValue::UNDEFINED)
}

/// Estimated tokens of `text` for an encoding or a model. `counted`: the exact count in the encoding that
/// [`tokenization`] names, where known.
#[wasm_bindgen(js_name = estimateTokens)]
#[must_use]
pub fn estimate_tokens(text: &str, encoding_or_model: &str, counted: Option<u32>) -> u32 {
    let estimator = Estimator::new();
    let raw = counted.unwrap_or_else(|| estimator.count(text));
    match tokens::resolve(encoding_or_model) {
        Some(tokenization) => tokenization.model_tokens(raw, &estimator.histogram(text)),
        None => raw,
    }
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
