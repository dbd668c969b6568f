//! What each provider or runtime takes: one row of rules for each, so that a change of theirs is one edit here.
//!
//! What every one of them takes is not in the table: a window starts on a user message (R9), ends on a user message or on
//! tool results (R10), has no empty message (R14) and no call without its result (R1-R7). Histories outlive the model they
//! were made with, so that is asked of every window.

use crate::error::{Error, Result};
use crate::message::Format;

/// The rules of a provider or runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// OpenAI chat completions, and servers that speak them.
    OpenAi,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    Anthropic,
    /// Gemini, by its own API or the one like OpenAI's.
    Gemini,
    /// Mistral's API and chat templates.
    Mistral,
    /// WebLLM, in the page.
    WebLlm,
    /// The Prompt API of Chrome and Edge.
    PromptApi,
    /// What all of them take, local chat templates without a system role included.
    Strict,
    /// The AI SDK, whichever provider it calls.
    AiSdk,
}

/// Where system text may stand in a request (R12, R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemPlace {
    /// A field of its own, or system messages anywhere.
    Anywhere,
    /// One message, the first.
    First,
    /// Only a field of its own.
    Separate,
    /// Nowhere: it is folded into the first user message.
    Nowhere,
}

/// Tokens charged for media, whose bytes are never tokenised (R22). Nominal: what an ordinary one costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MediaCosts {
    pub image: u32,
    /// An image that asks for low detail.
    pub low_detail_image: u32,
    /// A clip of 30 seconds.
    pub audio: u32,
    /// A page of a document.
    pub file: u32,
}

/// One row of the table.
pub(super) struct Rules {
    name: &'static str,
    /// Formats of messages that it goes with; the first is the one to write where none is asked for.
    formats: &'static [Format],
    pub system: SystemPlace,
    /// R11: user and assistant take turns; messages with calls, and results, do not count.
    pub alternates: bool,
    /// R16: call ids are nine letters and digits, and none comes twice.
    pub has_short_ids: bool,
    /// Tool calls and results may be sent as such; else they are written as text (R15).
    pub takes_tools: bool,
    /// Content is one string, never a list.
    pub is_plain_text: bool,
    /// Kinds of media that may be sent; others become a note (R22).
    pub media: &'static [&'static str],
    pub costs: MediaCosts,
    /// The start of a prompt is not kept in the provider's cache where it is shorter than this, in tokens, with the model
    /// that keeps the shortest. 0: not known, or any length.
    pub cached_from_tokens: u32,
}

/// An image of 1,024 x 1,024 at high detail is 85 + 4 x 170, at low detail 85 (OpenAI, "Images and vision", GPT-4o);
/// speech is a token per 100 ms (OpenAI, "Realtime costs"); of a page of a PDF both text and image are sent.
const OPENAI_COSTS: MediaCosts = MediaCosts { image: 765, low_detail_image: 85, audio: 300, file: 1_000 };
/// Width x height / 750, at most about 1.15 megapixels (Anthropic, "Vision"); 1,500 to 3,000 tokens of text a page and
/// its image ("PDF support"). It takes no audio.
const ANTHROPIC_COSTS: MediaCosts = MediaCosts { image: 1_600, low_detail_image: 1_600, audio: 1_000, file: 2_250 };
/// 258 for an image or a page, 32 per second of audio (Google, "Understand and count tokens").
const GEMINI_COSTS: MediaCosts = MediaCosts { image: 258, low_detail_image: 258, audio: 960, file: 258 };
/// Where the provider is not known, the dearest of them.
const ANY_COSTS: MediaCosts = MediaCosts { image: 1_600, low_detail_image: 1_600, audio: 1_000, file: 2_250 };

const ALL_MEDIA: &[&str] = &["image", "audio", "file"];

/// The table's default: every row says only in what it differs.
const COMMON: Rules = Rules {
    name: "",
    formats: &[Format::OpenAi],
    system: SystemPlace::First,
    alternates: false,
    has_short_ids: false,
    takes_tools: true,
    is_plain_text: false,
    media: ALL_MEDIA,
    costs: ANY_COSTS,
    cached_from_tokens: 0,
};

