//! Search over raw messages: for `recall`, and for the evidence of a context.

use super::Engine;
use super::loading::job_key;
use super::outside::{Findings, FoundFor};
use super::readable::read_message;
use super::state::Conversation;
use super::stored_vectors::unread_vectors;
use crate::context::{EvidenceGroup, EvidenceMessage};
use crate::embedded_data::without_data;
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Key, Record, Store};
use crate::records::{JobKind, MessageRecord, MessageStatus};
use crate::retrieval::{GroupRequest, MessageGroup, Present, Range, expand_without};
use crate::retrieval::{Hit, MessageFilter, Scores, SearchRequest, SearchResult};
use crate::secrets::{LEFT_OUT, without_secrets};
use crate::sorted_map::{SortedMap, SortedSet};
use crate::sorting;
use serde::Serialize;

/// Tokens of the line in front of a message in the evidence, about.
const MARKER_TOKENS: u32 = 10;
/// Most characters of a question that are embedded; models read a few hundred tokens at most.
const EMBEDDED_CHARACTERS: usize = 8_000;
/// Most hits of one recall.
const MOST_HITS: u32 = 1_000;

/// What of a question is embedded: its beginning, without secrets.
pub(super) fn embedded_question(text: &str) -> String {
    let embedded = text.char_indices().nth(EMBEDDED_CHARACTERS).map_or(text, |(end, _)| &text[..end]);
    without_secrets(embedded, LEFT_OUT).into_owned()
}

/// A search.
#[derive(Clone, Debug)]
pub struct RecallRequest {
    /// What to look for.
    pub query: String,
    /// Only this conversation; left out: every remembered conversation of the user.
    pub conversation_id: Option<String>,
    /// Most hits, a whole number from 0 to 1,000; 10 by default.
    pub top_k: Option<f64>,
    /// Hits below this score, 0 to 1, are left out; by default none.
    pub threshold: Option<f64>,
    /// Messages before a hit that go with it; `policy.retrieval.before` by default.
    pub before: Option<u32>,
    /// Messages after a hit that go with it; `policy.retrieval.after` by default.
    pub after: Option<u32>,
    /// Only messages that fit.
    pub filter: RecallFilter,
}

impl FromFields for RecallRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            query: fields.take("query"),
            conversation_id: fields.take("conversationId"),
            top_k: fields.take("topK"),
            threshold: fields.take("threshold"),
            before: fields.take("before"),
            after: fields.take("after"),
            filter: fields.take_or("filter", RecallFilter::default()),
        }
    }
}

/// Limits a recall to some messages.
#[derive(Clone, Debug, Default)]
pub struct RecallFilter {
    /// Only conversations of this project.
    pub project_id: Option<String>,
    /// Only hits of these roles.
    pub roles: Option<Vec<crate::message::Role>>,
    /// Only hits from this time on, milliseconds since 1970.
    pub since: Option<f64>,
    /// Only hits up to this time, inclusive, milliseconds since 1970.
    pub until: Option<f64>,
    /// Only hits from this position on, inclusive.
    pub from: Option<Seq>,
    /// Only hits up to this position, inclusive: with `from`, the range of a summary's node.
    pub to: Option<Seq>,
}

impl FromFields for RecallFilter {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            project_id: fields.take("projectId"),
            roles: fields.take("roles"),
            since: fields.take("since"),
            until: fields.take("until"),
            from: fields.take("from"),
            to: fields.take("to"),
        }
    }
}

/// A hit with its neighbours.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecalledGroup {
    /// The conversation.
    pub conversation_id: String,
    /// First and last position, both inclusive.
    pub range: [Seq; 2],
    /// The messages as they were given, oldest first, as JSON texts.
    pub messages: Vec<String>,
    /// The messages that matched.
    pub hits: Vec<RecalledHit>,
    /// Best score of the hits, 0 to 1.
    pub score: f64,
    /// The signals of the best hit.
    pub scores: Scores,
}

