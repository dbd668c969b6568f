//! From chosen material to the placed prompt and its receipt.

use super::correction::Correction;
use super::evidence::{self, EvidenceDocument, EvidenceFact, EvidenceGroup};
use super::fill::{self, Filled};
use super::prefix::{cache_breakpoints, prefix_hash, prefix_tokens};
use super::receipt::{
    Context, Count, Dropped, Item, MessageRange, Receipt, RetrievalReport, Section, SentReference, TokenReport,
};
use super::tool_results::NewestTurn;
use crate::error::{Code, Error, Result};
use crate::formats::{self, FormatChoice, Profile, RenderedMessage, Source, SystemPlace, Target};
use crate::message::{Message, Part, Role, Seq, VariableParts};
use crate::records::MessageRecord;
use crate::sorting;
use crate::tokens::{Overhead, TokenCounter};
use serde_json::json;

/// Id of a question that is only asked, in formats whose messages need one.
const ASKED_ID: &str = "question";

/// A stored message with its canonical form.
#[derive(Clone, Debug)]
pub struct StoredMessage {
    /// As stored.
    pub record: MessageRecord,
    /// As read.
    pub message: Message,
    /// Why its tool results were shortened, in words for the receipt; `record` and `message` then have them so.
    pub shortened: Option<&'static str>,
}

/// The newest turn.
#[derive(Clone, Debug)]
pub enum Question {
    /// It is stored already: the newest turn group, with whatever was answered in it so far.
    Stored(Vec<StoredMessage>),
    /// It is only asked: the text goes in as the last user message.
    Asked(String),
}

/// A part of the system text with the items that it stands for.
#[derive(Clone, Debug, Default)]
pub struct SystemPart {
    /// The text; empty: the section is empty.
    pub text: String,
    /// What is in it.
    pub items: Vec<Item>,
    /// What was left out.
    pub dropped: Vec<Dropped>,
    /// The section's cap.
    pub cap: u32,
}

/// Everything that a context is made of.
pub struct ContextInput<'a> {
    /// The format of the messages, and who takes them.
    pub target: Target,
    /// Context window, in billed tokens; all other tokens here are counted ones.
    pub window_tokens: u32,
    /// Kept for the answer, in billed tokens.
    pub reserve_tokens: u32,
    /// How the model bills what is counted.
    pub correction: Correction,
    /// Counts.
    pub counter: &'a dyn TokenCounter,
    /// What a provider adds per message and request.
    pub overhead: Overhead,
    /// The app's prompt; tool definitions, where given, are an item of it and already counted there.
    pub system: SystemPart,
    /// Tokens of tool definitions: sent beside the messages.
    pub tools_tokens: u32,
    /// What is remembered about the user.
    pub memory: SystemPart,
    /// What is remembered and needed for this question alone, best first: it stands beside the question.
    pub facts: Vec<EvidenceFact>,
    /// What is known from other sessions.
    pub episodes: SystemPart,
    /// The rolling summary.
    pub summary: SystemPart,
    /// The notes of the conversation.
    pub notes_kept: SystemPart,
    /// Turn groups of the recent window, oldest first, without the newest turn.
    pub history: Vec<Vec<StoredMessage>>,
    /// Room of the recent window.
    pub recent_room: u32,
    /// What the recent window leaves out, and why.
    pub history_dropped: Vec<Dropped>,
    /// The newest turn.
    pub question: Question,
    /// The app's documents.
    pub documents: Vec<EvidenceDocument>,
    /// Most room for them; they take what is left of the limit.
    pub documents_room: u32,
    /// Retrieved groups, best first.
    pub groups: Vec<EvidenceGroup>,
    /// Most room for them; they take what is left of the limit.
    pub retrieved_room: u32,
    /// How much a passage of a retrieved message says about the question, 0 and up: what is kept of one that is too long.
    pub relevance: &'a dyn Fn(&str) -> f32,
    /// Hits that were found and left out before.
    pub retrieved_dropped: Vec<Dropped>,
    /// What retrieval decided.
    pub retrieval: RetrievalReport,
    /// Tokens of the whole conversation.
    pub full_history_tokens: u64,
    /// What is off.
    pub notes: Vec<String>,
    /// Something is kept on this device and not in it.
    pub held_back: bool,
}

