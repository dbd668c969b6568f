//! The active path of a conversation: the messages from a root to the active leaf. They alone are in contexts, summaries,
//! searches and extraction; the other branches stay in storage.
//!
//! A message's parent always has a lower position, so positions rise along every path.

use super::state::{Conversation, MessageMeta};
use crate::message::Seq;

impl Conversation {
    /// The messages of the active path, oldest first.
    pub(crate) fn path(&self) -> impl DoubleEndedIterator<Item = &MessageMeta> + Clone {
        self.path_from(0)
    }

    /// The messages of the active path from a position on.
    pub(crate) fn path_from(&self, seq: Seq) -> impl DoubleEndedIterator<Item = &MessageMeta> + Clone {
        let start = self.path.partition_point(|on| *on < seq);
        self.path.iter().skip(start).filter_map(|on| self.message(*on))
    }

    /// The newest message of the active path; 0: there is none.
    pub(crate) fn leaf_seq(&self) -> Seq {
        self.path.last().copied().unwrap_or(0)
    }

    /// How many messages of the active path come before a position.
    pub(crate) fn place_of(&self, seq: Seq) -> Seq {
        self.path.partition_point(|on| *on < seq) as Seq
    }

    /// The message at a place of the active path, from 1; 0 where there is none.
    pub(crate) fn at_place(&self, place: Seq) -> Seq {
        (place as usize).checked_sub(1).and_then(|index| self.path.get(index)).copied().unwrap_or(0)
    }

    /// Whether a message is on the active path.
    pub(crate) fn is_active(&self, seq: Seq) -> bool {
        // Most conversations have no branches.
        self.path.len() == self.messages.len() || self.path.binary_search(&seq).is_ok()
    }

    /// A message and those before it up to the root, oldest first.
    pub(crate) fn path_to(&self, seq: Seq) -> Vec<Seq> {
        let mut path = Vec::new();
        let mut next = self.message(seq);
        while let Some(message) = next {
            path.push(message.seq);
            next = self.message(message.parent_seq);
        }
        path.reverse();
        path
    }

    /// A message and all that follow it on any branch, in order.
    pub(crate) fn subtree(&self, seq: Seq) -> Vec<Seq> {
        let mut found = vec![seq];
        for message in self.messages.iter().skip(seq as usize) {
            if !message.is_removed && found.binary_search(&message.parent_seq).is_ok() {
                found.push(message.seq);
            }
        }
        found
    }

    /// Everything that storage has of it is here, the active path is the one that its record names, and all of it is in
    /// the index.
    pub(crate) fn is_loaded(&self) -> bool {
        let record = &self.stored.value;
        self.loaded_until_seq() >= record.last_seq
            && self.removed == record.removed
            && self.leaf_seq() == record.leaf()
            && self.returned.is_empty()
    }

    /// Puts a message onto the path as it is taken in, where each follows the one before it. Where the one before it is not on
    /// the path (it was read before the record that has it), [`Self::follow_leaf`] puts all of them there.
    pub(crate) fn place_if_linear(&mut self, seq: Seq) {
        if self.stored.value.is_linear() && self.leaf_seq() + 1 == seq {
            self.path.push(seq);
            self.placed_until_seq = seq;
        }
    }

    /// Makes the path end where the record says, once that is loaded. Answers the documents that belong to no message of
    /// the path any more; what came onto it and is not in the index is in `returned` then.
    pub(crate) fn follow_leaf(&mut self) -> Vec<u32> {
        let leaf = self.stored.value.leaf();
        let loaded_until = self.loaded_until_seq();
        if loaded_until < leaf || self.removed != self.stored.value.removed {
            return Vec::new();
        }
        let mut fresh = Vec::new();
        let mut common = leaf;
        while common != 0 && self.path.binary_search(&common).is_err() {
            fresh.push(common);
            common = self.message(common).map_or(0, |message| message.parent_seq);
        }
        fresh.reverse();
        let mut left = self.path.split_off(self.path.partition_point(|on| *on <= common));
        self.path.extend(&fresh);
        left.extend(self.placed_until_seq + 1..=loaded_until);
        self.placed_until_seq = loaded_until;
        let mut documents = Vec::new();
        for seq in left {
            if self.path.binary_search(&seq).is_err() {
                documents.extend(self.message_mut(seq).and_then(MessageMeta::take_document));
            }
        }
        let is_missing = |seq: &Seq| self.message(*seq).is_some_and(|one| one.has_text && one.document().is_none());
        let mut returned: Vec<Seq> = self.returned.iter().copied().filter(|seq| *seq <= common).collect();
        returned.extend(fresh);
        returned.retain(is_missing);
        self.returned = returned;
        documents
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::stored::Stored;
    use crate::records::ConversationRecord;
    use crate::store::{Record, Store};

    fn record(last_seq: Seq) -> Stored<ConversationRecord> {
        let fields = r#""id":"c","born":1,"remember":true,"createdAt":0,"updatedAt":0,"tokens":0"#;
        let body = format!(r#"{{{fields},"lastSeq":{last_seq}}}"#);
        Stored::read(Store::Conversations, &Record { body, blob: None }).unwrap()
    }

    fn take_in(conversation: &mut Conversation, seqs: std::ops::RangeInclusive<Seq>) {
        for seq in seqs {
            conversation.place_if_linear(seq);
            let mut message = MessageMeta::new(seq, "");
            message.parent_seq = seq - 1;
            conversation.messages.push(message);
        }
    }

    #[test]
    fn messages_read_before_the_record_that_has_them_leave_no_hole() {
        let mut conversation = Conversation::new(0, record(4));
        // Another tab appended three between the reading of the record and of the messages.
        take_in(&mut conversation, 1..=7);
        conversation.follow_leaf();
        assert_eq!(conversation.path, [1, 2, 3, 4]);
        conversation.stored = record(8);
        take_in(&mut conversation, 8..=8);
        assert!(!conversation.is_loaded(), "the path has yet to follow the record");
        conversation.follow_leaf();
        assert_eq!(conversation.path, (1..=8).collect::<Vec<_>>());
        assert!(conversation.is_loaded());
    }
}
