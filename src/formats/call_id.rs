//! Call ids and tool names of a request that is being written.
//!
//! Ids are not touched (R16), with two exceptions. Anthropic takes only letters, digits, `_` and `-` in them, and none
//! twice in a request; OpenAI Responses pairs by id across the whole request. Other formats' histories hold
//! `functions.search:0` or `call_0` in every turn; where such a call and its result are both projected, they get an id
//! that both take. And where a profile wants nine letters and digits (Mistral), every other id is replaced, in the
//! messages of the target format too.

use super::read::is_positional_id;
use super::source::Source;
use crate::hash::fnv1a;
use crate::message::{Format, Part};
use crate::sorted_map::{SortedMap, SortedSet};
use std::borrow::Cow;

/// Length of an id where the profile wants short ones.
const SHORT: usize = 9;

/// What ids must be like.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Any,
    Unique,
    Short,
}

pub(super) struct CallIds<'a> {
    style: Style,
    /// Ids that a message of the target format answers in its own words: they must stay.
    kept: SortedSet<&'a str>,
    /// How often each id was asked for; ids that are taken have an entry.
    used: SortedMap<String, u32>,
    /// What the last call of an id is called in the request, where that differs: of those that the client runs, and of
    /// those that the provider ran, since one id may stand for one of each.
    current: [SortedMap<&'a str, String>; 2],
    /// The tool that the last call of an id names.
    names: SortedMap<&'a str, &'a str>,
    /// Gemini calls that have no id, by what stands in for one: in Gemini they are answered without one.
    unnamed: SortedSet<&'a str>,
    is_gemini: bool,
}

impl<'a> CallIds<'a> {
    pub fn new(sources: &[Source<'a>], target: Format, has_short_ids: bool) -> Self {
        let style = match target {
            _ if has_short_ids => Style::Short,
            Format::Anthropic | Format::OpenAiResponses => Style::Unique,
            _ => Style::Any,
        };
        let native = sources.iter().filter(|source| style == Style::Unique && source.format == target);
        let kept = native.flat_map(|source| source.message.result_ids()).collect();
        Self {
            style,
            kept,
            used: SortedMap::new(),
            current: [SortedMap::new(), SortedMap::new()],
            names: SortedMap::new(),
            unnamed: SortedSet::new(),
            is_gemini: target == Format::Gemini,
        }
    }

    /// Whether this part's id would be another one even in a message of the target format, so that the message cannot go
    /// out as it is.
    pub fn replaces(&self, part: &Part) -> bool {
        self.style == Style::Short
            && match part {
                Part::ToolCall { id, .. } => !is_short(id) || self.used.contains_key(id),
                Part::ToolResult { call_id, .. } => self.current.iter().any(|ids| ids.contains_key(call_id.as_str())),
                _ => false,
            }
    }

    /// Takes note of a part that is about to be written, `native` when it goes out as it is, `is_note` when it will be one
    /// and has no id.
    pub fn learn(&mut self, part: &'a Part, native: bool, is_note: bool) {
        let Part::ToolCall { id, name, provider_executed, .. } = part else { return };
        self.names.insert(id, name);
        if self.is_gemini && native && is_positional_id(id) {
            self.unnamed.insert(id);
        } else {
            self.unnamed.remove(id.as_str());
        }
        if self.style == Style::Any || is_note {
            return;
        }
        let taken = if native || self.kept.contains(id.as_str()) {
            self.mark_used(id.clone());
            id.clone()
        } else if self.style == Style::Short {
            self.take_short(id)
        } else {
            self.take(id)
        };
        let [of_client, of_provider] = &mut self.current;
        let current = if *provider_executed { of_provider } else { of_client };
        if taken == *id {
            current.remove(id.as_str());
        } else {
            current.insert(id, taken);
        }
    }

    /// A free id of nine letters and digits, the same for the same id wherever in the window it stands, unless it is
    /// called there before: the prefix of a prompt must not change because its start did.
    fn take_short(&mut self, wanted: &str) -> String {
        let mut count = self.used.get(wanted).copied().unwrap_or(0);
        let mut id = match count {
            0 if is_short(wanted) => wanted.to_owned(),
            0 => short(wanted),
            _ => short(&format!("{wanted}/{count}")),
        };
        while self.used.contains_key(&id) {
            count += 1;
            id = short(&format!("{wanted}/{count}"));
        }
        self.used.insert(wanted.to_owned(), count + 1);
        self.mark_used(id.clone());
        id
    }

    /// A free id as like the wanted one as can be.
    fn take(&mut self, wanted: &str) -> String {
        let is_taken = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        let base: String = wanted.chars().map(|c| if is_taken(c) { c } else { '_' }).collect();
        let base = if base.is_empty() { "call".to_owned() } else { base };
        let mut count = self.used.get(&base).copied().unwrap_or(0);
        let mut id = base.clone();
        while self.used.contains_key(&id) {
            count += 1;
            id = format!("{base}_{count}");
        }
        self.used.insert(base, count.max(1));
        self.mark_used(id.clone());
        id
    }

    fn mark_used(&mut self, id: String) {
        if !self.used.contains_key(&id) {
            self.used.insert(id, 1);
        }
    }

    /// The id in the request of the last call with this id that the client runs, or the provider ran; empty for one that
    /// has none there.
    pub fn id<'b>(&self, id: &'b str, is_providers: bool) -> Cow<'b, str> {
        if self.unnamed.contains(id) {
            return Cow::Borrowed("");
        }
        let [of_client, of_provider] = &self.current;
        let current = if is_providers { of_provider } else { of_client };
        current.get(id).map_or(Cow::Borrowed(id), |id| Cow::Owned(id.clone()))
    }

    /// The tool's name of the last call with this id.
    pub fn name(&self, id: &str) -> Option<&'a str> {
        self.names.get(id).copied()
    }
}

fn is_short(id: &str) -> bool {
    id.len() == SHORT && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

fn short(id: &str) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut rest = fnv1a(id.bytes());
    let mut digit = || {
        let digit = DIGITS[(rest % 62) as usize];
        rest /= 62;
        char::from(digit)
    };
    (0..SHORT).map(|_| digit()).collect()
}
