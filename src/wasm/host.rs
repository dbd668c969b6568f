//! The app's callbacks as the engine's ports.

use super::cipher::JsKeyHolder;
use super::convert::{error_from_js, to_js};
use super::external::ExternalStore;
use super::opening::{EmbedderOptions, ModelOptions};
use super::timer::Sleep;
use crate::engine::{Event, Listener};
use crate::error::{Code, Error, Result};
use crate::ports::{Clock, Embedder, LanguageModel, LockGuard, Locks, ModelRequest, Pending};
use js_sys::{Array, Float32Array, Function, JsString, Promise, Reflect};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::AbortController;

/// Unicode NFKC by the host.
pub(super) fn normalize(text: &str) -> String {
    JsString::from(text).normalize("NFKC").into()
}

/// The object of callbacks that the facade gives.
pub(super) struct Callbacks<'a>(&'a JsValue);

impl<'a> Callbacks<'a> {
    pub(super) fn new(host: &'a JsValue) -> Self {
        Self(host)
    }

    pub(super) fn function(&self, name: &str) -> Result<Function> {
        Reflect::get(self.0, &JsValue::from_str(name))
            .ok()
            .and_then(|value| value.dyn_into().ok())
            .ok_or_else(|| Error::new(Code::InvalidConfig, format!("the host gives no function `{name}`")))
    }

    pub(super) fn embedder(&self, model: EmbedderOptions) -> Result<Rc<dyn Embedder>> {
        let (embed, embed_questions) = (self.function("embed")?, self.function("embedQuestions")?);
        Ok(Rc::new(JsEmbedder { model, embed, embed_questions }))
    }

    pub(super) fn language_model(&self, model: ModelOptions) -> Result<Rc<dyn LanguageModel>> {
        Ok(Rc::new(JsLanguageModel { model, generate: self.function("generate")? }))
    }

    pub(super) fn clock(&self) -> Result<Rc<dyn Clock>> {
        Ok(Rc::new(JsClock { now: self.function("now")? }))
    }

    pub(super) fn locks(&self) -> Result<Rc<dyn Locks>> {
        Ok(Rc::new(JsLocks { try_lock: self.function("tryLock")? }))
    }

    /// Where the app brings its storage.
    pub(super) fn storage(&self) -> Result<ExternalStore> {
        ExternalStore::new(&Reflect::get(self.0, &JsValue::from_str("storage")).unwrap_or_default())
    }

    /// Where the app has a key.
    pub(super) fn key_holder(&self) -> Option<JsKeyHolder> {
        self.function("unlock").ok().map(JsKeyHolder)
    }

    pub(super) fn events(&self) -> Result<Rc<Listener>> {
        let emit = self.function("emit")?;
        Ok(Rc::new(move |event: &Event| {
            if let Ok(payload) = to_js(&event.payload) {
                // What a listener throws is the listener's: the facade reports it.
                let _ = emit.call2(&JsValue::NULL, &JsValue::from_str(event.name), &payload);
            }
        }))
    }
}

/// Aborts its call when dropped before the answer came.
struct Abort {
    controller: Option<AbortController>,
    answered: bool,
}

impl Abort {
    fn new() -> Self {
        Self { controller: AbortController::new().ok(), answered: false }
    }

    fn signal(&self) -> JsValue {
        self.controller.as_ref().map_or(JsValue::UNDEFINED, |controller| controller.signal().into())
    }
}

impl Drop for Abort {
    fn drop(&mut self) {
        if let Some(controller) = &self.controller
            && !self.answered
        {
            controller.abort();
        }
    }
}

/// Calls a callback with one argument and an abort signal, and waits for its promise.
pub(super) async fn call(callback: &Function, argument: &JsValue, otherwise: Code) -> Result<JsValue> {
    let mut abort = Abort::new();
    let called = callback.call2(&JsValue::NULL, argument, &abort.signal());
    let promise: Promise = called.map_err(|error| error_from_js(&error, otherwise))?.unchecked_into();
    let answer = JsFuture::from(promise).await;
    abort.answered = true;
    answer.map_err(|error| error_from_js(&error, otherwise))
}

struct JsEmbedder {
    model: EmbedderOptions,
    embed: Function,
    embed_questions: Function,
}

impl Embedder for JsEmbedder {
    fn id(&self) -> &str {
        &self.model.id
    }

    fn dimensions(&self) -> usize {
        self.model.dimensions
    }

    fn max_batch_size(&self) -> usize {
        self.model.max_batch_size
    }

    fn max_input_tokens(&self) -> usize {
        self.model.max_input_tokens
    }

    fn is_remote(&self) -> bool {
        self.model.remote
    }

    fn embed<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        vectors_by(&self.embed, texts)
    }

    fn embed_questions<'a>(&'a self, texts: Vec<String>) -> Pending<'a, Vec<Vec<f32>>> {
        vectors_by(&self.embed_questions, texts)
    }
}

fn vectors_by(embed: &Function, texts: Vec<String>) -> Pending<'_, Vec<Vec<f32>>> {
    Box::pin(async move {
        let list: Array = texts.iter().map(|text| JsValue::from_str(text)).collect();
        let answer = call(embed, &list, Code::EmbeddingFailed).await?;
        let vectors = Array::from(&answer);
        vectors
            .iter()
            .map(|vector| vector.dyn_into::<Float32Array>().map(|vector| vector.to_vec()))
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| {
                Error::new(Code::EmbeddingFailed, "the embedding callback answered something that is not a vector")
            })
    })
}

struct JsLanguageModel {
    model: ModelOptions,
    generate: Function,
}

impl LanguageModel for JsLanguageModel {
    fn id(&self) -> Option<&str> {
        self.model.id.as_deref()
    }

    fn context_window_tokens(&self) -> u32 {
        self.model.context_window
    }

    fn is_remote(&self) -> bool {
        self.model.remote
    }

    fn generate<'a>(&'a self, request: ModelRequest) -> Pending<'a, String> {
        Box::pin(async move {
            let answer = call(&self.generate, &to_js(&request)?, Code::ModelFailed).await?;
            answer
                .as_string()
                .ok_or_else(|| Error::model_output("the language model callback answered neither text nor an object"))
        })
    }
}

struct JsClock {
    now: Function,
}

impl Clock for JsClock {
    fn now_ms(&self) -> f64 {
        self.now.call0(&JsValue::NULL).ok().and_then(|now| now.as_f64()).unwrap_or_else(js_sys::Date::now)
    }

    fn sleep<'a>(&'a self, ms: f64) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
        Box::pin(Sleep::new(ms))
    }
}

/// `tryLock(name)` answers a promise of a function that releases the lock, or of `null` when another holds it.
struct JsLocks {
    try_lock: Function,
}

impl Locks for JsLocks {
    fn try_lock<'a>(&'a self, name: &str) -> Pending<'a, Option<LockGuard>> {
        let name = JsValue::from_str(name);
        Box::pin(async move {
            let release = call(&self.try_lock, &name, Code::EngineUnavailable).await?;
            let Ok(release) = release.dyn_into::<Function>() else { return Ok(None) };
            Ok(Some(LockGuard::new(move || {
                let _ = release.call0(&JsValue::NULL);
            })))
        })
    }
}
