//! Which models count alike, and by how much each family differs from o200k.

use super::ScriptClass;

/// Models that share a vocabulary, as far as is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelFamily {
    /// OpenAI models whose encoding is published: exact.
    OpenAi,
    /// A model of OpenAI that is newer than this table: taken as o200k, but not vouched for.
    OpenAiUnknown,
    /// Claude 3 to 4.6, and older.
    Claude3,
    /// Claude 4.7 and later.
    Claude4_7,
    /// Gemini and Gemma.
    Gemini,
    /// Llama 3 and later.
    Llama3,
    /// DeepSeek V3 and R1.
    DeepSeekV3,
    /// Qwen 2 and later.
    Qwen2,
    /// Mistral v3.
    MistralV3,
    /// Kimi K2.
    KimiK2,
    /// GLM 4.
    Glm4,
    /// MiniMax M2.
    MiniMaxM2,
}

/// How a family is estimated.
struct Estimate {
    id: &'static str,
    /// Tokens of the family for one of o200k, in the order of [`ScriptClass::ALL`]: Latin, accented, Hangul, kana,
    /// Han, Cyrillic, code, digits, emoji, other.
    factors: [f64; ScriptClass::ALL.len()],
    under_count_margin: f64,
}

/// Latin to code: ratios over 144 conversations in eight languages, by `ctok` 1.3.0 for Claude, the Gemma 3 vocabulary
/// for Gemini and the published vocabularies for the others; "accented" is the mean of French and German.
///
/// *Digits*, *emoji* and *other* (Arabic) were measured apart, with the vocabularies in the crate `tiktoken` 4.1.2: on
/// random numbers of 1 to 13 digits, 40 common emoji and a handbook. Qwen, Mistral and Gemma have a token for each digit
/// where o200k has one for three: 2.4 on such numbers, 2.2 on those of prose and JSON. For Claude, digits are what a
/// JSON sample left over; for Claude and Gemini, emoji are the high end of a small sample (it was off by ±43 %) and
/// other scripts the highest of the measured ones. All of it is a seed for calibration by reported usage.
impl Estimate {
    const EXACT: Self = Self::new("o200k", [1.0; 10], 0.0);
    const OPENAI_UNKNOWN: Self = Self::new("openai", [1.0; 10], 0.10);
    const CLAUDE_3: Self = Self::new("claude-3", [1.07, 1.29, 1.91, 1.19, 1.50, 1.53, 1.22, 1.05, 1.43, 1.91], 0.13);
    const CLAUDE_4_7: Self =
        Self::new("claude-4.7", [1.47, 1.81, 1.94, 1.23, 1.55, 1.59, 1.58, 1.20, 1.43, 1.94], 0.16);
    const GEMINI: Self = Self::new("gemini", [1.02, 1.03, 0.94, 0.69, 0.86, 0.97, 1.16, 2.20, 1.43, 1.03], 0.05);
    const LLAMA_3: Self = Self::new("llama-3", [1.00, 1.13, 1.03, 0.94, 1.04, 1.16, 1.00, 1.00, 1.47, 1.25], 0.08);
    const DEEPSEEK_V3: Self =
        Self::new("deepseek-v3", [1.02, 1.13, 1.13, 0.90, 0.84, 1.14, 1.04, 1.00, 1.01, 1.22], 0.06);
    const QWEN_2: Self = Self::new("qwen-2", [1.01, 1.13, 1.15, 0.89, 0.91, 1.24, 1.02, 2.20, 0.80, 1.20], 0.07);
    const MISTRAL_V3: Self =
        Self::new("mistral-v3", [1.02, 1.05, 0.97, 0.99, 1.27, 1.14, 1.06, 2.20, 2.13, 1.00], 0.05);
    const KIMI_K2: Self = Self::new("kimi-k2", [1.00, 1.22, 1.36, 1.00, 0.81, 1.47, 1.00, 1.00, 1.21, 1.53], 0.10);
    const GLM_4: Self = Self::new("glm-4", [1.00, 1.08, 1.37, 0.93, 0.85, 1.02, 1.00, 1.40, 1.48, 1.32], 0.10);
    const MINIMAX_M2: Self =
        Self::new("minimax-m2", [1.00, 1.05, 0.91, 0.61, 0.77, 1.23, 1.00, 1.00, 1.00, 1.00], 0.10);

