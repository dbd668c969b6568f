//! The messages of a piece in this store: where those are that it names, and those that are new put behind the ones that they
//! follow.

use super::Engine;
use super::append::is_titling;
use super::conversations::title_from;
use super::message_ids::{put_id, removed_id};
use super::restored_conversation::BackupMessage;
use super::state::Conversation;
use super::stored::encode;
use super::sync::SyncRecord;
use super::sync_conversation::{ids_of_name, leaf_at};
use super::sync_piece::ConversationPiece;
use crate::error::Result;
use crate::key;
use crate::message::Seq;
use crate::ports::{Commit, Store};
use crate::records::{ConversationRecord, MessageIdRecord, MessageRecord, MessageStatus};
use crate::sorted_map::SortedMap;
use crate::sorting;

/// Where messages are here, by the names that a piece mentions.
pub(super) struct Places {
    pub(super) own: SyncRecord,
    pub(super) born: u32,
    pub(super) located: SortedMap<String, MessageIdRecord>,
    /// What the piece adds, and what it has that was removed here.
    pub(super) placed: SortedMap<String, Seq>,
}

/// What a piece adds.
#[derive(Default)]
pub(super) struct Added {
    pub(super) records: Vec<MessageRecord>,
    pub(super) all_read: bool,
    /// It follows something that is not here.
    pub(super) missing: bool,
}

impl Places {
    pub(super) fn ids_of(&self, name: &str) -> Vec<String> {
        ids_of_name(&self.own, self.born, name)
    }

    /// A message that is here.
    pub(super) fn find(&self, name: &str) -> Option<Seq> {
        let (_, hash) = name.rsplit_once('~')?;
        let located = self.ids_of(name).into_iter().filter_map(|id| self.located.get(&id));
        located.filter(|located| located.content_hash == hash).map(|located| located.seq).next()
    }

    /// What stands for a message that was removed here: the one that it followed.
    pub(super) fn removed(&self, name: &str, conversation: &Conversation) -> Option<Seq> {
        let seq = self.located.get(&removed_id(name))?.seq;
        let stays = conversation.message(seq).is_some_and(|message| !message.is_removed);
        Some(if stays { seq } else { 0 })
    }

    pub(super) fn resolve(&self, name: &str, conversation: &Conversation) -> Option<Seq> {
        let placed = self.placed.get(name).copied();
        placed.or_else(|| self.find(name)).or_else(|| self.removed(name, conversation))
    }
}

/// The new message of a position, where there is one.
fn added_at(added: &[MessageRecord], seq: Seq) -> Option<&MessageRecord> {
    seq.checked_sub(added.first()?.seq).and_then(|index| added.get(index as usize))
}

/// What the new messages that end with this one follow.
fn behind_added(added: &[MessageRecord], mut seq: Seq) -> Seq {
    while let Some(message) = added_at(added, seq) {
        seq = message.parent_seq;
    }
    seq
}

impl Engine {
    /// Looks up everything that a piece mentions.
    pub(super) async fn places_of(&self, piece: &ConversationPiece) -> Result<Places> {
        let own = self.exchanging_as().await?.value;
        let born = self.stored_conversation(&piece.id)?.value.born;
        let mut places = Places { own, born, located: SortedMap::new(), placed: SortedMap::new() };
        let mut ids: Vec<String> = piece.names().flat_map(|name| places.ids_of(name)).collect();
        ids.extend(piece.names().map(|name| removed_id(name)));
        sorting::sort(&mut ids);
        ids.dedup();
        let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
        places.located = self.located_ids(&piece.id, &ids, false).await?;
        Ok(places)
    }

