//! Rendering: chosen messages as the messages of a request, byte for byte where nothing has to change.

use super::alternate::alternate;
use super::call_id::CallIds;
use super::element::{Content, Element, elements};
use super::flatten::{flatten, stub_text, tool_text};
use super::json::Object;
use super::media::Media;
use super::profile::{Profile, Rules};
use super::read::FUNCTION_CALL_ID_PREFIX;
use super::reference::is_reference;
use super::repair::{Answers, Repair, Repaired, repaired};
use super::response_items;
use super::signature::sign_current_turn;
use super::source::{Opened, Source, is_marker};
use super::write::{self, Envelope, Item};
use crate::json_text::value_text;
use crate::message::{Format, Part, Role, Seq};
use crate::sorted_map::{SortedMap, SortedSet};
use serde_json::Value;

/// What a request is written for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target {
    /// The format of its messages.
    pub format: Format,
    /// Who takes them.
    pub profile: Profile,
    /// Calls and results are written as text, for a request without tool definitions (R15). What the profile cannot take
    /// as tools is written so in any case.
    pub flatten_tools: bool,
}

impl From<Format> for Target {
    fn from(format: Format) -> Self {
        Self { format, profile: Profile::of_format(format), flatten_tools: false }
    }
}

/// A message of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedMessage {
    /// JSON text of the message in the target format.
    pub json: String,
    /// The stored messages that it says, in order; none for a made-up result of a message that is not stored.
    pub seqs: Vec<Seq>,
    /// Who speaks, as the target format has it: Anthropic's tool results are a user's.
    pub role: Role,
    /// `json` is the caller's own text, byte for byte.
    pub exact: bool,
}

/// The messages of a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// In order, without system messages.
    pub messages: Vec<RenderedMessage>,
    /// Something that a source said is left out or replaced by a note, because the target format has no place for it.
    pub lossy: bool,
    /// What was changed so that a provider takes it; empty for [`render`].
    pub repairs: Vec<Repair>,
}

