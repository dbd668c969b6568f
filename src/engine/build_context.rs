//! The main job: the context of one model call.

use super::Engine;
use super::append::parse_stored;
use super::conversations::no_conversation;
use super::event::Event;
use super::memory_part::MemoryPart;
use super::outside::Findings;
use super::recall::{Evidence, EvidenceRequest, RecallFilter};
use super::state::{Conversation, MessageMeta};
use super::usage::ModelName;
use crate::config::{BudgetPolicy, Scope, ToolResultPolicy};
use crate::context::{
    Context, ContextInput, Demand, Dropped, EvidenceDocument, GroupSize, Item, Question, RetrievalReport, Room,
    StoredMessage, SystemPart, assemble, first_full_group, recent_start, sent_tokens, shorten_old, shortest_turn,
    turn_tokens,
};
use crate::embedded_data::without_data;
use crate::error::{Error, Result};
use crate::formats::{FormatChoice, Profile, Target, sent_import, sent_size};
use crate::json_reader::{Fields, FromFields};
use crate::message::{Format, Message, Part, Role, Seq};
use crate::prompt_text::neutralize;
use crate::records::{FactStatus, MessageRecord};
use crate::retrieval::{Decision, GateRequest, Relevance, RetrievalChoice, decide};
use crate::tokens::overhead;
use futures_util::future::{Either, select};
use serde_json::json;
use std::pin::pin;

/// What a context is asked for with.
#[derive(Clone, Debug, Default)]
pub struct ContextRequest {
    /// The conversation.
    pub conversation_id: String,
    /// The question. Left out, the newest turn of the conversation is the question. A question that is stored as the
    /// newest message already is not sent twice.
    pub question: Option<String>,
    /// The app's prompt.
    pub system: Option<String>,
    /// The model's context window in tokens; `policy.budget.windowTokens` by default.
    pub window: Option<f64>,
    /// Tokens kept for the answer; `policy.budget.reserveTokens` by default, a quarter of the window at most.
    pub reserve: Option<f64>,
    /// Format of the messages, by a name that [`FormatChoice::from_name`] knows; by default that of the newest turn.
    pub format: Option<String>,
    /// Who takes them (see [`Profile`]); by default the profile of the format.
    pub profile: Option<String>,
    /// Calls and results of the history are written as text: for a request that sends no tool definitions.
    pub flatten_tools: bool,
    /// The app's own documents for this question.
    pub documents: Vec<EvidenceDocument>,
    /// Tool definitions as JSON text: counted, since they are sent too.
    pub tools: Option<String>,
    /// `auto` (default), `always`, `never`.
    pub retrieval: RetrievalChoice,
    /// Where the context is sent; `remote` by default.
    pub destination: Destination,
    /// Who will bill it; by default the model that billed the conversation last, or any.
    pub model: Option<ModelName>,
}

/// Where a context is sent: what is marked as local-only goes into none that leaves the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Destination {
    /// To a model elsewhere.
    #[default]
    Remote,
    /// To a model on this device.
    Local,
}

crate::json_reader::json_names!(Destination { Remote: "remote", Local: "local" });

impl FromFields for ContextRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            question: fields.take("question"),
            system: fields.take("system"),
            window: fields.take("window"),
            reserve: fields.take("reserve"),
            format: fields.take("format"),
            profile: fields.take("profile"),
            flatten_tools: fields.take_or("flattenTools", false),
            documents: fields.take_or("documents", Vec::default()),
            tools: fields.take("tools"),
            retrieval: fields.take_or("retrieval", RetrievalChoice::default()),
            destination: fields.take_or("destination", Destination::default()),
            model: fields.take("model"),
        }
    }
}

/// The newest turn, and where it starts.
struct Newest {
    question: Question,
    text: String,
    /// Position of its first message; one past the last message when it is only asked.
    first_seq: Seq,
    /// It is sent elsewhere, with what goes along.
    is_remote: bool,
}

impl Newest {
    /// A message of it is to stay on this device.
    fn is_local(&self) -> bool {
        matches!(&self.question, Question::Stored(turn) if turn.iter().any(|stored| stored.record.local_only))
    }
}