impl ContextInput<'_> {
    /// What the whole prompt may take.
    fn limit(&self) -> u32 {
        self.correction.limit(self.window_tokens, self.reserve_tokens)
    }
}

/// The rendered prompt before its receipt.
pub(super) struct Prompt {
    pub(super) system: String,
    pub(super) messages: Vec<Counted>,
    /// Index of the message that opens the newest turn.
    pub(super) turn_start: usize,
    repairs: Vec<serde_json::Value>,
    folded: Option<Folded>,
    evidence_tokens: u32,
    pub(super) total: u32,
}

/// System text that went into the first user message, for want of a system role (R13).
struct Folded {
    /// The message without it.
    json: String,
    text: String,
    /// What the message takes more for it.
    tokens: u32,
}

/// A rendered message with its tokens, overhead included.
pub(super) struct Counted {
    pub(super) json: String,
    pub(super) seqs: Vec<Seq>,
    role: &'static str,
    pub(super) tokens: u32,
}

/// Tokens of a message as it is stored, whoever will be sent it, without the per-message overhead, and what of them may be
/// others in a request. A name costs one more than its text.
#[must_use]
pub fn weighed(message: &Message, counter: &dyn TokenCounter) -> (u32, VariableParts) {
    let mut variable = VariableParts::default();
    let may_shorten = has_results_to_shorten(message);
    if may_shorten {
        variable.results = u32::try_from(message.result_ids().count()).unwrap_or(u32::MAX);
    }
    for kind in formats::media_kinds(message) {
        match kind {
            "image" => variable.images += 1,
            "audio" => variable.audio += 1,
            _ => variable.files += 1,
        }
    }
    let mut tokens = formats::media_tokens(message).saturating_add(u32::from(message.name.is_some()));
    for (text, is_result) in formats::counted_apart(message) {
        let counted = counter.count(text);
        tokens = tokens.saturating_add(counted);
        let varies = is_result && may_shorten;
        variable.result_tokens = variable.result_tokens.saturating_add(if varies { counted } else { 0 });
    }
    (tokens, variable)
}

/// Whether all results of the message may be shortened. Those of a provider's own tools, which the assistant's message
/// holds, may not be in every format; counting on less than is done keeps the budget.
fn has_results_to_shorten(message: &Message) -> bool {
    let is_provider_call = |part: &Part| matches!(part, Part::ToolCall { provider_executed: true, .. });
    message.role != Role::Assistant
        || message.call_ids().next().is_some() && !message.parts.iter().any(is_provider_call)
}

/// The tokens alone.
#[must_use]
pub fn message_tokens(message: &Message, counter: &dyn TokenCounter) -> u32 {
    weighed(message, counter).0
}

/// The same for who is sent it. `raw` is the text of the message.
#[must_use]
pub fn sent_tokens(message: &Message, raw: &str, profile: Profile, counter: &dyn TokenCounter) -> u32 {
    as_sent(message_tokens(message, counter), message, raw, profile)
}

/// Tokens of a stored message with its media as the profile charges them.
fn as_sent(stored_tokens: u32, message: &Message, raw: &str, profile: Profile) -> u32 {
    let texts = stored_tokens.saturating_sub(formats::media_tokens(message));
    texts.saturating_add(formats::sent_media_tokens(message, raw, profile))
}

/// Tokens of a turn as it is stored, when it is sent, overhead included.
#[must_use]
pub fn turn_tokens(turn: &[StoredMessage], profile: Profile, counter: &dyn TokenCounter, per_message: u32) -> u32 {
    let tokens = turn.iter().map(|stored| stored_tokens(stored, profile, counter).saturating_add(per_message));
    tokens.fold(0, u32::saturating_add)
}

