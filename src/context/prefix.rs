//! The part of a prompt that stays as it is: its hash, its tokens, and where a provider's cache may be told to stop.

use super::assemble::{ContextInput, Prompt, joined};
use super::receipt::CacheBreakpoint;

/// Hash of the system text and the first message of the recent window, each ended by a zero byte. What stands
/// between that message and the newest turn is only ever appended to, so two prompts of equal hash share their prefix.
pub(super) fn prefix_hash(prompt: &Prompt) -> String {
    let texts = std::iter::once(&prompt.system)
        .chain(prompt.messages.iter().take(prompt.turn_start.min(1)).map(|message| &message.json));
    let bytes = texts.flat_map(|text| text.bytes().chain(std::iter::once(0)));
    format!("{:016x}", crate::hash::fnv1a(bytes))
}

/// Tokens in front of the newest turn.
pub(super) fn prefix_tokens(input: &ContextInput<'_>, prompt: &Prompt) -> u32 {
    let newest: u32 = prompt.messages.iter().skip(prompt.turn_start).map(|message| message.tokens).sum();
    prompt.total - newest - input.overhead.per_request_tokens
}

/// Where the prompt is likely to go on otherwise in the next turn, or in another conversation: four positions at most, which
/// is what providers with marks allow, and none where the profile's provider keeps nothing so short.
pub(super) fn cache_breakpoints(input: &ContextInput<'_>, prompt: &Prompt) -> Vec<CacheBreakpoint> {
    let tokens_of = |count: usize| prompt.messages.iter().take(count).map(|message| message.tokens).sum::<u32>();
    let system_tokens = prefix_tokens(input, prompt) - tokens_of(prompt.turn_start);
    let mut breakpoints = Vec::new();
    if !prompt.system.is_empty() {
        let shared = [&input.system, &input.memory];
        let (shared_length, length) = (utf16_length(&joined(&shared)), utf16_length(&prompt.system));
        if (1..length).contains(&shared_length) {
            let tokens = shared.iter().flat_map(|part| &part.items).map(|item| item.tokens).sum::<u32>();
            breakpoints.push(CacheBreakpoint {
                after: "memory",
                system_length: Some(shared_length),
                message_index: None,
                tokens: tokens.saturating_add(input.overhead.per_message_tokens),
            });
        }
        breakpoints.push(CacheBreakpoint {
            after: "system",
            system_length: Some(length),
            message_index: None,
            tokens: system_tokens,
        });
    }
    let last_turn = input.history.last().and_then(|turn| turn.first()).and_then(|first| {
        prompt.messages.iter().take(prompt.turn_start).position(|message| message.seqs.contains(&first.record.seq))
    });
    for (after, count) in [("earlier", last_turn.unwrap_or(0)), ("history", prompt.turn_start)] {
        if let Some(index) = count.checked_sub(1) {
            let tokens = system_tokens + tokens_of(count);
            breakpoints.push(CacheBreakpoint { after, system_length: None, message_index: Some(index), tokens });
        }
    }
    let shortest = input.target.profile.cached_from_tokens();
    breakpoints.retain(|breakpoint| input.correction.billed(breakpoint.tokens) >= shortest);
    breakpoints
}

/// Length as JavaScript counts it.
fn utf16_length(text: &str) -> usize {
    text.encode_utf16().count()
}