/// The recent window.
struct Recent {
    groups: Vec<Vec<StoredMessage>>,
    room_tokens: u32,
    first_seq: Seq,
    dropped: Vec<Dropped>,
}

impl Engine {
    /// Builds the context of one model call, inside `window - reserve` tokens, with a receipt.
    ///
    /// # Errors
    /// `not_found` (the conversation), `invalid_argument` (a number, a format, no question), `budget_infeasible`.
    pub async fn build_context(&self, request: ContextRequest) -> Result<Context> {
        loop {
            let before = self.erasures.with_turns();
            let building = pin!(self.build_context_once(request.clone()));
            // Once something was erased, or another branch chosen, while this is built, what it read may be gone.
            let Either::Right((context, _)) = select(pin!(self.any_erasure()), building).await else { continue };
            let context = context?;
            if before == self.erasures.with_turns() {
                self.note_fact_uses(&context);
                self.note_count(&request.conversation_id, &context);
                let payload = json!({ "conversationId": request.conversation_id, "tokens": context.tokens });
                self.emit(&Event::new("context", payload));
                return Ok(context);
            }
        }
    }

    async fn build_context_once(&self, request: ContextRequest) -> Result<Context> {
        self.ensure_open()?;
        let window_tokens = whole("window", request.window, self.options.policy.budget.window_tokens)?;
        // A small window keeps a quarter for the answer, unless the call says otherwise.
        let usual_reserve = self.options.policy.budget.reserve_tokens.min(window_tokens / 4);
        let reserve_tokens = whole("reserve", request.reserve, usual_reserve)?;
        let id = request.conversation_id.as_str();
        self.refresh(id).await?;
        self.refresh_facts().await?;
        let correction = self.correction(&request);
        let budget = correction.budget(&self.options.policy.budget);
        let is_remote = request.destination == Destination::Remote;
        let newest = self.newest_turn(id, request.question.as_deref(), is_remote).await?;
        if is_remote && newest.is_local() {
            return Err(Error::invalid_argument(
                "the newest turn holds a message that is to stay on this device; build the context with destination \
                 \"local\" for a model there",
            ));
        }
        let target = target(&request, &newest)?;
        let counter = self.counter();
        let overhead = overhead(target.format);
        let mut system = self.system_part(&request, budget.system_tokens);
        let tools_tokens = request.tools.as_deref().map_or(0, |tools| counter.count(tools));
        let system_tokens = system.items.iter().map(|item| item.tokens).sum::<u32>()
            + overhead.per_message_tokens
            + overhead.per_request_tokens
            + tools_tokens;
        let room_tokens = correction.limit(window_tokens, reserve_tokens).saturating_sub(system_tokens);
        let question_tokens = self.question_tokens(&newest, target, room_tokens)?;
        let demand = Demand { window_tokens, reserve_tokens, system_tokens, question_tokens, correction };
        let room = Room::divide(demand, &budget)?;
        let MemoryPart { section: memory, late, vector } =
            self.memory_part(id, room.memory, (&newest.text, newest.is_local()), is_remote).await;
        let episodes = self.episodes_part(id, room.episodes).await?;
        let summary = self.summary_part(id, room.summary);
        let notes_kept = self.notes_part(id, room.notes).await?;
        if tools_tokens > 0 {
            system.items.push(Item {
                kind: "tools",
                id: "tools".to_owned(),
                tokens: tools_tokens,
                reason: "instructions",
                ..Item::default()
            });
        }
        let beside = [&memory, &episodes, &notes_kept].map(section_tokens).iter().sum();
        let recent = self.recent_window(target.profile, id, (&room, &budget), beside, &summary, &newest).await?;
        let (evidence, decision, findings) =
            self.evidence_for(&request, &newest, &recent, vector, budget.retrieved_tokens).await?;
        let retrieval = report(&decision, evidence.as_ref());
        let mut notes = self.notes(id);
        notes.extend(evidence.iter().filter_map(|found| found.embedding_error.as_ref()).map(|error| {
            format!("the question could not be embedded ({}), so retrieval was lexical", error.code.as_str())
        }));
        let relevance = Relevance::new(&self.searchable(&findings).index, &newest.text);
        let full_history_tokens = self.full_history_tokens(id, overhead.per_message_tokens, is_remote);
        let context = assemble(ContextInput {
            target,
            window_tokens,
            reserve_tokens,
            correction,
            counter: &*counter,
            overhead,
            system,
            tools_tokens,
            memory,
            facts: late,
            episodes,
            summary,
            notes_kept,
            history: recent.groups,
            recent_room: recent.room_tokens,
            history_dropped: recent.dropped,
            question: newest.question,
            documents: harmless(request.documents),
            documents_room: budget.documents_tokens,
            groups: evidence.as_ref().map(|found| self.evidence_groups(found, id)).unwrap_or_default(),
            retrieved_room: retrieved_room(budget.retrieved_tokens, &decision),
            relevance: &|passage| relevance.of(passage),
            retrieved_dropped: evidence.as_ref().map(|found| self.dropped_hits(found)).unwrap_or_default(),
            retrieval,
            full_history_tokens,
            notes,
            held_back: is_remote && self.holds_back(id),
        })?;
        Ok(context)
    }

