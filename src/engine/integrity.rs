//! Whether storage still holds what it held: evidence that the store carries itself, and a mark that the host keeps
//! outside of it.
//!
//! Browsers lose data in silence: a damaged database comes back empty or shortened, and opens without an error. So the
//! store has a manifest that names it, a canary, and counters that can be compared with what they count. A shortened log
//! is consistent in itself, and only a witness outside the store can tell: the [`Mark`], of which the host keeps the latest
//! where the database is not. What a mark compares only ever rises, in any number of tabs and without a record that they
//! would all write: positions are the sum of `lastSeq` of all conversations and of what erased ones had, and an append moves
//! `lastSeq` anyway.

use super::Engine;
use super::conversations::{BIRTHS, Births};
use super::damage::{Damage, DamageKind, Figures};
use super::stored::{decode, encode};
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Record, Store};
use serde::Serialize;

const MANIFEST: &str = "manifest";
const CANARY: &str = "canary";
/// Positions that erased conversations had.
const ERASED: &str = "erased";
/// A store of more positions is counted behind the first work: counting a hundred thousand records takes longer than
/// everything else of opening.
const COUNTED_AT_ONCE: u64 = 20_000;
/// Looks at counts that other tabs keep moving.
const COUNT_TRIES: u32 = 5;

/// Names a store and says since when it is there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Manifest {
    /// Chosen when the store was made; another store has another.
    store_id: String,
    /// Milliseconds since 1970.
    created_at: f64,
    /// Rises when everything is erased, and when a loss is accepted: marks of an earlier generation say nothing any more.
    generation: u32,
}

impl FromFields for Manifest {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            store_id: fields.take("storeId"),
            created_at: fields.take("createdAt"),
            generation: fields.take("generation"),
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErasedPositions {
    positions: u64,
}

impl FromFields for ErasedPositions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { positions: fields.take("positions") }
    }
}

/// What is known to be on disk. Numbers only: nothing of a user is in it, so it can be kept anywhere.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Mark {
    /// The store that it is about.
    pub store_id: String,
    /// The store's generation.
    pub generation: u32,
    /// Positions given to messages so far, those of erased conversations included. Rises within a generation.
    pub positions: u64,
    /// Conversations made so far. Rises for ever.
    pub born: u32,
    /// Changes of facts so far. Rises for ever.
    pub facts: u32,
    /// Messages, to say what was lost.
    pub messages: u64,
    /// Conversations, to say what was lost.
    pub conversations: u64,
}

impl FromFields for Mark {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            store_id: fields.take("storeId"),
            generation: fields.take("generation"),
            positions: fields.take("positions"),
            born: fields.take("born"),
            facts: fields.take("facts"),
            messages: fields.take("messages"),
            conversations: fields.take("conversations"),
        }
    }
}

/// What storage is compared with.
#[derive(Clone, Debug, Default)]
pub struct StorageCheck {
    /// The latest marks that the host kept: one for each place that it keeps one in.
    pub marks: Vec<Mark>,
    /// The name of the store, where it has none yet.
    pub store_id: String,
}

impl FromFields for StorageCheck {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self { marks: fields.take_or("marks", Vec::new()), store_id: fields.take("storeId") }
    }
}

/// What one engine knows of the evidence.
#[derive(Default)]
pub(super) struct Evidence {
    manifest: Option<Manifest>,
    /// Positions of erased conversations.
    erased: u64,
    /// Positions that were on disk with the latest strict write.
    durable: u64,
    /// The highest generation of the host's marks.
    marked_generation: u32,
    /// The browser replaced the database with an empty one.
    is_data_lost: bool,
    /// The messages are still to be counted.
    is_uncounted: bool,
}

/// The evidence in storage, as it was read.
struct Found {
    manifest: Option<Manifest>,
    manifest_record: Option<Record>,
    is_canary_whole: bool,
    births: u32,
}

impl Engine {
    /// Compares what storage holds with what it says of itself and with what the host knows of it. To be called once after
    /// opening, before anything is written. Nothing is changed where something is missing; a whole store that has no name yet
    /// gets the one given. Whether single messages are gone from a store of more than 20,000 is told later, by an event.
    ///
    /// # Errors
    /// What the storage reports.
    pub async fn check_storage(&self, check: StorageCheck) -> Result<Option<Damage>> {
        self.ensure_open()?;
        if self.read_only {
            // What a newer version says of itself cannot be judged here.
            return Ok(None);
        }
        let known = self.read_damage().await?;
        let found = self.read_evidence().await?;
        let told = self.state.borrow().positions;
        let is_large = told > COUNTED_AT_ONCE;
        self.evidence.borrow_mut().is_uncounted = is_large;
        let counted = if is_large { None } else { self.counted_messages().await? };
        let damage = self.compared(&check, &found, counted.unwrap_or(told));
        let missing = counted.map_or(0, |counted| told.saturating_sub(counted));
        let damage = self.with_losses(damage, missing, known);
        if damage.is_none() {
            self.name_store(&found, check.store_id).await?;
            self.mend_jobs().await?;
        }
        Ok(damage)
    }

