//! Opening an engine: the options as JavaScript gives them, and the storage and callbacks that they name.

use super::{JsEngine, MemoryStoreHandle, convert, host, stored, work};
use crate::engine::{CatchUp, Engine, Host, Options};
use crate::error::{Code, Error, Result};
use crate::json_reader::{Fields, FromFields};
use crate::store::Storage;
use crate::store::indexed_db::Lifecycle;
use convert::from_js;
use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::spawn_local;

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

pub(super) struct EmbedderOptions {
    pub(super) id: String,
    pub(super) dimensions: usize,
    pub(super) max_batch_size: usize,
    pub(super) max_input_tokens: usize,
    pub(super) remote: bool,
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

pub(super) struct ModelOptions {
    pub(super) id: Option<String>,
    pub(super) context_window: u32,
    pub(super) remote: bool,
}

impl FromFields for ModelOptions {
    fn from_fields(fields: &mut Fields) -> Self {
        Self { id: fields.take("id"), context_window: fields.take("contextWindow"), remote: fields.take("remote") }
    }
}

/// An engine on the storage that its options name, with the callbacks of the host.
pub(super) async fn open(options: JsValue, host: JsValue, handle: Option<MemoryStoreHandle>) -> Result<JsEngine> {
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
