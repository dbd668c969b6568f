//! Damage of storage: what was found, how it is told, and going on with what is left.
//!
//! Nothing is written over what may come back before the person has said so. Taken as it is, the loss is kept in a record
//! until it is acknowledged, so that no restart hides it; afterwards only further damage is told.

use super::Engine;
use super::event::Event;
use super::readable::seq_of;
use super::stored::{decode, encode};
use crate::error::Result;
use crate::json_reader::{Fields, FromFields, json_names};
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Key, KeyPart, Store};
use crate::sorted_map::SortedSet;
use serde::Serialize;
use serde_json::json;

const DAMAGE: &str = "damage";
/// Messages that are read in one go when all are.
const PAGE: Seq = 256;

/// What kind of damage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DamageKind {
    /// The store is gone; an empty one is in its place.
    Removed,
    /// Another store is in its place.
    Replaced,
    /// It lacks what was written last.
    Truncated,
    /// Records are missing or cannot be read.
    Damaged,
}

json_names!(DamageKind { Removed: "removed", Replaced: "replaced", Truncated: "truncated", Damaged: "damaged" });

/// How much there is or was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Messages of every branch.
    pub messages: u64,
    /// Conversations.
    pub conversations: u64,
}

impl FromFields for Figures {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { messages: fields.take("messages"), conversations: fields.take("conversations") }
    }
}

/// Records that cannot be read as they were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Unreadable {
    /// Conversations.
    pub conversations: u64,
    /// Messages, as far as they were read.
    pub messages: u64,
    /// Facts.
    pub facts: u64,
    /// Notes, as far as they were read.
    pub notes: u64,
}

impl Unreadable {
    fn exceeds(&self, other: &Self) -> bool {
        self.conversations > other.conversations
            || self.messages > other.messages
            || self.facts > other.facts
            || self.notes > other.notes
    }
}

impl FromFields for Unreadable {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversations: fields.take("conversations"),
            messages: fields.take("messages"),
            facts: fields.take("facts"),
            notes: fields.take_or("notes", 0),
        }
    }
}

/// Damage as it is told. Numbers and names of stores only.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Damage {
    /// What kind.
    pub kind: DamageKind,
    /// What there was, as the host last knew it; `None` where no mark was kept outside the store.
    pub expected: Option<Figures>,
    /// What there is now.
    pub found: Option<Figures>,
    /// At least so many messages are gone; `None` where nobody can tell.
    pub lost: Option<u64>,
    /// Messages whose records are gone from within conversations that are there.
    pub missing: u64,
    /// Records that are there and cannot be read as they were written.
    pub unreadable: Unreadable,
    /// When it was found, milliseconds since 1970.
    pub at: f64,
    /// The app has said that its user knows.
    pub acknowledged: bool,
}

impl Damage {
    pub(super) fn of(kind: DamageKind) -> Self {
        Self {
            kind,
            expected: None,
            found: None,
            lost: None,
            missing: 0,
            unreadable: Unreadable::default(),
            at: 0.0,
            acknowledged: false,
        }
    }
}

impl FromFields for Damage {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            kind: fields.take("kind"),
            expected: fields.take("expected"),
            found: fields.take("found"),
            lost: fields.take("lost"),
            missing: fields.take("missing"),
            unreadable: fields.take("unreadable"),
            at: fields.take("at"),
            acknowledged: fields.take("acknowledged"),
        }
    }
}

/// What was met that is not as it was written.
#[derive(Default)]
pub(super) struct Losses {
    unreadable: SortedSet<(Store, Key)>,
    /// Messages of which there is no record.
    missing: SortedSet<Key>,
    /// The same by count, where they were counted later than at the opening.
    missing_by_count: u64,
    /// What the person has been told of, in this session or an earlier one.
    told: Option<Damage>,
}

impl Losses {
    fn unreadable(&self) -> Unreadable {
        let count = |wanted: Store| self.unreadable.iter().filter(|(store, _)| *store == wanted).count() as u64;
        Unreadable {
            conversations: count(Store::Conversations),
            messages: count(Store::Messages),
            facts: count(Store::Facts),
            notes: count(Store::Notes),
        }
    }
}

impl Engine {
    /// A record of user data was met that cannot be read as it was written.
    pub(super) fn note_unreadable(&self, store: Store, key: &Key) {
        self.losses.borrow_mut().unreadable.insert((store, key.clone()));
    }

    /// A message was met of which there is no record.
    pub(super) fn note_missing(&self, id: &str, seq: Seq) {
        self.losses.borrow_mut().missing.insert(key![id, seq]);
    }

    /// What was erased is missed no longer: a conversation, or these messages of it (rising).
    pub(super) fn forget_losses_of(&self, id: &str, seqs: Option<&[Seq]>) {
        let losses = &mut *self.losses.borrow_mut();
        let stays = |key: &Key| {
            let is_of_it = matches!(key.0.first(), Some(KeyPart::Text(of)) if of == id);
            let is_meant = || seqs.is_none_or(|seqs| seq_of(key).is_some_and(|seq| seqs.binary_search(&seq).is_ok()));
            !(is_of_it && is_meant())
        };
        let (unreadable, missing) = (losses.unreadable(), losses.missing.len() as u64);
        losses.unreadable.retain(&|(store, key)| *store == Store::Facts || stays(key));
        losses.missing.retain(&stays);
        let now = losses.unreadable();
        if let Some(told) = &mut losses.told {
            // As many more are further damage.
            let lower = |told: &mut u64, before: u64, after: u64| *told = told.saturating_sub(before - after);
            lower(&mut told.missing, missing, losses.missing.len() as u64);
            lower(&mut told.unreadable.messages, unreadable.messages, now.messages);
            lower(&mut told.unreadable.notes, unreadable.notes, now.notes);
            lower(&mut told.unreadable.conversations, unreadable.conversations, now.conversations);
            let is_over = told.lost.is_none() && told.missing == 0 && told.unreadable == Unreadable::default();
            losses.told.take_if(|told| is_over && !told.acknowledged);
        }
    }

