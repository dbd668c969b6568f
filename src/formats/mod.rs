//! Message formats: reading the caller's objects, keeping requests valid, and writing them in the format asked for.
//!
//! The way of a message: [`parse`] reads the caller's JSON text into a canonical [`Message`](crate::message::Message);
//! the text itself is stored untouched. For a request, [`render`] (as given) or [`render_repaired`] (healed by the rules
//! R1-R14 named below) takes the chosen [`Source`]s and writes them in a target format. A message whose format is the
//! target goes out byte for byte; every other one is projected. [`validate`] checks a finished request against the same
//! rules and shares no code with the repair, so each is the other's oracle.
//!
//! Rules, by the name that a [`Repair`] and a [`Violation`] carry:
//!
//! | rule | meaning |
//! |---|---|
//! | R1 | OpenAI, LangChain: every call is answered directly after its message, every answer has its call |
//! | R2 | Anthropic: the same between an assistant message and the next user message, results first |
//! | R3 | Gemini: the next content has as many responses as this one has calls, first in it |
//! | R4 | OpenAI Responses: every call that the client runs has its output, by `call_id` |
//! | R5 | parallel calls are one unit: all calls and all results, or none |
//! | R6 | AI SDK: every client-side call has a result before the next user message |
//! | R7 | an interrupted call is answered by a stub; a trailing one that is still in flight is held back, never stubbed |
//! | R8 | a shortened result keeps its envelope and id ([`shrink_tool_results`]) |
//! | R9 | a window starts on a user message |
//! | R10 | a window ends on a user message or on tool results |
//! | R12 | system messages are lifted out ([`lift_system`]), never sent among the messages |
//! | R14 | empty messages are dropped unless they bear tools |
//! | R15 | calls of the engine's own send no tool blocks ([`flattened`]) |
//! | R16 | ids are unique among the calls of one message |
//! | R17, R20 | reasoning goes back untouched in its own format, and to no other |
//! | R18 | Gemini: the first call of each step of the current turn is signed; a stand-in where nobody signed it |
//! | R19 | OpenAI Responses: reasoning goes with the item that it led to, directly in front of it, or not at all |
//! | R21 | reasoning inside visible text (`<think>`) is read as reasoning |
//! | R22, R23 | bytes of media are never counted; references of one account become notes in another format ([`references`]) |
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

mod call_id;
mod choice;
mod construct;
mod count;
mod element;
mod flatten;
mod group;
mod json;
#[cfg(feature = "wasm")]
pub(crate) use json::well_formed;
mod media;
mod parse;
mod read;
mod reference;
mod render;
mod repair;
mod response_items;
mod shrink;
mod signature;
mod source;
mod time;
mod validate;
mod write;

pub use choice::FormatChoice;
pub use construct::{user_message_with_evidence, user_text_message};
pub use count::{MEDIA_TOKENS, counted, media_tokens};
pub use flatten::flattened;
pub use group::{GroupInput, TurnGroups, turn_groups};
pub use parse::{MAX_NESTING, Parsed, parse};
pub use reference::{Reference, references};
pub use render::{Rendered, RenderedMessage, render, render_repaired};
pub use repair::{Repair, STUB_OUTPUT};
pub use shrink::shrink_tool_results;
pub use source::{Lifted, Source, lift_system};
pub use time::read_time_ms;
pub use validate::{Violation, validate};