/// A message that matched.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RecalledHit {
    /// The message's id.
    pub id: String,
    /// Its position.
    pub seq: Seq,
    /// Whether it is whole: of one that is streaming, what is indexed so far was searched.
    pub status: MessageStatus,
    /// Final score, 0 to 1.
    pub score: f64,
    /// The signals behind it.
    pub scores: Scores,
}

/// What a search for evidence is given.
#[derive(Clone)]
pub(super) struct EvidenceRequest<'a> {
    pub(super) text: &'a str,
    /// Its vector, where it was made already.
    pub(super) vector: Option<Vec<f32>>,
    /// What the storage found for its words, where they were looked up already.
    pub(super) words: Option<&'a FoundFor>,
    /// What is found leaves the device.
    pub(super) is_remote: bool,
    /// The text itself is to stay on this device.
    pub(super) is_local: bool,
    /// The embedder is not asked.
    pub(super) by_words: bool,
    /// Only this conversation.
    pub(super) only: Option<&'a str>,
    /// The conversation that counts as the same.
    pub(super) current: Option<&'a str>,
    /// Positions of the current conversation from here on are in the context already.
    pub(super) shown_from_seq: Seq,
    pub(super) top_k: usize,
    pub(super) before: u32,
    pub(super) after: u32,
    /// Hits below this score are left out, given the search's confidence and the best score.
    pub(super) floor: &'a dyn Fn(f64, f64) -> f64,
    pub(super) filter: &'a RecallFilter,
    /// Tokens that there is room for: groups far beyond it are reduced to their hits before they are read.
    pub(super) room_tokens: u32,
    /// Documents that are in the context already: what says the same is left out.
    pub(super) shown: &'a [u32],
    /// What must still be stored so when the messages found are read.
    pub(super) checks: &'a [Check],
}

/// What a search for evidence found.
pub(super) struct Evidence {
    pub(super) groups: Vec<MessageGroup>,
    pub(super) records: SortedMap<(String, Seq), MessageRecord>,
    pub(super) hits: SortedMap<(u32, Seq), Hit>,
    pub(super) below_floor: Vec<Hit>,
    pub(super) duplicates: Vec<(String, u32)>,
    /// Neighbours that there was no room for: id and tokens.
    pub(super) unread: Vec<(String, u32)>,
    pub(super) mode: &'static str,
    pub(super) candidates: u32,
    pub(super) ms: f64,
    /// Why there is no vector, where one was expected.
    pub(super) embedding_error: Option<Error>,
    /// The request's checks held: it was searched what is stored.
    pub(super) is_current: bool,
    /// The summary led to some of it.
    pub(super) by_summary: bool,
}

impl Engine {
    /// Hybrid search over raw messages; no model is called but the embedder for the query. Where that fails, the search
    /// is lexical.
    ///
    /// # Errors
    /// `invalid_argument` (a blank query, `top_k` or `threshold` out of its range), `not_found` (the conversation).
    pub async fn recall(&self, request: RecallRequest) -> Result<Vec<RecalledGroup>> {
        self.ensure_open()?;
        let top_k = request.top_k.unwrap_or(10.0);
        if !top_k.is_finite() || top_k < 0.0 || top_k.fract() != 0.0 {
            return Err(Error::invalid_argument(format!("topK is {top_k}; give a whole number from 0 to {MOST_HITS}")));
        }
        let only = request.conversation_id.as_deref();
        let retrieval = &self.options.policy.retrieval;
        let threshold = request.threshold.unwrap_or(0.0);
        if !(0.0..=1.0).contains(&threshold) {
            return Err(Error::invalid_argument(format!("threshold is {threshold}; give a number from 0 to 1")));
        }
        if request.query.trim().is_empty() {
            return Err(Error::invalid_argument("query is blank; give the text to look for"));
        }
        let text = without_data(&request.query);
        // Mostly nobody wrote since: what is in memory is searched at once, and whether it is what is stored is asked in the
        // request that reads the messages found.
        let mut assumed = self.assumed_unchanged(only);
        loop {
            let checks = match assumed.take() {
                Some(checks) => checks,
                None => {
                    self.bring_up_to_date(only).await?;
                    Vec::new()
                }
            };
            let evidence = self
                .find_evidence(EvidenceRequest {
                    text: &text,
                    vector: None,
                    words: None,
                    is_remote: false,
                    is_local: false,
                    by_words: false,
                    only,
                    current: only,
                    shown_from_seq: Seq::MAX,
                    top_k: top_k.min(f64::from(MOST_HITS)) as usize,
                    before: request.before.unwrap_or(retrieval.before),
                    after: request.after.unwrap_or(retrieval.after),
                    floor: &|_, _| threshold,
                    filter: &request.filter,
                    room_tokens: u32::MAX,
                    shown: &[],
                    checks: &checks,
                })
                .await?;
            if evidence.is_current {
                return Ok(self.recalled_groups(&evidence));
            }
        }
    }

