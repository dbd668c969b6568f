//! The adapter to JavaScript: convert in, call, convert out. No decision is made here.
//!
//! Every method takes one plain object and answers a promise of plain data; it rejects with
//! `{ code, message, retryable }`. Exports take `&self` only, so calls can overlap. js/engine-glue.d.ts states the
//! whole surface.

mod convert;
mod counting;
mod host;
mod timer;

use crate::engine::{
    AppendRequest, ContextRequest, ConversationUpdate, Engine, EraseRequest, FactFilter, FactUpdate, Host,
    NewConversation, NewFact, Options, RecallRequest,
};
use crate::error::{Error, Result};
use crate::message::Seq;
use crate::store::Storage;
use crate::store::indexed_db::IndexedDbStore;
use crate::store::memory::MemoryStore;
use convert::{from_js, to_js, to_js_error};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{future_to_promise, spawn_local};

pub use counting::{TokenCounter, estimate_tokens, tokenization};

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

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct OpenOptions {
    user_id: String,
    storage: StorageOptions,
    tokenizer: String,
    /// Read strictly, so that a misspelt field is told.
    #[serde(default)]
    policy: serde_json::Value,
    #[serde(default)]
    embedder: Option<EmbedderOptions>,
    #[serde(default)]
    language_model: Option<ModelOptions>,
}

#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
enum StorageOptions {
    IndexedDb { name: String },
    Memory,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct EmbedderOptions {
    id: String,
    dimensions: usize,
    max_batch_size: usize,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ModelOptions {
    context_window: u32,
}

#[derive(Deserialize)]
struct ById {
    id: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ByConversation {
    conversation_id: String,
    #[serde(default)]
    force: bool,
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    limit: Option<u32>,
    #[serde(default)]
    before: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HistoryRange {
    conversation_id: String,
    #[serde(default)]
    from: Option<Seq>,
    #[serde(default)]
    to: Option<Seq>,
    #[serde(default)]
    limit: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct FactSearch {
    query: String,
    #[serde(default)]
    top_k: Option<u32>,
}

/// One user's engine.
#[wasm_bindgen(js_name = Engine)]
pub struct JsEngine {
    engine: Rc<Engine>,
    /// The timer of the next retry of a failed job.
    retry: Rc<RefCell<Option<timer::Timer>>>,
}

#[wasm_bindgen(js_class = Engine)]
impl JsEngine {
    /// Opens a user's memory. `host` holds the callbacks: `now`, `emit`, `tryLock` and, where the app has them, `embed`
    /// and `generate`.
    pub fn open(options: JsValue, host: JsValue, handle: Option<MemoryStoreHandle>) -> js_sys::Promise {
        promise(Box::pin(async move { open(options, host, handle).await.map(JsValue::from) }))
    }

    /// Hands a vocabulary over; counts are exact from then on where it is the one of the memory's tokenizer.
    #[wasm_bindgen(js_name = loadVocabulary)]
    pub fn load_vocabulary(&self, encoding: &str, bytes: &[u8]) -> std::result::Result<(), JsValue> {
        let counter = counting::counter_from(encoding, bytes).map_err(|error| to_js_error(&error))?;
        self.engine.set_counter(counter);
        Ok(())
    }

    /// See `conversations.create`.
    #[wasm_bindgen(js_name = createConversation)]
    pub fn create_conversation(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, new: NewConversation| async move { engine.create_conversation(new).await })
    }

    /// See `conversations.get`.
    #[wasm_bindgen(js_name = getConversation)]
    pub fn get_conversation(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.get_conversation(&by.id).await })
    }

    /// See `conversations.list`.
    #[wasm_bindgen(js_name = listConversations)]
    pub fn list_conversations(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, page: Page| async move {
            engine.list_conversations(page.limit, page.before.as_deref()).await
        })
    }

    /// See `conversations.update`.
    #[wasm_bindgen(js_name = updateConversation)]
    pub fn update_conversation(&self, request: JsValue) -> js_sys::Promise {
        self.answer_and_work(request, |engine, update: ConversationUpdate| async move {
            engine.update_conversation(update).await
        })
    }

    /// See `conversations.delete`.
    #[wasm_bindgen(js_name = deleteConversation)]
    pub fn delete_conversation(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.delete_conversation(&by.id).await })
    }

    /// See `append`.
    pub fn append(&self, request: JsValue) -> js_sys::Promise {
        self.answer_and_work(request, |engine, request: AppendRequest| async move { engine.append(request).await })
    }

    /// See `history`; answers JSON texts.
    pub fn history(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, range: HistoryRange| async move {
            engine.history(&range.conversation_id, range.from, range.to, range.limit).await
        })
    }

    /// See `buildContext`; messages are JSON texts.
    #[wasm_bindgen(js_name = buildContext)]
    pub fn build_context(&self, request: JsValue) -> js_sys::Promise {
        self.answer_and_work(
            request,
            |engine, request: ContextRequest| async move { engine.build_context(request).await },
        )
    }

    /// See `recall`; messages are JSON texts.
    pub fn recall(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, request: RecallRequest| async move { engine.recall(request).await })
    }

    /// See `summary`.
    pub fn summary(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ByConversation| async move { engine.summary(&by.conversation_id).await })
    }

    /// See `compact`.
    pub fn compact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(
            request,
            |engine, by: ByConversation| async move { engine.compact(&by.conversation_id, by.force).await },
        )
    }

    /// See `facts.add`.
    #[wasm_bindgen(js_name = addFact)]
    pub fn add_fact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, new: NewFact| async move { engine.add_fact(new).await })
    }

    /// See `facts.list`.
    #[wasm_bindgen(js_name = listFacts)]
    pub fn list_facts(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, filter: FactFilter| async move { engine.list_facts(filter).await })
    }

    /// See `facts.get`.
    #[wasm_bindgen(js_name = getFact)]
    pub fn get_fact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.get_fact(&by.id).await })
    }

    /// See `facts.search`.
    #[wasm_bindgen(js_name = searchFacts)]
    pub fn search_facts(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, search: FactSearch| async move {
            engine.search_facts(&search.query, search.top_k.unwrap_or(10)).await
        })
    }

    /// See `facts.update`.
    #[wasm_bindgen(js_name = updateFact)]
    pub fn update_fact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, update: FactUpdate| async move { engine.update_fact(update).await })
    }

    /// See `facts.forget`.
    #[wasm_bindgen(js_name = forgetFact)]
    pub fn forget_fact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.forget_fact(&by.id).await })
    }

    /// See `facts.approve`.
    #[wasm_bindgen(js_name = approveFact)]
    pub fn approve_fact(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.approve_fact(&by.id).await })
    }

    /// See `facts.history`.
    #[wasm_bindgen(js_name = factHistory)]
    pub fn fact_history(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, by: ById| async move { engine.fact_history(&by.id).await })
    }

    /// See `settled`.
    pub fn settled(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, _: serde::de::IgnoredAny| async move { engine.settled().await })
    }

    /// See `flush`.
    pub fn flush(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, _: serde::de::IgnoredAny| async move { engine.flush().await })
    }

    /// See `erase`.
    pub fn erase(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, request: EraseRequest| async move { engine.erase(request).await })
    }

    /// See `stats`, without what only the facade knows.
    pub fn stats(&self, request: JsValue) -> js_sys::Promise {
        self.answer(request, |engine, _: serde::de::IgnoredAny| async move { engine.stats().await })
    }

    /// See `close`.
    pub fn close(&self, _request: JsValue) -> js_sys::Promise {
        self.engine.close();
        self.retry.borrow_mut().take();
        js_sys::Promise::resolve(&JsValue::UNDEFINED)
    }

    /// Reads the request, calls, and promises the answer.
    fn answer<R, T, F, Answer>(&self, request: JsValue, call: F) -> js_sys::Promise
    where
        R: for<'de> Deserialize<'de> + 'static,
        T: Serialize,
        F: FnOnce(Rc<Engine>, R) -> Answer + 'static,
        Answer: Future<Output = Result<T>> + 'static,
    {
        let engine = Rc::clone(&self.engine);
        promise(Box::pin(async move { to_js(&call(engine, from_js(request)?).await?) }))
    }

    /// As [`Self::answer`]; then whatever became due is worked on in the background.
    fn answer_and_work<R, T, F, Answer>(&self, request: JsValue, call: F) -> js_sys::Promise
    where
        R: for<'de> Deserialize<'de> + 'static,
        T: Serialize,
        F: FnOnce(Rc<Engine>, R) -> Answer + 'static,
        Answer: Future<Output = Result<T>> + 'static,
    {
        let engine = Rc::clone(&self.engine);
        let retry = Rc::clone(&self.retry);
        promise(Box::pin(async move {
            let answer = call(Rc::clone(&engine), from_js(request)?).await;
            work(engine, retry);
            to_js(&answer?)
        }))
    }
}

