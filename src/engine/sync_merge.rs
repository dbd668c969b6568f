//! A piece of another store's conversation, merged into this one.
//!
//! Messages are added, never changed: each is known by its name, stands behind the one that it follows there, and is left out
//! where it was removed here. Marks of removed messages remove them here too. Title, project and `remember` are those that
//! were set last, and so is each note. Where the active path ends was decided last on one side, and that counts; at the same
//! time, the longer path, and then the greater name. Two conversations of one id that were made apart become one.

use super::Engine;
use super::append::is_titling;
use super::conversations::{NewConversation, WRITE_TRIES, not_erased, overtaken, title_from};
use super::event::Event;
use super::message_ids::{put_id, put_mark, removed_id};
use super::projects::forget_project;
use super::restored_conversation::BackupMessage;
use super::state::{Conversation, MessageMeta};
use super::stored::{Stored, content_hash, encode};
use super::sync::{SyncRecord, Taken, mark_of, unusable};
use super::sync_conversation::{Position, ids_of_name, leaf_at, name_of, settings_at};
use crate::error::{Code, Result};
use crate::json_reader::{Fields, FromFields};
use crate::key;
use crate::message::{Format, Seq};
use crate::ports::{Check, Commit, KeyPart, Query, Store};
use crate::records::{ConversationRecord, JobKind, MessageIdRecord, MessageRecord, MessageStatus};
use crate::session_records::NoteRecord;
use crate::sorted_map::SortedMap;
use crate::sorting;

/// What is new in a conversation of another store.
pub(super) struct ConversationPiece {
    id: String,
    made_at: Vec<f64>,
    updated_at: f64,
    parent_id: Option<String>,
    source: Option<String>,
    import_hash: Option<String>,
    /// It is from the beginning: what is not in it is nowhere.
    is_whole: bool,
    settings: PieceSettings,
    leaf: PieceLeaf,
    messages: Vec<PieceMessage>,
    removed: Vec<PieceMark>,
    notes: Vec<NoteRecord>,
}

struct PieceSettings {
    title: Option<String>,
    project_id: Option<String>,
    remember: bool,
    at: f64,
}

/// Where the active path ends there, and since when.
struct PieceLeaf {
    name: Option<String>,
    at: f64,
}

struct PieceMessage {
    name: String,
    parent: Option<String>,
    format: Format,
    raw: String,
    created_at: f64,
    imported: bool,
    aborted: bool,
    /// Facts were looked for in it there.
    is_read: bool,
}

/// A message that was removed, and what it followed.
struct PieceMark {
    mark: String,
    parent: Option<String>,
}

impl FromFields for ConversationPiece {
    fn from_fields(fields: &mut Fields) -> Self {
        let created_at: f64 = fields.take("createdAt");
        let mut made_at: Vec<f64> = fields.take_or("creations", Vec::new());
        made_at.push(created_at);
        Self {
            id: fields.take("id"),
            made_at,
            updated_at: fields.take("updatedAt"),
            parent_id: fields.take("parentId"),
            source: fields.take("source"),
            import_hash: fields.take("importHash"),
            is_whole: fields.take("isWhole"),
            settings: fields.take("settings"),
            leaf: fields.take("leaf"),
            messages: fields.take("messages"),
            removed: fields.take("removed"),
            notes: fields.take("notes"),
        }
    }
}

impl FromFields for PieceSettings {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            title: fields.take("title"),
            project_id: fields.take("projectId"),
            remember: fields.take("remember"),
            at: fields.take("at"),
        }
    }
}

impl FromFields for PieceLeaf {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { name: fields.take("name"), at: fields.take("at") }
    }
}

impl FromFields for PieceMessage {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            name: fields.take("name"),
            parent: fields.take("parent"),
            format: fields.take("format"),
            raw: fields.take("raw"),
            created_at: fields.take("createdAt"),
            imported: fields.take_or("imported", false),
            aborted: fields.take_or("aborted", false),
            is_read: fields.take_or("isRead", false),
        }
    }
}

