//! Importing a backup (docs/backup.md): all of it or nothing, and never over what is here.
//!
//! The facade hands over the lines of a file that it has checked as a whole; here every one is checked again for what it
//! says. A conversation that is not here is written under its own keys and stays invisible until the last commit
//! (`staging.rs`); what a conversation that is here gets, and facts, wait in memory for that commit. Whatever can be made
//! from a message is made from it, so a file cannot lie about it.
//!
//! A file that is not known to be the user's own is as good as any app's export: no model is asked about its messages by
//! itself, its summaries are not taken over, and its facts wait for approval.

use super::Engine;
use super::conversations::{BIRTHS, Births, WRITE_TRIES, overtaken};
use super::event::Event;
use super::restored_conversation::Incoming;
use super::restored_facts::IncomingFacts;
use super::restored_projects::IncomingProjects;
use super::staging::run_key;
use super::stored::Stored;
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields, FromJson, json_names};
use crate::json_text::value_text;
use crate::key;
use crate::message::Seq;
use crate::ports::{Check, Commit, Record, Store};
use crate::records::MAX_BACKUP_RECORDS;
use crate::sorted_map::{SortedMap, SortedSet};
use serde::Serialize;
use serde_json::{Value, json};

/// Records, and bytes of them, that are written in one commit before the last.
const STAGED_AT_ONCE: usize = 500;
const STAGED_BYTES: usize = 1024 * 1024;

/// A step of an import.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RestoreStep {
    /// It begins. What another one left is removed.
    #[default]
    Begin,
    /// The next lines, in the order of the file.
    Records,
    /// The file is over: everything becomes visible at once.
    Commit,
    /// It ends without a trace.
    Abort,
}

json_names!(RestoreStep { Begin: "begin", Records: "records", Commit: "commit", Abort: "abort" });

/// What a step is given.
#[derive(Clone, Debug, Default)]
pub struct RestoreRequest {
    /// The step.
    pub step: RestoreStep,
    /// Conversations in the file (begin).
    pub conversations: u32,
    /// The file is the user's own (begin).
    pub trusted: bool,
    /// What the user erased here comes back (begin).
    pub bring_back: bool,
    /// Lines as values (records).
    pub records: Vec<Value>,
}

impl FromFields for RestoreRequest {
    const STRICT: bool = true;

    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            step: fields.take("step"),
            conversations: fields.take_or("conversations", 0),
            trusted: fields.take_or("trusted", false),
            bring_back: fields.take_or("bringBack", false),
            records: fields.take_or("records", Vec::new()),
        }
    }
}

/// What an import has done: the answer of [`RestoreStep::Commit`], and nothing before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Restored {
    /// Conversations that are new.
    pub imported: u32,
    /// Conversations that were here and have more messages now.
    pub updated: u32,
    /// Conversations that were here with everything that the file has.
    pub unchanged: u32,
    /// Messages that are new.
    pub messages: u32,
    /// Facts that are new.
    pub facts: u32,
    /// Conversations that were left out, since the user erased them here.
    pub erased_conversations: u32,
    /// Messages of other conversations that were left out, since the user removed them here.
    pub erased_messages: u32,
    /// Ids of the conversations that are new or have more messages.
    pub conversations: Vec<String>,
}

/// An import that is running.
pub(super) struct Restore {
    pub(super) trusted: bool,
    pub(super) bring_back: bool,
    /// Nobody has ended it.
    run: Check,
    /// Number of the next new conversation, and the last one that is free.
    next_born: u32,
    last_born: u32,
    pub(super) current: Option<Incoming>,
    /// Conversations come in the order of their ids, each once.
    pub(super) previous_id: Option<String>,
    /// What is written next, unseen.
    pub(super) staged: Commit,
    staged_bytes: usize,
    /// What shows everything.
    pub(super) last: Commit,
    /// Messages that `last` adds to conversations that are here, and their bytes.
    pub(super) added: usize,
    pub(super) added_bytes: usize,
    pub(super) facts: IncomingFacts,
    pub(super) projects: IncomingProjects,
    /// Positions in the file (index + 1) to those here, of conversations where they differ.
    pub(super) moved: SortedMap<String, Vec<Seq>>,
    /// What was left out, since the user erased it here: positions in the file; 0: all of the conversation.
    pub(super) left_out: SortedSet<(String, Seq)>,
    pub(super) report: Restored,
}