    /// What must be stored as it is known here for a search of what is in memory to be one of what is stored. `None`: not
    /// all that is to be searched is here.
    fn assumed_unchanged(&self, only: Option<&str>) -> Option<Vec<Check>> {
        let model = self.model();
        let state = self.state.borrow();
        let is_here = |one: &Conversation| one.is_loaded() && unread_vectors(one, model.as_deref()) == 0;
        let Some(id) = only else {
            let mut searched = state.conversations.values().filter(|one| one.stored.value.is_shared());
            return if searched.all(|one| is_here(one)) {
                self.seen_stamp_check().map(|check| vec![check])
            } else {
                None
            };
        };
        let conversation = state.conversation(id).filter(|one| is_here(one) && one.streaming.is_empty())?;
        let embedding = conversation.jobs.get(&JobKind::Embed)?;
        Some(vec![
            conversation.stored.check(Store::Conversations, key![id]),
            embedding.check(Store::Jobs, job_key(JobKind::Embed, id)),
        ])
    }

    /// Reads what is to be searched, as far as it is not here or was changed by another tab.
    async fn bring_up_to_date(&self, only: Option<&str>) -> Result<()> {
        match only {
            Some(id) => self.refresh(id).await,
            None => {
                self.refresh_conversations().await?;
                self.load_all().await
            }
        }
    }

    fn recalled_groups(&self, evidence: &Evidence) -> Vec<RecalledGroup> {
        let state = self.state.borrow();
        let mut groups = Vec::new();
        for group in &evidence.groups {
            let Some(id) = state.conversation_ids.get(group.conversation as usize) else { continue };
            let mut messages = Vec::new();
            let mut hits = Vec::new();
            for &seq in &group.seqs {
                let Some(record) = evidence.records.get(&(id.clone(), seq)) else { continue };
                messages.push(record.raw.clone());
                if let Some(hit) = evidence.hits.get(&(group.conversation, seq)) {
                    hits.push(RecalledHit {
                        id: record.id.clone(),
                        seq,
                        status: record.status,
                        score: f64::from(hit.score),
                        scores: hit.scores,
                    });
                }
            }
            sorting::sort_by(&mut hits, &|a, b| b.score.total_cmp(&a.score).then_with(|| b.seq.cmp(&a.seq)));
            let (Some(best), Some(first), Some(last)) = (hits.first(), group.seqs.first(), group.seqs.last()) else {
                continue;
            };
            let (score, scores) = (best.score, best.scores);
            groups.push(RecalledGroup {
                conversation_id: id.clone(),
                range: [*first, *last],
                messages,
                hits,
                score,
                scores,
            });
        }
        groups
    }

