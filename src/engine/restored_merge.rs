//! A conversation of a backup that is here already: what the file has more is added, nothing is replaced.
//!
//! Messages are the same where they stand at the same position with the same content, as long as that holds of all before
//! them; and else where they follow the same message with the same content, or have the same id and content. What is not
//! here is added behind everything, as a branch where the chat went on otherwise. So a later backup extends what an
//! earlier one brought, and the same one again changes nothing. What the user removed here does not come back.
//!
//! The active path stays as it is, unless what is new goes on from its end. The title and everything else that the record
//! says stay too.

use super::Engine;
use super::append::{is_titling, no_such_message};
use super::conversations::title_from;
use super::loading::job_key;
use super::message_ids::{put_id, removed_id};
use super::restore::{Restore, changed_meanwhile, unusable};
use super::restored_conversation::{BackupMessage, Incoming};
use super::stored::{Stored, decode, encode};
use crate::error::Result;
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Record, Store};
use crate::records::{ConversationRecord, JobKind, JobRecord, MessageIdRecord};
use crate::session_records::NoteRecord;
use crate::sorted_map::SortedMap;
use crate::sorting;

/// Messages that one import may add to conversations that are here, and their bytes: they go into one commit.
const MOST_ADDED: usize = 20_000;
const MOST_ADDED_BYTES: usize = 64 * 1024 * 1024;
/// Messages of what is here that are read in one go.
const PAGE: u32 = 500;

/// What is needed of a message that is here.
struct Here {
    content: u64,
    parent_seq: Seq,
    removed: bool,
}

/// A conversation that is here, while the file's messages come in.
pub(super) struct Merge {
    before: ConversationRecord,
    check: Check,
    here: Vec<Here>,
    /// Parent and content to position, rising, without those that were removed.
    by_content: Vec<((Seq, u64), Seq)>,
    /// The same of what was added.
    added: SortedMap<(Seq, u64), Seq>,
    /// Ids of what was added, with its content.
    added_ids: SortedMap<String, (u64, Seq)>,
    /// Titles that added messages of the user would give, where the conversation has none.
    titles: SortedMap<Seq, String>,
    /// What each added message follows, in order.
    added_parents: Vec<Seq>,
    tokens: u64,
    newest_at: f64,
    /// A message of it stays on this device.
    has_local: bool,
    /// Each message of the file here; index + 1 is its position there.
    places: Vec<Seq>,
    /// So far every position held the same message, here and in the file.
    is_aligned: bool,
    /// Messages that were removed here come back.
    bring_back: bool,
    /// Positions in the file whose messages were removed here.
    left_out: Vec<Seq>,
}

/// What becomes of a message of the file that has an id of its own.
enum ById {
    /// It is added under this id.
    New(String),
    /// It is here.
    Here(Seq),
    /// The user removed it; what follows it follows this one.
    Removed(Seq),
}

impl Merge {
    fn place_of(&self, seq: Seq) -> Seq {
        (seq as usize).checked_sub(1).and_then(|index| self.places.get(index)).copied().unwrap_or(0)
    }

    fn last_seq(&self) -> Seq {
        self.before.last_seq + self.added_parents.len() as Seq
    }

    /// The message here that this one is, by its place among the others.
    fn counterpart(&mut self, seq: Seq, parent_seq: Seq, content: u64) -> Option<Seq> {
        let key = (parent_seq, content);
        let at = self.by_content.partition_point(|(known, _)| *known < key);
        let known = self.by_content.get(at).filter(|(known, _)| *known == key).map(|(_, seq)| *seq);
        let known = known.or_else(|| self.added.get(&key).copied());
        let at_place = if self.is_aligned { self.here.get(seq as usize - 1) } else { None };
        match at_place {
            // What follows it follows what it followed, unless it was brought back before.
            Some(here) if here.removed && !self.bring_back => {
                if known.is_none() {
                    self.left_out.push(seq);
                }
                return Some(known.unwrap_or(parent_seq));
            }
            Some(here) if here.content == content && here.parent_seq == parent_seq => return Some(seq),
            _ => {}
        }
        let is_at_place = at_place.is_some_and(|here| here.content == content);
        // Where the file has removed what a message follows, it follows another there and stands at its place here. Where an
        // earlier import has left that one out, it does not: positions say nothing from there on.
        self.is_aligned &= known.is_none() && is_at_place;
        known.or(is_at_place.then_some(seq))
    }

    /// What a message here, or an added one, follows.
    fn parent_of(&self, seq: Seq) -> Seq {
        let index = seq as usize - 1;
        let here = self.here.get(index).map(|here| here.parent_seq);
        here.or_else(|| self.added_parents.get(index - self.here.len()).copied()).unwrap_or(0)
    }

