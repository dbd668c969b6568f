//! Facts for another store, and facts of another store taken in (`facts/merged.rs` has the rules). A fact comes with names
//! of the messages that show it: it waits until they are here, and does not come where all of them were removed.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::erasure::erased_key;
use super::event::Event;
use super::message_ids::removed_id;
use super::path_change::link_parts;
use super::readable::read_message;
use super::stored::decode;
use super::sync::{SyncRecord, unusable};
use super::sync_conversation::{ids_of_name, name_of};
use crate::error::Result;
use crate::facts::{
    self, FindingKind, LONGEST_EXPLICIT_CHARS, NamedFact, SourceLink, fact_name, is_news, is_tombstone_print, merged,
};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Query, Store};
use crate::records::{ConversationRecord, FactRecord, FactStatus, MessageIdRecord};
use crate::sorted_map::SortedMap;
use serde_json::{Value, json};

/// Facts of one piece.
const PIECE_FACTS: usize = 200;

/// Facts of another store.
pub(super) struct FactsPiece {
    facts: Vec<PieceFact>,
}

struct PieceFact {
    name: String,
    fact: FactRecord,
    links: Vec<PieceLink>,
}

/// A message that shows a fact; the first one is the source that it names.
struct PieceLink {
    conversation_id: String,
    /// When the conversation was made.
    at: f64,
    name: String,
}

impl FromFields for FactsPiece {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { facts: fields.take("facts") }
    }
}

impl FromFields for PieceFact {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { name: fields.take("name"), fact: fields.take("fact"), links: fields.take("links") }
    }
}

impl FromFields for PieceLink {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { conversation_id: fields.take("conversationId"), at: fields.take("at"), name: fields.take("name") }
    }
}

/// What is known here of a message that shows a fact.
#[derive(Clone, Copy, PartialEq)]
enum Shown {
    Here(Seq),
    Gone,
    /// It may come.
    Unknown,
}

impl Engine {
    /// A digest of the facts that other stores may have.
    pub(super) async fn digest_of_facts(&self, own: &SyncRecord) -> Result<String> {
        self.refresh_facts().await?;
        Ok(format!("{:x}", facts::facts_digest(&own.name, &self.all_facts())))
    }

    /// Facts behind a number, as many as fit a piece.
    pub(super) async fn read_facts_piece(&self, behind: usize) -> Result<Value> {
        let Some(own) = self.sync_record().await?.map(|own| own.value) else { return Ok(json!({ "piece": null })) };
        self.refresh_facts().await?;
        let all = self.all_facts();
        let names: SortedMap<String, String> =
            all.iter().map(|fact| (fact.id.clone(), fact_name(&own.name, fact))).collect();
        let links = self.links_of_facts().await?;
        let page = all.iter().skip(behind).take(PIECE_FACTS);
        let mut lines = Vec::new();
        for fact in page.filter(|fact| !fact.local_only) {
            let mut shown = Vec::new();
            let source = fact.source.conversation_id.clone().zip(fact.source.seq);
            let others = links.get(&fact.id).into_iter().flatten().filter(|link| Some(*link) != source.as_ref());
            for (conversation_id, seq) in source.iter().chain(others) {
                shown.extend(self.link_line(&own, conversation_id, *seq).await?);
            }
            let mut record = fact.clone();
            record.supersedes = record.supersedes.and_then(|id| names.get(&id).cloned());
            (record.source.conversation_id, record.source.seq) = (None, None);
            (record.access_count, record.last_accessed_at, record.origin) = (0, None, None);
            if shown.is_empty() {
                record.source.quote = None;
            }
            lines.push(json!({ "name": names.get(&fact.id), "fact": record, "links": shown }));
        }
        let next = behind + PIECE_FACTS;
        let (more, count) = (next < all.len(), lines.len());
        Ok(json!({ "piece": { "facts": lines }, "version": format!("facts.{next}"), "more": more, "count": count }))
    }

    /// The messages that show each fact.
    async fn links_of_facts(&self) -> Result<SortedMap<String, Vec<(String, Seq)>>> {
        let mut links: SortedMap<String, Vec<(String, Seq)>> = SortedMap::new();
        for (key, _) in self.scan(Query::prefix(Store::FactSources, key![])).await? {
            if let Some((fact, id, seq)) = link_parts(&key) {
                links.get_or_default(fact).push((id, seq));
            }
        }
        Ok(links)
    }

    /// The name of a message that shows a fact, unless it is no other store's business.
    async fn link_line(&self, own: &SyncRecord, id: &str, seq: Seq) -> Result<Option<Value>> {
        let keys = vec![(Store::Conversations, key![id]), (Store::Messages, key![id, seq])];
        let mut found = self.host.storage.get(keys).await?.into_iter();
        let conversation = found.next().flatten();
        let record = conversation.and_then(|one| decode::<ConversationRecord>(Store::Conversations, &one).ok());
        let message = found.next().flatten().and_then(|one| read_message(&one).ok());
        let (Some(record), Some((message, _))) = (record.filter(|one| one.remember), message) else { return Ok(None) };
        if message.removed || message.local_only {
            return Ok(None);
        }
        let name = name_of(own, record.born, seq, &message.id, &message.content_hash);
        Ok(Some(json!({ "conversationId": id, "at": record.created_at, "name": name })))
    }

