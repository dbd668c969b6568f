//! The weights of the fitted ranking.

/// Declares the weights once: their fields, what was fitted, and their names for the program that fits them.
macro_rules! weights {
    ($($(#[doc = $doc:literal])+ $name:ident: $value:literal,)+) => {
        /// What each figure of a candidate counts in the fitted ranking. None is negative.
        ///
        /// Keyword weights are in units of the keyword signal and sum to 1, those of the semantic and the reference signal
        /// in units of these, for the default [`RerankWeights`](crate::config::RerankWeights).
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct Weights {
            $($(#[doc = $doc])+ pub $name: f32,)+
        }

        impl Weights {
            /// What ships: fitted by `examples/eval` on all seven LoCoMo conversations, with Cranfield as a guard.
            pub const FITTED: Self = Self { $($name: $value,)+ };
            /// The names, in order.
            pub const NAMES: &[&str] = &[$(stringify!($name),)+];

            /// The weights by their place in [`Weights::NAMES`].
            #[must_use]
            pub fn fields_mut(&mut self) -> Vec<&mut f32> {
                vec![$(&mut self.$name,)+]
            }
        }
    };
}

weights! {
    /// Keyword: BM25 of the message and two neighbours on each side.
    window: 0.248,
    /// Keyword: BM25 of the session.
    session: 0.198,
    /// Keyword: BM25 of the message before, where it asks: this one answers it.
    answered: 0.158,
    /// Keyword: BM25 of the message.
    message: 0.079,
    /// Keyword: share of the question's terms, by idf, that the message or its window has; where the candidates are long,
    /// BM25 of the message in its place.
    coverage: 0.317,
    /// Semantic: closeness of the message.
    closeness: 0.198,
    /// Semantic: the same once more, where the candidates are long: embeddings are the better signal for long texts and the
    /// worse one for short ones.
    closeness_if_long: 0.743,
    /// Semantic: closeness of the message after it.
    next: 0.099,
    /// Semantic: closeness of the second messages before and after.
    second: 0.079,
    /// Semantic: closeness of the message before, where it asks.
    answered_closeness: 0.124,
    /// Reference: the question names its speaker or role.
    speaker: 0.198,
    /// Reference: its day fits a time that the question names.
    day: 0.792,
    /// Reference: share of the question's identifiers that stand in it.
    identifiers: 0.35,
    /// Reference: it tells a time, and the question asks for one.
    tells_time: 0.396,
    /// Reference: it has a number, and the question asks for one.
    tells_number: 0.127,
    /// Reference: it has a name, and the question asks for one.
    tells_name: 0.158,
    /// Share of the score that a message without a word to say loses, less by the logarithm of its terms.
    brevity: 0.313,
    /// Share that a message loses that asks: it is less often the one that tells.
    asks: 0.1,
    /// The score of the session's best message, beside the message's own score.
    session_best: 0.25,
}
