//! Exchanging changes with another store of the same user (docs/sync.md): what there is, pieces of it for the other side,
//! and pieces of the other side taken in.
//!
//! A store says of each conversation only in which version it is; who exchanges keeps the versions that the other side has
//! seen, asks for pieces from there on, and hands them over. Every piece is merged by rules that do not depend on order or
//! number: a message is known by a name of its own, what was erased by a mark, what can be changed by who changed it last.
//! So a piece that comes twice, late or again from the beginning changes nothing, and a lost cursor costs only time.

use super::Engine;
use super::conversation_stamp::ConversationStamp;
use super::conversations::overtaken;
use super::erasure::{ERASED, erased_key};
use super::stored::{Stored, decode, encode};
use super::sync_conversation::Position;
use super::sync_piece::ConversationPiece;
use crate::error::{Code, Error, Result};
use crate::hash::fnv1a;
use crate::json_reader::{Fields, FromFields, FromJson, json_names};
use crate::json_text::value_text;
use crate::key;
use crate::ports::{Check, Commit, Key, KeyPart, Query, Record, Store};
use crate::records::ConversationRecord;
use crate::sorted_map::SortedMap;
use crate::sorting;
use serde::Serialize;
use serde_json::{Value, json};

/// Under this name, in the store of small records, are this store's name among those that exchange and, behind it, what
/// each peer has seen.
pub(super) const SYNC: &str = "sync";

/// A step of an exchange.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SyncStep {
    /// What there is.
    #[default]
    State,
    /// A piece for the other side.
    Read,
    /// A piece of the other side.
    Take,
    /// What was kept about a peer.
    Load,
    /// Keeps something about a peer.
    Save,
    /// The other side counts more erasures of everything.
    Follow,
}

json_names!(SyncStep { State: "state", Read: "read", Take: "take", Load: "load", Save: "save", Follow: "follow" });

/// What a step is given.
#[derive(Clone, Debug, Default)]
pub struct SyncRequest {
    /// The step.
    pub step: SyncStep,
    /// This store's name from now on, where it has none yet (state).
    pub name: String,
    /// Of which conversation (read); none: of what belongs to none.
    pub conversation_id: Option<String>,
    /// What the other side has seen (read).
    pub since: Option<String>,
    /// The piece (take).
    pub piece: Value,
    /// The peer (load, save).
    pub peer: String,
    /// What is kept about it (save).
    pub kept: Value,
    /// Erasures of everything on the other side (follow).
    pub generation: u32,
}

impl FromFields for SyncRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            step: fields.take("step"),
            name: fields.take_or("name", String::new()),
            conversation_id: fields.take("conversationId"),
            since: fields.take("since"),
            piece: fields.take_or("piece", Value::Null),
            peer: fields.take_or("peer", String::new()),
            kept: fields.take_or("kept", Value::Null),
            generation: fields.take_or("generation", 0),
        }
    }
}

/// What a store is among those that exchange.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct SyncRecord {
    /// Its name, which begins the names of messages that have no id of their own.
    pub(super) name: String,
    /// Erasures of everything that it knows of.
    pub(super) generation: u32,
    /// It has met another store. Until then it takes another's count over without erasing anything.
    pub(super) joined: bool,
}

impl FromFields for SyncRecord {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { name: fields.take("name"), generation: fields.take("generation"), joined: fields.take("joined") }
    }
}

impl FromFields for ErasedPiece {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { erased: fields.take("erased") }
    }
}

/// Marks of erased conversations.
struct ErasedPiece {
    erased: Vec<String>,
}

/// What became of a piece.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Taken {
    /// How heads call the conversation.
    pub mark: Option<String>,
    /// The version that it was merged into; `None`: it was not here.
    pub before: Option<String>,
    /// The version that it has now, where nothing but the piece made it another than `before`.
    pub after: Option<String>,
    /// It follows something that is not here: the piece from the beginning is needed.
    pub missing: bool,
    /// What is here counts where the piece says otherwise: the other side must hear of it.
    pub differs: bool,
}

fn place() -> (Store, Key) {
    (Store::Meta, key![SYNC])
}

/// How a conversation is known to a peer that is not to know its id for ever: by a hash, another for one made anew.
pub(super) fn mark_of(record: &ConversationRecord) -> String {
    format!("{:016x}", fnv1a(record.id.bytes().chain(record.born.to_le_bytes())))
}