/// Tokens of a stored message when it is sent: the stored count where it was counted by this counter; else a new one.
fn stored_tokens(stored: &StoredMessage, profile: Profile, counter: &dyn TokenCounter) -> u32 {
    let raw = &stored.record.raw;
    match stored.record.counted_with == counter.id() {
        true => as_sent(stored.record.tokens, &stored.message, raw, profile),
        false => sent_tokens(&stored.message, raw, profile, counter),
    }
}

/// Builds the context. What does not fit is left out in the order retrieved groups (worst first), documents, oldest
/// recent groups; then tool results of the newest turn are shortened; the question never.
///
/// # Errors
/// `budget_infeasible` when the system text and the newest turn alone do not fit.
pub fn assemble(mut input: ContextInput<'_>) -> Result<Context> {
    let number = boundary_number(&input);
    let limit = input.limit();
    let mut prompt = render(&input)?;
    let mut turn = None;
    while prompt.total > limit {
        if input.history.is_empty() {
            let turn = match &mut turn {
                Some(turn) => turn,
                None => turn.insert(NewestTurn::new(newest(&input), limit)?),
            };
            let Some(shorter) = turn.shorter(input.counter)? else { return Err(infeasible(prompt.total, &input)) };
            input.question = Question::Stored(shorter);
            prompt = render(&input)?;
            continue;
        }
        let group = input.history.remove(0);
        input.history_dropped.extend(group.iter().map(|stored| Dropped {
            id: stored.record.id.clone(),
            tokens: stored.record.tokens,
            reason: "no_room",
        }));
        prompt = render(&input)?;
    }
    let mut left = limit - prompt.total;
    let mut filled = Filled::default();
    let facts_tokens = fill::fill_facts(&mut filled, &input.facts, left.min(input.retrieved_room), input.counter);
    left -= facts_tokens;
    input.documents_room = input.documents_room.min(left);
    fill::fill_documents(&mut filled, &input.documents, input.documents_room, number, input.counter);
    let items = fill::document_items(&filled.documents, number, input.counter);
    let documents_tokens: u32 = items.iter().map(|item| item.tokens + 1).sum();
    input.retrieved_room = input.retrieved_room.min(left.saturating_sub(documents_tokens) + facts_tokens);
    let measure = fill::Measure { number, counter: input.counter, relevance: input.relevance };
    fill::count_messages(&mut input.groups, measure);
    fill::fill_groups(&mut filled, &input.groups, input.retrieved_room - facts_tokens, measure);
    // Joining texts may cost more than was set aside for it.
    while !add_evidence(&mut prompt, &input, &filled, number, limit)? {
        if let Some(group) = filled.groups.pop() {
            filled.groups_dropped.extend(group.messages.iter().map(fill::dropped));
        } else if filled.documents.pop().is_none() {
            filled.facts.pop();
        }
    }
    Ok(receipt(&input, filled, prompt, number))
}

/// Puts the evidence in front of the question; false, and nothing changed, when it does not fit.
fn add_evidence(
    prompt: &mut Prompt,
    input: &ContextInput<'_>,
    filled: &Filled,
    number: u32,
    limit: u32,
) -> Result<bool> {
    let mut text = evidence::render(&filled.facts, &filled.documents, &in_order(&filled.groups), number);
    let Some(question) = prompt.messages.get_mut(prompt.turn_start).filter(|_| !text.is_empty()) else {
        return Ok(true);
    };
    let mut without = &question.json;
    if let (0, Some(folded)) = (prompt.turn_start, &prompt.folded) {
        without = &folded.json;
        text = format!("{}\n\n{text}", folded.text);
    }
    let json = formats::user_message_with_evidence(without, input.target.format, &text)?;
    let evidence_tokens = parsed_tokens(&json, input)?.saturating_sub(question.tokens);
    if prompt.total + evidence_tokens > limit {
        return Ok(false);
    }
    question.json = json;
    question.tokens += evidence_tokens;
    prompt.evidence_tokens = evidence_tokens;
    prompt.total += evidence_tokens;
    Ok(true)
}