    /// The newest turn: stored as a whole, or the question that is only asked.
    async fn newest_turn(&self, id: &str, question: Option<&str>, is_remote: bool) -> Result<Newest> {
        let (start_seq, last_seq) = {
            let state = self.state.borrow();
            let conversation = found(state.conversation(id))?;
            let start = conversation.path().rev().find(|message| message.opens_group);
            (start.map(|message| message.seq), conversation.leaf_seq())
        };
        if let Some(text) = question {
            if text.trim().is_empty() {
                return Err(Error::invalid_argument("the question is empty; give its text, or leave it out"));
            }
            // Asked again word for word as the newest stored message: it is that message.
            let stored = match start_seq {
                Some(seq) if seq == last_seq => self.read_messages(id, seq, seq, None).await?,
                _ => Vec::new(),
            };
            if stored.first().is_none_or(|record| record.text != without_data(text)) {
                let question = Question::Asked(text.to_owned());
                return Ok(Newest {
                    question,
                    text: without_data(text).into_owned(),
                    first_seq: last_seq + 1,
                    is_remote,
                });
            }
        }
        let start_seq = start_seq.ok_or_else(|| {
            Error::invalid_argument("the conversation has no user message and no question was given; give one")
        })?;
        let messages = with_messages(self.read_path(id, start_seq, last_seq, None).await?)?;
        let says_nothing = |part: &Part| matches!(part, Part::Text(text) if text.trim().is_empty());
        let parts = messages.first().map_or(&[][..], |stored| &stored.message.parts);
        if !parts.is_empty() && parts.iter().all(says_nothing) {
            return Err(Error::invalid_argument(
                "the newest user message is empty, and no question was given; give one",
            ));
        }
        let text = messages.first().map(|stored| stored.record.text.clone()).unwrap_or_default();
        Ok(Newest { question: Question::Stored(messages), text, first_seq: start_seq, is_remote })
    }

    /// Tokens of the newest turn as it must be sent: whole, or where it does not fit so, with its tool results shortened
    /// as far as they can be.
    fn question_tokens(&self, newest: &Newest, target: Target, room_tokens: u32) -> Result<u32> {
        let counter = self.counter();
        let per_message_tokens = overhead(Format::OpenAi).per_message_tokens;
        let tokens = |turn: &[StoredMessage]| turn_tokens(turn, target.profile, &*counter, per_message_tokens);
        match &newest.question {
            Question::Asked(text) => {
                let message = Message::text_message(Role::User, text);
                Ok(sent_tokens(&message, "", target.profile, &*counter).saturating_add(per_message_tokens))
            }
            Question::Stored(turn) if tokens(turn) <= room_tokens => Ok(tokens(turn)),
            Question::Stored(turn) => Ok(tokens(&shortest_turn(turn, &*counter)?)),
        }
    }

    fn system_part(&self, request: &ContextRequest, cap: u32) -> SystemPart {
        let text = request.system.clone().unwrap_or_default();
        if text.is_empty() {
            return SystemPart { cap, ..SystemPart::default() };
        }
        let item = Item {
            kind: "system",
            id: "system".to_owned(),
            tokens: self.counter().count(&text),
            reason: "instructions",
            ..Item::default()
        };
        SystemPart { text, items: vec![item], dropped: Vec::new(), cap }
    }