    /// Searches, expands hits to groups, reads their messages, and drops what says the same again.
    pub(super) async fn find_evidence(&self, request: EvidenceRequest<'_>) -> Result<Evidence> {
        let (vector, embedding_error) = match self.query_vector(&request).await {
            Ok(vector) => (vector, None),
            Err(error) if error.code == Code::Closed => return Err(error),
            Err(error) => (None, Some(error)),
        };
        self.ensure_open()?;
        let started_ms = self.now_ms();
        let findings = self.look_up(request.text, vector.as_deref(), request.words).await?;
        let result = self.search(&request, vector.as_deref(), &findings)?;
        let best = result.hits.first().map_or(0.0, |hit| f64::from(hit.score));
        let floor = (request.floor)(f64::from(result.confidence), best);
        let (kept, below_floor): (Vec<Hit>, Vec<Hit>) =
            result.hits.into_iter().partition(|hit| f64::from(hit.score) >= floor);
        let groups = self.expand(&kept, &request);
        let ms = (self.now_ms() - started_ms).max(0.0);
        let mut evidence = Evidence {
            groups: Vec::new(),
            records: SortedMap::new(),
            hits: kept.into_iter().map(|hit| ((hit.conversation, hit.seq), hit)).collect(),
            below_floor,
            duplicates: Vec::new(),
            unread: Vec::new(),
            mode: result.mode.as_str(),
            candidates: u32::try_from(result.candidates).unwrap_or(u32::MAX),
            ms,
            embedding_error,
            is_current: true,
            by_summary: false,
        };
        evidence.groups = self.without_what_has_no_room(groups, request.room_tokens, &mut evidence.unread);
        self.read_groups(&mut evidence, request.checks).await?;
        self.drop_duplicates(&mut evidence, request.shown);
        Ok(evidence)
    }

    async fn query_vector(&self, request: &EvidenceRequest<'_>) -> Result<Option<Vec<f32>>> {
        let text = request.text;
        let Some(embedder) = self.host.embedder.clone() else { return Ok(None) };
        if request.by_words || request.is_local && embedder.is_remote() {
            return Ok(None);
        }
        let has_vectors = self.has_vectors(&self.state.borrow());
        if text.trim().is_empty() || !has_vectors {
            return Ok(None);
        }
        match &request.vector {
            Some(vector) => Ok(Some(vector.clone())),
            None => Ok(self.embed_soon(&*embedder, vec![embedded_question(text)], true).await?.pop()),
        }
    }

    fn search(
        &self,
        request: &EvidenceRequest<'_>,
        vector: Option<&[f32]>,
        findings: &Findings,
    ) -> Result<SearchResult> {
        let state = self.searchable(findings);
        let number = |id: Option<&str>| id.and_then(|id| state.conversations.get(id)).map(|value| value.number);
        let current = number(request.current);
        // What holds for a whole conversation is decided once.
        let mut open: Vec<Option<&Conversation>> = vec![None; state.conversation_ids.len()];
        for found in state.conversations.values().filter(|found| is_searched(found, request, current)) {
            open[found.number as usize] = Some(found);
        }
        let is_open = |conversation: u32| open.get(conversation as usize).copied().flatten();
        let (from, to) = (request.filter.from.unwrap_or(0), request.filter.to.unwrap_or(Seq::MAX));
        let admits = |conversation: u32, seq: Seq| {
            (from..=to).contains(&seq)
                && !(Some(conversation) == current && seq >= request.shown_from_seq)
                && is_open(conversation)
                    .is_some_and(|found| found.is_active(seq) && !(request.is_remote && found.is_local(seq)))
        };
        let filter = request.filter;
        state.index.search(&SearchRequest {
            text: request.text,
            vector,
            conversation: number(request.only),
            current_conversation: current,
            filter: MessageFilter {
                conversations: Some(&|conversation| is_open(conversation).is_some()),
                roles: filter.roles.as_deref(),
                since_ms: filter.since,
                until_ms: filter.until,
            },
            admits: Some(&admits),
            top_k: request.top_k,
            min_score: 0.0,
            now_ms: self.now_ms(),
            policy: &self.options.policy.retrieval,
        })
    }

