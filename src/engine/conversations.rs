//! Conversations: create, read, list, change, delete.

use super::Engine;
use super::erasure::erased_key;
use super::event::Event;
use super::loading::job_key;
use super::projects::forget_project;
use super::staging::staged_key;
use super::stored::Stored;
use super::sync_conversation::settings_at;
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields, deserialize_as_json};
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Store};
use crate::records::{ConversationRecord, JobKind, JobRecord};
use crate::secrets::{LEFT_OUT, without_secrets};
use crate::sorting;
use serde::Serialize;

/// Name of the record that counts creations.
pub(super) const BIRTHS: &str = "conversations";

/// Counts creations of conversations, and how often all of them were erased; never goes back.
#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct Births {
    pub(super) last: u32,
    /// Erasures of everything of the user. Databases from before they were counted have none.
    pub(super) erasures: u32,
}

impl FromFields for Births {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { last: fields.take("last"), erasures: fields.take_or("erasures", 0) }
    }
}

deserialize_as_json!(Births);

/// What is read of the first message for a title, in bytes.
const TITLE_READ_BYTES: usize = 4_096;
/// Longest title taken from the first message, in characters.
const TITLE_CHARACTERS: usize = 50;
/// Tries of a change that other tabs keep overtaking.
pub(super) const WRITE_TRIES: u32 = 100;

/// What a new conversation is given.
#[derive(Clone, Debug, Default)]
pub struct NewConversation {
    /// Its id.
    pub id: String,
    /// Its title; left out, the first user text is the title.
    pub title: Option<String>,
    /// A group of conversations that belong together.
    pub project_id: Option<String>,
    /// False: a temporary chat. Default true.
    pub remember: Option<bool>,
    /// The conversation that it does a part of the work of. It is in no list but that of its parent's parts, nothing of it
    /// is found or used elsewhere, and it goes with its parent.
    pub parent_id: Option<String>,
    /// When it was made, where it was made elsewhere, milliseconds since 1970; by default now.
    pub created_at: Option<f64>,
    /// When it was changed last, milliseconds since 1970; by default as `created_at`.
    pub updated_at: Option<f64>,
    /// The app that it is imported from.
    pub source: Option<String>,
    /// Hash of what is imported.
    pub import_hash: Option<String>,
    /// For imports: [`Engine::erasures_of_all`] when the import began. Where everything was erased since, nothing is made.
    pub erasures: Option<u32>,
    /// For imports: it is made even where the user erased it.
    pub bring_back: bool,
    /// From another store: when it was made there, under whichever of these times. It is not made where the user erased one
    /// of them.
    pub made_at: Vec<f64>,
}

impl FromFields for NewConversation {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            title: fields.take("title"),
            project_id: fields.take("projectId"),
            remember: fields.take("remember"),
            parent_id: fields.take("parentId"),
            created_at: fields.take("createdAt"),
            updated_at: fields.take("updatedAt"),
            source: fields.take("source"),
            import_hash: fields.take("importHash"),
            erasures: fields.take("erasures"),
            bring_back: fields.take_or("bringBack", false),
            made_at: Vec::new(),
        }
    }
}

/// What is changed; fields left out stay as they are.
#[derive(Clone, Debug, Default)]
pub struct ConversationUpdate {
    /// The conversation.
    pub id: String,
    /// New title; none, or an empty one, goes back to the first user text.
    pub title: Option<Option<String>>,
    /// New project, or none.
    pub project_id: Option<Option<String>>,
    /// Whether it is remembered from now on.
    pub remember: Option<bool>,
    /// The app that it was imported from.
    pub source: Option<String>,
    /// Hash of what was imported. Setting it, or `source`, alone is no change that `updatedAt` tells.
    pub import_hash: Option<String>,
}

impl FromFields for ConversationUpdate {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            title: fields.given("title"),
            project_id: fields.given("projectId"),
            remember: fields.take("remember"),
            source: fields.take("source"),
            import_hash: fields.take("importHash"),
        }
    }
}