fn infeasible(total: u32, input: &ContextInput<'_>) -> Error {
    Error::new(
        Code::BudgetInfeasible,
        format!(
            "the system text and the newest turn need {} tokens, but a window of {} with {} kept for the answer \
             leaves {}; use a larger window, a smaller reserve, or shorter texts",
            input.correction.billed(total),
            input.window_tokens,
            input.reserve_tokens,
            input.window_tokens.saturating_sub(input.reserve_tokens)
        ),
    )
}

fn boundary_number(input: &ContextInput<'_>) -> u32 {
    let documents = input
        .documents
        .iter()
        .flat_map(|document| [document.text.as_str(), document.id.as_str(), document.source.as_deref().unwrap_or("")]);
    let groups = input.groups.iter().flat_map(|group| {
        let texts = group.messages.iter().map(|message| message.text.as_str());
        texts.chain(std::iter::once(group.title.as_deref().unwrap_or("")))
    });
    let facts = input.facts.iter().map(|fact| fact.line.as_str());
    evidence::boundary(&documents.chain(groups).chain(facts).collect::<Vec<_>>())
}

fn system_text(input: &ContextInput<'_>) -> String {
    joined(&[&input.system, &input.memory, &input.episodes, &input.summary, &input.notes_kept])
}

/// Parts of the system text as they stand in it.
pub(super) fn joined(parts: &[&SystemPart]) -> String {
    let texts = parts.iter().map(|part| part.text.as_str()).filter(|text| !text.is_empty());
    texts.collect::<Vec<_>>().join("\n\n")
}

/// Groups in the order in which they were said: what the model reads is a history, not a ranking.
fn in_order(groups: &[EvidenceGroup]) -> Vec<&EvidenceGroup> {
    let mut ordered: Vec<&EvidenceGroup> = groups.iter().collect();
    sorting::sort_by(&mut ordered, &|a, b| {
        let first = |group: &EvidenceGroup| group.messages.first().map_or(0, |message| message.seq);
        a.created_at_ms
            .total_cmp(&b.created_at_ms)
            .then_with(|| a.conversation_id.cmp(&b.conversation_id))
            .then_with(|| first(a).cmp(&first(b)))
    });
    ordered
}

/// The prompt without evidence.
fn render(input: &ContextInput<'_>) -> Result<Prompt> {
    let asked = match &input.question {
        Question::Asked(text) => {
            let raw = formats::user_text_message(text, input.target.format, ASKED_ID);
            let message = formats::parse(&raw, FormatChoice::Exact(input.target.format))?.message;
            Some((raw, message))
        }
        Question::Stored(_) => None,
    };
    let mut sources: Vec<Source<'_>> = input.history.iter().flatten().map(source).collect();
    sources.extend(newest(input).iter().map(source));
    sources.extend(asked.iter().map(|(raw, message)| Source { seq: None, format: input.target.format, raw, message }));
    let rendered = formats::render_repaired(&sources, input.target);
    let first_seq = newest(input).first().map(|stored| stored.record.seq);
    let turn_start = match first_seq {
        Some(seq) => rendered.messages.iter().position(|message| message.seqs.contains(&seq)),
        None => None,
    };
    let turn_start = turn_start.unwrap_or(rendered.messages.len().saturating_sub(1));
    let mut repairs: Vec<serde_json::Value> = rendered
        .repairs
        .iter()
        .map(|repair| json!({ "rule": repair.rule, "seq": repair.seq, "what": repair.what }))
        .collect();
    for stored in input.history.iter().flatten().chain(newest(input)) {
        if let Some(what) = stored.shortened {
            repairs.push(json!({ "rule": "R8", "seq": stored.record.seq, "what": what }));
        }
    }
    let mut messages = Vec::with_capacity(rendered.messages.len());
    for message in rendered.messages {
        let tokens = rendered_tokens(&message, input)?;
        messages.push(Counted { json: message.json, seqs: message.seqs, role: message.role.as_str(), tokens });
    }
    let mut system = system_text(input);
    let folded = fold_system(&mut system, &mut messages, input)?;
    if folded.is_some() {
        let what = "system text folded into the first user message, as there is no system role";
        repairs.push(json!({ "rule": "R13", "seq": null, "what": what }));
    }
    let system_tokens = match system.is_empty() {
        true => 0,
        false => input.counter.count(&system) + input.overhead.per_message_tokens,
    };
    let total = messages.iter().map(|message| message.tokens).sum::<u32>()
        + system_tokens
        + input.tools_tokens
        + input.overhead.per_request_tokens;
    Ok(Prompt { system, messages, turn_start, repairs, folded, evidence_tokens: 0, total })
}