impl FromFields for PieceMark {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { mark: fields.take("mark"), parent: fields.take("parent") }
    }
}

/// Where messages are here, by the names that a piece mentions.
struct Places {
    own: SyncRecord,
    born: u32,
    located: SortedMap<String, MessageIdRecord>,
    /// What the piece adds, and what it has that was removed here.
    placed: SortedMap<String, Seq>,
}

/// What a piece adds.
#[derive(Default)]
struct Added {
    records: Vec<MessageRecord>,
    all_read: bool,
    /// It follows something that is not here.
    missing: bool,
}

impl Places {
    fn ids_of(&self, name: &str) -> Vec<String> {
        ids_of_name(&self.own, self.born, name)
    }

    /// A message that is here.
    fn find(&self, name: &str) -> Option<Seq> {
        let (_, hash) = name.rsplit_once('~')?;
        let located = self.ids_of(name).into_iter().filter_map(|id| self.located.get(&id));
        located.filter(|located| located.content_hash == hash).map(|located| located.seq).next()
    }

    /// What stands for a message that was removed here: the one that it followed.
    fn removed(&self, name: &str, conversation: &Conversation) -> Option<Seq> {
        let seq = self.located.get(&removed_id(name))?.seq;
        let stays = conversation.message(seq).is_some_and(|message| !message.is_removed);
        Some(if stays { seq } else { 0 })
    }

    fn resolve(&self, name: &str, conversation: &Conversation) -> Option<Seq> {
        let placed = self.placed.get(name).copied();
        placed.or_else(|| self.find(name)).or_else(|| self.removed(name, conversation))
    }
}