/// Writes messages in the target format as they are, with all faults they have. System messages are left out: system text
/// is given apart. A message whose format is the target goes out byte for byte.
#[must_use]
pub fn render(sources: &[Source<'_>], target: Format) -> Rendered {
    let mut renderer = Renderer::new(sources, target, Profile::of_format(target).rules());
    for (index, source) in sources.iter().enumerate() {
        if source.message.role == Role::System {
            continue;
        }
        if source.format == target || is_shared_shape(source, target) {
            renderer.push_raw(index);
            continue;
        }
        let own = elements(sources.get(index..=index).unwrap_or_default());
        let shift = |content: Content| match content {
            Content::Part { index: part, .. } => Content::Part { source: index, index: part },
            stub @ Content::Stub { .. } => stub,
        };
        let own = own.into_iter().map(|element| Element {
            contents: element.contents.into_iter().map(shift).collect(),
            source: index,
            ..element
        });
        for bundle in bundles(own.collect(), sources, target) {
            renderer.push(bundle);
        }
    }
    renderer.rendered
}

/// Writes the chosen messages of a window, oldest first and the question last, so that a provider of the target format
/// takes them: see the rules in the module's table. Stored messages are not changed; what had to be done is in
/// [`Rendered::repairs`]. Where nothing is left to be sent (no user message at all), there are no messages.
///
/// `target` is a [`Target`], or a [`Format`] for its usual profile.
#[must_use]
pub fn render_repaired(sources: &[Source<'_>], target: impl Into<Target>) -> Rendered {
    render_for(sources, target.into())
}

fn render_for(sources: &[Source<'_>], target: Target) -> Rendered {
    let rules = target.profile.rules();
    let is_flat = target.flatten_tools || !rules.takes_tools;
    let Repaired { mut elements, mut repairs, answers } = repaired(elements(sources), sources, target.format, is_flat);
    if is_flat {
        flatten(&mut elements, sources, &mut repairs);
    }
    if rules.alternates {
        elements = alternate(elements, sources, &mut repairs);
    }
    let mut renderer = Renderer::new(sources, target.format, rules);
    renderer.answers = answers;
    for bundle in bundles(elements, sources, target.format) {
        renderer.push(bundle);
    }
    repairs.append(&mut renderer.rendered.repairs);
    if target.format == Format::Gemini {
        repairs.extend(sign_current_turn(&mut renderer.rendered.messages));
    }
    Rendered { repairs, ..renderer.rendered }
}

/// What goes into one message of the request.
struct Bundle {
    role: Role,
    contents: Vec<Content>,
    /// The source of its first element.
    source: usize,
    /// Its calls and results are written as text.
    is_flat: bool,
    /// It says what several sources of one role say.
    is_joined: bool,
    /// The profile wants something else than what the sources have: even parts in the target format are written anew.
    is_altered: bool,
}

/// Puts elements together to messages as the target format has them.
fn bundles(elements: Vec<Element>, sources: &[Source<'_>], target: Format) -> Vec<Bundle> {
    let mut bundles: Vec<Bundle> = Vec::new();
    for mut element in elements {
        if target == Format::AiSdkUi && element.role == Role::Assistant {
            put_calls_last(&mut element, sources);
        }
        if target == Format::OpenAiResponses && !element.is_flat {
            let (role, items) = (element.role, response_items::apart(&element, sources));
            let bundle = |contents: Vec<Content>| {
                let source = contents.first()?.source();
                Some(Bundle { role, source, contents, is_flat: false, is_joined: false, is_altered: false })
            };
            bundles.extend(items.into_iter().filter_map(bundle));
            continue;
        }
        if matches!(target, Format::OpenAi | Format::LangChain) && element.role == Role::Tool {
            // One message per result; nothing else has a place in a tool message.
            let is_result = |content: &Content| !matches!(content.part(sources), Some(part) if !matches!(part, Part::ToolResult { .. }));
            bundles.extend(element.contents.into_iter().filter(is_result).map(|content| Bundle {
                role: Role::Tool,
                source: content.source(),
                contents: vec![content],
                is_flat: false,
                is_joined: false,
                is_altered: false,
            }));
            continue;
        }
        match bundles.last_mut() {
            Some(last) if joins(last, &element, target) => {
                last.contents.extend(element.contents);
                last.is_flat |= element.is_flat;
                if answers_as_user(target) {
                    last.role = element.role;
                }
            }
            _ => bundles.push(Bundle {
                role: element.role,
                source: element.source,
                is_flat: element.is_flat,
                is_joined: element.role != Role::Tool
                    && element.contents.iter().any(|content| content.source() != element.source),
                is_altered: false,
                contents: element.contents,
            }),
        }
    }
    bundles
}

/// In a UI message text behind calls is a new step, and other formats have no steps.
fn put_calls_last(element: &mut Element, sources: &[Source<'_>]) {
    if sources.get(element.source).is_some_and(|source| source.format == Format::AiSdkUi) {
        return;
    }
    let is_call =
        |content: &Content| matches!(content.part(sources), Some(Part::ToolCall { provider_executed: false, .. }));
    let (mut calls, mut said): (Vec<_>, Vec<_>) = element.contents.drain(..).partition(is_call);
    said.append(&mut calls);
    element.contents = said;
}

fn joins(bundle: &Bundle, element: &Element, target: Format) -> bool {
    let shares_source = || bundle.contents.iter().any(|content| content.source() == element.source);
    match (target, bundle.role, element.role) {
        (Format::Anthropic | Format::Gemini, Role::Tool, Role::Tool) => true,
        (Format::Anthropic | Format::Gemini, Role::Tool, Role::User) => shares_source(),
        (Format::AiSdkUi, Role::Assistant, Role::Tool) => true,
        (Format::AiSdkUi, Role::Assistant, Role::Assistant) => bundle.source == element.source,
        _ => false,
    }
}

/// Whether tool results are what a user says in this format.
fn answers_as_user(format: Format) -> bool {
    matches!(format, Format::Anthropic | Format::Gemini)
}

/// A role and a text and nothing else: the same message in both of OpenAI's, in Anthropic's and the AI SDK's model format.
fn is_shared_shape(source: &Source<'_>, target: Format) -> bool {
    let is_other = |format| matches!(format, Format::AiSdkUi | Format::Gemini | Format::LangChain);
    if is_other(source.format) || is_other(target) {
        return false;
    }
    let [Part::Text(text)] = source.message.parts.as_slice() else { return false };
    if text.trim().is_empty() || !matches!(source.message.role, Role::User | Role::Assistant) {
        return false;
    }
    let Some(opened) = Opened::new(source) else { return false };
    opened.object.len() == 2 && opened.object.get("content").is_some_and(Value::is_string)
}

struct Renderer<'s, 'a> {
    sources: &'s [Source<'a>],
    target: Format,
    rules: &'static Rules,
    calls: CallIds<'a>,
    /// The calls that results answer whose own id is another.
    answers: Answers,
    /// The sources of the last written message: one source may give several messages.
    opened: SortedMap<usize, Opened>,
    rendered: Rendered,
}

impl<'s, 'a> Renderer<'s, 'a> {
    fn new(sources: &'s [Source<'a>], target: Format, rules: &'static Rules) -> Self {
        let calls = CallIds::new(sources, target, rules.has_short_ids);
        let answers = Answers::new();
        Self { sources, target, rules, calls, answers, opened: SortedMap::new(), rendered: Rendered::default() }
    }

    fn push_raw(&mut self, index: usize) {
        let Some(source) = self.sources.get(index) else { return };
        source.message.parts.iter().for_each(|part| self.calls.learn(part, true, false));
        self.rendered.messages.push(RenderedMessage {
            json: source.raw.to_owned(),
            seqs: source.seq.into_iter().collect(),
            role: source.message.role,
            exact: true,
        });
    }

    fn push(&mut self, mut bundle: Bundle) {
        self.alter(&mut bundle);
        let used: SortedSet<usize> = bundle.contents.iter().map(Content::source).collect();
        if let (1, false, Some(source)) = (used.len(), bundle.is_altered, self.sources.get(bundle.source)) {
            let can_be_raw = source.format == self.target || is_shared_shape(source, self.target);
            if can_be_raw && self.has_role(&bundle, source) && self.is_whole(&bundle, source) {
                self.push_raw(bundle.source);
                return;
            }
        }
        self.push_written(&bundle, &used);
    }

    /// Decides whether the profile wants something else than what the sources have, and tells what.
    fn alter(&mut self, bundle: &mut Bundle) {
        let is_old_call = |part: &Part| match part {
            Part::ToolCall { id, .. } | Part::ToolResult { call_id: id, .. } => id.starts_with(FUNCTION_CALL_ID_PREFIX),
            _ => false,
        };
        let is_refused = |content: &&Content| matches!(content.part(self.sources), Some(Part::Media { kind, .. }) if !self.rules.media.contains(kind));
        let refused: SortedSet<usize> = bundle.contents.iter().filter(is_refused).map(Content::source).collect();
        let mut parts = bundle.contents.iter().filter_map(|content| content.part(self.sources));
        let has_ids = self.rules.has_short_ids && !bundle.is_flat;
        // The client's call and the provider's may have one id.
        let mut called: SortedSet<&str> = SortedSet::new();
        let mut is_repeated = |part: &'a Part| matches!(part, Part::ToolCall { id, .. } if !called.insert(id));
        let renames = has_ids && parts.any(|part| self.calls.replaces(part) || is_old_call(part) || is_repeated(part));
        for source in refused.iter() {
            self.note("R22", *source, "media of a kind that is not taken named in a note");
        }
        if renames && bundle.role == Role::Assistant {
            self.note("R16", bundle.source, "call ids replaced by nine letters and digits");
        }
        let is_misnamed = bundle.contents.iter().any(|content| self.is_misnamed(content));
        let is_altered = bundle.is_flat || bundle.is_joined || renames || is_misnamed || !refused.is_empty();
        bundle.is_altered = is_altered || self.rules.is_plain_text && self.has_list(bundle);
    }

    fn note(&mut self, rule: &'static str, source: usize, what: &'static str) {
        let seq = self.sources.get(source).and_then(|source| source.seq);
        self.rendered.repairs.push(Repair { rule, seq, what });
    }

    /// Whether a result names an id that its call does not have. Mostly such a result has no id of its own, only one that
    /// says its place, and may stay as it is.
    fn is_misnamed(&self, content: &Content) -> bool {
        let answers_another = content.position().is_some_and(|position| self.answers.contains_key(&position));
        match (self.sources.get(content.source()), content.part(self.sources)) {
            (Some(source), Some(Part::ToolResult { call_id, .. })) if answers_another => {
                source.raw.contains(&format!("\"{call_id}\""))
            }
            _ => false,
        }
    }

    /// Whether the only source's content is a list, where a string is wanted.
    fn has_list(&self, bundle: &Bundle) -> bool {
        let opened = self.sources.get(bundle.source).and_then(Opened::new);
        opened.is_some_and(|opened| opened.object.get("content").is_some_and(Value::is_array))
    }

    /// Whether a result is of the kind that the provider's own tools give (it names its tool), where only a client's has
    /// a place.
    fn is_misplaced(&self, part: &Part, role: Role) -> bool {
        let is_providers = matches!(part, Part::ToolResult { name: Some(_), .. });
        self.target == Format::Anthropic && role != Role::Assistant && is_providers
    }

    /// Whether the bundle says all that its only source says, in an order that the target takes.
    fn is_whole(&self, bundle: &Bundle, source: &Source<'a>) -> bool {
        let mut indices = Vec::with_capacity(bundle.contents.len());
        for content in &bundle.contents {
            match content {
                Content::Part { index, .. } => indices.push(*index),
                Content::Stub { .. } => return false,
            }
            if content.part(self.sources).is_some_and(|part| self.is_misplaced(part, bundle.role)) {
                return false;
            }
        }
        // In an AI SDK UI message results stand with their calls, and what no model sees may have been dropped.
        if self.target != Format::AiSdkUi {
            return indices.iter().copied().eq(0..source.message.parts.len());
        }
        let held: SortedSet<usize> = indices.into_iter().collect();
        let is_seen = |part: &Part| !matches!(part, Part::Other { kind } if is_marker(kind));
        source.message.parts.iter().enumerate().all(|(index, part)| held.contains(&index) || !is_seen(part))
    }

    /// A tool message may be made of results that another message held: then neither text nor fields are its own.
    fn has_role(&self, bundle: &Bundle, source: &Source<'a>) -> bool {
        let role = source.message.role;
        role == bundle.role || answers_as_user(self.target) && role != Role::Assistant
    }

    fn is_native(&self, source: usize) -> bool {
        self.sources.get(source).is_some_and(|source| source.format == self.target)
    }

    fn push_written(&mut self, bundle: &Bundle, used: &SortedSet<usize>) {
        let mut opened = std::mem::take(&mut self.opened);
        opened.retain(&|index, _| used.contains(index));
        for index in used.iter() {
            if !opened.contains_key(index)
                && let Some(source) = self.sources.get(*index).and_then(Opened::new)
            {
                opened.insert(*index, source);
            }
        }
        let (message, lossy) = self.written(bundle, used, &opened);
        self.rendered.messages.extend(message);
        self.rendered.lossy |= lossy;
        self.opened = opened;
    }

    /// The message, if it says anything, and whether anything was lost on the way.
    fn written(
        &mut self,
        bundle: &Bundle,
        used: &SortedSet<usize>,
        opened: &SortedMap<usize, Opened>,
    ) -> (Option<RenderedMessage>, bool) {
        let mut items = Vec::with_capacity(bundle.contents.len());
        let mut lossy = false;
        for content in &bundle.contents {
            match content {
                Content::Stub { .. } if bundle.is_flat => items.push(Item::Text(stub_text().into())),
                Content::Stub { source, call_id, name } => {
                    let call = opened.get(source).filter(|_| self.is_native(*source)).map(|opened| &opened.object);
                    items.push(Item::Stub { id: self.calls.id(call_id, false), name, call });
                }
                Content::Part { source, index } => {
                    let (Some(source), Some(part)) = (self.sources.get(*source), content.part(self.sources)) else {
                        continue;
                    };
                    if !bundle.is_flat {
                        let native = self.is_native(content.source()) && !bundle.is_altered;
                        // A call that the provider ran is a note where it is not native.
                        let is_run = matches!(part, Part::ToolCall { provider_executed: true, .. });
                        let is_note = is_run && !native && !(source.format.is_ai_sdk() && self.target.is_ai_sdk());
                        self.calls.learn(part, native, is_note);
                    }
                    let origin = opened.get(&content.source());
                    let mut item = match bundle.is_flat.then(|| tool_text(part)).flatten() {
                        Some(text) => Some(Item::Text(text.into())),
                        None => self.item(source, part, *index, bundle, origin, &mut lossy),
                    };
                    if let (Some(Item::Result { id, .. }), Some(call)) =
                        (&mut item, self.answers.get(&(content.source(), *index)))
                    {
                        *id = self.calls.id(call, false).into_owned().into();
                    }
                    let holds_several = matches!(self.target, Format::AiSdkUi | Format::LangChain);
                    items.extend(item.filter(|item| holds_several || !is_same_native(items.last(), item)));
                }
            }
        }
        if bundle.is_altered || self.rules.is_plain_text {
            items = with_joined_texts(items);
        }
        let envelope = self.envelope(bundle, used, opened);
        lossy |= !matches!(self.target, Format::OpenAi | Format::LangChain)
            && used.iter().any(|index| self.sources.get(*index).is_some_and(|source| source.message.name.is_some()));
        let role = match (self.target, bundle.role) {
            (target, Role::Tool) if answers_as_user(target) => Role::User,
            (_, role) => role,
        };
        let seqs = used.iter().filter_map(|index| self.sources.get(*index)?.seq).collect();
        let message = write::message(self.target, &envelope, &items);
        let rendered = message.map(|message| RenderedMessage { json: value_text(&message), seqs, role, exact: false });
        (rendered, lossy)
    }

    /// The frame of the message: the caller's own fields where all of it is edited from one message of the format.
    fn envelope<'b>(
        &self,
        bundle: &Bundle,
        used: &SortedSet<usize>,
        opened: &'b SortedMap<usize, Opened>,
    ) -> Envelope<'b> {
        let is_own = self.is_native(bundle.source)
            && self.sources.get(bundle.source).is_some_and(|source| self.has_role(bundle, source));
        let keeps_fields = used.len() == 1 || self.target == Format::AiSdkUi;
        let holds_part = bundle.contents.iter().any(|content| matches!(content, Content::Part { .. }));
        let base: Option<&'b Object> = (keeps_fields && holds_part && is_own && !bundle.is_altered)
            .then(|| opened.get(&bundle.source).map(|opened| &opened.object))
            .flatten();
        let message = self.sources.get(bundle.source).map(|source| source.message);
        let id = message.and_then(|message| message.id.clone()).unwrap_or_else(|| {
            let seq = self.sources.get(bundle.source).and_then(|source| source.seq);
            seq.map_or_else(|| format!("message-{}", bundle.source), |seq| format!("m{seq}"))
        });
        // What several speakers said has the name of none.
        let name = message.and_then(|message| message.name.clone()).filter(|_| !bundle.is_joined);
        Envelope { role: bundle.role, base, id, name }
    }

    /// What the target is told of a part.
    fn item<'b>(
        &self,
        source: &Source<'b>,
        part: &'b Part,
        index: usize,
        bundle: &Bundle,
        origin: Option<&'b Opened>,
        lossy: &mut bool,
    ) -> Option<Item<'b>> {
        let role = bundle.role;
        let block = origin.and_then(|origin| origin.blocks.get(index));
        let value = origin.and_then(|origin| origin.value(index, source.format));
        let to_ai_sdk = self.target.is_ai_sdk();
        // A result that the assistant's message held, or of the provider's kind, has another shape among results.
        let is_held = role == Role::Tool && source.message.role == Role::Assistant && !to_ai_sdk;
        let is_moved = is_held || self.is_misplaced(part, role);
        let is_native = source.format == self.target && !is_moved;
        if let (true, Some(block), Some(value)) = (is_native && !bundle.is_altered, block, value) {
            return Some(Item::Native { value, slot: block.slot, part });
        }
        if let (Format::AiSdkModel, true, false, Part::Other { kind }, Some(value)) =
            (self.target, is_native, bundle.is_flat, part, value)
            && kind.starts_with("tool-approval-")
        {
            return Some(Item::Part(self.approval(value)));
        }
        let within_ai_sdk = to_ai_sdk && source.format.is_ai_sdk();
        // Nothing but results has a place among results.
        if role == Role::Tool && !matches!(part, Part::ToolResult { .. }) {
            *lossy = true;
            return None;
        }
        match part {
            Part::Text(text) => (!text.trim().is_empty()).then_some(Item::Text(text.into())),
            Part::Reasoning(text) if within_ai_sdk => Some(Item::Reasoning {
                text,
                metadata: value.and_then(|value| value.get("providerMetadata").or(value.get("providerOptions"))),
            }),
            Part::ToolCall { name, provider_executed: true, .. } if !within_ai_sdk => {
                *lossy = true;
                Some(Item::Text(format!("[{name} was run by the provider]").into()))
            }
            Part::ToolCall { id, name, arguments, provider_executed } => {
                let provider_executed = *provider_executed;
                Some(Item::Call { id: self.calls.id(id, provider_executed), name, arguments, provider_executed })
            }
            Part::ToolResult { call_id, name, output, is_error }
                if role != Role::Assistant || within_ai_sdk || self.target == Format::AiSdkUi =>
            {
                let name = name.as_deref().or_else(|| self.calls.name(call_id)).unwrap_or("tool").to_owned();
                // A UI message holds the client's results too.
                let is_providers = role == Role::Assistant && self.target != Format::AiSdkUi;
                Some(Item::Result { id: self.calls.id(call_id, is_providers), name, output, is_error: *is_error })
            }
            Part::Media { kind, label } => {
                let written = |value| match is_native {
                    true => Some(Value::clone(value)),
                    false => Media::of(source.format, kind, value)?.write(self.target),
                };
                // Only user messages may hold media everywhere.
                let may_hold = (role == Role::User || within_ai_sdk) && self.rules.media.contains(kind);
                match value.filter(|_| may_hold).and_then(written) {
                    Some(media) => Some(Item::Part(media)),
                    None => {
                        *lossy = true;
                        Some(Item::Text(format!("[{kind}: {label}]").into()))
                    }
                }
            }
            Part::Other { kind } if kind == "step-start" => None,
            Part::Other { kind } if is_reference(kind) => {
                *lossy = true;
                Some(Item::Text(format!("[{kind}: not available here]").into()))
            }
            // Written anew, but in its own format: it said something there.
            Part::Other { kind } if is_native && !is_marker(kind) && !kind.starts_with("tool-approval-") => {
                *lossy = true;
                Some(Item::Text(format!("[{kind}]").into()))
            }
            Part::Reasoning(_) | Part::ToolResult { .. } | Part::Other { .. } => {
                *lossy = true;
                None
            }
        }
    }

    /// What is asked or answered about approval, of the call as it is called in the request.
    fn approval(&self, value: &Value) -> Value {
        let mut value = value.clone();
        if let Some(Value::String(id)) = value.get_mut("toolCallId") {
            *id = self.calls.id(id, false).into_owned();
        }
        value
    }
}

/// Neighbouring texts as one, a blank line between.
fn with_joined_texts(items: Vec<Item<'_>>) -> Vec<Item<'_>> {
    let mut joined: Vec<Item<'_>> = Vec::with_capacity(items.len());
    for item in items {
        match (joined.last_mut(), item) {
            (Some(Item::Text(last)), Item::Text(text)) => *last = format!("{last}\n\n{text}").into(),
            (_, item) => joined.push(item),
        }
    }
    joined
}

/// Whether two neighbouring items are the same native value: one text may be read as reasoning and answer.
fn is_same_native(last: Option<&Item<'_>>, next: &Item<'_>) -> bool {
    match (last, next) {
        (Some(Item::Native { value: last, .. }), Item::Native { value: next, .. }) => std::ptr::eq(*last, *next),
        _ => false,
    }
}