    const fn new(id: &'static str, factors: [f64; 10], under_count_margin: f64) -> Self {
        Self { id, factors, under_count_margin }
    }
}

impl ModelFamily {
    fn estimate(self) -> &'static Estimate {
        match self {
            Self::OpenAi => &Estimate::EXACT,
            Self::OpenAiUnknown => &Estimate::OPENAI_UNKNOWN,
            Self::Claude3 => &Estimate::CLAUDE_3,
            Self::Claude4_7 => &Estimate::CLAUDE_4_7,
            Self::Gemini => &Estimate::GEMINI,
            Self::Llama3 => &Estimate::LLAMA_3,
            Self::DeepSeekV3 => &Estimate::DEEPSEEK_V3,
            Self::Qwen2 => &Estimate::QWEN_2,
            Self::MistralV3 => &Estimate::MISTRAL_V3,
            Self::KimiK2 => &Estimate::KIMI_K2,
            Self::Glm4 => &Estimate::GLM_4,
            Self::MiniMaxM2 => &Estimate::MINIMAX_M2,
        }
    }

    /// A short name, for receipts and for keys of stored calibrations.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.estimate().id
    }

    /// Tokens of this family for one token of o200k in text of `class`.
    #[must_use]
    pub fn factor(self, class: ScriptClass) -> f64 {
        self.estimate().factors[class as usize]
    }

    /// By what share an estimate may be too low for a whole request of natural text, before it is calibrated: the
    /// worst case measured on conversations, and 10 % where only whole handbooks were measured. Text that is mostly numbers, JSON or emoji can be
    /// further off. 0 for exact counts.
    #[must_use]
    pub fn under_count_margin(self) -> f64 {
        self.estimate().under_count_margin
    }

    /// The family of a model outside of OpenAI. `name` is in lower case, without the provider in front.
    pub(super) fn of_model(name: &str) -> Option<Self> {
        if name.contains("claude") {
            return Some(if claude_version(name) >= (4, 7) { Self::Claude4_7 } else { Self::Claude3 });
        }
        let families: [(&[&str], Self); 8] = [
            (&["gemini", "gemma"], Self::Gemini),
            (&["deepseek"], Self::DeepSeekV3),
            (&["qwen", "qwq", "qvq"], Self::Qwen2),
            (&["mistral", "mixtral", "codestral", "ministral", "pixtral", "magistral", "devstral"], Self::MistralV3),
            (&["kimi", "moonshot"], Self::KimiK2),
            (&["glm", "chatglm"], Self::Glm4),
            (&["minimax", "abab"], Self::MiniMaxM2),
            (&["llama"], Self::Llama3),
        ];
        // Distilled models have two names in theirs; the vocabulary is that of the last one.
        families
            .into_iter()
            .filter_map(|(names, family)| names.iter().filter_map(|part| name.rfind(part)).max().map(|at| (at, family)))
            .max_by_key(|&(at, _)| at)
            .map(|(_, family)| family)
    }
}

/// Major and minor version of a Claude model: the first numbers of its name that are not a date. A name without a
/// version is taken as the newest, whose counts are the higher ones.
fn claude_version(name: &str) -> (u32, u32) {
    let numbers =
        name.split(|character: char| !character.is_ascii_digit()).filter(|digits| matches!(digits.len(), 1 | 2));
    let mut numbers = numbers.filter_map(|digits| digits.parse().ok());
    numbers.next().map_or((u32::MAX, 0), |major| (major, numbers.next().unwrap_or(0)))
}