/// Puts the system text into the first message where the profile has no other place for it.
fn fold_system(system: &mut String, messages: &mut [Counted], input: &ContextInput<'_>) -> Result<Option<Folded>> {
    let Some(first) = messages.first_mut().filter(|_| !system.is_empty()) else { return Ok(None) };
    if input.target.profile.system_place() != SystemPlace::Nowhere {
        return Ok(None);
    }
    let text = std::mem::take(system);
    let json = formats::user_message_with_evidence(&first.json, input.target.format, &text)?;
    let before = first.tokens;
    first.tokens = parsed_tokens(&json, input)?;
    let json = std::mem::replace(&mut first.json, json);
    Ok(Some(Folded { json, text, tokens: first.tokens.saturating_sub(before) }))
}

/// The stored messages of the newest turn; none when the question is only asked.
fn newest<'a>(input: &'a ContextInput<'_>) -> &'a [StoredMessage] {
    match &input.question {
        Question::Stored(messages) => messages,
        Question::Asked(_) => &[],
    }
}

fn source(stored: &StoredMessage) -> Source<'_> {
    Source {
        seq: Some(stored.record.seq),
        format: stored.record.format,
        raw: &stored.record.raw,
        message: &stored.message,
    }
}

/// Tokens of a rendered message, overhead included: counted anew where it does not go out as it was stored.
fn rendered_tokens(rendered: &RenderedMessage, input: &ContextInput<'_>) -> Result<u32> {
    if let ([seq], true) = (rendered.seqs.as_slice(), rendered.exact) {
        let mut known = input.history.iter().flatten().chain(newest(input));
        if let Some(stored) = known.find(|stored| stored.record.seq == *seq) {
            let tokens = stored_tokens(stored, input.target.profile, input.counter);
            return Ok(tokens.saturating_add(input.overhead.per_message_tokens));
        }
    }
    parsed_tokens(&rendered.json, input)
}

fn parsed_tokens(json: &str, input: &ContextInput<'_>) -> Result<u32> {
    let parsed = formats::parse(json, FormatChoice::Exact(input.target.format))?;
    let tokens = sent_tokens(&parsed.message, json, input.target.profile, input.counter);
    Ok(tokens.saturating_add(input.overhead.per_message_tokens))
}