impl Engine {
    /// Carries out a step of an exchange.
    ///
    /// # Errors
    /// `invalid_argument` for a piece that cannot be, `not_found` (read, the conversation), `storage_*`.
    pub async fn sync(&self, request: SyncRequest) -> Result<Value> {
        self.ensure_open()?;
        match request.step {
            SyncStep::State => self.sync_state(request.name).await,
            SyncStep::Read => match &request.conversation_id {
                Some(id) => self.read_conversation_piece(id, request.since.as_deref()).await,
                // Behind so many facts.
                None => match request.since.as_deref().and_then(|since| since.strip_prefix("facts.")?.parse().ok()) {
                    Some(behind) => self.read_facts_piece(behind).await,
                    None => self.read_erased_piece().await,
                },
            },
            SyncStep::Take => self.take_piece(request.piece).await,
            SyncStep::Load => {
                let found = self.host.storage.get(vec![(Store::Meta, key![SYNC, request.peer.as_str()])]).await?;
                let kept = found.into_iter().flatten().next();
                // What cannot be read costs only time.
                Ok(kept
                    .and_then(|record| decode::<Kept>(Store::Meta, &record).ok())
                    .map_or(Value::Null, |one| one.kept))
            }
            SyncStep::Save => {
                let record = encode(&Kept { kept: request.kept })?;
                let puts = vec![(Store::Meta, key![SYNC, request.peer.as_str()], record)];
                self.host.storage.commit(Commit { puts, ..Commit::default() }).await?;
                Ok(Value::Null)
            }
            SyncStep::Follow => self.follow(request.generation).await,
        }
    }

    /// What this store is among those that exchange; `None` where it never did.
    pub(super) async fn sync_record(&self) -> Result<Option<Stored<SyncRecord>>> {
        let found = self.host.storage.get(vec![place()]).await?.pop().flatten();
        let known: Option<Stored<SyncRecord>> = found.map(|record| Stored::read_or_default(Store::Meta, record));
        Ok(known.filter(|known| !known.value.name.is_empty()))
    }

    /// As [`Self::sync_record`], of a store that has begun to exchange.
    pub(super) async fn exchanging_as(&self) -> Result<Stored<SyncRecord>> {
        let known = self.sync_record().await?;
        known.ok_or_else(|| Error::invalid_argument("this store has no name yet; ask for its state first"))
    }

    async fn named_record(&self, name: String) -> Result<SyncRecord> {
        if let Some(known) = self.sync_record().await? {
            return Ok(known.value);
        }
        self.check_id("a store's name", &name)?;
        let record = Stored::new(SyncRecord { name, ..SyncRecord::default() })?;
        let (store, key) = place();
        let found = self.host.storage.get(vec![(store, key.clone())]).await?.pop().flatten();
        let commit = Commit {
            checks: vec![Check { store, key: key.clone(), body: found.map(|record| record.body) }],
            puts: vec![(store, key, record.record())],
            strict: true,
            ..Commit::default()
        };
        if self.host.storage.commit(commit).await? {
            return Ok(record.value);
        }
        let known = self.sync_record().await?;
        known.map(|known| known.value).ok_or_else(overtaken)
    }

    async fn sync_state(&self, name: String) -> Result<Value> {
        let own = self.named_record(name).await?;
        let stamp = self.host.storage.get(vec![ConversationStamp::place()]).await?.pop().flatten();
        let records = self.scan(Query::prefix(Store::Conversations, key![])).await?;
        let mut known: SortedMap<String, (ConversationRecord, String)> = SortedMap::new();
        for (_, record) in records {
            // One that cannot be read is not exchanged; the other side may have it whole.
            if let Ok(one) = decode::<ConversationRecord>(Store::Conversations, &record) {
                let version = Position::of(&one, &record.body).to_string();
                known.insert(one.id.clone(), (one, version));
            }
        }
        let erased = self.host.storage.count(Store::Meta, key![ERASED]).await?;
        let mut heads: Vec<(usize, &String, Value)> = Vec::new();
        for (id, (record, version)) in known.iter() {
            // What does a part of another's work comes after it, and stays where that stays.
            let mut depth = 0;
            let mut at = record;
            let mut stays = is_unfinished(record);
            while let Some((parent, _)) = at.parent_id.as_ref().and_then(|id| known.get(id)).filter(|_| depth < 9) {
                stays |= !parent.remember;
                depth += 1;
                at = parent;
            }
            if !stays {
                heads.push((depth, id, json!([id, mark_of(record), version, record.remember])));
            }
        }
        sorting::sort_by(&mut heads, &|a, b| (a.0, a.1).cmp(&(b.0, b.1)));
        let stamp = stamp.map_or(0, |record| fnv1a(record.body.bytes()));
        Ok(json!({
            "store": own.name,
            "generation": own.generation,
            "version": format!("{stamp:016x}.{erased}.{}", own.generation),
            "erased": erased,
            "facts": self.digest_of_facts(&own).await?,
            "heads": heads.into_iter().map(|(_, _, head)| head).collect::<Vec<Value>>(),
        }))
    }

