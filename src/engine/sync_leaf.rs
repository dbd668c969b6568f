//! Where the active path ends, where two stores say otherwise.

use super::Engine;
use super::state::{Conversation, MessageMeta};
use super::sync_conversation::{leaf_at, name_of};
use super::sync_messages::Places;
use super::sync_piece::ConversationPiece;
use crate::error::Result;
use crate::message::Seq;

/// How many messages stand in front of one, without those that stay on this device.
fn depth(conversation: &Conversation, mut seq: Seq) -> usize {
    let mut depth = 0;
    while let Some(message) = conversation.message(seq) {
        depth += usize::from(!message.local_only);
        seq = message.parent_seq;
    }
    depth
}

impl Engine {
    /// Turns the active path where it was decided there, later than here, that it ends elsewhere; answers whether it
    /// did, and whether the path that is shown here counts, so that the other side must hear of it.
    pub(super) async fn settle_leaf(&self, piece: &ConversationPiece) -> Result<(bool, bool)> {
        let id = piece.id.as_str();
        let Some(name) = &piece.leaf.name else {
            return Ok((false, self.stored_conversation(id)?.value.leaf() > 0));
        };
        self.refresh(id).await?;
        let places = self.places_of(piece).await?;
        let (seq, own_leaf, shown) = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok((false, false)) };
            let Some(seq) = places.resolve(name, conversation).filter(|seq| *seq > 0) else {
                return Ok((false, false));
            };
            // What stays on this device goes on from where the others see the end.
            let shown = conversation.stored.value.leaf();
            let mut leaf = shown;
            while conversation.is_local(leaf) {
                leaf = conversation.message(leaf).map_or(0, |message| message.parent_seq);
            }
            (seq, leaf, shown)
        };
        if seq == own_leaf {
            return Ok((false, false));
        }
        let own_name = self.name_here(id, own_leaf, &places).await?;
        let (wins, message_id) = {
            let state = self.state.borrow();
            let Some(conversation) = state.conversation(id) else { return Ok((false, false)) };
            let leaf = if own_leaf == 0 { shown } else { own_leaf };
            let at = leaf_at(conversation, leaf, &conversation.stored.value);
            let ours = (depth(conversation, own_leaf), own_name.as_str());
            let theirs = (depth(conversation, seq), name.as_str());
            // A path of nothing, which a removal can leave, gives way to any.
            let wins = shown == 0 || piece.leaf.at > at || (piece.leaf.at.total_cmp(&at).is_eq() && theirs > ours);
            (wins, conversation.message(seq).map(MessageMeta::id).unwrap_or_default())
        };
        if wins && !message_id.is_empty() {
            self.turn_path(id, &message_id, false, Some(piece.leaf.at)).await?;
            return Ok((true, false));
        }
        Ok((false, own_leaf > 0))
    }

    async fn name_here(&self, id: &str, seq: Seq, places: &Places) -> Result<String> {
        let message_id = self.state.borrow().conversation(id).and_then(|one| Some(one.message(seq)?.id()));
        let Some(message_id) = message_id else { return Ok(String::new()) };
        let located = self.located_ids(id, &[&message_id], false).await?;
        let hash = located.get(&message_id).map(|located| located.content_hash.clone()).unwrap_or_default();
        Ok(name_of(&places.own, places.born, seq, &message_id, &hash))
    }
}