    /// What is after the cut: whole turn groups, from the cursor of the summary on.
    async fn recent_window(
        &self,
        profile: Profile,
        id: &str,
        (room, budget): (&Room, &BudgetPolicy),
        beside_tokens: u32,
        summary: &SystemPart,
        newest: &Newest,
    ) -> Result<Recent> {
        let is_remote = newest.is_remote;
        let policy = &self.options.policy;
        let room_tokens = room.recent(beside_tokens, section_tokens(summary), budget, &policy.compaction);
        let per_message_tokens = overhead(Format::OpenAi).per_message_tokens;
        let (first_seq, shortened, room_tokens, dropped) = {
            let state = &mut *self.state.borrow_mut();
            state.unsettled.insert(id.to_owned());
            let now_ms = self.now_ms();
            let conversation = state.conversations.get_mut(id).ok_or_else(no_conversation)?;
            // Compaction must be done before the window overflows, however long its summary becomes.
            let room_beside_full_summary = room.recent(beside_tokens, room.summary, budget, &policy.compaction);
            conversation.asked_at = now_ms;
            conversation.recent_room_tokens = Some(room_tokens.min(room_beside_full_summary));
            let first_full_seq = first_full_seq(conversation, newest.first_seq, &policy.tool_results);
            let sized = |shortens: &dyn Fn(Seq) -> bool| {
                turn_groups(conversation, newest.first_seq, &|message| {
                    if is_remote && message.local_only {
                        return 0;
                    }
                    let shortened = shortens(message.seq).then_some(policy.tool_results.shrunk_tokens);
                    sent_size(message.tokens, message.variable(), profile, shortened).saturating_add(per_message_tokens)
                })
            };
            let mut groups = sized(&|seq| seq < first_full_seq);
            // A turn that takes half the room has its results shortened at once: it would push the others out, or itself.
            let is_large = |group: &TurnGroup| group.size.tokens > room_tokens / 2;
            let mut shortened: Vec<Seq> = Vec::new();
            if policy.tool_results.full_turns.is_some() && groups.iter().any(is_large) {
                let short = sized(&|_| true);
                for (group, short) in groups.iter_mut().zip(short).filter(|(group, _)| is_large(group)) {
                    shortened.push(group.first_seq);
                    *group = short;
                }
            }
            let sizes: Vec<GroupSize> = groups.iter().map(|group| group.size).collect();
            let mut start = recent_start(&sizes, room_tokens, &policy.recent);
            let mut room_tokens = room_tokens;
            if let Some(last) = groups.last().filter(|_| start == groups.len() && policy.recent.max_messages != Some(0))
            {
                // What the question follows goes with it, if the window has room for it at all.
                start -= 1;
                room_tokens = room_tokens.max(last.size.tokens);
            }
            let first_seq = groups.get(start).map_or(newest.first_seq, |group| group.first_seq);
            let is_named = |group: &&TurnGroup| {
                let first = conversation.message(group.first_seq);
                first.is_some_and(|message| !(is_remote && message.local_only))
            };
            let dropped = groups.iter().take(start).rfind(is_named).map(|group| Dropped {
                id: conversation.message(group.first_seq).map(MessageMeta::id).unwrap_or_default(),
                tokens: sizes.iter().take(start).map(|size| size.tokens).sum(),
                reason: "outside_window",
            });
            let shortened = Shortened { before: first_full_seq, groups: shortened };
            (first_seq, shortened, room_tokens, dropped.into_iter().collect())
        };
        let mut records = self.read_path(id, first_seq, newest.first_seq - 1, None).await?;
        records.retain(|record| !(is_remote && record.local_only));
        let mut groups: Vec<Vec<StoredMessage>> = Vec::new();
        let counter = self.counter();
        let mut group_seq = 0;
        for mut stored in with_messages(records)? {
            if stored.record.opens_group || groups.is_empty() {
                group_seq = stored.record.seq;
            }
            if shortened.includes(stored.record.seq, group_seq) {
                stored = shorten_old(stored, policy.tool_results.shrunk_tokens, &*counter)?;
            }
            match groups.last_mut() {
                Some(group) if !stored.record.opens_group => group.push(stored),
                _ => groups.push(vec![stored]),
            }
        }
        Ok(Recent { groups, room_tokens, first_seq, dropped })
    }

