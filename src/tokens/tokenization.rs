//! From the name of an encoding or a model to the way its tokens are counted.

use super::estimator::ESTIMATOR_ID;
use super::{ClassHistogram, Encoding, ModelFamily};

/// How the tokens of a model are counted: what is counted, and what the count is multiplied by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tokenization {
    /// The vocabulary to load and count with; `None`: the estimator alone.
    pub encoding: Option<Encoding>,
    /// The models that the count is for.
    pub family: ModelFamily,
}

impl Tokenization {
    /// Whether a count in [`Self::encoding`] is the model's own.
    #[must_use]
    pub fn is_exact(&self) -> bool {
        self.encoding.is_some() && self.family == ModelFamily::OpenAi
    }

    /// The id under which raw counts are stored (`o200k_base/1`, `estimate/1`): without the factor, which is applied
    /// when a count is read, so that another model of the same encoding finds its counts ready.
    #[must_use]
    pub fn counter_id(&self) -> &'static str {
        self.encoding.map_or(ESTIMATOR_ID, Encoding::counter_id)
    }

    /// The tokens that the model is expected to count for a text that has `raw_tokens` in [`Self::encoding`] and whose
    /// classes are those of `histogram` (from [`super::Estimator::histogram`]). Rounded up. Exact counts stay as they
    /// are.
    #[must_use]
    pub fn model_tokens(&self, raw_tokens: u32, histogram: &ClassHistogram) -> u32 {
        if self.family == ModelFamily::OpenAi {
            return raw_tokens;
        }
        let tokens = f64::from(raw_tokens) * histogram.mean(|class| self.family.factor(class));
        // The cast saturates. The tolerance keeps 100 * 1.1 at 110.
        (tokens - 1e-6).ceil() as u32
    }

    const fn exact(encoding: Encoding) -> Self {
        Self { encoding: Some(encoding), family: ModelFamily::OpenAi }
    }
}

/// The tokenization of an encoding (`o200k_base`, `cl100k_base`, `estimate`) or of a model by its name, in any case and
/// with or without a provider in front (`openai/gpt-4o-mini`, `us.anthropic.claude-sonnet-4-5-v1:0`).
///
/// Models are known by the beginning of their names, because lists of names grow old. A GPT or o model that is newer
/// than the table is taken as o200k, but as an estimate. `None`: the name says nothing; let the caller choose.
#[must_use]
pub fn resolve(encoding_or_model: &str) -> Option<Tokenization> {
    let name = encoding_or_model.trim().to_ascii_lowercase();
    if name == "estimate" {
        return Some(Tokenization { encoding: None, family: ModelFamily::OpenAi });
    }
    if let Some(encoding) = Encoding::from_name(&name) {
        return Some(Tokenization::exact(encoding));
    }
    let name = name.rsplit('/').next().unwrap_or_default();
    let name = name.strip_prefix("ft:").unwrap_or(name);
    openai(name).or_else(|| {
        let family = ModelFamily::of_model(name)?;
        Some(Tokenization { encoding: Some(Encoding::O200kBase), family })
    })
}

/// Longer beginnings stand before the shorter ones that they begin with.
const OPENAI_BEGINNINGS: &[(&str, Encoding)] = &[
    ("gpt-4o", Encoding::O200kBase),
    ("gpt-4.1", Encoding::O200kBase),
    ("gpt-4.5", Encoding::O200kBase),
    ("gpt-5", Encoding::O200kBase),
    ("gpt-6", Encoding::O200kBase),
    ("gpt-oss", Encoding::O200kBase),
    ("chatgpt-4o", Encoding::O200kBase),
    ("codex-mini", Encoding::O200kBase),
    ("gpt-4", Encoding::Cl100kBase),
    ("gpt-3.5", Encoding::Cl100kBase),
    ("gpt-35", Encoding::Cl100kBase),
    ("text-embedding-3", Encoding::Cl100kBase),
    ("text-embedding-ada-002", Encoding::Cl100kBase),
    ("davinci-002", Encoding::Cl100kBase),
    ("babbage-002", Encoding::Cl100kBase),
];

fn openai(name: &str) -> Option<Tokenization> {
    if let Some(&(_, encoding)) = OPENAI_BEGINNINGS.iter().find(|(beginning, _)| name.starts_with(beginning)) {
        return Some(Tokenization::exact(encoding));
    }
    if is_o_series(name) {
        return Some(Tokenization::exact(Encoding::O200kBase));
    }
    let is_newer = name.starts_with("gpt-") || name.starts_with("chatgpt-");
    is_newer.then_some(Tokenization { encoding: Some(Encoding::O200kBase), family: ModelFamily::OpenAiUnknown })
}