    /// Hits and their neighbours on the active path. Groups are made in places of the path, which have no gaps.
    fn expand(&self, hits: &[Hit], request: &EvidenceRequest<'_>) -> Vec<MessageGroup> {
        let state = self.state.borrow();
        let current = request.current.and_then(|id| state.conversation(id));
        let ranges: Vec<Range> = current
            .map(|found| Range {
                conversation: found.number,
                first_seq: found.place_of(request.shown_from_seq) + 1,
                last_seq: Seq::MAX,
            })
            .into_iter()
            .collect();
        let texts: Vec<u64> = request.shown.iter().map(|document| state.index.content_hash(*document)).collect();
        let placed =
            |hit: &Hit| state.numbered(hit.conversation).map(|found| Hit { seq: found.place_of(hit.seq) + 1, ..*hit });
        let hits: Vec<Hit> = hits.iter().filter_map(placed).collect();
        let mut groups = expand_without(
            &hits,
            &GroupRequest {
                before: request.before,
                after: request.after,
                turn_group: &|number, place| {
                    state.numbered(number).map_or((place, place), |found| turn_group(found, place))
                },
                last_seq: &|number| state.numbered(number).map_or(0, |found| found.path.len() as Seq),
            },
            &Present { ranges: &ranges, texts: &texts },
        );
        for group in &mut groups {
            let Some(found) = state.numbered(group.conversation) else { continue };
            let seqs = group.seqs.iter_mut().chain(group.hits.iter_mut().map(|hit| &mut hit.seq));
            seqs.for_each(|seq| *seq = found.at_place(*seq));
            group.seqs.retain(|seq| !(request.is_remote && found.is_local(*seq)));
        }
        groups
    }

    /// Groups without what cannot be shown, which is not read: hits behind better ones that fill the room, and neighbours
    /// where hits and better groups fill it.
    fn without_what_has_no_room(
        &self,
        mut groups: Vec<MessageGroup>,
        room_tokens: u32,
        unread: &mut Vec<(String, u32)>,
    ) -> Vec<MessageGroup> {
        let state = self.state.borrow();
        let message = |conversation: u32, seq: Seq| state.numbered(conversation)?.message(seq);
        let tokens = |conversation: u32, seq: Seq| {
            message(conversation, seq).map_or(0, |found| found.tokens.saturating_add(MARKER_TOKENS))
        };
        let mut drop_unread = |conversation: u32, seq: Seq| {
            unread.extend(message(conversation, seq).map(|found| (found.id(), found.tokens)));
        };
        let mut hits: Vec<Hit> = groups.iter().flat_map(|group| group.hits.iter().copied()).collect();
        sorting::sort_by(&mut hits, &|a, b| b.score.total_cmp(&a.score).then_with(|| a.seq.cmp(&b.seq)));
        let mut used = 0_u32;
        let mut kept: SortedSet<(u32, Seq)> = SortedSet::new();
        for hit in hits {
            if used < room_tokens {
                // A long hit is reduced to half the room.
                used = used.saturating_add(tokens(hit.conversation, hit.seq).min(room_tokens / 2));
                kept.insert((hit.conversation, hit.seq));
            }
        }
        for group in &mut groups {
            let conversation = group.conversation;
            let is_hit = |seq: Seq| group.hits.iter().any(|hit| hit.seq == seq);
            let has_hit = group.hits.iter().any(|hit| kept.contains(&(conversation, hit.seq)));
            let needed: u32 =
                group.seqs.iter().filter(|seq| !is_hit(**seq)).map(|seq| tokens(conversation, *seq)).sum();
            let has_room = has_hit && used.saturating_add(needed) <= room_tokens;
            used = if has_room { used + needed } else { used };
            let stays = |seq: Seq| if is_hit(seq) { kept.contains(&(conversation, seq)) } else { has_room };
            group.seqs.iter().filter(|seq| !stays(**seq)).for_each(|seq| drop_unread(conversation, *seq));
            let seqs: Vec<Seq> = group.seqs.iter().copied().filter(|seq| stays(*seq)).collect();
            group.seqs = seqs;
        }
        groups.retain(|group| !group.seqs.is_empty());
        groups
    }

    /// The messages of the groups, and in the same request whether the checks hold.
    async fn read_groups(&self, evidence: &mut Evidence, checks: &[Check]) -> Result<()> {
        let mut keys: Vec<(Store, Key)> = checks.iter().map(|check| (check.store, check.key.clone())).collect();
        {
            let state = self.state.borrow();
            for group in &evidence.groups {
                let Some(id) = state.conversation_ids.get(group.conversation as usize) else { continue };
                for seq in &group.seqs {
                    keys.push((Store::Messages, key![id.as_str(), *seq]));
                }
            }
        }
        let mut found = self.host.storage.get(keys).await?.into_iter();
        let holds = |(check, found): (&Check, Option<Record>)| found.map(|record| record.body) == check.body;
        evidence.is_current = checks.iter().zip(found.by_ref()).all(holds);
        if !evidence.is_current {
            return Ok(());
        }
        for record in found.flatten() {
            // One that cannot be read is not shown; it is told when its conversation is read.
            let Ok((record, _)) = read_message(&record) else { continue };
            if !record.removed {
                evidence.records.insert((record.conversation_id.clone(), record.seq), record);
            }
        }
        Ok(())
    }