    /// Decides whether old messages are needed, and finds them; and what the storage found for the newest turn's words.
    async fn evidence_for(
        &self,
        request: &ContextRequest,
        newest: &Newest,
        recent: &Recent,
        vector: Option<Vec<f32>>,
        retrieved_tokens: u32,
    ) -> Result<(Option<Evidence>, Decision, Findings)> {
        let id = request.conversation_id.as_str();
        let retrieval = &self.options.policy.retrieval;
        let is_remote = newest.is_remote;
        if retrieval.scope == Scope::User && request.retrieval != RetrievalChoice::Never {
            self.load_all().await?;
        }
        let findings = self.look_up(&newest.text, None, None).await?;
        let (shown, mut decision) = self.gate(request, newest, recent, (false, &findings))?;
        let mut told = None;
        if decision.reasons == ["no_older_match"] {
            // A summary says in its own words what was said.
            let is_alone = retrieval.scope == Scope::Conversation;
            told = self.told_by_summary(id, is_alone, &newest.text, &findings).await?;
            if told.is_some() {
                (_, decision) = self.gate(request, newest, recent, (true, &findings))?;
            }
        }
        if !decision.retrieve {
            return Ok((None, decision, findings));
        }
        let search = EvidenceRequest {
            text: &newest.text,
            vector,
            words: findings.as_ref(),
            is_remote,
            is_local: newest.is_local(),
            by_words: false,
            only: (retrieval.scope == Scope::Conversation).then_some(id),
            current: Some(id),
            shown_from_seq: recent.first_seq,
            top_k: retrieval.top_k as usize,
            before: retrieval.before,
            after: retrieval.after,
            floor: &|confidence, best| decision.floor(retrieval.min_score, confidence, best),
            filter: &RecallFilter::default(),
            room_tokens: retrieved_room(retrieved_tokens, &decision),
            shown: &shown,
            checks: &[],
        };
        let mut evidence = self.find_evidence(search.clone()).await?;
        self.descend(id, told, search, &findings, &mut evidence).await?;
        Ok((Some(evidence), decision, findings))
    }

    /// What the gate decides, with the documents of the recent window.
    fn gate(
        &self,
        request: &ContextRequest,
        newest: &Newest,
        recent: &Recent,
        (told_by_summary, findings): (bool, &Findings),
    ) -> Result<(Vec<u32>, Decision)> {
        let id = request.conversation_id.as_str();
        let retrieval = &self.options.policy.retrieval;
        let is_remote = newest.is_remote;
        let embedder = self.host.embedder.as_ref();
        let compares_vectors = embedder.is_some_and(|embedder| !(newest.is_local() && embedder.is_remote()));
        let state = self.searchable(findings);
        let conversation = found(state.conversation(id))?;
        let recent_messages = conversation.path_from(recent.first_seq);
        let shown: Vec<u32> = recent_messages
            .take_while(|message| message.seq < newest.first_seq)
            .filter_map(|message| message.document())
            .collect();
        let admits = |number: u32, seq: Seq| match number == conversation.number {
            true => seq < recent.first_seq && conversation.is_active(seq),
            false if retrieval.scope == Scope::Conversation => false,
            false => {
                state.numbered(number).is_some_and(|other| other.stored.value.is_shared() && other.is_active(seq))
            }
        } && !(is_remote && state.numbered(number).is_some_and(|found| found.is_local(seq)));
        let decision = decide(&GateRequest {
            question: &newest.text,
            choice: request.retrieval,
            recent: &shown,
            admits: &admits,
            messages_outside: state.index.messages_outside(conversation.number, recent.first_seq, retrieval.scope),
            index: &state.index,
            has_vectors: compares_vectors && self.has_vectors(&state),
            told_by_summary,
        });
        Ok((shown, decision))
    }

