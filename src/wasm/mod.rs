//! The adapter to JavaScript: convert in, call, convert out. No decision is made here.
//!
//! Every method takes the JSON text of one object and answers a promise of plain data; it rejects with
//! `{ code, message, retryable, details? }`. Exports take `&self` only, so calls can overlap. js/engine-glue.d.ts states the
//! whole surface.

pub mod cipher;
mod convert;
mod counting;
pub mod external;
mod external_search;
mod host;
mod stored;
mod timer;
mod validating;
#[allow(unsafe_code)] // the one allocator; what it adds to the system's is stated where it is sound
mod zeroing;

use crate::engine::{
    AppendRequest, BackupRequest, CatchUp, ConsentRequest, ContextRequest, ConversationUpdate, EditRequest, Engine,
    EpisodeFilter, EraseRequest, FactFilter, FactUpdate, Host, LeafRequest, NewConversation, NewFact, NewNote, Options,
    RecallRequest, RemoveRequest, RestoreRequest, StorageCheck, StreamUpdate, SyncRequest, UsageReport,
};
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::message::Seq;
use crate::store::Storage;
use crate::store::indexed_db::Lifecycle;
use crate::store::memory::MemoryStore;
use convert::{from_js, from_json, parsed, to_js_error, to_json};
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{future_to_promise, spawn_local};

pub use counting::{TokenCounter, estimate_tokens, tokenization};
pub use validating::validate_context;

/// An in-memory database of one user, which outlives the engines opened on it.
#[wasm_bindgen]
#[derive(Default)]
pub struct MemoryStoreHandle(MemoryStore);

#[wasm_bindgen]
impl MemoryStoreHandle {
    /// An empty database.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Another handle on the same data: an engine keeps the one it is given.
    #[must_use]
    pub fn share(&self) -> Self {
        Self(self.0.clone())
    }
}

struct OpenOptions {
    user_id: String,
    storage: StorageOptions,
    tokenizer: String,
    /// Read strictly, so that a misspelt field is told.
    policy: serde_json::Value,
    embedder: Option<EmbedderOptions>,
    language_model: Option<ModelOptions>,
}

impl FromFields for OpenOptions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            user_id: fields.take("userId"),
            storage: fields.take("storage"),
            tokenizer: fields.take("tokenizer"),
            policy: fields.take_or("policy", serde_json::Value::default()),
            embedder: fields.take("embedder"),
            language_model: fields.take("languageModel"),
        }
    }
}

/// `{ kind: "indexeddb", name }`, `{ kind: "memory" }`, or `{ kind: "external" }`: what the host has as `storage`.
struct StorageOptions {
    kind: StorageKind,
    name: String,
}

impl FromFields for StorageOptions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { kind: fields.take("kind"), name: fields.take_or("name", String::default()) }
    }
}

enum StorageKind {
    IndexedDb,
    Memory,
    External,
}

crate::json_reader::json_names!(StorageKind { IndexedDb: "indexeddb", Memory: "memory", External: "external" });

struct EmbedderOptions {
    id: String,
    dimensions: usize,
    max_batch_size: usize,
    max_input_tokens: usize,
    remote: bool,
}

impl FromFields for EmbedderOptions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self {
            id: fields.take("id"),
            dimensions: fields.take("dimensions"),
            max_batch_size: fields.take("maxBatchSize"),
            max_input_tokens: fields.take("maxInputTokens"),
            remote: fields.take("remote"),
        }
    }
}

struct ModelOptions {
    id: Option<String>,
    context_window: u32,
    remote: bool,
}

impl FromFields for ModelOptions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { id: fields.take("id"), context_window: fields.take("contextWindow"), remote: fields.take("remote") }
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

/// One user's engine.
#[wasm_bindgen(js_name = Engine)]
pub struct JsEngine {
    engine: Rc<Engine>,
    /// The timer of the next job that is not due yet.
    retry: Rc<RefCell<Option<timer::Timer>>>,
}

#[wasm_bindgen(js_class = Engine)]
impl JsEngine {
    /// Opens a user's memory. `host` holds the callbacks: `now`, `emit`, `tryLock` and, where the app has them, `embed`,
    /// `generate` and, for a key of the storage, `unlock`.
    pub fn open(options: JsValue, host: JsValue, handle: Option<MemoryStoreHandle>) -> js_sys::Promise {
        promise(Box::pin(async move { open(options, host, handle).await.map(JsValue::from) }))
    }

