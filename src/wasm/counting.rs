//! Counting outside a memory.

use super::convert::{to_js, to_js_error};
use crate::error::{Error, Result};
use crate::tokens::{self, BytePairEncoder, Encoding, Estimator, TokenCounter as _};
use std::cell::RefCell;
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;

thread_local! {
    /// The encoders in use: whoever counts in the same encoding shares one, of which each takes megabytes.
    static SHARED: RefCell<Vec<(Encoding, Weak<BytePairEncoder>)>> = const { RefCell::new(Vec::new()) };
}

/// Counts exactly in one encoding.
#[wasm_bindgen]
pub struct TokenCounter(Rc<BytePairEncoder>);

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

    /// One that shares the vocabulary of a memory, or of another counter; undefined where none has it.
    #[must_use]
    pub fn shared(encoding: &str) -> Option<TokenCounter> {
        shared(encoding).map(Self)
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
        .map(|found| Wire { encoding: found.encoding.map(Encoding::as_str), exact: found.is_exact() })
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

/// The encoder that is in use already.
pub(super) fn shared(encoding: &str) -> Option<Rc<BytePairEncoder>> {
    SHARED.with_borrow(|shared| {
        let mut found = shared.iter().filter(|(known, _)| known.as_str() == encoding);
        found.find_map(|(_, encoder)| encoder.upgrade())
    })
}

/// The encoder of a vocabulary file.
pub(super) fn encoder(encoding: &str, bytes: &[u8]) -> Result<Rc<BytePairEncoder>> {
    if let Some(known) = shared(encoding) {
        return Ok(known);
    }
    let encoder = Rc::new(BytePairEncoder::from_asset(bytes)?);
    let found = encoder.encoding();
    if found.as_str() != encoding {
        return Err(Error::invalid_argument(format!(
            "this vocabulary is {}, not the one asked for; give the file of the right encoding",
            found.as_str()
        )));
    }
    SHARED.with_borrow_mut(|shared| {
        shared.retain(|(_, encoder)| encoder.strong_count() > 0);
        shared.push((found, Rc::downgrade(&encoder)));
    });
    Ok(encoder)
}