    fn dropped_hits(&self, evidence: &Evidence) -> Vec<Dropped> {
        let state = self.state.borrow();
        let mut dropped = Vec::new();
        for hit in &evidence.below_floor {
            if let Some(message) =
                state.numbered(hit.conversation).and_then(|conversation| conversation.message(hit.seq))
            {
                dropped.push(Dropped { id: message.id(), tokens: message.tokens, reason: "below_floor" });
            }
        }
        let duplicate = |(id, tokens): &(String, u32)| Dropped { id: id.clone(), tokens: *tokens, reason: "duplicate" };
        dropped.extend(evidence.duplicates.iter().map(duplicate));
        let unread = |(id, tokens): &(String, u32)| Dropped { id: id.clone(), tokens: *tokens, reason: "no_room" };
        dropped.extend(evidence.unread.iter().map(unread));
        dropped
    }

    fn full_history_tokens(&self, id: &str, per_message_tokens: u32, is_remote: bool) -> u64 {
        let state = self.state.borrow();
        let tokens = |message: &MessageMeta| u64::from(message.tokens) + u64::from(per_message_tokens);
        let is_sent = |message: &&MessageMeta| !(is_remote && message.local_only);
        state.conversation(id).map_or(0, |conversation| conversation.path().filter(is_sent).map(tokens).sum())
    }

    /// Whether there is anything that a context for a model elsewhere goes without.
    fn holds_back(&self, id: &str) -> bool {
        let state = self.state.borrow();
        let is_user_wide = self.options.policy.retrieval.scope == Scope::User;
        let mut searched = state
            .conversations
            .iter()
            .filter(|(other, found)| other.as_str() == id || is_user_wide && found.stored.value.remember);
        state.facts.values().any(|fact| fact.local_only && fact.status == FactStatus::Active)
            || searched.any(|(_, found)| found.stored.value.has_local)
    }

    fn notes(&self, id: &str) -> Vec<String> {
        let mut notes = Vec::new();
        let has_system_message = self
            .state
            .borrow()
            .conversation(id)
            .is_some_and(|conversation| conversation.path().any(|message| message.role == Role::System));
        if has_system_message {
            notes.push("stored system messages are not sent: give the prompt in `system`".to_owned());
        }
        if self.host.embedder.is_none() {
            notes.push("no embedder: retrieval is lexical".to_owned());
        }
        if self.host.model.is_none() {
            notes.push("no language model: nothing is summarised, and no facts are extracted".to_owned());
        }
        if !self.counter().is_exact() {
            notes.push("token counts are estimates: no vocabulary for this tokenizer is loaded".to_owned());
        }
        notes
    }
}

/// Most room for retrieved history, whose cap is given. Room that nothing of higher priority uses flows to it, up to its
/// whole cap; a question for an exact detail doubles the cap.
fn retrieved_room(cap: u32, decision: &Decision) -> u32 {
    cap.saturating_mul(if decision.exact_detail { 2 } else { 1 })
}

/// Documents in which no text speaks as another role, or hides.
fn harmless(mut documents: Vec<EvidenceDocument>) -> Vec<EvidenceDocument> {
    for document in &mut documents {
        document.text = neutralize(&document.text).into_owned();
    }
    documents
}

fn section_tokens(part: &SystemPart) -> u32 {
    part.items.iter().map(|item| item.tokens).sum()
}

/// A turn group of the conversation's metadata.
pub(super) struct TurnGroup {
    pub(super) first_seq: Seq,
    pub(super) size: GroupSize,
}

/// Messages whose tool results are sent shortened.
struct Shortened {
    /// Those before this position.
    before: Seq,
    /// Those of the turn groups that begin here; rising.
    groups: Vec<Seq>,
}

impl Shortened {
    fn includes(&self, seq: Seq, group_seq: Seq) -> bool {
        seq < self.before || self.groups.binary_search(&group_seq).is_ok()
    }
}