/// A conversation as the app sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConversationView {
    /// The id.
    pub id: String,
    /// The title: as set, else the first user text cut at 50 characters, else "Untitled".
    pub title: String,
    /// The project, where given.
    pub project_id: Option<String>,
    /// False for a temporary chat.
    pub remember: bool,
    /// The conversation that it does a part of the work of.
    pub parent_id: Option<String>,
    /// Milliseconds since 1970.
    pub created_at: f64,
    /// Milliseconds since 1970.
    pub updated_at: f64,
    /// Number of messages, those of every branch.
    pub message_count: Seq,
    /// Whether a message has been edited or answered anew: then some messages are not on the active path.
    pub has_branches: bool,
    /// Tokens of all messages, those of every branch.
    pub tokens: u64,
    /// The app that it was imported from.
    pub source: Option<String>,
    /// Hash of what was imported, as the importer gave it.
    pub import_hash: Option<String>,
}

/// A page of conversations, newest first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ConversationPage {
    /// The page.
    pub items: Vec<ConversationView>,
    /// Give this as `before` for the next page; `None` on the last one.
    pub next: Option<String>,
}

impl From<&ConversationRecord> for ConversationView {
    fn from(record: &ConversationRecord) -> Self {
        let title = record.title.as_ref().or(record.first_text.as_ref());
        Self {
            id: record.id.clone(),
            title: title.cloned().unwrap_or_else(|| "Untitled".to_owned()),
            project_id: record.project_id.clone(),
            remember: record.remember,
            parent_id: record.parent_id.clone(),
            created_at: record.created_at,
            updated_at: record.updated_at,
            message_count: record.last_seq.saturating_sub(record.removed),
            has_branches: !record.is_linear(),
            tokens: record.tokens,
            source: record.source.clone(),
            import_hash: record.import_hash.clone(),
        }
    }
}

/// Background work of a conversation of which nothing is done.
pub(super) fn new_jobs(conversation_id: &str, born: u32) -> [JobRecord; 3] {
    JobKind::ALL.map(|kind| JobRecord {
        kind,
        conversation_id: conversation_id.to_owned(),
        born,
        done_until_seq: 0,
        model: None,
        attempts: 0,
        not_before: 0.0,
        last_error: None,
        epoch: 0,
        skipped: Vec::new(),
    })
}

/// The background work of a conversation of which no record is left.
pub(super) fn jobs_anew(conversation: &ConversationRecord) -> [JobRecord; 3] {
    new_jobs(&conversation.id, conversation.born).map(|job| match job.kind {
        // What was said is not asked about a second time.
        JobKind::Extract => JobRecord { done_until_seq: conversation.last_seq, ..job },
        _ => job,
    })
}

/// The title that a first user text gives: its first line without secrets, cut at 50 characters. They are looked for in the
/// whole text, since a line may only end what introduces one.
pub(super) fn title_from(text: &str) -> Option<String> {
    // Nobody reads further for a title than this.
    let text = text.trim_start();
    let text = text.get(..text.floor_char_boundary(TITLE_READ_BYTES)).unwrap_or(text);
    let text = without_secrets(text, LEFT_OUT);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().take(TITLE_CHARACTERS).collect::<String>().trim_end().to_owned())
}