    /// Adds to a commit that erases everything the end of what is kept of damage; to be followed by
    /// [`Self::forget_all_losses`].
    pub(super) fn delete_damage(commit: &mut Commit) {
        commit.deletes.push((Store::Meta, key![DAMAGE]));
    }

    /// Everything was erased.
    pub(super) fn forget_all_losses(&self) {
        self.losses.take();
    }

    /// So many messages are not there by count.
    pub(super) fn tell_missing_by_count(&self, missing: u64) {
        self.losses.borrow_mut().missing_by_count = missing;
        self.tell_losses();
    }

    /// Tells of what was met since, once.
    pub(super) fn tell_losses(&self) {
        let damage = {
            let losses = &mut *self.losses.borrow_mut();
            let missing = losses.missing_by_count.max(losses.missing.len() as u64);
            let unreadable = losses.unreadable();
            let is_told = losses
                .told
                .as_ref()
                .is_some_and(|told| missing <= told.missing && !unreadable.exceeds(&told.unreadable));
            if is_told || (missing == 0 && unreadable == Unreadable::default()) {
                return;
            }
            let known = losses.told.take().filter(|told| !told.acknowledged);
            let mut damage = known.unwrap_or_else(|| Damage::of(DamageKind::Damaged));
            damage.missing = damage.missing.max(missing);
            damage.unreadable = unreadable;
            damage.at = self.now_ms();
            losses.told = Some(damage.clone());
            damage
        };
        self.emit(&Event::new("storage", json!({ "state": "damaged", "damage": damage })));
    }

    /// Adds to the damage that was found at the opening what was met while the small records were read. `missing` is how
    /// many messages are not there by count.
    pub(super) fn with_losses(&self, damage: Option<Damage>, missing: u64, known: Option<Damage>) -> Option<Damage> {
        let losses = &mut *self.losses.borrow_mut();
        let unreadable = losses.unreadable();
        let accepted = known.clone().unwrap_or_else(|| Damage::of(DamageKind::Damaged));
        let is_worse = missing > accepted.missing || unreadable.exceeds(&accepted.unreadable);
        let damage = match damage {
            None if is_worse => {
                let known = known.clone().filter(|known| !known.acknowledged);
                Some(known.unwrap_or_else(|| Damage::of(DamageKind::Damaged)))
            }
            damage => damage,
        };
        losses.told = match damage {
            Some(damage) => Some(Damage { missing, unreadable, at: self.now_ms(), ..damage }),
            None => known,
        };
        losses.told.clone().filter(|told| !told.acknowledged)
    }

    /// Damage that was found and is not acknowledged.
    #[must_use]
    pub fn damage(&self) -> Option<Damage> {
        self.losses.borrow().told.clone().filter(|told| !told.acknowledged)
    }

    /// What an earlier session has kept.
    pub(super) async fn read_damage(&self) -> Result<Option<Damage>> {
        let found = self.host.storage.get(vec![(Store::Meta, key![DAMAGE])]).await?.pop().flatten();
        Ok(found.and_then(|record| decode::<Damage>(Store::Meta, &record).ok()))
    }

    /// Goes on with what is left, on the word of whoever calls: the damage is kept until it is acknowledged, marks of before
    /// say nothing any more, conversations whose own record is gone are made again from their messages. A store without a
    /// name gets `store_id`.
    ///
    /// # Errors
    /// What the storage reports.
    pub async fn accept_damage(&self, store_id: &str) -> Result<()> {
        self.ensure_open()?;
        let Some(damage) = self.damage() else { return Ok(()) };
        // What an import left is no conversation that lost its record.
        self.sweep_staged().await?;
        self.restore_conversations().await?;
        let mut commit = Commit { strict: true, ..Commit::default() };
        self.put_next_generation(Some(store_id), &mut commit).await?;
        commit.puts.push((Store::Meta, key![DAMAGE], encode(&damage)?));
        self.host.storage.commit(commit).await?;
        self.reread_evidence().await?;
        self.mend_jobs().await?;
        Ok(())
    }

    /// The person knows: from now on only further damage is told.
    ///
    /// # Errors
    /// What the storage reports.
    pub async fn acknowledge_damage(&self) -> Result<()> {
        self.ensure_open()?;
        let Some(damage) = self.damage() else { return Ok(()) };
        let damage = Damage { acknowledged: true, ..damage };
        let puts = vec![(Store::Meta, key![DAMAGE], encode(&damage)?)];
        self.host.storage.commit(Commit { puts, strict: true, ..Commit::default() }).await?;
        self.losses.borrow_mut().told = Some(damage);
        Ok(())
    }

    /// Reads every message and fact, and answers the damage that is known then.
    ///
    /// # Errors
    /// What the storage reports.
    pub async fn verify(&self) -> Result<Option<Damage>> {
        self.ensure_open()?;
        self.refresh_conversations().await?;
        let conversations: Vec<(String, Seq)> = {
            let state = self.state.borrow();
            let records = state.conversations.iter();
            records.map(|(id, conversation)| (id.clone(), conversation.stored.value.last_seq)).collect()
        };
        for (id, last_seq) in conversations {
            let mut from = 1;
            while from <= last_seq {
                self.ensure_open()?;
                let until = last_seq.min(from.saturating_add(PAGE - 1));
                self.read_messages(&id, from, until, None).await?;
                from = until.saturating_add(1);
                self.host.clock.sleep(0.0).await;
            }
        }
        Ok(self.damage())
    }
}