    /// Hands a vocabulary over; counts are exact from then on where it is the one of the memory's tokenizer.
    #[wasm_bindgen(js_name = loadVocabulary)]
    pub fn load_vocabulary(&self, encoding: &str, bytes: &[u8]) -> std::result::Result<(), JsValue> {
        let counter = counting::encoder(encoding, bytes).map_err(|error| to_js_error(&error))?;
        self.engine.set_counter(counter);
        Ok(())
    }

    /// Counts with the vocabulary that another memory, or a counter, has loaded; false where none has.
    #[wasm_bindgen(js_name = shareVocabulary)]
    #[must_use]
    pub fn share_vocabulary(&self, encoding: &str) -> bool {
        let found = counting::shared(encoding);
        found.map(|counter| self.engine.set_counter(counter)).is_some()
    }

    /// See `conversations.create`.
    #[wasm_bindgen(js_name = createConversation)]
    pub fn create_conversation(&self, request: String) -> js_sys::Promise {
        self.answer(Method::CreateConversation, request)
    }

    /// See `conversations.get`.
    #[wasm_bindgen(js_name = getConversation)]
    pub fn get_conversation(&self, request: String) -> js_sys::Promise {
        self.answer(Method::GetConversation, request)
    }

    /// See `conversations.list`.
    #[wasm_bindgen(js_name = listConversations)]
    pub fn list_conversations(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ListConversations, request)
    }

    /// See `conversations.update`.
    #[wasm_bindgen(js_name = updateConversation)]
    pub fn update_conversation(&self, request: String) -> js_sys::Promise {
        self.answer(Method::UpdateConversation, request)
    }

    /// See `conversations.delete`.
    #[wasm_bindgen(js_name = deleteConversation)]
    pub fn delete_conversation(&self, request: String) -> js_sys::Promise {
        self.answer(Method::DeleteConversation, request)
    }

    /// See `append`.
    pub fn append(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Append, request)
    }

    /// What a `MessageStream` has so far, or its end.
    #[wasm_bindgen(js_name = updateStream)]
    pub fn update_stream(&self, request: String) -> js_sys::Promise {
        self.answer(Method::UpdateStream, request)
    }

    /// See `edit`.
    pub fn edit(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Edit, request)
    }

    /// See `remove`.
    pub fn remove(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Remove, request)
    }

    /// See `setActiveLeaf`.
    #[wasm_bindgen(js_name = setActiveLeaf)]
    pub fn set_active_leaf(&self, request: String) -> js_sys::Promise {
        self.answer(Method::SetActiveLeaf, request)
    }

    /// See `conversations.tree`.
    pub fn tree(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Tree, request)
    }

    /// See `history`; messages are JSON texts.
    pub fn history(&self, request: String) -> js_sys::Promise {
        self.answer(Method::History, request)
    }

    /// See `buildContext`; messages are JSON texts.
    #[wasm_bindgen(js_name = buildContext)]
    pub fn build_context(&self, request: String) -> js_sys::Promise {
        self.answer(Method::BuildContext, request)
    }

    /// See `reportUsage`.
    #[wasm_bindgen(js_name = reportUsage)]
    pub fn report_usage(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ReportUsage, request)
    }

    /// See `recall`; messages are JSON texts.
    pub fn recall(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Recall, request)
    }

    /// See `summary`.
    pub fn summary(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Summary, request)
    }

    /// See `compact`.
    pub fn compact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Compact, request)
    }

    /// See `episodes.list`.
    #[wasm_bindgen(js_name = listEpisodes)]
    pub fn list_episodes(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ListEpisodes, request)
    }

    /// See `episodes.end`.
    #[wasm_bindgen(js_name = endEpisode)]
    pub fn end_episode(&self, request: String) -> js_sys::Promise {
        self.answer(Method::EndEpisode, request)
    }

    /// See `notes.set` and `notes.delete`.
    #[wasm_bindgen(js_name = setNote)]
    pub fn set_note(&self, request: String) -> js_sys::Promise {
        self.answer(Method::SetNote, request)
    }

    /// See `notes.list` and `notes.get`.
    #[wasm_bindgen(js_name = listNotes)]
    pub fn list_notes(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ListNotes, request)
    }

    /// See `facts.add`.
    #[wasm_bindgen(js_name = addFact)]
    pub fn add_fact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::AddFact, request)
    }

    /// See `facts.list`.
    #[wasm_bindgen(js_name = listFacts)]
    pub fn list_facts(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ListFacts, request)
    }

    /// See `facts.get`.
    #[wasm_bindgen(js_name = getFact)]
    pub fn get_fact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::GetFact, request)
    }

    /// See `facts.search`.
    #[wasm_bindgen(js_name = searchFacts)]
    pub fn search_facts(&self, request: String) -> js_sys::Promise {
        self.answer(Method::SearchFacts, request)
    }

    /// See `facts.update`.
    #[wasm_bindgen(js_name = updateFact)]
    pub fn update_fact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::UpdateFact, request)
    }

    /// See `facts.forget`.
    #[wasm_bindgen(js_name = forgetFact)]
    pub fn forget_fact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ForgetFact, request)
    }

    /// See `facts.approve`.
    #[wasm_bindgen(js_name = approveFact)]
    pub fn approve_fact(&self, request: String) -> js_sys::Promise {
        self.answer(Method::ApproveFact, request)
    }

    /// See `facts.history`.
    #[wasm_bindgen(js_name = factHistory)]
    pub fn fact_history(&self, request: String) -> js_sys::Promise {
        self.answer(Method::FactHistory, request)
    }

    /// See `facts.sources`.
    #[wasm_bindgen(js_name = factSources)]
    pub fn fact_sources(&self, request: String) -> js_sys::Promise {
        self.answer(Method::FactSources, request)
    }

    /// See `facts.log`.
    #[wasm_bindgen(js_name = factLog)]
    pub fn fact_log(&self, request: String) -> js_sys::Promise {
        self.answer(Method::FactLog, request)
    }

    /// See `facts.check` and `facts.findings`.
    #[wasm_bindgen(js_name = checkFacts)]
    pub fn check_facts(&self, request: String) -> js_sys::Promise {
        self.answer(Method::CheckFacts, request)
    }

    /// See `facts.optIn` and `facts.optOut`.
    #[wasm_bindgen(js_name = factConsent)]
    pub fn fact_consent(&self, request: String) -> js_sys::Promise {
        self.answer(Method::FactConsent, request)
    }

    /// See `retryJobs`.
    #[wasm_bindgen(js_name = retryJobs)]
    pub fn retry_jobs(&self, request: String) -> js_sys::Promise {
        self.answer(Method::RetryJobs, request)
    }

    /// See `settled`.
    pub fn settled(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Settled, request)
    }

    /// See `flush`.
    pub fn flush(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Flush, request)
    }

    /// See `erase`.
    pub fn erase(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Erase, request)
    }

    /// Other tabs changed something.
    #[wasm_bindgen(js_name = catchUp)]
    pub fn catch_up(&self, request: String) -> js_sys::Promise {
        self.answer(Method::CatchUp, request)
    }

    /// Compares what is stored with the marks that the facade kept. Answers the damage, or null.
    #[wasm_bindgen(js_name = checkStorage)]
    pub fn check_storage(&self, request: String) -> js_sys::Promise {
        self.answer(Method::CheckStorage, request)
    }

    /// Goes on with what damage has left.
    #[wasm_bindgen(js_name = acceptDamage)]
    pub fn accept_damage(&self, request: String) -> js_sys::Promise {
        self.answer(Method::AcceptDamage, request)
    }

    /// See `storage.acknowledgeDamage`.
    #[wasm_bindgen(js_name = acknowledgeDamage)]
    pub fn acknowledge_damage(&self, request: String) -> js_sys::Promise {
        self.answer(Method::AcknowledgeDamage, request)
    }

    /// See `storage.verify`.
    pub fn verify(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Verify, request)
    }

    /// What is known to be on disk, as JSON text; undefined before the store has a name.
    #[must_use]
    pub fn mark(&self) -> Option<String> {
        self.engine.mark().and_then(|mark| to_json(&mark).ok())
    }

    /// Messages that were acknowledged and are not known to be on disk.
    #[must_use]
    pub fn unsynced(&self) -> f64 {
        self.engine.unsynced() as f64
    }

    /// How often everything was erased: an import stops where that changes.
    pub fn erasures(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Erasures, request)
    }

    /// A part of a backup (docs/backup.md).
    pub fn backup(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Backup, request)
    }

    /// A step of the import of a backup.
    pub fn restore(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Restore, request)
    }

    /// A step of an exchange with another store (docs/sync.md).
    pub fn sync(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Sync, request)
    }

    /// See `stats`, without what only the facade knows.
    pub fn stats(&self, request: String) -> js_sys::Promise {
        self.answer(Method::Stats, request)
    }

    /// See `close`.
    pub fn close(&self) -> js_sys::Promise {
        self.engine.close();
        self.retry.borrow_mut().take();
        js_sys::Promise::resolve(&JsValue::UNDEFINED)
    }

    /// Promises the answer; what a method makes due is worked on in the background.
    fn answer(&self, method: Method, request: String) -> js_sys::Promise {
        let engine = Rc::clone(&self.engine);
        let retry = Rc::clone(&self.retry);
        promise(Box::pin(async move {
            let answer = answer(&engine, method, &request).await;
            if method.erases() {
                zeroing::clear_stack();
            }
            if method.makes_work() {
                work(engine, retry);
            }
            parsed(&answer?)
        }))
    }
}