impl Engine {
    /// Makes a conversation.
    ///
    /// # Errors
    /// `conflict` when the id is taken, or an import would make what the user erased, `invalid_argument` for an id that is empty or too long, `aborted` for an import
    /// that began before everything was erased.
    pub async fn create_conversation(&self, new: NewConversation) -> Result<ConversationView> {
        self.ensure_open()?;
        self.check_id("a conversation id", &new.id)?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            self.ensure_open()?;
            let reserved = staged_key(&new.id);
            let mut keys = vec![
                (Store::Meta, key![BIRTHS]),
                (Store::Conversations, key![new.id.as_str()]),
                (Store::Meta, reserved.clone()),
            ];
            if let (Some(created_at), Some(_), false) = (new.created_at, new.erasures, new.bring_back) {
                keys.push((Store::Meta, erased_key(&new.id, created_at)));
            }
            let mut found = self.host.storage.get(keys).await?.into_iter();
            let counter = found.next().flatten();
            if found.next().flatten().is_some() {
                return Err(Error::new(Code::Conflict, "a conversation with this id exists already; use another id"));
            }
            if found.next().flatten().is_some() {
                return Err(Error::new(
                    Code::StorageConflict,
                    "a conversation with this id is just being imported; wait for the import",
                ));
            }
            if found.next().flatten().is_some() {
                return Err(Error::new(
                    Code::Conflict,
                    "the user erased this conversation; import it with bringBack to have it again",
                ));
            }
            let mut births = births_of(counter.as_ref());
            if new.erasures.is_some_and(|known| known != births.erasures) {
                return Err(erased_meanwhile());
            }
            // Numbers are never used twice, whatever became of the counter.
            births.last = births.last.max(self.state.borrow().born).saturating_add(1);
            let mut checks = vec![
                Check { store: Store::Meta, key: key![BIRTHS], body: counter.map(|record| record.body) },
                Check { store: Store::Conversations, key: key![new.id.as_str()], body: None },
                Check { store: Store::Meta, key: reserved, body: None },
            ];
            checks.extend(not_erased(&new.id, &new.made_at));
            if let Some(parent_id) = &new.parent_id {
                // It may be erased just now.
                checks.push(self.conversation_check(parent_id).await?.1);
            }
            if let Some(view) = self.write_new_conversation(&new, births, checks).await? {
                self.emit(&Event::conversation(&new.id, "created"));
                return Ok(view);
            }
        }
        Err(overtaken())
    }

    /// One try: `None` when another tab was faster.
    async fn write_new_conversation(
        &self,
        new: &NewConversation,
        births: Births,
        checks: Vec<Check>,
    ) -> Result<Option<ConversationView>> {
        let born = births.last;
        let created_at = new.created_at.unwrap_or_else(|| self.now_ms());
        let record = Stored::new(ConversationRecord {
            id: new.id.clone(),
            born,
            title: new.title.clone().filter(|title| !title.trim().is_empty()),
            project_id: new.project_id.clone(),
            remember: new.remember.unwrap_or(true),
            created_at,
            updated_at: new.updated_at.unwrap_or(created_at),
            last_seq: 0,
            tokens: 0,
            first_text: None,
            active_leaf: None,
            removed: 0,
            imported_until_seq: 0,
            has_local: false,
            parent_id: new.parent_id.clone(),
            notes: 0,
            episodes: Vec::new(),
            source: new.source.clone(),
            import_hash: new.import_hash.clone(),
            settings_at: 0.0,
            turned_at: 0.0,
            creations: Vec::new(),
        })?;
        let births = Stored::new(births)?;
        let mut commit = Commit {
            checks,
            puts: vec![
                (Store::Conversations, key![new.id.as_str()], record.record()),
                (Store::Meta, key![BIRTHS], births.record()),
            ],
            strict: true,
            ..Commit::default()
        };
        let mut jobs = Vec::new();
        for job in new_jobs(&new.id, born) {
            let job = Stored::new(job)?;
            commit.puts.push((Store::Jobs, job_key(job.value.kind, &new.id), job.record()));
            jobs.push(job);
        }
        if !self.commit(commit).await? {
            return Ok(None);
        }
        let view = ConversationView::from(&record.value);
        let state = &mut *self.state.borrow_mut();
        state.put_conversation(record);
        if let Some(conversation) = state.conversations.get_mut(&new.id) {
            conversation.jobs = jobs.into_iter().map(|job| (job.value.kind, job)).collect();
        }
        Ok(Some(view))
    }

    /// How often everything of the user was erased, in any tab.
    pub async fn erasures_of_all(&self) -> Result<u32> {
        self.ensure_open()?;
        Ok(self.births().await?.0.erasures)
    }

    /// The counter of conversations, and the check that it is still so.
    pub(super) async fn births(&self) -> Result<(Births, Check)> {
        let found = self.host.storage.get(vec![(Store::Meta, key![BIRTHS])]).await?.pop().flatten();
        let mut births = births_of(found.as_ref());
        births.last = births.last.max(self.state.borrow().born);
        Ok((births, Check { store: Store::Meta, key: key![BIRTHS], body: found.map(|record| record.body) }))
    }

    /// Counts one more erasure of everything, in its commit.
    pub(super) async fn count_erasure_of_all(&self, commit: &mut Commit) -> Result<()> {
        let (births, check) = self.births().await?;
        let births = Stored::new(Births { erasures: births.erasures.wrapping_add(1), ..births })?;
        commit.checks.push(check);
        commit.puts.push((Store::Meta, key![BIRTHS], births.record()));
        Ok(())
    }

    /// A conversation.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn get_conversation(&self, id: &str) -> Result<ConversationView> {
        self.ensure_open()?;
        Ok(ConversationView::from(&self.refresh_record(id).await?))
    }

    /// Conversations by last change, newest first. `before` is the `next` of the page before.
    pub async fn list_conversations(&self, limit: Option<u32>, before: Option<&str>) -> Result<ConversationPage> {
        self.list_parts(None, limit, before).await
    }

    /// The same of the conversations that do a part of one's work; of those that are no part, with none.
    pub async fn list_parts(
        &self,
        parent_id: Option<&str>,
        limit: Option<u32>,
        before: Option<&str>,
    ) -> Result<ConversationPage> {
        self.ensure_open()?;
        self.refresh_conversations().await?;
        let state = self.state.borrow();
        let known = &state.conversations;
        let mut records: Vec<ConversationView> = known
            .values()
            .filter(|conversation| {
                // One whose parent is gone belongs to nobody.
                let parent = conversation.stored.value.parent_id.as_ref().filter(|id| known.contains_key(*id));
                parent.map(String::as_str) == parent_id
            })
            .map(|conversation| ConversationView::from(&conversation.stored.value))
            .collect();
        sorting::sort_by(&mut records, &|a, b| b.updated_at.total_cmp(&a.updated_at).then_with(|| b.id.cmp(&a.id)));
        let start = match before {
            Some(id) => records.iter().position(|record| record.id == id).map_or(records.len(), |index| index + 1),
            None => 0,
        };
        let limit = limit.unwrap_or(50).max(1) as usize;
        let items: Vec<ConversationView> = records.iter().skip(start).take(limit).cloned().collect();
        let next = (start + items.len() < records.len()).then(|| items.last().map(|item| item.id.clone())).flatten();
        Ok(ConversationPage { items, next })
    }

    /// The conversations that do a part of this one's work, as far as they are known here.
    pub(super) fn parts_of(&self, id: &str) -> Vec<String> {
        let state = self.state.borrow();
        let parts = state.conversations.iter().filter(|(_, one)| one.stored.value.parent_id.as_deref() == Some(id));
        parts.map(|(id, _)| id.clone()).collect()
    }

    /// Changes title, project or `remember`.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn update_conversation(&self, update: ConversationUpdate) -> Result<ConversationView> {
        self.ensure_open()?;
        let _turn = self.writes.enter().await;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            let (before, check) = self.conversation_check(&update.id).await?;
            let mut record = before.clone();
            if let Some(title) = &update.title {
                record.title = title.clone().filter(|title| !title.trim().is_empty());
            }
            if let Some(project_id) = &update.project_id {
                record.project_id = project_id.clone().filter(|id| !id.is_empty());
            }
            record.remember = update.remember.unwrap_or(record.remember);
            let is_import = update.source.is_some() || update.import_hash.is_some();
            if !is_import || update.title.is_some() || update.project_id.is_some() || update.remember.is_some() {
                record.updated_at = self.now_ms();
            }
            if update.title.is_some() || update.project_id.is_some() || update.remember.is_some() {
                // Later than all that was seen, whatever this device's clock says.
                record.settings_at = self.now_ms().max(settings_at(&before) + 1.0);
            }
            record.source = update.source.clone().or(record.source);
            record.import_hash = update.import_hash.clone().or(record.import_hash);
            let moves = (&before.project_id, before.remember) != (&record.project_id, record.remember);
            let stored = Stored::new(record)?;
            let mut commit = Commit {
                checks: vec![check],
                puts: vec![(Store::Conversations, key![update.id.as_str()], stored.record())],
                strict: true,
                ..Commit::default()
            };
            if moves && !before.episodes.is_empty() {
                forget_project(before.project_id.as_deref(), &mut commit);
            }
            if self.commit(commit).await? {
                let view = ConversationView::from(&stored.value);
                {
                    let state = &mut *self.state.borrow_mut();
                    state.put_conversation(stored);
                    state.unsettle_project(before.project_id.as_deref().filter(|_| moves));
                }
                self.emit(&Event::conversation(&update.id, "updated"));
                return Ok(view);
            }
        }
        Err(overtaken())
    }

    /// Removes a conversation and everything derived from it: messages, vectors, summaries, jobs, and the facts whose
    /// only source it is. One that is not there is no error.
    pub async fn delete_conversation(&self, id: &str) -> Result<()> {
        match self.erase_with_parts(id).await {
            Err(error) if error.code != Code::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// Lets other tabs through after some tries that they were faster in; not all losers wait for the same time.
    pub(super) async fn pause_before_try(&self, attempt: u32) {
        if attempt > 2 {
            self.host.clock.sleep(f64::from(attempt * 7 % 13) + 1.0).await;
        }
    }

    /// The record as storage has it now.
    pub(super) async fn refresh_record(&self, id: &str) -> Result<ConversationRecord> {
        let found = self.read_unless_erased(vec![(Store::Conversations, key![id])]).await?.pop().flatten();
        let Some(record) = found else {
            self.forget_conversations(&|known| known == id);
            return Err(no_conversation());
        };
        let stored: Stored<ConversationRecord> = Stored::read(Store::Conversations, &record)?;
        let value = stored.value.clone();
        self.take_conversation_in(stored);
        Ok(value)
    }

    /// The record, and the check that it is still so.
    pub(super) async fn conversation_check(&self, id: &str) -> Result<(ConversationRecord, Check)> {
        let record = self.refresh_record(id).await?;
        let state = self.state.borrow();
        let conversation = state.conversations.get(id).ok_or_else(no_conversation)?;
        Ok((record, conversation.stored.check(Store::Conversations, key![id])))
    }
}

/// That nobody erased a conversation that was made at one of these times.
pub(super) fn not_erased(id: &str, made_at: &[f64]) -> impl Iterator<Item = Check> {
    let marks: Vec<_> = made_at.iter().map(|at| erased_key(id, *at)).collect();
    marks.into_iter().map(|key| Check { store: Store::Meta, key, body: None })
}

/// None where they cannot be read: they are begun anew above every conversation.
fn births_of(record: Option<&crate::ports::Record>) -> Births {
    record.and_then(|record| super::stored::decode(Store::Meta, record).ok()).unwrap_or_default()
}

fn erased_meanwhile() -> Error {
    Error::new(
        Code::Aborted,
        "everything was erased while this was imported; import it again if it is wanted after all",
    )
}

/// A conversation is named that is not there.
pub(super) fn no_conversation() -> Error {
    Error::not_found("there is no conversation with this id; create it first")
}

/// Other tabs were faster every time.
pub(super) fn overtaken() -> Error {
    Error::new(Code::StorageConflict, "other tabs kept changing the same record; try again")
}

crate::json_reader::deserialize_as_json!(NewConversation, ConversationUpdate);
