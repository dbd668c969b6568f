//! What kinds of text a text is made of: other vocabularies differ from o200k by script, not evenly.

/// A class of text with its own ratio between vocabularies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ScriptClass {
    /// Latin letters in a text without accented ones: mostly English.
    Latin,
    /// Latin letters in a text that has accented ones: French, German, Spanish and others.
    LatinAccented,
    /// Korean.
    Hangul,
    /// Japanese: kana, and Han characters in a text that has kana.
    Kana,
    /// Chinese.
    Han,
    /// Russian and others.
    Cyrillic,
    /// A fenced block, or a line that is more than 13 % punctuation and digits.
    Code,
    /// Numbers.
    Digits,
    /// Emoji and other symbols outside of ASCII.
    Emoji,
    /// Any other script.
    Other,
}

impl ScriptClass {
    /// Every class, in the order of [`ClassHistogram`].
    pub const ALL: [Self; 10] = [
        Self::Latin,
        Self::LatinAccented,
        Self::Hangul,
        Self::Kana,
        Self::Han,
        Self::Cyrillic,
        Self::Code,
        Self::Digits,
        Self::Emoji,
        Self::Other,
    ];
}

/// How many o200k tokens of a text are estimated to be of each class. Only the shares matter where the exact count is
/// known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClassHistogram {
    /// In 64ths of a token, in the order of [`ScriptClass::ALL`].
    weights: [u64; ScriptClass::ALL.len()],
}

/// What a token weighs in a histogram.
pub(super) const TOKEN_WEIGHT: u64 = 64;

impl ClassHistogram {
    pub(super) fn add(&mut self, class: ScriptClass, weight: u64) {
        self.weights[class as usize] += weight;
    }

    /// Adds the histogram of another text, for requests of several messages.
    pub fn merge(&mut self, other: &Self) {
        self.weights.iter_mut().zip(other.weights).for_each(|(weight, more)| *weight += more);
    }

    /// The estimated number of tokens of a class.
    #[must_use]
    pub fn tokens(&self, class: ScriptClass) -> f64 {
        self.weights[class as usize] as f64 / TOKEN_WEIGHT as f64
    }

    /// The estimated number of tokens of all classes, rounded up.
    #[must_use]
    pub fn total_tokens(&self) -> u32 {
        u32::try_from(self.weights.iter().sum::<u64>().div_ceil(TOKEN_WEIGHT)).unwrap_or(u32::MAX)
    }

    /// The mean of `factor` over the classes, weighted by their tokens; 1 for a text without tokens.
    #[must_use]
    pub fn mean(&self, factor: impl Fn(ScriptClass) -> f64) -> f64 {
        let total = self.weights.iter().sum::<u64>();
        if total == 0 {
            return 1.0;
        }
        let weighted = ScriptClass::ALL.iter().zip(self.weights).map(|(&class, weight)| factor(class) * weight as f64);
        weighted.sum::<f64>() / total as f64
    }
}