    /// The messages of a piece that are new here, as records.
    pub(super) fn added_by(
        &self,
        piece: &ConversationPiece,
        before: &ConversationRecord,
        places: &mut Places,
    ) -> Result<Added> {
        let mut added = Added { all_read: true, ..Added::default() };
        let state = self.state.borrow();
        let Some(conversation) = state.conversation(&piece.id) else { return Ok(added) };
        let mut ids: SortedMap<String, ()> = SortedMap::new();
        for message in &piece.messages {
            let known = places.find(&message.name).or_else(|| places.removed(&message.name, conversation));
            if let Some(seq) = known {
                places.placed.insert(message.name.clone(), seq);
                continue;
            }
            if places.placed.contains_key(&message.name) {
                continue;
            }
            let parent_seq = match &message.parent {
                None => 0,
                Some(parent) => match places.resolve(parent, conversation) {
                    Some(seq) => seq,
                    None if piece.is_whole => 0,
                    None => {
                        added.missing = true;
                        return Ok(added);
                    }
                },
            };
            let seq = before.last_seq + added.records.len() as Seq + 1;
            let id = message.name.rsplit_once('~').map_or("", |(id, _)| id);
            let is_taken = places.located.contains_key(id) || ids.contains_key(id);
            let id = if is_taken { message.name.as_str() } else { id };
            ids.insert(id.to_owned(), ());
            let status = if message.aborted { MessageStatus::Aborted } else { MessageStatus::Complete };
            let given = BackupMessage {
                seq,
                id: Some(id.to_owned()),
                parent_seq: Some(parent_seq),
                format: message.format,
                raw: message.raw.clone(),
                created_at: message.created_at,
                imported: message.imported,
                local_only: false,
                removed: false,
                status,
            };
            added.all_read &= message.is_read;
            added.records.push(self.restored_message(&piece.id, given, seq, parent_seq, message.imported)?);
            places.placed.insert(message.name.clone(), seq);
        }
        Ok(added)
    }

    /// Adds new messages to the record and the commit, and lets the path go on where they go on from its end.
    pub(super) fn put_added(
        &self,
        piece: &ConversationPiece,
        added: &Added,
        places: &Places,
        record: &mut ConversationRecord,
        commit: &mut Commit,
    ) -> Result<()> {
        let Some(first) = added.records.first() else { return Ok(()) };
        let id = piece.id.as_str();
        let leaf = record.leaf();
        let follows = added.records.iter().all(|message| message.parent_seq + 1 == message.seq);
        let last_seq = first.seq + added.records.len() as Seq - 1;
        let was_imported = record.imported_until_seq == record.last_seq;
        if was_imported && added.records.iter().all(|message| message.imported) {
            record.imported_until_seq = last_seq;
        }
        let new_leaf = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok(()) };
            let theirs = match &piece.leaf.name {
                Some(name) => places.resolve(name, conversation),
                None => Some(0),
            };
            match theirs {
                Some(theirs)
                    if (leaf == 0 || piece.leaf.at >= leaf_at(conversation, leaf, record))
                        && behind_added(&added.records, theirs) == leaf =>
                {
                    record.turned_at = record.turned_at.max(piece.leaf.at);
                    theirs
                }
                // It comes with a later piece.
                None if record.is_linear() && follows && first.parent_seq == leaf => last_seq,
                _ => leaf,
            }
        };
        let is_linear = record.is_linear() && follows && first.parent_seq == record.last_seq && new_leaf == last_seq;
        record.last_seq = last_seq;
        record.active_leaf = (!is_linear).then_some(new_leaf);
        let mut at = new_leaf;
        let mut first_text = None;
        while let Some(message) = added_at(&added.records, at) {
            first_text =
                Some(message).filter(|one| is_titling(one)).and_then(|one| title_from(&one.text)).or(first_text);
            at = message.parent_seq;
        }
        record.first_text = record.first_text.take().or(first_text);
        for message in &added.records {
            record.tokens += u64::from(message.tokens);
            let located = MessageIdRecord { seq: message.seq, content_hash: message.content_hash.clone() };
            commit.puts.push((Store::Messages, key![id, message.seq], encode(message)?));
            put_id(id, &message.id, &located, commit)?;
        }
        Ok(())
    }
}
