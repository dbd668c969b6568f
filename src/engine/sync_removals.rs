//! Messages that were removed in another store: they go from this one, and nothing brings them back.

use super::Engine;
use super::conversations::{WRITE_TRIES, overtaken};
use super::message_ids::{put_mark, removed_id};
use super::sync_conversation::name_of;
use super::sync_messages::Places;
use super::sync_piece::{ConversationPiece, PieceMark};
use crate::error::Result;
use crate::key;
use crate::ports::{Check, Commit, KeyPart, Query, Store};
use crate::sorting;

impl Engine {
    /// Removes what was removed there, and keeps the marks of what is not here.
    pub(super) async fn take_marks(&self, piece: &ConversationPiece) -> Result<bool> {
        let id = piece.id.as_str();
        let marks: Vec<&str> = piece.removed.iter().map(|one| one.mark.as_str()).collect();
        let known = self.located_ids(id, &marks, false).await?;
        let fresh: Vec<&PieceMark> = piece.removed.iter().filter(|one| !known.contains_key(&one.mark)).collect();
        if fresh.is_empty() {
            return Ok(false);
        }
        let places = self.places_of(piece).await?;
        let removed = self.messages_with_marks(id, &places, &fresh).await?;
        for message_id in &removed {
            self.remove_messages(id, message_id, false, false).await?;
        }
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.refresh(id).await?;
            let places = self.places_of(piece).await?;
            let kept = self.located_ids(id, &marks, false).await?;
            let mut commit = Commit { strict: true, ..Commit::default() };
            {
                let state = self.state.borrow();
                let Some(conversation) = state.conversation(id) else { return Ok(true) };
                commit.checks.push(conversation.stored.check(Store::Conversations, key![id]));
                for one in fresh.iter().filter(|one| !kept.contains_key(&one.mark)) {
                    let parent = one.parent.as_ref().and_then(|parent| places.resolve(parent, conversation));
                    let (store, key) = (Store::MessageIds, key![id, one.mark.as_str()]);
                    commit.checks.push(Check { store, key, body: None });
                    put_mark(id, &one.mark, parent.unwrap_or(0), &mut commit)?;
                }
            }
            if commit.puts.is_empty() || self.commit(commit).await? {
                return Ok(!removed.is_empty());
            }
        }
        Err(overtaken())
    }

    /// Ids of the messages here that marks of removed ones are about.
    async fn messages_with_marks(&self, id: &str, places: &Places, marks: &[&PieceMark]) -> Result<Vec<String>> {
        let mut found = Vec::new();
        let mut wanted: Vec<&str> = marks.iter().map(|one| one.mark.as_str()).collect();
        sorting::sort(&mut wanted);
        for (key, record) in self.scan(Query::prefix(Store::MessageIds, key![id])).await? {
            if let Some(KeyPart::Text(message_id)) = key.0.into_iter().nth(1) {
                let located = self.read_located(id, &message_id, &record).await?;
                let name = name_of(&places.own, places.born, located.seq, &message_id, &located.content_hash);
                if !located.content_hash.is_empty() && wanted.binary_search(&removed_id(&name).as_str()).is_ok() {
                    found.push(message_id);
                }
            }
        }
        Ok(found)
    }
}