    /// What the first added message of the user says on the path that ends here.
    fn title_of(&self, leaf: Seq) -> Option<String> {
        let (mut at, mut first) = (leaf, None);
        while at > self.before.last_seq {
            first = self.titles.get(&at).or(first);
            at = self.parent_of(at);
        }
        first.cloned()
    }

    fn descends(&self, mut seq: Seq, from: Seq) -> bool {
        while seq > from {
            seq = self.parent_of(seq);
        }
        seq == from
    }
}

impl Engine {
    pub(super) async fn begin_merge(&self, known: &Record, bring_back: bool) -> Result<Merge> {
        let stored: Stored<ConversationRecord> = Stored::read(Store::Conversations, known)?;
        let before = stored.value.clone();
        let id = before.id.as_str();
        let mut here = Vec::new();
        while (here.len() as Seq) < before.last_seq {
            let from = here.len() as Seq + 1;
            let page = self.read_messages(id, from, before.last_seq, Some(PAGE)).await?;
            if page.first().is_none_or(|message| message.seq != from) {
                let standing = self.host.storage.get(vec![(Store::Conversations, key![id])]).await?.pop().flatten();
                if standing.as_ref() != Some(known) {
                    return Err(changed_meanwhile());
                }
                return Err(crate::error::Error::corrupt(
                    "messages of a conversation that the backup has too are missing from storage; erase that \
                     conversation here and import again",
                ));
            }
            here.extend(page.into_iter().map(|message| Here {
                content: crate::hash::fnv1a(message.raw.bytes()),
                parent_seq: message.parent_seq,
                removed: message.removed,
            }));
        }
        let stays = here.iter().zip(1..).filter(|(message, _)| !message.removed);
        let mut by_content: Vec<_> = stays.map(|(message, seq)| ((message.parent_seq, message.content), seq)).collect();
        sorting::sort(&mut by_content);
        Ok(Merge {
            check: stored.check(Store::Conversations, key![id]),
            here,
            by_content,
            added: SortedMap::new(),
            added_ids: SortedMap::new(),
            titles: SortedMap::new(),
            added_parents: Vec::new(),
            tokens: 0,
            newest_at: before.updated_at,
            has_local: false,
            places: Vec::new(),
            is_aligned: true,
            bring_back,
            left_out: Vec::new(),
            before,
        })
    }

    /// Finds the place of one message of the file, or adds it.
    pub(super) async fn merge_message(
        &self,
        restore: &mut Restore,
        message: BackupMessage,
        parent_seq: Seq,
    ) -> Result<()> {
        let Some(merge) = restore.current.as_mut().and_then(|current| current.merge.as_mut()) else { return Ok(()) };
        let parent_seq = merge.place_of(parent_seq);
        let content = crate::hash::fnv1a(message.raw.bytes());
        let place = match message.removed {
            true => Some(0),
            false => merge.counterpart(message.seq, parent_seq, content),
        };
        if let Some(place) = place {
            merge.places.push(place);
            return Ok(());
        }
        let mut id = None;
        if let Some(own) = &message.id {
            match self.by_id(merge, own, content).await? {
                ById::New(own) => id = Some(own),
                ById::Here(place) => {
                    merge.places.push(place);
                    return Ok(());
                }
                ById::Removed(place) => {
                    merge.left_out.push(message.seq);
                    merge.places.push(place);
                    return Ok(());
                }
            }
        }
        let seq = merge.last_seq().checked_add(1).ok_or_else(no_such_message)?;
        let conversation_id = merge.before.id.clone();
        let message = BackupMessage { id, ..message };
        let record = self.restored_message(&conversation_id, message, seq, parent_seq, true)?;
        merge.added.insert((parent_seq, content), seq);
        merge.added_ids.insert(record.id.clone(), (content, seq));
        if merge.before.first_text.is_none()
            && is_titling(&record)
            && let Some(title) = title_from(&record.text)
        {
            merge.titles.insert(seq, title);
        }
        merge.added_parents.push(parent_seq);
        merge.places.push(seq);
        merge.tokens += u64::from(record.tokens);
        merge.newest_at = merge.newest_at.max(record.created_at);
        merge.has_local |= record.local_only;
        let located = MessageIdRecord { seq, content_hash: record.content_hash.clone() };
        let body = encode(&record)?;
        restore.added += 1;
        restore.added_bytes += body.body.len();
        if restore.added > MOST_ADDED || restore.added_bytes > MOST_ADDED_BYTES {
            return Err(unusable(&format!(
                "it would add more than {MOST_ADDED} messages to conversations that are here already; erase those here \
                 first, or import it for another user"
            )));
        }
        let id = conversation_id.as_str();
        restore.last.puts.push((Store::Messages, key![id, seq], body));
        put_id(id, &record.id, &located, &mut restore.last)?;
        restore.report.messages += 1;
        Ok(())
    }

