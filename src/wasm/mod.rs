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
mod method;
mod opening;
mod stored;
mod timer;
mod validating;
#[allow(unsafe_code)] // the one allocator; what it adds to the system's is stated where it is sound
mod zeroing;

use crate::engine::Engine;
use crate::error::Result;
use crate::store::memory::MemoryStore;
use convert::{parsed, to_js_error, to_json};
use method::{Method, answer};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
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
        promise(Box::pin(async move { opening::open(options, host, handle).await.map(JsValue::from) }))
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

/// One instance for all methods: the machinery of a promise is large, and a future behind a pointer costs nothing here.
fn promise(answer: Pin<Box<dyn Future<Output = Result<JsValue>>>>) -> js_sys::Promise {
    future_to_promise(async move { answer.await.map_err(|error| to_js_error(&error)) })
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
