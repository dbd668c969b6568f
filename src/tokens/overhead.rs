//! What a request costs beside the tokens of its texts.

use crate::message::Format;

/// Tokens that a provider adds for the frame of a conversation. They are seeds, to be corrected by reported usage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overhead {
    /// For each message: its delimiters and its role.
    pub per_message_tokens: u32,
    /// Once for each request: what opens the answer.
    pub per_request_tokens: u32,
    /// For each message that has a `name`, beside the tokens of the name itself.
    pub per_name_tokens: u32,
}

impl Overhead {
    /// The overhead of a request of `messages` messages, of which `named` have a `name`.
    #[must_use]
    pub fn request_tokens(self, messages: u32, named: u32) -> u32 {
        self.per_message_tokens
            .saturating_mul(messages)
            .saturating_add(self.per_name_tokens.saturating_mul(named))
            .saturating_add(self.per_request_tokens)
    }
}

/// The overhead of requests in a format. A role counts as one token, which it is in every vocabulary here.
///
/// OpenAI: 3 and the role for each message, 1 more for a name, 3 for each request (OpenAI cookbook, as in
/// `tiktoken-rs`). Anthropic: 2 and the role, 6 for each request (fitted by `ai-tokenizer` 1.0.6; 7 in all for a single
/// user message by `ctok`). The formats of the AI SDK and LangChain go to any provider, so they are taken as OpenAI's, the
/// dearest; so are OpenAI's items and Gemini's contents, whose frames no provider documents.
#[must_use]
pub fn overhead(format: Format) -> Overhead {
    match format {
        Format::Anthropic => Overhead { per_message_tokens: 3, per_request_tokens: 6, per_name_tokens: 0 },
        _ => Overhead { per_message_tokens: 4, per_request_tokens: 3, per_name_tokens: 1 },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_add_up() {
        assert_eq!(overhead(Format::OpenAi).request_tokens(10, 2), 45);
        assert_eq!(overhead(Format::Anthropic).request_tokens(1, 0), 9);
        assert_eq!(overhead(Format::OpenAi).request_tokens(u32::MAX, 1), u32::MAX);
    }
}
