//! The summaries of projects in a backup. One comes in where its project is new here and it was made from exactly the
//! episodes that the file brings; any other is made again from its episodes, so it is left out.

use super::Engine;
use super::projects::{project_key, source_names, sources_hash};
use super::restore::{Restore, read};
use super::stored::encode;
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::ports::Store;
use crate::records::ConversationRecord;
use crate::session_records::ProjectRecord;
use crate::sorted_map::SortedMap;
use serde_json::Value;

/// A project's summary as it stands in a backup.
struct BackupProject {
    project_id: String,
    record: ProjectRecord,
}

impl FromFields for BackupProject {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { project_id: fields.take("projectId"), record: ProjectRecord::from_fields(fields) }
    }
}

/// What a file says about projects.
#[derive(Default)]
pub(super) struct IncomingProjects {
    projects: Vec<BackupProject>,
    /// Episodes that come in, by project.
    sources: SortedMap<String, Vec<String>>,
}

impl IncomingProjects {
    /// Takes a line in.
    pub(super) fn take(&mut self, value: Value) -> Result<()> {
        self.projects.push(read(value)?);
        Ok(())
    }

    /// Notes what a new conversation brings.
    pub(super) fn note(&mut self, record: &ConversationRecord) {
        if let Some(project_id) = record.project_id.as_ref().filter(|_| record.is_shared()) {
            self.sources.get_or_default(project_id.clone()).extend(source_names(record));
        }
    }
}

impl Engine {
    /// Adds the summaries of projects of the user's own file to the last commit.
    pub(super) fn place_projects(&self, restore: &mut Restore) -> Result<()> {
        let IncomingProjects { projects, mut sources } = std::mem::take(&mut restore.projects);
        let state = self.state.borrow();
        for BackupProject { project_id, record } in projects {
            let made_from = sources.remove(&project_id).and_then(sources_hash);
            if restore.trusted
                && made_from.is_some_and(|hash| hash == record.source_hash)
                && !state.knows_project(&project_id)
            {
                restore.last.puts.push((Store::Summaries, project_key(&project_id), encode(&record)?));
            }
        }
        Ok(())
    }
}