/// `o1`, `o3-mini`, `o4-mini-2025-04-16` and so on.
fn is_o_series(name: &str) -> bool {
    let mut parts = name.split('-');
    let number = parts.next().and_then(|part| part.strip_prefix('o'));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::super::{Estimator, ScriptClass};
    use super::*;

    #[test]
    fn encodings_and_openai_models_are_exact() {
        for (name, encoding) in [
            ("o200k_base", Encoding::O200kBase),
            ("cl100k_base", Encoding::Cl100kBase),
            ("gpt-4o-mini-2024-07-18", Encoding::O200kBase),
            ("GPT-4.1-nano", Encoding::O200kBase),
            ("openai/gpt-5.1-codex", Encoding::O200kBase),
            ("gpt-6", Encoding::O200kBase),
            ("openai/gpt-oss-120b", Encoding::O200kBase),
            ("o1", Encoding::O200kBase),
            ("o4-mini-2025-04-16", Encoding::O200kBase),
            ("ft:gpt-4o:acme::x1", Encoding::O200kBase),
            ("gpt-4-turbo", Encoding::Cl100kBase),
            ("gpt-4", Encoding::Cl100kBase),
            ("gpt-3.5-turbo-0125", Encoding::Cl100kBase),
            ("text-embedding-3-small", Encoding::Cl100kBase),
        ] {
            assert_eq!(resolve(name), Some(Tokenization::exact(encoding)), "{name}");
            assert!(resolve(name).is_some_and(|found| found.is_exact()));
        }
    }

    #[test]
    fn other_models_are_estimates_on_o200k() {
        for (name, family) in [
            ("claude-3-5-sonnet-20241022", ModelFamily::Claude3),
            ("claude-sonnet-4-20250514", ModelFamily::Claude3),
            ("anthropic/claude-opus-4.6", ModelFamily::Claude3),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", ModelFamily::Claude3),
            ("claude-2.1", ModelFamily::Claude3),
            ("claude-opus-4-7", ModelFamily::Claude4_7),
            ("claude-opus-4-8", ModelFamily::Claude4_7),
            ("claude-sonnet-5", ModelFamily::Claude4_7),
            ("claude-latest", ModelFamily::Claude4_7),
            ("models/gemini-2.5-pro", ModelFamily::Gemini),
            ("google/gemma-3-27b-it", ModelFamily::Gemini),
            ("meta-llama/Llama-3.3-70B-Instruct", ModelFamily::Llama3),
            ("accounts/fireworks/models/llama-v3p1-8b-instruct", ModelFamily::Llama3),
            ("deepseek-chat", ModelFamily::DeepSeekV3),
            ("deepseek-r1-distill-llama-70b", ModelFamily::Llama3),
            ("deepseek-r1-distill-qwen-32b", ModelFamily::Qwen2),
            ("qwen3-max", ModelFamily::Qwen2),
            ("codestral-latest", ModelFamily::MistralV3),
            ("kimi-k2", ModelFamily::KimiK2),
            ("glm-4.6", ModelFamily::Glm4),
            ("MiniMax-M2", ModelFamily::MiniMaxM2),
            ("gpt-7", ModelFamily::OpenAiUnknown),
        ] {
            let found = resolve(name).unwrap();
            assert_eq!(found, Tokenization { encoding: Some(Encoding::O200kBase), family }, "{name}");
            assert!(!found.is_exact());
        }
    }

    #[test]
    fn names_that_say_nothing_are_none() {
        for name in ["", "my-model", "opus", "o", "oracle", "text-davinci-003", "/", "모델"] {
            assert_eq!(resolve(name), None, "{name}");
        }
        assert!(resolve("estimate").is_some_and(|found| !found.is_exact() && found.counter_id() == "estimate/1"));
    }

    #[test]
    fn the_factor_follows_the_script() {
        let claude = resolve("claude-3-opus").unwrap();
        let estimator = Estimator::new();
        let tokens = |text: &str| claude.model_tokens(1_000, &estimator.histogram(text));
        assert_eq!(tokens("We keep the raw messages of every chat"), 1_070);
        assert_eq!(tokens("원본 메시지는 그대로 보관합니다"), 1_910);
        assert_eq!(tokens("我们保留原始消息"), 1_500);
        assert_eq!(tokens(""), 1_000);
        assert_eq!(claude.model_tokens(0, &ClassHistogram::default()), 0);
        assert_eq!(claude.model_tokens(u32::MAX, &estimator.histogram("Text")), u32::MAX);
        assert!((claude.family.factor(ScriptClass::Latin) - 1.07).abs() < 1e-9);
    }
}