    /// A message that says the same as one shown before (in the recent window, or in a better group) goes.
    fn drop_duplicates(&self, evidence: &mut Evidence, shown: &[u32]) {
        let state = self.state.borrow();
        let mut seen: SortedSet<u64> = shown.iter().map(|document| state.index.content_hash(*document)).collect();
        for group in &mut evidence.groups {
            let Some(id) = state.conversation_ids.get(group.conversation as usize) else { continue };
            group.seqs.retain(|seq| {
                let Some(record) = evidence.records.get(&(id.clone(), *seq)) else { return false };
                let document = state.index.find(group.conversation, *seq);
                let is_new = document.is_none_or(|document| seen.insert(state.index.content_hash(document)));
                if !is_new {
                    evidence.duplicates.push((record.id.clone(), record.tokens));
                }
                is_new
            });
        }
        evidence
            .groups
            .retain(|group| group.seqs.iter().any(|seq| evidence.hits.contains_key(&(group.conversation, *seq))));
    }

    /// The groups as evidence of a context, best first.
    pub(super) fn evidence_groups(&self, evidence: &Evidence, current: &str) -> Vec<EvidenceGroup> {
        let state = self.state.borrow();
        let mut groups = Vec::new();
        for group in &evidence.groups {
            let Some(id) = state.conversation_ids.get(group.conversation as usize) else { continue };
            let messages: Vec<EvidenceMessage> = group
                .seqs
                .iter()
                .filter_map(|seq| evidence.records.get(&(id.clone(), *seq)))
                .filter(|record| !record.text.trim().is_empty())
                .map(|record| EvidenceMessage {
                    seq: record.seq,
                    id: record.id.clone(),
                    role: record.role,
                    text: crate::prompt_text::neutralize(&record.text).into_owned(),
                    hit: evidence
                        .hits
                        .get(&(group.conversation, record.seq))
                        .map(|hit| (f64::from(hit.score), hit.scores)),
                    tokens: 0,
                    whole_tokens: None,
                })
                .collect();
            let created_at_ms = group
                .seqs
                .first()
                .and_then(|seq| evidence.records.get(&(id.clone(), *seq)))
                .map_or(0.0, |record| record.created_at);
            let title = (id != current)
                .then(|| {
                    state.conversations.get(id).map(|value| super::ConversationView::from(&value.stored.value).title)
                })
                .flatten();
            groups.push(EvidenceGroup { conversation_id: id.clone(), title, messages, created_at_ms });
        }
        groups
    }
}

/// Whether a conversation is searched at all: it is remembered or the current one, and of the wanted project.
fn is_searched(found: &Conversation, request: &EvidenceRequest<'_>, current: Option<u32>) -> bool {
    let record = &found.stored.value;
    let project_id = &request.filter.project_id;
    let is_wanted = project_id.is_none() || *project_id == record.project_id;
    is_wanted && (record.is_shared() || Some(found.number) == current)
}

/// First and last place, on the active path, of the turn group that the message at a place is in.
fn turn_group(conversation: &Conversation, place: Seq) -> (Seq, Seq) {
    let opens = |seq: &Seq| conversation.message(*seq).is_some_and(|message| message.opens_group);
    let (before, after) = conversation.path.split_at(conversation.path.len().min(place as usize));
    let start = before.iter().rposition(opens).unwrap_or(0);
    let end = after.iter().position(opens).unwrap_or(after.len());
    (start as Seq + 1, (before.len() + end) as Seq)
}

crate::json_reader::deserialize_as_json!(RecallRequest, RecallFilter);
