//! The engine's methods by name: each reads its request, calls, and answers JSON text.

use super::convert::{from_json, to_json};
use crate::engine::{
    AppendRequest, BackupRequest, CatchUp, ConsentRequest, ContextRequest, ConversationUpdate, EditRequest, Engine,
    EpisodeFilter, EraseRequest, FactFilter, FactUpdate, LeafRequest, NewConversation, NewFact, NewNote, RecallRequest,
    RemoveRequest, RestoreRequest, StorageCheck, StreamUpdate, SyncRequest, UsageReport,
};
use crate::error::Result;
use crate::json_reader::{Fields, FromFields};
use crate::message::Seq;

/// What [`answer`] can be asked for.
#[derive(Clone, Copy)]
pub(super) enum Method {
    CreateConversation,
    GetConversation,
    ListConversations,
    UpdateConversation,
    DeleteConversation,
    Append,
    UpdateStream,
    Edit,
    Remove,
    SetActiveLeaf,
    Tree,
    History,
    BuildContext,
    ReportUsage,
    Recall,
    Summary,
    Compact,
    ListEpisodes,
    EndEpisode,
    SetNote,
    ListNotes,
    AddFact,
    ListFacts,
    GetFact,
    SearchFacts,
    UpdateFact,
    ForgetFact,
    ApproveFact,
    FactHistory,
    FactSources,
    FactLog,
    CheckFacts,
    FactConsent,
    RetryJobs,
    Settled,
    Flush,
    Erase,
    CatchUp,
    CheckStorage,
    AcceptDamage,
    AcknowledgeDamage,
    Verify,
    Erasures,
    Backup,
    Restore,
    Sync,
    Stats,
}

impl Method {
    /// Something may have gone that is to be nowhere in memory.
    pub(super) fn erases(self) -> bool {
        matches!(
            self,
            Self::Erase
                | Self::Remove
                | Self::DeleteConversation
                | Self::ForgetFact
                | Self::FactConsent
                | Self::SetNote
                | Self::CatchUp
        )
    }

    pub(super) fn makes_work(self) -> bool {
        matches!(
            self,
            Self::UpdateConversation
                | Self::Append
                | Self::UpdateStream
                | Self::Edit
                | Self::Remove
                | Self::DeleteConversation
                | Self::Erase
                | Self::Restore
                | Self::SetActiveLeaf
                | Self::BuildContext
                | Self::History
                | Self::EndEpisode
                | Self::RetryJobs
                | Self::Recall
        )
    }
}