/// One instance for all methods: the machinery of a promise is large, and a future behind a pointer costs nothing here.
fn promise(answer: Pin<Box<dyn Future<Output = Result<JsValue>>>>) -> js_sys::Promise {
    future_to_promise(async move { answer.await.map_err(|error| to_js_error(&error)) })
}

async fn open(options: JsValue, host: JsValue, handle: Option<MemoryStoreHandle>) -> Result<JsEngine> {
    let options: OpenOptions =
        from_js(options).map_err(|error: Error| Error::new(crate::error::Code::InvalidConfig, error.message))?;
    let storage: Rc<dyn Storage> = match options.storage {
        StorageOptions::IndexedDb { name } => {
            Rc::new(IndexedDbStore::open(&format!("{name}:{}", options.user_id)).await?)
        }
        StorageOptions::Memory => Rc::new(handle.map(|handle| handle.0).unwrap_or_default()),
    };
    let callbacks = host::Callbacks::new(&host);
    let host = Host {
        storage,
        embedder: options
            .embedder
            .map(|model| callbacks.embedder(model.id, model.dimensions, model.max_batch_size))
            .transpose()?,
        model: options.language_model.map(|model| callbacks.language_model(model.context_window)).transpose()?,
        clock: callbacks.clock()?,
        locks: callbacks.locks()?,
        on_event: callbacks.events()?,
        normalize: host::normalize,
    };
    let options =
        Options { user_id: options.user_id, tokenizer: options.tokenizer, policy: convert::policy(options.policy)? };
    let engine = Rc::new(Engine::open(host, options).await?);
    let retry = Rc::new(RefCell::new(None));
    work(Rc::clone(&engine), Rc::clone(&retry));
    Ok(JsEngine { engine, retry })
}

/// Works in the background until nothing is due, and comes back when a failed job may be tried again.
fn work(engine: Rc<Engine>, retry: Rc<RefCell<Option<timer::Timer>>>) {
    spawn_local(async move {
        engine.work().await;
        let next = if engine.is_closed() { None } else { engine.retry_in_ms() };
        let timer = next.and_then(|wait_ms| {
            let (engine, again) = (Rc::clone(&engine), Rc::clone(&retry));
            timer::Timer::start(wait_ms, move || work(engine, again))
        });
        *retry.borrow_mut() = timer;
    });
}
