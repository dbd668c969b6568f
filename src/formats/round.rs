//! Rounds: the calls that the assistant makes at once and what answers them (R1-R5), and where in a window each is.

use super::approval::Requests;
use super::element::{Content, Element};
use super::read::{GeminiPlaces, is_positional_id};
use super::source::Source;
use crate::message::{Format, Part, Role};
use crate::sorted_map::{SortedMap, SortedSet};

/// A call that the client runs.
#[derive(Clone)]
pub(super) struct Call {
    pub id: String,
    /// What a Gemini response without an id calls it.
    pub place: Option<String>,
    pub name: String,
    pub source: usize,
    pub is_answered: bool,
    /// The user said yes or no to it.
    pub is_approved: bool,
    /// A result names its id.
    pub is_reserved: bool,
}

/// The calls of one assistant element and their answers.
pub(super) struct Round {
    pub calls: Vec<Call>,
    /// Position in `calls` by id.
    by_id: SortedMap<String, usize>,
    pub answers: Vec<Element>,
    /// What the assistant asked the user's approval for, where that is the target's way.
    pub requests: Requests,
    /// Calls that are only referred to and have no output yet, at most.
    pub references: usize,
}

impl Round {
    pub fn of(calls: Vec<Call>) -> Self {
        let mut by_id = SortedMap::new();
        for (index, call) in calls.iter().enumerate() {
            if let Some(place) = call.place.clone() {
                by_id.insert(place, index);
            }
        }
        // An id that was given goes before one that was made.
        for (index, call) in calls.iter().enumerate() {
            by_id.insert(call.id.clone(), index);
        }
        Self { calls, by_id, answers: Vec::new(), requests: Requests::new(), references: 0 }
    }

    pub fn call_mut(&mut self, id: &str) -> Option<&mut Call> {
        self.calls.get_mut(*self.by_id.get(id)?)
    }

    /// Keeps a call for the result that names its id.
    pub fn reserve(&mut self, id: &str) {
        if let Some(call) = self.call_mut(id) {
            call.is_reserved |= call.id == id;
        }
    }

    /// The call that a result answers: by its id; where that only says a name and a place, the call of that place, or
    /// any of the name, that nothing else answers.
    pub fn call_answered_by(&mut self, id: &str, name: Option<&str>) -> Option<&mut Call> {
        let by_id = self.by_id.get(id).copied();
        let is_same = |call: &Call| name.is_none_or(|name| name == call.name);
        let is_free = |call: &Call| !call.is_answered && (call.id == id || !call.is_reserved && is_same(call));
        let at = match by_id.filter(|at| self.calls.get(*at).is_some_and(is_free)) {
            None if is_positional_id(id) => {
                let is_next = |call: &Call| is_free(call) && call.place.is_some() && Some(&*call.name) == name;
                self.calls.iter().position(is_next)
            }
            _ => by_id,
        };
        self.calls.get_mut(at?)
    }

    pub fn missing(&self) -> Vec<Call> {
        self.calls.iter().filter(|call| !call.is_answered).cloned().collect()
    }

    pub fn answer(&mut self, id: &str, content: Content) {
        if let Some(call) = self.call_mut(id) {
            call.is_answered = true;
        }
        let source = content.source();
        self.answers.push(Element { role: Role::Tool, contents: vec![content], source, is_flat: false });
    }
}

/// Where in the window each id is called and answered.
#[derive(Default)]
pub(super) struct Places<'a> {
    /// By what a Gemini response without an id calls it, too.
    called: SortedMap<String, Vec<usize>>,
    answered: SortedMap<&'a str, Vec<(usize, Content)>>,
}

impl<'a> Places<'a> {
    pub fn of(elements: &[Element], sources: &[Source<'a>]) -> Self {
        let mut places = Self::default();
        for (at, element) in elements.iter().enumerate() {
            let mut by_place = GeminiPlaces::default();
            for content in &element.contents {
                match (content.part(sources), element.role) {
                    (Some(Part::ToolCall { id, name, provider_executed: false, .. }), Role::Assistant) => {
                        places.called.get_or_default(id.clone()).push(at);
                        let format = sources.get(content.source()).map(|source| source.format);
                        let place = by_place.next_id(true, name);
                        if format == Some(Format::Gemini) && place != *id {
                            places.called.get_or_default(place).push(at);
                        }
                    }
                    (Some(Part::ToolResult { call_id, .. }), Role::Tool) => {
                        places.answered.get_or_default(call_id).push((at, content.clone()));
                    }
                    _ => {}
                }
            }
        }
        places
    }

    /// The first answer from element `from` on to the call in element `call`, if the id is not called again before it.
    pub fn late_answer(
        &self,
        id: &str,
        call: usize,
        from: usize,
        moved: &SortedSet<(usize, usize)>,
    ) -> Option<Content> {
        let answers = self.answered.get(id)?;
        let first = answers.partition_point(|(at, _)| *at < from);
        let (at, content) = answers
            .get(first..)?
            .iter()
            .find(|(_, content)| content.position().is_none_or(|position| !moved.contains(&position)))?;
        let calls = self.called.get(id).map_or(&[][..], Vec::as_slice);
        let next_call = calls.get(calls.partition_point(|&at| at <= call)).copied().unwrap_or(usize::MAX);
        (*at < next_call).then(|| content.clone())
    }
}
