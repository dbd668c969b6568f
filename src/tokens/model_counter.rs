//! A counter for models without a public vocabulary.

use super::prefix::longest_fitting_prefix;
use super::{Estimator, TokenCounter, Tokenization};
use std::rc::Rc;

/// Counts for the model family of a [`Tokenization`]: the count of another counter, times the factor of the text's
/// classes. Exact only where both are.
pub struct ModelCounter {
    raw: Rc<dyn TokenCounter>,
    estimator: Estimator,
    tokenization: Tokenization,
    id: String,
}

impl ModelCounter {
    /// A counter over `raw`, which is one of [`Tokenization::encoding`], or the estimator until that has loaded.
    #[must_use]
    pub fn new(raw: Rc<dyn TokenCounter>, tokenization: Tokenization) -> Self {
        let id = format!("{}*{}", raw.id(), tokenization.family.as_str());
        Self { raw, estimator: Estimator::new(), tokenization, id }
    }
}

impl TokenCounter for ModelCounter {
    fn id(&self) -> &str {
        &self.id
    }

    fn is_exact(&self) -> bool {
        self.raw.is_exact() && self.tokenization.is_exact()
    }

    fn count(&self, text: &str) -> u32 {
        self.tokenization.model_tokens(self.raw.count(text), &self.estimator.histogram(text))
    }

    fn truncate<'t>(&self, text: &'t str, max_tokens: u32) -> &'t str {
        longest_fitting_prefix(text, max_tokens, |prefix| self.count(prefix))
    }
}