/// How many messages stand in front of one, without those that stay on this device.
fn depth(conversation: &Conversation, mut seq: Seq) -> usize {
    let mut depth = 0;
    while let Some(message) = conversation.message(seq) {
        depth += usize::from(!message.local_only);
        seq = message.parent_seq;
    }
    depth
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

impl PieceSettings {
    fn is_of(&self, record: &ConversationRecord) -> bool {
        (&self.title, &self.project_id, self.remember) == (&record.title, &record.project_id, record.remember)
    }
}

impl ConversationPiece {
    fn check(&self) -> Result<()> {
        let times = [self.updated_at, self.settings.at, self.leaf.at];
        let times = times.iter().chain(&self.made_at).chain(self.messages.iter().map(|message| &message.created_at));
        if times.into_iter().any(|time| !time.is_finite()) || self.made_at.len() > MOST_CREATIONS {
            return Err(unusable("a time cannot be"));
        }
        for message in &self.messages {
            let hash = message.name.rsplit_once('~').map(|(_, hash)| hash);
            if hash != Some(content_hash(&message.raw).as_str()) {
                return Err(unusable("a message is called by another's content"));
            }
        }
        let is_mark = |mark: &str| mark.strip_prefix("removed:").is_some_and(|hash| hash.len() == 16);
        if self.removed.iter().any(|one| !is_mark(&one.mark)) {
            return Err(unusable("a mark of a removed message is none"));
        }
        Ok(())
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let messages = self.messages.iter().flat_map(|one| std::iter::once(&one.name).chain(&one.parent));
        messages.chain(self.removed.iter().filter_map(|one| one.parent.as_ref())).chain(&self.leaf.name)
    }
}

/// A conversation's record with its text.
type Conversed = Stored<ConversationRecord>;

/// Devices that made a conversation of one id apart.
const MOST_CREATIONS: usize = 100;

impl Engine {
    /// Merges a piece of a conversation.
    pub(super) async fn take_conversation_piece(&self, piece: ConversationPiece) -> Result<Taken> {
        piece.check()?;
        self.check_id("a conversation id", &piece.id)?;
        let marks = not_erased(&piece.id, &piece.made_at).map(|check| (check.store, check.key)).collect();
        if self.host.storage.get(marks).await?.iter().any(Option::is_some) {
            return Ok(Taken::default());
        }
        let place = vec![(Store::Conversations, key![piece.id.as_str()])];
        let is_new = self.host.storage.get(place).await?.into_iter().flatten().next().is_none();
        if is_new && !self.make_for_peer(&piece).await? {
            return Ok(Taken::default());
        }
        let merged = match self.merge_piece(&piece).await {
            Ok(merged) => merged,
            // It was erased meanwhile.
            Err(error) if error.code == Code::NotFound => return Ok(Taken::default()),
            Err(error) => return Err(error),
        };
        let Some((before, after)) = merged else { return Ok(Taken { missing: true, ..Taken::default() }) };
        let is_cut = self.take_marks(&piece).await?;
        let (is_turned, stays) = self.settle_leaf(&piece).await?;
        let is_changed = is_cut || is_turned;
        let version = |stored: &Conversed| Position::of(&stored.value, &stored.body).to_string();
        if is_new || is_changed || before.body != after.body {
            self.emit(&Event::conversation(&piece.id, "synced"));
        }
        let was_empty = is_new && before.value.last_seq == 0;
        Ok(Taken {
            mark: Some(mark_of(&after.value)),
            before: Some(version(&before)).filter(|_| !was_empty),
            after: Some(version(&after)).filter(|_| !is_changed),
            missing: false,
            differs: stays || !piece.settings.is_of(&after.value),
        })
    }

    /// Makes a conversation that another store has; false where it has no place here.
    async fn make_for_peer(&self, piece: &ConversationPiece) -> Result<bool> {
        let settings = &piece.settings;
        if !settings.remember {
            return Ok(false);
        }
        let earliest = piece.made_at.iter().copied().fold(f64::INFINITY, f64::min);
        let new = NewConversation {
            id: piece.id.clone(),
            title: settings.title.clone(),
            project_id: settings.project_id.clone(),
            remember: Some(true),
            parent_id: piece.parent_id.clone(),
            created_at: Some(earliest),
            updated_at: Some(piece.updated_at),
            source: piece.source.clone(),
            import_hash: piece.import_hash.clone(),
            made_at: piece.made_at.clone(),
            ..NewConversation::default()
        };
        match self.create_conversation(new).await {
            Ok(_) => Ok(true),
            // Another call was faster; or the conversation that it is a part of is not here, or erased.
            Err(error) if error.code == Code::Conflict => Ok(true),
            Err(error) if error.code == Code::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Everything of a piece but its marks and the turn of the path, in one commit; answers the record before and after.
    /// `None`: the piece follows something that is not here.
    async fn merge_piece(&self, piece: &ConversationPiece) -> Result<Option<(Conversed, Conversed)>> {
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            self.refresh(&piece.id).await?;
            let mut places = self.places_of(piece).await?;
            let before = self.stored_conversation(&piece.id)?;
            let added = self.added_by(piece, &before.value, &mut places)?;
            if added.missing {
                return Ok(None);
            }
            let mut commit = Commit { strict: true, ..Commit::default() };
            let mut record = before.value.clone();
            let moves = merge_header(piece, &mut record);
            if moves && !record.episodes.is_empty() {
                forget_project(before.value.project_id.as_deref(), &mut commit);
            }
            self.put_added(piece, &added, &places, &mut record, &mut commit)?;
            self.merge_notes(piece, &mut record, &mut commit).await?;
            if record == before.value {
                return Ok(Some((before.clone(), before)));
            }
            commit.checks.push(before.check(Store::Conversations, key![piece.id.as_str()]));
            commit.checks.extend(not_erased(&piece.id, &piece.made_at));
            let (last_seq, next_seq) = (before.value.last_seq, record.last_seq);
            let jobs = self.change_jobs(&piece.id, &mut commit, &|job| {
                let is_next = job.kind == JobKind::Extract && job.done_until_seq == last_seq;
                if is_next && added.all_read {
                    job.done_until_seq = next_seq;
                }
            })?;
            let stored = Stored::new(record)?;
            commit.puts.push((Store::Conversations, key![piece.id.as_str()], stored.record()));
            if self.commit(commit).await? {
                self.take_conversation_in(stored.clone());
                for job in jobs {
                    self.put_job(&piece.id, job);
                }
                self.state.borrow_mut().unsettle_project(before.value.project_id.as_deref().filter(|_| moves));
                // What fails here is read by the next call.
                let _ = self.refresh(&piece.id).await;
                return Ok(Some((before, stored)));
            }
        }
        Err(overtaken())
    }

    /// Looks up everything that a piece mentions.
    async fn places_of(&self, piece: &ConversationPiece) -> Result<Places> {
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
    fn added_by(&self, piece: &ConversationPiece, before: &ConversationRecord, places: &mut Places) -> Result<Added> {
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
    fn put_added(
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

    /// Each note as it was changed last.
    async fn merge_notes(
        &self,
        piece: &ConversationPiece,
        record: &mut ConversationRecord,
        commit: &mut Commit,
    ) -> Result<()> {
        if piece.notes.is_empty() {
            return Ok(());
        }
        let known = self.note_records(&piece.id).await?;
        let mut is_changed = false;
        for note in &piece.notes {
            self.check_id("a note's id", &note.id)?;
            let here = known.iter().find(|known| known.id == note.id);
            let order = |note: &NoteRecord| (note.updated_at, note.content.clone());
            if here.is_some_and(|here| order(here) >= order(note)) {
                continue;
            }
            let created_at = here.map_or(note.created_at, |here| here.created_at.min(note.created_at));
            let note = NoteRecord { created_at, ..note.clone() };
            commit.puts.push((Store::Notes, key![piece.id.as_str(), note.id.as_str()], encode(&note)?));
            is_changed = true;
        }
        record.notes += u32::from(is_changed);
        Ok(())
    }

    /// Removes what was removed there, and keeps the marks of what is not here.
    async fn take_marks(&self, piece: &ConversationPiece) -> Result<bool> {
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

    /// Turns the active path where it was decided there, later than here, that it ends elsewhere; answers whether it
    /// did, and whether the path that is shown here counts, so that the other side must hear of it.
    async fn settle_leaf(&self, piece: &ConversationPiece) -> Result<(bool, bool)> {
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

/// What a piece says about the conversation itself; answers whether it moves to another project or is remembered otherwise.
fn merge_header(piece: &ConversationPiece, record: &mut ConversationRecord) -> bool {
    let mut times: Vec<f64> = record.made_at().collect();
    for at in &piece.made_at {
        if !times.iter().any(|known| known.round().total_cmp(&at.round()).is_eq()) {
            times.push(*at);
        }
    }
    if times.len() > 1 + record.creations.len() {
        record.settings_at = settings_at(record);
        sorting::sort_by(&mut times, &|a, b| a.total_cmp(b));
        record.created_at = times.remove(0);
        record.creations = times;
    }
    record.updated_at = record.updated_at.max(piece.updated_at);
    record.source = record.source.take().or_else(|| piece.source.clone());
    record.import_hash = record.import_hash.take().or_else(|| piece.import_hash.clone());
    let settings = &piece.settings;
    let here = (record.title.clone(), record.project_id.clone(), record.remember);
    let there = (settings.title.clone(), settings.project_id.clone(), settings.remember);
    let order = settings.at.total_cmp(&settings_at(record));
    if order.then_with(|| there.cmp(&here)).is_lt() {
        return false;
    }
    (record.title, record.project_id, record.remember) = there;
    // Set to the same again, it was set later all the same.
    if settings.at > settings_at(record) {
        record.settings_at = settings.at;
    }
    (&here.1, here.2) != (&record.project_id, record.remember)
}
