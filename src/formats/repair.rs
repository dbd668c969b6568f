//! Repair: from the elements of a window to elements that every provider takes. Stored messages are not touched.

use super::approval::{answered_call, requests};
use super::element::{Content, Element, repeated_calls};
use super::read::GeminiPlaces;
use super::response_items::{self, Partners};
use super::round::{Call, Places, Round};
use super::source::{Source, is_marker, says_something};
use crate::message::{Format, Part, Role, Seq};
use crate::sorted_map::{SortedMap, SortedSet};

/// The output of a result that was made up for an interrupted call.
pub const STUB_OUTPUT: &str = "[result omitted]";

/// What an answer to a request for approval is read as.
const APPROVAL: &str = "tool-approval-response";

const REPEATED_CALL: &str = "second call with the same id in one message left out";
const ORPHANED_REASONING: &str = "reasoning without the item that it led to left out";

/// One thing that was changed on the way out, for the receipt.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Repair {
    /// The rule that asked for it (see the module's table).
    pub rule: &'static str,
    /// The message concerned, where it is a stored one.
    pub seq: Option<Seq>,
    /// What was done.
    pub what: &'static str,
}

/// The ids of the calls that results answer, by source and part: those of results that came without an id.
pub(super) type Answers = SortedMap<(usize, usize), String>;

/// What repair makes of a window.
pub(super) struct Repaired {
    pub elements: Vec<Element>,
    pub repairs: Vec<Repair>,
    pub answers: Answers,
}

/// Elements that keep R1-R7, R9, R10, R14, R16 and R19 in the target format, and what was done for it. `is_flat`: calls
/// will be written as text, so that none is run by who gets them.
pub(super) fn repaired(elements: Vec<Element>, sources: &[Source<'_>], target: Format, is_flat: bool) -> Repaired {
    let (repairs, answers, repeated) = (Vec::new(), Answers::new(), SortedSet::new());
    let mut window = Window { sources, target, is_flat, elements, repairs, answers, repeated };
    window.note_misplaced_parts();
    window.note_moved_results();
    let partners = window.join_reasoning();
    window.drop_empty();
    window.elements = response_items::join_turns(std::mem::take(&mut window.elements), sources);
    window.drop_before_first_user();
    window.drop_unpaired_provider_parts();
    window.drop_empty();
    window.pair_calls();
    // A dropped ending may hold the result of a provider's call that stands earlier, and so on.
    loop {
        window.drop_orphaned_reasoning(&partners);
        window.drop_trailing_assistant();
        if !window.drop_unpaired_provider_parts() {
            break;
        }
        window.drop_empty();
    }
    Repaired { elements: window.elements, repairs: window.repairs, answers: window.answers }
}

struct Window<'s, 'a> {
    sources: &'s [Source<'a>],
    target: Format,
    is_flat: bool,
    elements: Vec<Element>,
    repairs: Vec<Repair>,
    answers: Answers,
    /// Where calls stood that were left out because of their id: an approval right behind one is theirs.
    repeated: SortedSet<(usize, usize)>,
}