    async fn shown(&self, own: &SyncRecord, link: &PieceLink) -> Result<Shown> {
        let id = link.conversation_id.as_str();
        let keys = vec![(Store::Conversations, key![id]), (Store::Meta, erased_key(id, link.at))];
        let mut found = self.host.storage.get(keys).await?.into_iter();
        let record = found.next().flatten();
        let record = record.and_then(|one| decode::<ConversationRecord>(Store::Conversations, &one).ok());
        if found.next().flatten().is_some() {
            return Ok(Shown::Gone);
        }
        let Some(record) = record else { return Ok(Shown::Unknown) };
        let mut ids = ids_of_name(own, record.born, &link.name);
        ids.push(removed_id(&link.name));
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        let located = self.located_ids(id, &ids, false).await?;
        let hash = link.name.rsplit_once('~').map_or("", |(_, hash)| hash);
        let here = located.values().find(|one: &&MessageIdRecord| one.content_hash == hash);
        let is_gone = located.values().any(|one| one.content_hash.is_empty());
        Ok(match here {
            Some(here) => Shown::Here(here.seq),
            None if is_gone => Shown::Gone,
            None => Shown::Unknown,
        })
    }

    /// Merges facts of another store.
    pub(super) async fn take_facts_piece(&self, piece: FactsPiece) -> Result<()> {
        let own = self.exchanging_as().await?.value;
        for one in &piece.facts {
            check(&one.fact)?;
        }
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh_facts().await?;
            let (counters, check) = self.fact_counters();
            let existing = self.all_facts();
            let (incoming, links) = self.acceptable(&piece, &own, &existing, &counters.opted_in).await?;
            let (mut changes, ids) = merged(&incoming, &own.name, &existing, counters.next_numbers(), self.now_ms());
            for (name, conversation_id, seq) in links {
                if let Some(fact_id) = ids.get(&name).cloned() {
                    changes.sources.push(SourceLink { fact_id, conversation_id, seq });
                }
            }
            if changes.is_empty() {
                return Ok(());
            }
            if self.commit_changes(&mut changes, check).await? {
                self.emit(&Event::new("fact", json!({ "operation": "SYNC", "factId": null })));
                return Ok(());
            }
        }
        Err(overtaken())
    }

    /// The facts of a piece that say something new and may be taken, and the messages here that show them.
    async fn acceptable(
        &self,
        piece: &FactsPiece,
        own: &SyncRecord,
        existing: &[FactRecord],
        opted_in: &[String],
    ) -> Result<(Vec<NamedFact>, Vec<(String, String, Seq)>)> {
        let (mut incoming, mut links) = (Vec::new(), Vec::new());
        for one in &piece.facts {
            let mut named = NamedFact { name: one.name.clone(), fact: one.fact.clone() };
            // The rest of it may say which one replaced which.
            if !is_news(&named, &own.name, existing) {
                incoming.push(named);
                continue;
            }
            let is_forgotten = named.fact.status == FactStatus::Forgotten;
            let unfit = facts::unfit(&named.fact, opted_in).filter(|_| !is_forgotten);
            if matches!(unfit, Some(FindingKind::Secret | FindingKind::Sensitive)) {
                continue;
            }
            let mut shown = Vec::new();
            for link in one.links.iter().filter(|_| !is_forgotten) {
                shown.push(self.shown(own, link).await?);
            }
            let is_explicit = named.fact.source.kind == "explicit";
            let all_gone = !shown.is_empty() && shown.iter().all(|one| *one == Shown::Gone);
            if shown.contains(&Shown::Unknown) || (all_gone && !is_explicit) {
                continue;
            }
            let here = one.links.iter().zip(&shown).filter_map(|(link, shown)| match shown {
                Shown::Here(seq) => Some((link.conversation_id.clone(), *seq)),
                _ => None,
            });
            let here: Vec<(String, Seq)> = here.collect();
            if let Some((id, seq)) = here.first() {
                (named.fact.source.conversation_id, named.fact.source.seq) = (Some(id.clone()), Some(*seq));
            } else {
                named.fact.source.quote = None;
            }
            links.extend(here.into_iter().map(|(id, seq)| (one.name.clone(), id, seq)));
            incoming.push(named);
        }
        Ok((incoming, links))
    }
}

fn check(fact: &FactRecord) -> Result<()> {
    let is_forgotten = fact.status == FactStatus::Forgotten;
    let is_whole = fact.fact.chars().count() <= LONGEST_EXPLICIT_CHARS
        && is_forgotten == fact.fact.is_empty()
        && (0.0..=1.0).contains(&fact.confidence)
        && [fact.created_at, fact.updated_at].into_iter().all(f64::is_finite)
        && (!is_forgotten || is_tombstone_print(&fact.fingerprint));
    if is_whole { Ok(()) } else { Err(unusable("a fact cannot be: its text, times or numbers")) }
}