/// What [`answer`] can be asked for.
#[derive(Clone, Copy)]
enum Method {
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
    fn erases(self) -> bool {
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

    fn makes_work(self) -> bool {
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
async fn answer(engine: &Engine, method: Method, request: &str) -> Result<String> {
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

/// One instance for all methods: the machinery of a promise is large, and a future behind a pointer costs nothing here.
fn promise(answer: Pin<Box<dyn Future<Output = Result<JsValue>>>>) -> js_sys::Promise {
    future_to_promise(async move { answer.await.map_err(|error| to_js_error(&error)) })
}

async fn open(options: JsValue, host: JsValue, handle: Option<MemoryStoreHandle>) -> Result<JsEngine> {
    let options: OpenOptions = from_js(&options).map_err(|error: Error| error.with_code(Code::InvalidConfig))?;
    let callbacks = host::Callbacks::new(&host);
    let data_lost = Rc::new(Cell::new(false));
    let opened: Rc<RefCell<Weak<Engine>>> = Rc::default();
    let storage: Rc<dyn Storage> = match options.storage.kind {
        StorageKind::IndexedDb => {
            let watching = watching(Rc::clone(&opened), Rc::clone(&data_lost));
            stored::open(&options.storage.name, &options.user_id, callbacks.key_holder(), watching).await?
        }
        StorageKind::Memory => Rc::new(handle.map(|handle| handle.0).unwrap_or_default()),
        StorageKind::External => Rc::new(callbacks.storage()?),
    };
    let host = Host {
        storage,
        embedder: options.embedder.map(|model| callbacks.embedder(model)).transpose()?,
        model: options.language_model.map(|model| callbacks.language_model(model)).transpose()?,
        clock: callbacks.clock()?,
        locks: callbacks.locks()?,
        on_event: callbacks.events()?,
        normalize: host::normalize,
    };
    let options =
        Options { user_id: options.user_id, tokenizer: options.tokenizer, policy: convert::policy(options.policy)? };
    let engine = Rc::new(Engine::open(host, options).await?);
    *opened.borrow_mut() = Rc::downgrade(&engine);
    if data_lost.get() {
        engine.note_data_lost();
    }
    let retry = Rc::new(RefCell::new(None));
    work(Rc::clone(&engine), Rc::clone(&retry));
    Ok(JsEngine { engine, retry })
}

/// Where the browser closed the database, or another tab deletes it, the engine looks whether its data is still there.
/// Sets `data_lost` where the browser says that it found the database damaged and replaced it with an empty one.
fn watching(opened: Rc<RefCell<Weak<Engine>>>, data_lost: Rc<Cell<bool>>) -> impl Fn(Lifecycle) + Clone {
    move |event| {
        data_lost.set(data_lost.get() || matches!(event, Lifecycle::Upgraded { data_lost: true, .. }));
        let engine = opened.borrow().upgrade().filter(|engine| !engine.is_closed());
        if let (Lifecycle::Blocking { deleting: true } | Lifecycle::Terminated, Some(engine)) = (event, engine) {
            spawn_local(async move {
                // What fails is told by an event, and by the next call.
                let _ = engine.catch_up(CatchUp { all: true, ..CatchUp::default() }).await;
            });
        }
    }
}

/// Works in the background until nothing is due, and comes back when a failed job may be tried again, or something has been
/// idle for long enough.
fn work(engine: Rc<Engine>, retry: Rc<RefCell<Option<timer::Timer>>>) {
    spawn_local(async move {
        engine.work().await;
        let next = if engine.is_closed() { None } else { engine.due_in_ms() };
        let timer = next.and_then(|wait_ms| {
            let (engine, again) = (Rc::clone(&engine), Rc::clone(&retry));
            timer::Timer::start(wait_ms, move || work(engine, again)).map(timer::Timer::unref)
        });
        *retry.borrow_mut() = timer;
    });
}