    /// The browser said while it opened the database that it found it damaged and replaced it with an empty one.
    pub fn note_data_lost(&self) {
        self.evidence.borrow_mut().is_data_lost = true;
    }

    /// `counted`: messages that there are records of, removed ones included.
    fn compared(&self, check: &StorageCheck, found: &Found, counted: u64) -> Option<Damage> {
        let positions = self.positions().max(counted.saturating_add(self.evidence.borrow().erased));
        let figures = self.figures();
        let removed = self.state.borrow().positions.saturating_sub(figures.messages);
        let figures = Figures { messages: counted.saturating_sub(removed), ..figures };
        let is_empty = positions == 0 && found.births == 0 && self.state.borrow().facts.is_empty();
        let facts = self.fact_counters().0.version;
        let mut damage: Option<Damage> = None;
        for mark in &check.marks {
            let of_this = found.manifest.as_ref().is_some_and(|manifest| manifest.store_id == mark.store_id);
            let generation = found.manifest.as_ref().map_or(0, |manifest| manifest.generation);
            let kind = if of_this {
                let is_behind = positions < mark.positions || found.births < mark.born || facts < mark.facts;
                (generation == mark.generation && is_behind || generation < mark.generation)
                    .then_some(DamageKind::Truncated)
            } else if mark.positions == 0 && mark.born == 0 && mark.facts == 0 {
                None
            } else if is_empty {
                Some(DamageKind::Removed)
            } else if found.manifest.is_none() {
                Some(DamageKind::Damaged)
            } else {
                Some(DamageKind::Replaced)
            };
            let Some(kind) = kind else { continue };
            let lost = if kind == DamageKind::Truncated {
                mark.positions.saturating_sub(positions)
            } else {
                mark.messages.saturating_sub(figures.messages)
            };
            if damage.as_ref().is_none_or(|worst| worst.lost.unwrap_or(0) < lost) {
                let expected = Figures { messages: mark.messages, conversations: mark.conversations };
                damage = Some(Damage { expected: Some(expected), lost: Some(lost), ..Damage::of(kind) });
            }
        }
        let marked = check.marks.iter().map(|mark| mark.generation).max();
        self.evidence.borrow_mut().marked_generation = marked.unwrap_or(0);
        if damage.is_none() && self.evidence.borrow().is_data_lost {
            damage = Some(Damage::of(DamageKind::Removed));
        }
        // Messages of conversations that have no record, or one of before them.
        let is_orphaned = counted > self.state.borrow().positions;
        if damage.is_none() && (is_orphaned || found.manifest.is_some() && !found.is_canary_whole) {
            damage = Some(Damage::of(DamageKind::Damaged));
        }
        damage.map(|damage| Damage { found: Some(figures), ..damage })
    }

    async fn read_evidence(&self) -> Result<Found> {
        let keys = [MANIFEST, CANARY, ERASED, BIRTHS].map(|name| (Store::Meta, key![name]));
        let mut records = self.host.storage.get(keys.into()).await?.into_iter();
        let manifest_record = records.next().flatten();
        let manifest = manifest_record.as_ref().and_then(|record| decode::<Manifest>(Store::Meta, record).ok());
        let canary = records.next().flatten();
        let erased = records.next().flatten();
        let births = records.next().flatten();
        let is_canary_whole = match (&manifest, canary) {
            (Some(manifest), Some(canary)) => canary.body == canary_of(manifest),
            _ => false,
        };
        let erased = erased.and_then(|record| decode::<ErasedPositions>(Store::Meta, &record).ok());
        {
            let mut evidence = self.evidence.borrow_mut();
            evidence.manifest.clone_from(&manifest);
            evidence.erased = erased.map_or(0, |erased| erased.positions);
        }
        let births = births.and_then(|record| decode::<Births>(Store::Meta, &record).ok());
        Ok(Found { manifest, manifest_record, is_canary_whole, births: births.map_or(0, |births| births.last) })
    }

    /// How many messages there are records of; `None` where other tabs keep changing that.
    async fn counted_messages(&self) -> Result<Option<u64>> {
        self.notice_staged().await?;
        // An import has written messages that are no conversation's yet.
        if self.has_staged.get() {
            return Ok(None);
        }
        for _ in 0..COUNT_TRIES {
            let counted = self.host.storage.count(Store::Messages, key![]).await?;
            // Counted while another tab wrote, it says nothing.
            if self.has_standing_conversations().await? {
                return Ok(Some(counted));
            }
            self.refresh_conversations().await?;
        }
        Ok(None)
    }

    /// Counts what [`Self::check_storage`] has left for later, once, and tells of messages that are missing.
    pub(super) async fn count_later(&self) -> Result<()> {
        if !std::mem::take(&mut self.evidence.borrow_mut().is_uncounted) {
            return Ok(());
        }
        if let Some(counted) = self.counted_messages().await? {
            let told = self.state.borrow().positions;
            self.tell_missing_by_count(told.saturating_sub(counted));
        }
        Ok(())
    }