/// Reads the request, calls, and answers JSON text: one future for all methods, as each of its own would bring the
/// reading and writing along again.
pub(super) async fn answer(engine: &Engine, method: Method, request: &str) -> Result<String> {
    match method {
        Method::CreateConversation => {
            let new: NewConversation = from_json(request)?;
            to_json(&engine.create_conversation(new).await?)
        }
        Method::GetConversation => {
            let by: ById = from_json(request)?;
            to_json(&engine.get_conversation(&by.id).await?)
        }
        Method::ListConversations => {
            let page: Page = from_json(request)?;
            to_json(&engine.list_parts(page.parent_id.as_deref(), page.limit, page.before.as_deref()).await?)
        }
        Method::UpdateConversation => {
            let update: ConversationUpdate = from_json(request)?;
            to_json(&engine.update_conversation(update).await?)
        }
        Method::DeleteConversation => {
            let by: ById = from_json(request)?;
            to_json(&engine.delete_conversation(&by.id).await?)
        }
        Method::Append => {
            let request: AppendRequest = from_json(request)?;
            to_json(&engine.append(request).await?)
        }
        Method::UpdateStream => {
            let update: StreamUpdate = from_json(request)?;
            to_json(&engine.update_stream(update).await?)
        }
        Method::Edit => {
            let request: EditRequest = from_json(request)?;
            to_json(&engine.edit(request).await?)
        }
        Method::Remove => {
            let request: RemoveRequest = from_json(request)?;
            to_json(&engine.remove(request).await?)
        }
        Method::SetActiveLeaf => {
            let request: LeafRequest = from_json(request)?;
            to_json(&engine.set_active_leaf(request).await?)
        }
        Method::Tree => {
            let by: ById = from_json(request)?;
            to_json(&engine.tree(&by.id).await?)
        }
        Method::History => {
            let HistoryRange { conversation_id: id, from, to, limit, all, with_status } = from_json(request)?;
            let entries = match all {
                true => engine.history_of_all_branches(&id, from, to, limit).await?,
                false => engine.history_entries(&id, from, to, limit).await?,
            };
            match with_status {
                true => to_json(&entries),
                false => to_json(&entries.into_iter().map(|entry| entry.message).collect::<Vec<_>>()),
            }
        }
        Method::BuildContext => {
            let request: ContextRequest = from_json(request)?;
            to_json(&engine.build_context(request).await?)
        }
        Method::ReportUsage => {
            let report: UsageReport = from_json(request)?;
            to_json(&engine.report_usage(report).await?)
        }
        Method::Recall => {
            let request: RecallRequest = from_json(request)?;
            to_json(&engine.recall(request).await?)
        }
        Method::Summary => {
            let by: ByConversation = from_json(request)?;
            to_json(&engine.summary(&by.conversation_id).await?)
        }
        Method::Compact => {
            let by: ByConversation = from_json(request)?;
            to_json(&engine.compact(&by.conversation_id, by.force).await?)
        }
        Method::ListEpisodes => {
            let filter: EpisodeFilter = from_json(request)?;
            to_json(&engine.list_episodes(filter).await?)
        }
        Method::EndEpisode => {
            let by: ByConversation = from_json(request)?;
            to_json(&engine.end_episode(&by.conversation_id).await?)
        }
        Method::SetNote => {
            let note: NewNote = from_json(request)?;
            to_json(&engine.set_note(note).await?)
        }
        Method::ListNotes => {
            let by: ByConversation = from_json(request)?;
            to_json(&engine.list_notes(&by.conversation_id).await?)
        }
        Method::AddFact => {
            let new: NewFact = from_json(request)?;
            to_json(&engine.add_fact(new).await?)
        }
        Method::ListFacts => {
            let filter: FactFilter = from_json(request)?;
            to_json(&engine.list_facts(filter).await?)
        }
        Method::GetFact => {
            let by: ById = from_json(request)?;
            to_json(&engine.get_fact(&by.id).await?)
        }
        Method::SearchFacts => {
            let search: FactSearch = from_json(request)?;
            to_json(&engine.search_facts(&search.query, search.top_k.unwrap_or(10)).await?)
        }
        Method::UpdateFact => {
            let update: FactUpdate = from_json(request)?;
            to_json(&engine.update_fact(update).await?)
        }
        Method::ForgetFact => {
            let by: ById = from_json(request)?;
            to_json(&engine.forget_fact(&by.id).await?)
        }
        Method::ApproveFact => {
            let by: ById = from_json(request)?;
            to_json(&engine.approve_fact(&by.id).await?)
        }
        Method::FactHistory => {
            let by: ById = from_json(request)?;
            to_json(&engine.fact_history(&by.id).await?)
        }
        Method::FactSources => {
            let by: ById = from_json(request)?;
            to_json(&engine.fact_sources(&by.id).await?)
        }
        Method::FactLog => {
            let FactLog { limit, before } = from_json(request)?;
            to_json(&engine.fact_log(limit.unwrap_or(100), before).await?)
        }
        Method::CheckFacts => {
            let check: FactCheck = from_json(request)?;
            to_json(&if check.now { engine.check_facts().await? } else { engine.last_fact_audit().await? })
        }
        Method::FactConsent => {
            let request: ConsentRequest = from_json(request)?;
            to_json(&engine.consent(request).await?)
        }
        Method::RetryJobs => to_json(&engine.retry_jobs().await?),
        Method::Settled => to_json(&engine.all_settled().await?),
        Method::Flush => to_json(&engine.flush().await?),
        Method::Erase => {
            let request: EraseRequest = from_json(request)?;
            to_json(&engine.erase(request).await?)
        }
        Method::CatchUp => {
            let changes: CatchUp = from_json(request)?;
            to_json(&engine.catch_up(changes).await?)
        }
        Method::CheckStorage => {
            let check: StorageCheck = from_json(request)?;
            to_json(&engine.check_storage(check).await?)
        }
        Method::AcceptDamage => {
            let by: ById = from_json(request)?;
            to_json(&engine.accept_damage(&by.id).await?)
        }
        Method::AcknowledgeDamage => to_json(&engine.acknowledge_damage().await?),
        Method::Verify => to_json(&engine.verify().await?),
        Method::Erasures => to_json(&engine.erasures_of_all().await?),
        Method::Backup => {
            let request: BackupRequest = from_json(request)?;
            to_json(&engine.backup(request).await?)
        }
        Method::Restore => {
            let request: RestoreRequest = from_json(request)?;
            to_json(&engine.restore(request).await?)
        }
        Method::Sync => {
            let request: SyncRequest = from_json(request)?;
            to_json(&engine.sync(request).await?)
        }
        Method::Stats => to_json(&engine.stats().await?),
    }
}

struct ById {
    id: String,
}

impl FromFields for ById {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { id: fields.take("id") }
    }
}

struct ByConversation {
    conversation_id: String,
    force: bool,
}

impl FromFields for ByConversation {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { conversation_id: fields.take("conversationId"), force: fields.take_or("force", bool::default()) }
    }
}

struct Page {
    limit: Option<u32>,
    before: Option<String>,
    parent_id: Option<String>,
}

impl FromFields for Page {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { limit: fields.take("limit"), before: fields.take("before"), parent_id: fields.take("parentId") }
    }
}

struct HistoryRange {
    conversation_id: String,
    from: Option<Seq>,
    to: Option<Seq>,
    limit: Option<u32>,
    all: bool,
    with_status: bool,
}

impl FromFields for HistoryRange {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            conversation_id: fields.take("conversationId"),
            from: fields.take("from"),
            to: fields.take("to"),
            limit: fields.take("limit"),
            all: fields.take_or("all", bool::default()),
            with_status: fields.take_or("withStatus", bool::default()),
        }
    }
}

struct FactLog {
    limit: Option<u32>,
    before: Option<u32>,
}

impl FromFields for FactLog {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { limit: fields.take("limit"), before: fields.take("before") }
    }
}

/// Whether facts are looked through now, or what was found last is answered.
struct FactCheck {
    now: bool,
}

impl FromFields for FactCheck {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { now: fields.take_or("now", false) }
    }
}

struct FactSearch {
    query: String,
    top_k: Option<u32>,
}

impl FromFields for FactSearch {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { query: fields.take("query"), top_k: fields.take("topK") }
    }
}