    /// Where a message is by its id, or under which it is added: one whose id is taken by other content is called by its
    /// content too.
    async fn by_id(&self, merge: &Merge, id: &str, content: u64) -> Result<ById> {
        let mut own = id.to_owned();
        let here = |seq: Seq| merge.here.get((seq as usize).wrapping_sub(1)).filter(|here| !here.removed);
        for _ in 0..2 {
            if let Some((known, seq)) = merge.added_ids.get(&own) {
                if *known == content {
                    return Ok(ById::Here(*seq));
                }
            } else {
                let mark = removed_id(&own);
                let known = self.located_ids(&merge.before.id, &[&own, &mark], false).await?;
                let located = known.get(&own).map(|located| located.seq);
                if let Some(seq) = located.filter(|seq| here(*seq).is_some_and(|here| here.content == content)) {
                    return Ok(ById::Here(seq));
                }
                if let (Some(gone), false) = (known.get(&mark), merge.bring_back) {
                    return Ok(ById::Removed(if here(gone.seq).is_some() { gone.seq } else { 0 }));
                }
                if located.is_none() {
                    return Ok(ById::New(own));
                }
            }
            own = format!("{id}~{:08x}", content >> 32);
        }
        Err(unusable("two messages of a conversation have the same id"))
    }

    /// Adds the notes of the user's own file that are not here.
    async fn add_notes(&self, restore: &mut Restore, id: &str, notes: &[NoteRecord]) -> Result<bool> {
        let notes = if restore.trusted { notes } else { &[] };
        let keys = notes.iter().map(|note| (Store::Notes, key![id, note.id.as_str()])).collect();
        let mut has_new = false;
        for (note, known) in notes.iter().zip(self.host.storage.get(keys).await?) {
            if known.is_none() {
                self.check_id("a note's id", &note.id)?;
                restore.last.puts.push((Store::Notes, key![id, note.id.as_str()], encode(note)?));
                has_new = true;
            }
        }
        Ok(has_new)
    }

    pub(super) async fn end_merge(&self, restore: &mut Restore, current: &Incoming, merge: Merge) -> Result<()> {
        let id = merge.before.id.clone();
        if merge.places.iter().zip(1..).any(|(place, seq)| *place != seq) {
            restore.moved.insert(id.clone(), merge.places.clone());
        }
        restore.report.erased_messages += merge.left_out.len() as u32;
        for seq in &merge.left_out {
            restore.left_out.insert((id.clone(), *seq));
        }
        let has_new_notes = self.add_notes(restore, &id, &current.notes).await?;
        let mut record = merge.before.clone();
        record.notes += u32::from(has_new_notes);
        if merge.added_parents.is_empty() {
            if has_new_notes {
                restore.last.checks.push(merge.check);
                restore.last.puts.push((Store::Conversations, key![id.as_str()], encode(&record)?));
            }
            restore.report.unchanged += 1;
            return Ok(());
        }
        let (leaf, last_seq) = (record.leaf(), merge.last_seq());
        let theirs = merge.place_of(current.leaf());
        let new_leaf = if merge.descends(theirs, leaf) { theirs } else { leaf };
        let follow = merge.added_parents.iter().zip(record.last_seq..).all(|(parent, seq)| *parent == seq);
        let is_linear = record.is_linear() && follow && new_leaf == last_seq;
        record.active_leaf = (!is_linear).then_some(new_leaf);
        record.last_seq = last_seq;
        record.tokens += merge.tokens;
        record.updated_at = merge.newest_at;
        record.has_local |= merge.has_local;
        record.imported_until_seq = last_seq;
        record.first_text = record.first_text.or_else(|| merge.title_of(new_leaf));
        let job_place = (Store::Jobs, job_key(JobKind::Extract, &id));
        let job = self.host.storage.get(vec![job_place.clone()]).await?.pop().flatten();
        if let Some(job) = job {
            let mut value: JobRecord = decode(Store::Jobs, &job)?;
            if value.done_until_seq == merge.before.last_seq {
                value.done_until_seq = last_seq;
                let (store, key) = job_place;
                restore.last.checks.push(Check { store, key: key.clone(), body: Some(job.body) });
                restore.last.puts.push((store, key, encode(&value)?));
            }
        }
        restore.last.checks.push(merge.check);
        restore.last.puts.push((Store::Conversations, key![id.as_str()], encode(&record)?));
        restore.report.updated += 1;
        restore.report.conversations.push(id);
        Ok(())
    }
}