impl Restore {
    /// The number of a new conversation.
    pub(super) fn next_birth(&mut self) -> Result<u32> {
        if self.next_born > self.last_born {
            return Err(unusable("it has more conversations than its end says"));
        }
        self.next_born += 1;
        Ok(self.next_born - 1)
    }

    /// Whether the user erased this message of the file here.
    pub(super) fn is_left_out(&self, conversation_id: &str, seq: Seq) -> bool {
        [0, seq].into_iter().any(|seq| self.left_out.contains(&(conversation_id.to_owned(), seq)))
    }

    /// Adds a record to what is written unseen.
    pub(super) fn stage(&mut self, store: Store, key: crate::ports::Key, record: Record) {
        self.staged_bytes += record.body.len();
        self.staged.puts.push((store, key, record));
    }
}

/// The file says something that cannot be.
pub(super) fn unusable(problem: &str) -> Error {
    Error::invalid_argument(format!("import: the backup cannot be used: {problem}. Nothing was imported"))
}

/// What an import was decided on has changed.
pub(super) fn changed_meanwhile() -> Error {
    Error::new(
        Code::StorageConflict,
        "import: something that the import would add to was changed while it ran, or another one took its place; import the file again",
    )
}

/// A line's value as its type.
pub(super) fn read<T: FromJson>(value: Value) -> Result<T> {
    T::read(value).map_err(|problem| unusable(&problem))
}

impl Engine {
    /// Carries out a step of an import. One runs at a time; whoever imports holds the lock `import`.
    ///
    /// # Errors
    /// `invalid_argument` for what the file cannot say, `storage_conflict` where something that it adds to was changed
    /// meanwhile, `storage_*`. Nothing is visible then; [`RestoreStep::Abort`] removes what was written.
    pub async fn restore(&self, request: RestoreRequest) -> Result<Restored> {
        self.ensure_open()?;
        match request.step {
            RestoreStep::Begin => self.begin_restore(&request).await,
            RestoreStep::Abort => {
                self.restoring.borrow_mut().take();
                self.sweep_staged().await?;
                Ok(Restored::default())
            }
            RestoreStep::Records => {
                let mut restore = self.taken_restore()?;
                let taken = self.take_records(&mut restore, request.records).await;
                self.restoring.borrow_mut().replace(restore);
                taken.map(|()| Restored::default())
            }
            RestoreStep::Commit => {
                let restore = self.taken_restore()?;
                self.commit_restore(*restore).await
            }
        }
    }

    fn taken_restore(&self) -> Result<Box<Restore>> {
        let found = self.restoring.borrow_mut().take();
        found.ok_or_else(|| Error::invalid_argument("no import of a backup is running; begin it first"))
    }