impl<'a> Window<'_, 'a> {
    fn part(&self, content: &Content) -> Option<&'a Part> {
        content.part(self.sources)
    }

    fn format(&self, source: usize) -> Option<Format> {
        self.sources.get(source).map(|source| source.format)
    }

    fn is_native(&self, source: usize) -> bool {
        self.format(source) == Some(self.target)
    }

    fn note(&mut self, rule: &'static str, source: usize, what: &'static str) {
        let seq = self.sources.get(source).and_then(|source| source.seq);
        self.repairs.push(Repair { rule, seq, what });
    }

    /// The rule of pairing in the target format.
    fn pairing_rule(&self) -> &'static str {
        match self.target {
            Format::OpenAi | Format::LangChain => "R1",
            Format::Anthropic => "R2",
            Format::Gemini => "R3",
            Format::OpenAiResponses => "R4",
            Format::AiSdkUi | Format::AiSdkModel => "R6",
        }
    }

    /// Making elements already puts results first (R2) and leaves calls of others than the assistant out, and repeated
    /// ones of a UI message (R16); here it is only told where that differs from the raw message.
    fn note_misplaced_parts(&mut self) {
        let is_result = |part: &Part| matches!(part, Part::ToolResult { .. });
        let is_call = |part: &Part| matches!(part, Part::ToolCall { .. });
        for (index, source) in self.sources.iter().enumerate() {
            let (role, parts) = (source.message.role, &source.message.parts);
            let results_first = parts.iter().skip_while(|part| is_result(part)).all(|part| !is_result(part));
            let puts_first = matches!(self.target, Format::Anthropic | Format::Gemini);
            if role == Role::User && puts_first && !results_first {
                self.note(self.pairing_rule(), index, "tool results moved in front of the text of their message");
            }
            if matches!(role, Role::User | Role::Tool) && parts.iter().any(is_call) {
                self.note(self.pairing_rule(), index, "call outside an assistant message left out");
            }
            if !repeated_calls(source.message, source.format).is_empty() {
                self.note("R16", index, REPEATED_CALL);
            }
        }
    }

    /// R19: reasoning stands in front of the item that it led to, or it is dropped.
    fn join_reasoning(&mut self) -> Partners {
        let (elements, partners) = response_items::join_reasoning(std::mem::take(&mut self.elements), self.sources);
        self.elements = elements;
        partners
    }

    /// R19: where the item behind it was left out.
    fn drop_orphaned_reasoning(&mut self, partners: &Partners) {
        let mut elements = std::mem::take(&mut self.elements);
        for element in &mut elements {
            for source in response_items::take_orphaned_reasoning(element, partners) {
                self.note("R19", source, ORPHANED_REASONING);
            }
        }
        elements.retain(|element| !element.contents.is_empty());
        self.elements = elements;
    }

    /// Results that an assistant's message held, which only a UI message may.
    fn note_moved_results(&mut self) {
        let is_held = |element: &&Element| {
            element.role == Role::Tool
                && self.is_native(element.source)
                && self.sources.get(element.source).is_some_and(|source| source.message.role == Role::Assistant)
        };
        if self.target == Format::AiSdkUi {
            return;
        }
        let moved: Vec<usize> = self.elements.iter().filter(is_held).map(|element| element.source).collect();
        for source in moved {
            self.note(self.pairing_rule(), source, "tool results moved out of the message of their calls");
        }
    }

    /// Whether a result that stands in the assistant's message, of a tool of its provider, is written in the target.
    fn keeps_provider_results(&self, source: usize) -> bool {
        let comes_from_ai_sdk = self.sources.get(source).is_some_and(|source| source.format.is_ai_sdk());
        self.target == Format::AiSdkUi || (self.target.is_ai_sdk() && comes_from_ai_sdk)
    }

    /// R14. For Anthropic also blank text beside other content, which it refuses.
    fn drop_empty(&mut self) {
        let mut kept = Vec::with_capacity(self.elements.len());
        for mut element in std::mem::take(&mut self.elements) {
            let native = self.is_native(element.source);
            // A result of the provider's own tool is written nowhere else than where its call is one too.
            let writes_results =
                native || element.role != Role::Assistant || self.keeps_provider_results(element.source);
            let says = |content: &Content| match self.part(content) {
                Some(Part::ToolResult { .. }) => writes_results,
                part => part.is_some_and(|part| says_something(part, native)),
            };
            let is_answer = |content: &Content| match self.part(content) {
                Some(Part::ToolResult { .. }) => true,
                Some(Part::Other { kind }) => native && kind == APPROVAL,
                Some(_) => false,
                None => true,
            };
            let full = match element.role {
                Role::Tool => element.contents.iter().any(is_answer),
                _ => element.contents.iter().any(says),
            };
            if !full {
                let is_silent =
                    |content: &Content| matches!(self.part(content), Some(Part::Other { kind }) if is_marker(kind));
                let is_reasoning = |content: &Content| matches!(self.part(content), Some(Part::Reasoning(_)));
                if native && self.target == Format::OpenAiResponses && element.contents.iter().any(is_reasoning) {
                    self.note("R19", element.source, ORPHANED_REASONING);
                } else if element.contents.is_empty() || !element.contents.iter().all(is_silent) {
                    self.note("R14", element.source, "empty message left out");
                }
                continue;
            }
            if self.target == Format::Anthropic {
                let sources = self.sources;
                let before = element.contents.len();
                element.contents.retain(
                    |content| !matches!(content.part(sources), Some(Part::Text(text)) if text.trim().is_empty()),
                );
                if native && element.contents.len() < before {
                    self.note("R14", element.source, "empty text block left out");
                }
            }
            kept.push(element);
        }
        self.elements = kept;
    }

    /// R9.
    fn drop_before_first_user(&mut self) {
        let first = self.elements.iter().position(|element| element.role == Role::User).unwrap_or(self.elements.len());
        let dropped: SortedSet<usize> = self.elements.drain(..first).map(|element| element.source).collect();
        for source in dropped.iter().copied() {
            self.note("R9", source, "left out in front of the first user message");
        }
    }

    /// R10.
    fn drop_trailing_assistant(&mut self) {
        while self.elements.last().is_some_and(|element| element.role == Role::Assistant) {
            if let Some(element) = self.elements.pop() {
                self.note("R10", element.source, "assistant message at the end left out");
            }
        }
    }

    /// Calls that the provider ran itself and their results stand in assistant messages, one pair per id at a time;
    /// a half without its other half is refused. Whether anything was dropped.
    fn drop_unpaired_provider_parts(&mut self) -> bool {
        // By format too: between formats such a call becomes a note. A UI message holds both halves itself.
        let mut open: SortedMap<(Option<usize>, &'a str), Content> = SortedMap::new();
        let mut unpaired: Vec<Content> = Vec::new();
        for element in self.elements.iter().filter(|element| element.role == Role::Assistant) {
            let scope = match self.target {
                Format::AiSdkUi => Some(element.source),
                _ => self.format(element.source).map(|format| format as usize),
            };
            let mut ids = SortedSet::new();
            let is_anthropic = self.format(element.source) == Some(Format::Anthropic);
            let is_clients = |name: Option<&str>| is_anthropic && name.is_none();
            for content in &element.contents {
                match self.part(content) {
                    // Twice in one message (R16): the second goes, and so its result.
                    Some(Part::ToolCall { id, provider_executed: true, .. })
                        if !ids.insert((content.source(), id.as_str())) =>
                    {
                        unpaired.push(content.clone());
                    }
                    Some(Part::ToolCall { id, provider_executed: true, .. }) => {
                        unpaired.extend(open.insert((scope, id), content.clone()));
                    }
                    Some(Part::ToolResult { call_id, name, .. })
                        if is_clients(name.as_deref()) || open.remove(&(scope, call_id.as_str())).is_none() =>
                    {
                        unpaired.push(content.clone());
                    }
                    _ => {}
                }
            }
        }
        unpaired.extend(open.into_values());
        for content in &unpaired {
            let rule =
                if matches!(self.part(content), Some(Part::ToolCall { .. })) { "R7" } else { self.pairing_rule() };
            self.note(rule, content.source(), "half of a call that the provider ran itself left out");
        }
        let dropped: SortedSet<_> = unpaired.iter().filter_map(Content::position).collect();
        for element in &mut self.elements {
            element.contents.retain(|content| content.position().is_none_or(|position| !dropped.contains(&position)));
        }
        !unpaired.is_empty()
    }

    /// R1, R2, R5-R7, R16: every call of the window gets one answer right behind it, every answer has its call.
    fn pair_calls(&mut self) {
        let elements = std::mem::take(&mut self.elements);
        let places = Places::of(&elements, self.sources);
        let mut moved = SortedSet::new();
        let mut out = Vec::with_capacity(elements.len());
        let mut at = 0;
        while let Some(element) = elements.get(at) {
            let mut end = at + 1;
            if element.role == Role::User {
                out.push(element.clone());
                at = end;
                continue;
            }
            let (said, calls) = if element.role == Role::Assistant {
                self.said_and_called(element)
            } else {
                end = at;
                (None, Vec::new())
            };
            while elements.get(end).is_some_and(|next| next.role == Role::Tool) {
                end += 1;
            }
            let answers = elements.get(at..end).unwrap_or_default().iter().filter(|next| next.role == Role::Tool);
            let mut round = Round::of(calls);
            round.references = said.as_ref().map_or(0, |said| self.count_references(said));
            if let (Format::AiSdkModel, Some(said)) = (self.target, &said) {
                round.requests = requests(said, self.sources);
            }
            for content in answers.clone().flat_map(|answer| &answer.contents) {
                if let Some(Part::ToolResult { call_id, .. }) = self.part(content) {
                    round.reserve(call_id);
                }
            }
            for answer in answers {
                self.take_answers(&mut round, answer, &moved);
            }
            for call in round.missing() {
                let late = |id: &str| places.late_answer(id, at, end, &moved);
                if let Some(content) = late(&call.id).or_else(|| late(call.place.as_deref()?)) {
                    self.note_answer(&content, &call.id);
                    self.note(self.pairing_rule(), content.source(), "late tool result moved to its call");
                    moved.extend(content.position());
                    round.answer(&call.id, content);
                }
            }
            self.close_round(said, round, end == elements.len(), &mut out);
            at = end;
        }
        self.elements = out;
    }

    /// The element without repeated calls (R16), and its client-side calls.
    fn said_and_called(&mut self, element: &Element) -> (Option<Element>, Vec<Call>) {
        let (mut said, mut calls, mut ids) = (element.clone(), Vec::new(), SortedSet::new());
        let mut places = GeminiPlaces::default();
        said.contents.clear();
        for content in &element.contents {
            if let Some(Part::ToolCall { id, name, provider_executed: false, .. }) = self.part(content) {
                let is_gemini = self.format(content.source()) == Some(Format::Gemini);
                let place = is_gemini.then(|| places.next_id(true, name));
                if !ids.insert(id) {
                    self.repeated.extend(content.position());
                    self.note("R16", element.source, REPEATED_CALL);
                    continue;
                }
                let (id, name, source) = (id.clone(), name.clone(), content.source());
                calls.push(Call {
                    id,
                    place,
                    name,
                    source,
                    is_answered: false,
                    is_approved: false,
                    is_reserved: false,
                });
            }
            said.contents.push(content.clone());
        }
        (Some(said), calls)
    }

    /// Items of OpenAI Responses that are only referred to: each may be a call, whose id is not known here.
    fn count_references(&self, said: &Element) -> usize {
        let is_reference = |content: &&Content| {
            matches!(self.part(content), Some(Part::Other { kind }) if kind == "item_reference")
                && self.is_native(content.source())
                && self.sources.get(content.source()).is_some_and(Source::is_whole_item)
        };
        match self.target {
            Format::OpenAiResponses => said.contents.iter().filter(is_reference).count(),
            _ => 0,
        }
    }

    /// Takes the results of an element that answer the round's calls; drops the others.
    fn take_answers(&mut self, round: &mut Round, answer: &Element, moved: &SortedSet<(usize, usize)>) {
        let mut taken = Element { contents: Vec::new(), ..answer.clone() };
        for content in &answer.contents {
            match self.part(content) {
                Some(Part::ToolResult { call_id, name, .. }) => {
                    if content.position().is_some_and(|position| moved.contains(&position)) {
                        continue;
                    }
                    let has_reference = round.references > 0;
                    match round.call_answered_by(call_id, name.as_deref()) {
                        Some(call) if !call.is_answered => {
                            call.is_answered = true;
                            self.note_answer(content, &call.id);
                            taken.contents.push(content.clone());
                        }
                        Some(_) => self.note(self.pairing_rule(), answer.source, "second result of one call left out"),
                        None if self.is_native(answer.source) && has_reference => {
                            round.references -= 1;
                            taken.contents.push(content.clone());
                        }
                        None => self.note(self.pairing_rule(), answer.source, "tool result without its call left out"),
                    }
                }
                Some(Part::Other { .. }) if self.is_of_repeated_call(content) => {}
                Some(Part::Other { kind }) if kind == APPROVAL && self.is_native(answer.source) => {
                    let id = answered_call(content, &round.requests, self.sources);
                    match id.and_then(|id| round.call_mut(&id)) {
                        Some(call) => {
                            call.is_approved = true;
                            taken.contents.push(content.clone());
                        }
                        None => self.note("R6", answer.source, "answer to no request for approval left out"),
                    }
                }
                _ => taken.contents.push(content.clone()),
            }
        }
        let is_approval = |part: Option<&Part>| matches!(part, Some(Part::Other { kind }) if kind == APPROVAL);
        let is_result = |part: Option<&Part>| matches!(part, Some(Part::ToolResult { .. }));
        let keeps = |content: &Content| {
            let part = self.part(content);
            is_result(part) || !round.calls.is_empty() && is_approval(part)
        };
        if taken.contents.iter().any(keeps) {
            round.answers.push(taken);
        }
    }

    fn is_of_repeated_call(&self, content: &Content) -> bool {
        let call = content.position().and_then(|(source, index)| Some((source, index.checked_sub(1)?)));
        call.is_some_and(|call| self.repeated.contains(&call))
    }

    /// Remembers which call a result answers where its own id is another.
    fn note_answer(&mut self, content: &Content, id: &str) {
        if let Some(Part::ToolResult { call_id, .. }) = self.part(content)
            && call_id != id
            && let Some(position) = content.position()
        {
            self.answers.insert(position, id.to_owned());
        }
    }

    /// Puts the round out: whole, stubbed, or held back where its calls are still in flight at the window's end.
    fn close_round(&mut self, said: Option<Element>, mut round: Round, is_last: bool, out: &mut Vec<Element>) {
        let Some(said) = said else { return };
        let missing = round.missing();
        // AI SDK: calls whose approval was just answered are run by the SDK itself when it gets the messages.
        let runs_next =
            is_last && !self.is_flat && missing.iter().all(|call| call.is_approved) && self.target.is_ai_sdk();
        if !missing.is_empty() && is_last && !runs_next {
            self.note("R7", said.source, "calls still in flight held back");
            return;
        }
        let source = said.source;
        out.push(said);
        if !missing.is_empty() && !runs_next {
            for call in missing {
                self.note("R7", source, "interrupted call answered by a stub");
                let stub = Content::Stub { source: call.source, call_id: call.id.clone(), name: call.name };
                round.answer(&call.id, stub);
            }
        }
        out.append(&mut round.answers);
    }
}