    /// The marks of all erased conversations: hashes, which bring nothing back.
    async fn read_erased_piece(&self) -> Result<Value> {
        let marks = self.scan(Query::prefix(Store::Meta, key![ERASED])).await?;
        let marks = marks.into_iter().filter_map(|(key, _)| match key.0.into_iter().nth(1) {
            Some(KeyPart::Text(mark)) => Some(Value::String(mark)),
            _ => None,
        });
        Ok(json!({ "piece": { "erased": marks.collect::<Vec<Value>>() } }))
    }

    async fn take_piece(&self, piece: Value) -> Result<Value> {
        let taken = if piece.get("erased").is_some() {
            self.take_erased(read_piece(piece)?).await?;
            Taken::default()
        } else if piece.get("facts").is_some() {
            self.take_facts_piece(read_piece(piece)?).await?;
            Taken::default()
        } else {
            let piece: ConversationPiece = read_piece(piece)?;
            self.take_conversation_piece(piece).await?
        };
        Ok(json!(taken))
    }

    /// Erases what another store erased, and keeps its marks: nothing of it comes back, from whichever store.
    async fn take_erased(&self, piece: ErasedPiece) -> Result<()> {
        if piece.erased.iter().any(|mark| mark.len() != 16 || !mark.bytes().all(|byte| byte.is_ascii_hexdigit())) {
            return Err(unusable("a mark of an erased conversation is none"));
        }
        let keys = piece.erased.iter().map(|mark| (Store::Meta, key![ERASED, mark.as_str()])).collect();
        let known = self.host.storage.get(keys).await?;
        let body = value_text(&json!({ "at": self.now_ms() }));
        let fresh = piece.erased.iter().zip(known).filter(|(_, known)| known.is_none());
        let puts: Vec<_> = fresh
            .map(|(mark, _)| (Store::Meta, key![ERASED, mark.as_str()], Record { body: body.clone(), blob: None }))
            .collect();
        if !puts.is_empty() {
            self.host.storage.commit(Commit { puts, strict: true, ..Commit::default() }).await?;
        }
        let mut marks: Vec<KeyPart> = piece.erased.into_iter().map(KeyPart::Text).collect();
        sorting::sort(&mut marks);
        for (_, record) in self.scan(Query::prefix(Store::Conversations, key![])).await? {
            let Ok(known) = decode::<ConversationRecord>(Store::Conversations, &record) else { continue };
            let is_meant = |at: f64| {
                let mark = erased_key(&known.id, at).0.pop();
                mark.is_some_and(|mark| marks.binary_search(&mark).is_ok())
            };
            if known.made_at().any(is_meant) {
                self.delete_conversation(&known.id).await?;
            }
        }
        Ok(())
    }

    /// Takes over how often everything was erased elsewhere, and erases everything where that was after this store had met
    /// the other. What was there before the two met has nothing to do with it.
    async fn follow(&self, generation: u32) -> Result<Value> {
        let known = self.exchanging_as().await?;
        let is_new = generation > known.value.generation;
        if is_new && known.value.joined {
            self.erase_everything(Some(generation)).await?;
            return Ok(json!({ "erased": true }));
        }
        if is_new || !known.value.joined {
            let generation = generation.max(known.value.generation);
            let next = Stored::new(SyncRecord { generation, joined: true, ..known.value.clone() })?;
            let (store, key) = place();
            let checks = vec![known.check(store, key.clone())];
            let commit = Commit { checks, puts: vec![(store, key, next.record())], strict: true, ..Commit::default() };
            if !self.host.storage.commit(commit).await? {
                return Err(overtaken());
            }
        }
        Ok(json!({ "erased": false }))
    }

    /// Adds to the erasure of everything what its peers must know of it: that it was, one time more. What was kept about
    /// them goes.
    pub(super) async fn count_for_peers(&self, generation: Option<u32>, commit: &mut Commit) -> Result<()> {
        let Some(known) = self.sync_record().await? else { return Ok(()) };
        let (store, key) = place();
        commit.checks.push(known.check(store, key.clone()));
        let generation = generation.unwrap_or(known.value.generation.saturating_add(1)).max(known.value.generation);
        let next = Stored::new(SyncRecord { generation, ..known.value })?;
        commit.delete_prefixes.push((store, key.clone()));
        commit.puts.push((store, key, next.record()));
        Ok(())
    }
}

/// What is just being imported is exchanged once it is whole.
fn is_unfinished(record: &ConversationRecord) -> bool {
    record.source.is_some() && record.import_hash.is_none()
}

/// A piece that cannot be.
pub(super) fn unusable(problem: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("sync: a piece of the other side cannot be used: {problem}"))
}

/// A piece as its type.
pub(super) fn read_piece<T: FromJson>(piece: Value) -> Result<T> {
    T::read(piece).map_err(|problem| unusable(&problem))
}

/// What is kept about a peer.
#[derive(Serialize)]
struct Kept {
    kept: Value,
}

impl FromFields for Kept {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { kept: fields.take_or("kept", Value::Null) }
    }
}

crate::json_reader::deserialize_as_json!(SyncRequest);