/// In the order of [`Profile`].
const RULES: [Rules; 9] = [
    Rules {
        name: "openai",
        formats: &[Format::OpenAi, Format::AiSdkModel, Format::AiSdkUi, Format::LangChain],
        system: SystemPlace::Anywhere,
        costs: OPENAI_COSTS,
        cached_from_tokens: 1_024,
        ..COMMON
    },
    Rules {
        name: "openai-responses",
        formats: &[Format::OpenAiResponses, Format::AiSdkModel, Format::AiSdkUi, Format::LangChain],
        system: SystemPlace::Anywhere,
        costs: OPENAI_COSTS,
        cached_from_tokens: 1_024,
        ..COMMON
    },
    Rules {
        name: "anthropic",
        formats: &[Format::Anthropic, Format::AiSdkModel, Format::AiSdkUi, Format::LangChain],
        system: SystemPlace::Separate,
        costs: ANTHROPIC_COSTS,
        cached_from_tokens: 1_024,
        ..COMMON
    },
    Rules {
        name: "gemini",
        formats: &[Format::Gemini, Format::OpenAi, Format::AiSdkModel, Format::AiSdkUi, Format::LangChain],
        costs: GEMINI_COSTS,
        cached_from_tokens: 2_048,
        ..COMMON
    },
    Rules {
        name: "mistral",
        formats: &[Format::OpenAi, Format::AiSdkModel],
        alternates: true,
        has_short_ids: true,
        media: &["image"],
        ..COMMON
    },
    Rules { name: "webllm", alternates: true, takes_tools: false, is_plain_text: true, media: &[], ..COMMON },
    Rules { name: "prompt-api", takes_tools: false, is_plain_text: true, media: &[], ..COMMON },
    Rules {
        name: "strict",
        system: SystemPlace::Nowhere,
        alternates: true,
        has_short_ids: true,
        is_plain_text: true,
        media: &[],
        ..COMMON
    },
    Rules {
        name: "ai-sdk",
        formats: &[Format::AiSdkModel, Format::AiSdkUi],
        system: SystemPlace::Separate,
        cached_from_tokens: 1_024,
        ..COMMON
    },
];

impl Profile {
    /// Every profile, in the order of the table.
    pub const ALL: [Self; 9] = [
        Self::OpenAi,
        Self::OpenAiResponses,
        Self::Anthropic,
        Self::Gemini,
        Self::Mistral,
        Self::WebLlm,
        Self::PromptApi,
        Self::Strict,
        Self::AiSdk,
    ];

    /// The profile of this name.
    ///
    /// # Errors
    /// `invalid_argument`, with the names that there are.
    pub fn from_name(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|profile| profile.name() == name);
        found.ok_or_else(|| Error::invalid_argument(format!("profile is not known; give one of {}", listed(|_| true))))
    }

    /// Its name, as the public API has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.rules().name
    }

    /// The profile of messages in this format where none is named.
    #[must_use]
    pub fn of_format(format: Format) -> Self {
        match format {
            Format::OpenAi | Format::LangChain => Self::OpenAi,
            Format::OpenAiResponses => Self::OpenAiResponses,
            Format::Anthropic => Self::Anthropic,
            Format::Gemini => Self::Gemini,
            Format::AiSdkUi | Format::AiSdkModel => Self::AiSdk,
        }
    }

    /// The format to write where none is asked for.
    #[must_use]
    pub fn usual_format(self) -> Format {
        self.rules().formats.first().copied().unwrap_or(Format::OpenAi)
    }

    /// Whether messages of this format can be sent to it.
    #[must_use]
    pub fn takes(self, format: Format) -> bool {
        self.rules().formats.contains(&format)
    }

    /// Refuses a format that it does not go with.
    ///
    /// # Errors
    /// `invalid_argument`, with the profiles that do.
    pub fn check(self, format: Format) -> Result<()> {
        if self.takes(format) {
            return Ok(());
        }
        Err(Error::invalid_argument(format!(
            "profile {} does not take messages of this format; leave the format out, or give one of the profiles {}",
            self.name(),
            listed(|profile| profile.takes(format))
        )))
    }

    /// Where its system text stands.
    #[must_use]
    pub fn system_place(self) -> SystemPlace {
        self.rules().system
    }

    /// Shortest start of a prompt that its provider's cache can keep, in tokens.
    #[must_use]
    pub fn cached_from_tokens(self) -> u32 {
        self.rules().cached_from_tokens
    }

    pub(super) fn rules(self) -> &'static Rules {
        &RULES[self as usize]
    }
}

fn listed(is_wanted: impl Fn(Profile) -> bool) -> String {
    let names: Vec<&str> = Profile::ALL.into_iter().filter(|profile| is_wanted(*profile)).map(Profile::name).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_rows_and_back() {
        for profile in Profile::ALL {
            assert_eq!(Profile::from_name(profile.name()).unwrap(), profile);
            assert!(profile.takes(profile.usual_format()));
        }
        for format in [
            Format::OpenAi,
            Format::OpenAiResponses,
            Format::Anthropic,
            Format::AiSdkUi,
            Format::AiSdkModel,
            Format::Gemini,
            Format::LangChain,
        ] {
            assert!(Profile::of_format(format).takes(format));
        }
    }

    #[test]
    fn errors_list_what_there_is() {
        let unknown = Profile::from_name("secret").unwrap_err();
        assert!(unknown.message.contains("openai, openai-responses, anthropic, gemini, mistral, webllm, prompt-api"));
        assert!(!unknown.message.contains("secret"));
        let unfit = Profile::WebLlm.check(Format::Anthropic).unwrap_err();
        assert!(unfit.message.contains("webllm") && unfit.message.ends_with("the profiles anthropic"));
    }

    #[test]
    fn strict_asks_at_least_what_each_asks() {
        let strict = Profile::Strict.rules();
        for rules in &RULES {
            assert!(strict.alternates >= rules.alternates && strict.has_short_ids >= rules.has_short_ids);
            assert!(strict.is_plain_text >= rules.is_plain_text);
            assert!(strict.media.iter().all(|kind| rules.media.contains(kind)));
        }
    }
}