    async fn begin_restore(&self, request: &RestoreRequest) -> Result<Restored> {
        if request.conversations > MAX_BACKUP_RECORDS {
            return Err(unusable("it has too many conversations"));
        }
        self.restoring.borrow_mut().take();
        self.sweep_staged().await?;
        for attempt in 0..WRITE_TRIES {
            self.pause_before_try(attempt).await;
            let (births, check) = self.births().await?;
            let last = births.last;
            let Some(last_born) = last.checked_add(request.conversations) else {
                return Err(unusable("it has too many conversations"));
            };
            // The time alone tells it from another one: whoever sweeps first takes this mark away.
            let mark = Record { body: value_text(&json!({ "at": self.now_ms(), "born": last })), blob: None };
            let commit = Commit {
                checks: vec![check, Check { store: Store::Meta, key: run_key(), body: None }],
                puts: vec![
                    (Store::Meta, key![BIRTHS], Stored::new(Births { last: last_born, ..births })?.record()),
                    (Store::Meta, run_key(), mark.clone()),
                ],
                ..Commit::default()
            };
            if self.host.storage.commit(commit).await? {
                self.has_staged.set(true);
                let run = Check { store: Store::Meta, key: run_key(), body: Some(mark.body) };
                self.restoring.borrow_mut().replace(Box::new(Restore {
                    trusted: request.trusted,
                    bring_back: request.bring_back,
                    last: Commit { checks: vec![run.clone()], strict: true, ..Commit::default() },
                    run,
                    next_born: last + 1,
                    last_born,
                    current: None,
                    previous_id: None,
                    staged: Commit::default(),
                    staged_bytes: 0,
                    added: 0,
                    added_bytes: 0,
                    facts: IncomingFacts::default(),
                    projects: IncomingProjects::default(),
                    moved: SortedMap::new(),
                    left_out: SortedSet::default(),
                    report: Restored::default(),
                }));
                return Ok(Restored::default());
            }
        }
        Err(overtaken())
    }

    async fn take_records(&self, restore: &mut Restore, records: Vec<Value>) -> Result<()> {
        for record in records {
            let Value::Object(line) = record else { return Err(unusable("a line is no object")) };
            let mut fields = line.into_iter();
            let (Some((kind, value)), None) = (fields.next(), fields.next()) else {
                return Err(unusable("a line is not one record"));
            };
            match kind.as_str() {
                "message" => self.take_message(restore, read(value)?).await?,
                "summary" | "earlierSummary" | "summaryPart" | "episode" | "note" | "removedId" => {
                    let Some(current) = &mut restore.current else {
                        return Err(unusable("a summary, an episode or a note belongs to no conversation"));
                    };
                    current.take_other(&kind, value)?;
                }
                _ => {
                    self.end_conversation(restore).await?;
                    match kind.as_str() {
                        "conversation" => self.begin_conversation(restore, read(value)?).await?,
                        "project" => restore.projects.take(value)?,
                        _ => restore.facts.take(&kind, value)?,
                    }
                }
            }
            if restore.staged.puts.len() >= STAGED_AT_ONCE || restore.staged_bytes >= STAGED_BYTES {
                self.flush_staged(restore).await?;
            }
        }
        self.flush_staged(restore).await
    }

    async fn flush_staged(&self, restore: &mut Restore) -> Result<()> {
        if restore.staged.puts.is_empty() {
            return Ok(());
        }
        restore.staged_bytes = 0;
        let mut commit = std::mem::take(&mut restore.staged);
        commit.checks.push(restore.run.clone());
        if self.host.storage.commit(commit).await? { Ok(()) } else { Err(changed_meanwhile()) }
    }

    async fn commit_restore(&self, mut restore: Restore) -> Result<Restored> {
        self.end_conversation(&mut restore).await?;
        self.flush_staged(&mut restore).await?;
        let _turn = self.writes.enter().await;
        self.refresh_conversations().await?;
        self.refresh_facts().await?;
        self.place_projects(&mut restore)?;
        self.place_facts(&mut restore)?;
        let mut commit = restore.last;
        commit.delete_prefixes.push((Store::Meta, run_key()));
        match self.commit(commit).await {
            Ok(true) => {}
            Ok(false) => return Err(changed_meanwhile()),
            // The answer may be lost where the deed is done: then the mark is gone.
            Err(error) => {
                let mark = self.host.storage.get(vec![(Store::Meta, run_key())]).await.map_err(|_| error.clone())?;
                if mark.into_iter().flatten().next().is_some() {
                    return Err(error);
                }
            }
        }
        self.has_staged.set(false);
        // Not even this tab has seen them yet. Where that fails they are imported all the same, and read by the next call.
        self.see(None);
        let _ = self.load_small_records().await;
        self.emit(&Event::new("storage", json!({ "state": "imported" })));
        Ok(restore.report)
    }
}