/// Position of the first message whose tool results stay whole, in a context whose newest turn begins at `newest_seq`.
fn first_full_seq(conversation: &Conversation, newest_seq: Seq, policy: &ToolResultPolicy) -> Seq {
    let openers = || conversation.path().filter(|message| message.opens_group && message.seq < newest_seq);
    let groups = u32::try_from(openers().count()).unwrap_or(u32::MAX);
    match first_full_group(groups, policy) {
        0 => 0,
        first => openers().nth(first as usize).map_or(newest_seq, |message| message.seq),
    }
}

/// The turn groups after the summary's cursor and before `end_seq`, oldest first, with the tokens that `tokens` tells of
/// each message.
pub(super) fn turn_groups(
    conversation: &Conversation,
    end_seq: Seq,
    tokens: &dyn Fn(&MessageMeta) -> u32,
) -> Vec<TurnGroup> {
    let mut groups: Vec<TurnGroup> = Vec::new();
    let unsummarized = conversation.path_from(conversation.summarized_until_seq().saturating_add(1));
    for message in unsummarized.take_while(|message| message.seq < end_seq) {
        let tokens = tokens(message);
        match groups.last_mut() {
            Some(group) if !message.opens_group => {
                group.size.tokens += tokens;
                group.size.messages += 1;
            }
            _ => groups.push(TurnGroup { first_seq: message.seq, size: GroupSize { tokens, messages: 1 } }),
        }
    }
    groups
}

/// The format asked for; left out, the one that the newest turn is stored in where the profile takes it, else the
/// profile's own, or OpenAI's.
fn target(request: &ContextRequest, newest: &Newest) -> Result<Target> {
    let stored = match &newest.question {
        Question::Stored(messages) => messages.first().map(|stored| stored.record.format),
        Question::Asked(_) => None,
    };
    let profile = request.profile.as_deref().map(Profile::from_name).transpose()?;
    let named = match &request.format {
        Some(name) => FormatChoice::from_name(name)?.target(),
        None => None,
    };
    let takes = |format: &Format| profile.is_none_or(|profile| profile.takes(*format));
    let format = named.or(stored.filter(takes)).or(profile.map(Profile::usual_format)).unwrap_or(Format::OpenAi);
    let profile = profile.unwrap_or_else(|| Profile::of_format(format));
    profile.check(format)?;
    Ok(Target { format, profile, flatten_tools: request.flatten_tools })
}

fn found(conversation: Option<&Conversation>) -> Result<&Conversation> {
    conversation.ok_or_else(no_conversation)
}

fn with_messages(records: Vec<MessageRecord>) -> Result<Vec<StoredMessage>> {
    records
        .into_iter()
        .map(|mut record| {
            if record.imported
                && let Some(raw) = sent_import(&record.raw, record.format)
            {
                record.raw = raw;
                // It is counted as it is sent.
                record.counted_with.clear();
            }
            Ok(StoredMessage { message: parse_stored(&record)?, record, shortened: None })
        })
        .collect()
}

fn report(decision: &Decision, evidence: Option<&Evidence>) -> RetrievalReport {
    let nothing_found = evidence.is_some_and(|found| found.groups.is_empty()).then_some("nothing_found");
    let by_summary = evidence.is_some_and(|found| found.by_summary).then_some("summary");
    RetrievalReport {
        decision: if decision.retrieve { "retrieve" } else { "skip" },
        reasons: decision.reasons.iter().copied().chain(nothing_found).chain(by_summary).map(str::to_owned).collect(),
        mode: evidence.map_or("none", |found| found.mode),
        embedding_error: evidence.and_then(|found| Some(found.embedding_error.as_ref()?.code.as_str())),
        candidates: evidence.map_or(0, |found| found.candidates),
        ms: evidence.map_or(0.0, |found| found.ms),
    }
}

/// A whole number of tokens.
fn whole(name: &str, value: Option<f64>, default: u32) -> Result<u32> {
    let Some(value) = value else { return Ok(default) };
    if !value.is_finite() || value < 0.0 || value > f64::from(u32::MAX) {
        return Err(Error::new(
            crate::error::Code::BudgetInfeasible,
            format!("{name} is {value}; give a whole number of tokens from 0 to {}", u32::MAX),
        ));
    }
    Ok(value as u32)
}

crate::json_reader::deserialize_as_json!(ContextRequest);