    async fn has_standing_conversations(&self) -> Result<bool> {
        let stamp = self.standing_stamp().await?;
        Ok(stamp.is_none() || self.has_seen(stamp.as_deref()))
    }

    /// Gives a whole store that has no name one.
    async fn name_store(&self, found: &Found, store_id: String) -> Result<()> {
        if found.manifest.is_some() {
            return Ok(());
        }
        let manifest = Manifest { store_id, created_at: self.now_ms(), generation: 1 };
        let body = found.manifest_record.as_ref().map(|record| record.body.clone());
        let mut commit = Commit { strict: true, ..Commit::default() };
        commit.checks.push(Check { store: Store::Meta, key: key![MANIFEST], body });
        put_manifest(&manifest, &mut commit)?;
        if self.host.storage.commit(commit).await? {
            self.evidence.borrow_mut().manifest = Some(manifest);
        } else {
            // Another tab was faster.
            self.read_evidence().await?;
        }
        Ok(())
    }

    /// Adds the next generation to a commit that erases everything, or that takes a loss as it is. A store without a name
    /// gets `store_id`, where one is given.
    pub(super) async fn put_next_generation(&self, store_id: Option<&str>, commit: &mut Commit) -> Result<()> {
        // As it is now: another tab may have erased everything, too.
        self.read_evidence().await?;
        let evidence = self.evidence.borrow();
        let (store_id, created_at, generation) = match (&evidence.manifest, store_id) {
            (Some(known), _) => (known.store_id.as_str(), known.created_at, known.generation),
            (None, Some(store_id)) => (store_id, self.now_ms(), 0),
            (None, None) => return Ok(()),
        };
        let generation = generation.max(evidence.marked_generation).saturating_add(1);
        put_manifest(&Manifest { store_id: store_id.to_owned(), created_at, generation }, commit)
    }

    /// Takes the evidence in as it is after a new generation has begun.
    pub(super) async fn reread_evidence(&self) -> Result<()> {
        self.read_evidence().await?;
        let positions = self.positions();
        self.evidence.borrow_mut().durable = positions;
        Ok(())
    }

    /// Adds to a commit that removes a conversation that its positions were given. Answers how many positions erased
    /// conversations have had then, for [`Self::take_erased_in`].
    pub(super) async fn count_erased(&self, positions: Seq, commit: &mut Commit) -> Result<u64> {
        let found = self.host.storage.get(vec![(Store::Meta, key![ERASED])]).await?.pop().flatten();
        let before = found.as_ref().and_then(|record| decode::<ErasedPositions>(Store::Meta, record).ok());
        let positions = before.map_or(0, |before| before.positions).saturating_add(positions.into());
        let check = Check { store: Store::Meta, key: key![ERASED], body: found.map(|record| record.body) };
        commit.checks.push(check);
        commit.puts.push((Store::Meta, key![ERASED], encode(&ErasedPositions { positions })?));
        Ok(positions)
    }

    /// The commit of [`Self::count_erased`] has succeeded.
    pub(super) fn take_erased_in(&self, positions: u64) {
        self.evidence.borrow_mut().erased = positions;
    }

    /// Positions given so far, as far as this tab knows: never more than there are.
    pub(super) fn positions(&self) -> u64 {
        self.state.borrow().positions + self.evidence.borrow().erased
    }

    /// A strict write has succeeded that came after so many positions: they are on disk.
    pub(super) fn acknowledge(&self, positions: u64) {
        let mut evidence = self.evidence.borrow_mut();
        evidence.durable = evidence.durable.max(positions);
    }

    /// What is known to be on disk now; `None` as long as the store has no name, see [`Self::check_storage`].
    #[must_use]
    pub fn mark(&self) -> Option<Mark> {
        let evidence = self.evidence.borrow();
        let manifest = evidence.manifest.as_ref()?;
        let figures = self.figures();
        let state = self.state.borrow();
        Some(Mark {
            store_id: manifest.store_id.clone(),
            generation: manifest.generation,
            positions: evidence.durable,
            born: state.born,
            facts: state.fact_counters.as_ref().map_or(0, |counters| counters.value.version),
            messages: figures.messages,
            conversations: figures.conversations,
        })
    }

    /// What there is, as it is told to people.
    pub(super) fn figures(&self) -> Figures {
        let state = self.state.borrow();
        let records = state.conversations.values().map(|conversation| &conversation.stored.value);
        Figures {
            messages: records.map(|record| u64::from(record.last_seq.saturating_sub(record.removed))).sum(),
            conversations: state.conversations.len() as u64,
        }
    }
}

fn canary_of(manifest: &Manifest) -> String {
    format!("{{\"canary\":\"{:016x}\"}}", crate::hash::fnv1a(manifest.store_id.bytes()))
}

fn put_manifest(manifest: &Manifest, commit: &mut Commit) -> Result<()> {
    commit.puts.push((Store::Meta, key![MANIFEST], encode(manifest)?));
    commit.puts.push((Store::Meta, key![CANARY], Record { body: canary_of(manifest), blob: None }));
    Ok(())
}

crate::json_reader::deserialize_as_json!(StorageCheck, Mark);
