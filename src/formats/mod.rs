//! Message formats: reading the caller's objects, keeping requests valid, and writing them in the format asked for.
//!
//! The way of a message: [`parse`] reads the caller's JSON text into a canonical [`Message`](crate::message::Message);
//! the text itself is stored untouched. For a request, [`render`] (as given) or [`render_repaired`] (healed by the rules
//! named below) takes the chosen [`Source`]s and writes them for a [`Target`]: a format, and the [`Profile`] of who takes
//! it. A message whose format is the target goes out byte for byte, unless the profile wants it otherwise; every other one
//! is projected. [`validate`] checks a finished request against the same rules, [`validate_context`] against those of a
//! profile too; they share the table of profiles with the repair and no code, so each is the other's oracle.
//!
//! Rules, by the name that a [`Repair`] and a [`Violation`] carry. The tests of rule R1 are those whose names begin with
//! `r01` in `tests/formats_rules.rs`, and so on. The checker names what a request shows: R7, R8, R17, R20, R21 and R23 are
//! about what became of the stored messages, so that no request shows whether they were kept.
//!
//! | rule | meaning |
//! |---|---|
//! | R1 | OpenAI, LangChain: every call is answered directly after its message, every answer has its call; what answers a call late is moved to it |
//! | R2 | Anthropic: the same between an assistant message and the next user message, results first in it; a call that the provider ran has its result in this or a later assistant message |
//! | R3 | Gemini: the next content has as many responses as this one has calls, first in it, by id or else by name and order |
//! | R4 | OpenAI Responses: every call that the client runs has its output, by `call_id` and of its own kind; a call that is only referred to may have one |
//! | R5 | parallel calls are one unit: all calls and all results, or none |
//! | R6 | AI SDK: every client-side call has a result before the next user message; one whose approval was just answered needs none at the end, since the SDK runs it then |
//! | R7 | an interrupted call is answered by a stub; a trailing one that is still in flight is held back, never stubbed |
//! | R8 | a shortened result keeps its envelope and id ([`shrink_tool_results`]) |
//! | R9 | a window starts on a user message: what stands in front of the first is left out |
//! | R10 | a window ends on a user message or on tool results: what the assistant said last is left out |
//! | R11 | user and assistant take turns, where the profile wants it: neighbours of one role are joined, and a round of tools that the user cut short is written as text |
//! | R12 | stored system messages are left out; the request's system text stands where the profile has a place for it ([`Profile::system_place`]) |
//! | R13 | where it has none, that text is folded into the first user message |
//! | R14 | empty messages are dropped unless they bear tools; blank text blocks too for Anthropic |
//! | R15 | a request without tools, or to who takes none, has no tool blocks: they are written as text; the engine's own model calls are text only |
//! | R16 | ids are unique among the calls of one message, and not touched; nine letters and digits and unique in the request where the profile wants that; what is projected for Anthropic and OpenAI Responses is unique in the request too |
//! | R17 | Anthropic: thinking goes back untouched and in order; it is left out whole where what stood between two pieces is left out |
//! | R18 | Gemini: the first call of each step of the current turn is signed; a stand-in where nobody signed it |
//! | R19 | OpenAI Responses: reasoning goes with the item that it led to, directly in front of it, or not at all |
//! | R20 | reasoning (`reasoning_content`) goes back untouched in its own format, and to no other |
//! | R21 | reasoning inside visible text (`<think>`) is read as reasoning |
//! | R22 | bytes of media are never counted or read, only a nominal cost; media that the profile does not take become notes, and parts become text where it takes text only |
//! | R23 | references of one account become notes in another format ([`references`]) |
//!
//! A message is one object of the caller's list. In OpenAI Responses that is one item: what the assistant says at once
//! is several messages there, and one in every other format.
//!
//! The projection, where source and target differ:
//!
//! | part | becomes |
//! |---|---|
//! | text, refusal | text; empty text is left out |
//! | tool call, result | the target's own, arguments verbatim, ids too except that Anthropic and OpenAI Responses get none twice and none with signs that Anthropic refuses; an AI SDK UI message is split at its steps into assistant and tool messages, and results of one round become one user message of Anthropic or Gemini, results first |
//! | Gemini call without an id | a call whose id says its name and place, which its response has too |
//! | arguments | JSON text for OpenAI, a value elsewhere; what is no JSON object becomes `{"arguments": text}` for Anthropic, Gemini and LangChain |
//! | output | text; for Gemini `{"output": text}` or `{"error": text}` |
//! | request for approval and its answer (OpenAI Responses) | a call of the tool, answered by `approved` or `denied` |
//! | image, audio, file | the target's own where it can carry it, else a note such as `[image: photo.png]` |
//! | reference of one account (R23) | a note |
//! | reasoning, thought signature | left out (it is only valid for the model that made it), but reasoning is kept between the two AI SDK shapes |
//! | call run by the provider | kept between the two AI SDK shapes, else a note |
//! | speaker's name | kept between OpenAI and LangChain, else left out |
//! | any other part | left out |
//!
//! Whatever is left out or noted sets [`Rendered::lossy`]; metadata such as `cache_control`, `providerOptions` or
//! `artifact` does not. LangChain messages are written in their stored form, `{type, data}`.

mod alternate;
mod approval;
mod call_id;
mod choice;
mod construct;
mod count;
mod element;
mod flatten;
mod group;
mod imported;
mod json;
#[cfg(feature = "wasm")]
pub(crate) use json::well_formed;
mod media;
mod parse;
mod profile;
mod read;
mod reference;
mod render;
mod repair;
mod response_items;
mod round;
mod shrink;
mod signature;
mod source;
mod time;
mod validate;
mod write;

pub use choice::FormatChoice;
pub use construct::{user_message_with_evidence, user_text_message};
pub use count::{MEDIA_TOKENS, counted, counted_apart, media_kinds, media_tokens, sent_media_tokens, sent_size};
pub use group::{GroupInput, TurnGroups, turn_groups};
pub use imported::sent_import;
pub use parse::{MAX_NESTING, Parsed, parse};
pub use profile::{Profile, SystemPlace};
pub use reference::{Reference, references};
pub use render::{Rendered, RenderedMessage, Target, render, render_repaired};
pub use repair::{Repair, STUB_OUTPUT};
pub use shrink::shrink_tool_results;
pub use source::Source;
pub use time::read_time_ms;
pub use validate::{Violation, format_of, validate, validate_context};