fn receipt(input: &ContextInput<'_>, filled: Filled, prompt: Prompt, number: u32) -> Context {
    let ordered = in_order(&filled.groups);
    let documents = fill::document_items(&filled.documents, number, input.counter);
    let retrieved = fill::fact_items(&filled.facts).chain(fill::group_items(&ordered)).collect();
    let mut recent = Vec::new();
    let mut question = Vec::new();
    for (index, message) in prompt.messages.iter().enumerate() {
        let is_question = index == prompt.turn_start;
        let evidence_tokens = if is_question { prompt.evidence_tokens } else { 0 };
        let folded_tokens = prompt.folded.as_ref().filter(|_| index == 0).map_or(0, |folded| folded.tokens);
        let tokens = message.tokens.saturating_sub(evidence_tokens + folded_tokens);
        let reason = match index {
            _ if is_question => "question",
            _ if index > prompt.turn_start => "current_turn",
            _ => "recent_window",
        };
        let item = message_item(input, message, tokens, reason);
        if index < prompt.turn_start { recent.push(item) } else { question.push(item) }
    }
    let mut dropped = input.retrieved_dropped.clone();
    dropped.extend(filled.groups_dropped);
    let limit = input.limit();
    let sections = vec![
        system_section("system", &input.system, system_overhead(input, &prompt)),
        system_section("memory", &input.memory, 0),
        system_section("episodes", &input.episodes, 0),
        system_section("summary", &input.summary, 0),
        system_section("notes", &input.notes_kept, 0),
        section("recent", input.recent_room, recent, input.history_dropped.clone()),
        section("documents", input.documents_room, documents, filled.documents_dropped),
        section("retrieved", input.retrieved_room, retrieved, dropped),
        section("question", limit, question, Vec::new()),
    ];
    let listed: i64 = sections.iter().map(|section| i64::from(section.tokens)).sum();
    let tokens = TokenReport {
        total: prompt.total,
        window: input.window_tokens,
        reserve: input.reserve_tokens,
        prefix: prefix_tokens(input, &prompt),
        overhead: i32::try_from(i64::from(prompt.total) - listed).unwrap_or(0),
        full_history: input.full_history_tokens,
        exact: input.counter.is_exact(),
        correction: 1.0,
    };
    let receipt = Receipt {
        sections,
        retrieval: input.retrieval.clone(),
        repairs: prompt.repairs.clone(),
        references: sent_references(input),
        tokens,
        prefix_hash: prefix_hash(&prompt),
        notes: input.notes.clone(),
        held_back: input.held_back,
    };
    let count =
        Count { tokens: prompt.total, counted_with: input.counter.id().to_owned(), is_exact: input.counter.is_exact() };
    let mut context = Context {
        cache_breakpoints: cache_breakpoints(input, &prompt),
        tokens: prompt.total,
        receipt,
        system: prompt.system,
        messages: prompt.messages.into_iter().map(|message| message.json).collect(),
        count,
    };
    input.correction.bill(&mut context);
    context
}

/// References in messages of the target format, which go out as they are; in others they are notes.
fn sent_references(input: &ContextInput<'_>) -> Vec<SentReference> {
    let sent = input.history.iter().flatten().chain(newest(input));
    let native = sent.filter(|stored| stored.record.format == input.target.format);
    let of_message = |stored: &StoredMessage| {
        let seq = stored.record.seq;
        formats::references(&source(stored)).into_iter().map(move |found| SentReference { seq, kind: found.kind })
    };
    native.flat_map(of_message).collect()
}

/// What the system message costs beyond its text.
fn system_overhead(input: &ContextInput<'_>, prompt: &Prompt) -> u32 {
    if prompt.system.is_empty() { 0 } else { input.overhead.per_message_tokens }
}

fn system_section(name: &'static str, part: &SystemPart, overhead_tokens: u32) -> Section {
    let mut section = section(name, part.cap, part.items.clone(), part.dropped.clone());
    section.tokens += overhead_tokens;
    section
}

fn section(name: &'static str, cap: u32, items: Vec<Item>, dropped: Vec<Dropped>) -> Section {
    Section { name, cap, tokens: items.iter().map(|item| item.tokens).sum(), items, dropped }
}

fn message_item(input: &ContextInput<'_>, message: &Counted, tokens: u32, reason: &'static str) -> Item {
    let first = message.seqs.first().copied();
    let stored = match reason {
        // It may have been joined to what was said before it.
        "question" => newest(input).first(),
        _ => input.history.iter().flatten().chain(newest(input)).find(|stored| Some(stored.record.seq) == first),
    };
    Item {
        kind: if reason == "question" { "question" } else { "message" },
        id: stored.map_or_else(|| "question".to_owned(), |stored| stored.record.id.clone()),
        range: stored.map(|stored| MessageRange {
            conversation_id: stored.record.conversation_id.clone(),
            from: stored.record.seq,
            to: message.seqs.last().copied().unwrap_or(stored.record.seq),
        }),
        role: Some(message.role),
        tokens,
        reason,
        ..Item::default()
    }
}
