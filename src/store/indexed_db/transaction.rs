//! One transaction, with the `idb` crate's defects cured:
//!
//! - Its `TransactionFuture` never resolves when it is made after the end, takes a request's error event for the
//!   transaction's, and is then dropped before the abort event arrives. Here the handlers are attached before anything
//!   else is asked, only `complete` and `abort` end a transaction, and the reason is the transaction's own error.
//! - Its request futures leak two closures each. Here requests have no handlers: requests are answered in order, so one
//!   waits at most for the last of them, and results are read from the requests when the transaction is complete.
//! - It cannot set a durability. Here `IDBDatabase.transaction` is called with its options.

use super::connection::Connection;
use super::failure::Failure;
use super::patience::Patience;
use super::timer::within;
use crate::error::{Code, Error};
use crate::sorted_map::SortedSet;
use crate::store::Store;
use js_sys::{Array, Object};
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{Event, IdbDatabase, IdbRequest, IdbTransaction};

/// How long a transaction may take from where it holds its stores, between two signs of life.
const ANSWER_LIMIT_MS: f64 = 5_000.0;

/// How long the end of a transaction that was aborted is waited for.
const ABORT_LIMIT_MS: f64 = 1_000.0;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(extends = IdbDatabase)]
    type DatabaseWithOptions;
    #[wasm_bindgen(method, catch, structural)]
    fn transaction(
        this: &DatabaseWithOptions,
        stores: &Array,
        mode: &str,
        options: &TransactionOptions,
    ) -> Result<IdbTransaction, JsValue>;

    #[wasm_bindgen(extends = Object)]
    type TransactionOptions;
    #[wasm_bindgen(method, setter, structural)]
    fn set_durability(this: &TransactionOptions, durability: &str);
}

/// What a transaction is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Reading.
    Read,
    /// Writing; complete once the browser's process has it, which survives a crash of the browser but not of the device.
    Write,
    /// Writing; complete once it is on disk.
    WriteStrict,
}

/// How far a transaction is.
#[derive(Default)]
struct Progress {
    /// Requests waited for that were answered.
    answers: Cell<u32>,
    /// How it ended.
    ended: RefCell<Option<Ended>>,
    waker: RefCell<Option<Waker>>,
}

enum Ended {
    Committed,
    /// With the transaction's error; null when there is none.
    Aborted(JsValue),
}

impl Progress {
    fn wake(&self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    fn end(&self, ended: Ended) {
        self.ended.replace(Some(ended));
        self.wake();
    }

    fn failure(&self) -> Option<Failure> {
        match &*self.ended.borrow() {
            Some(Ended::Aborted(error)) => Some(Failure::of(error)),
            Some(Ended::Committed) | None => None,
        }
    }

    /// Waits until the transaction has ended or so many answers are there.
    async fn reach(&self, answers: u32) {
        poll_fn(|context| {
            if self.answers.get() >= answers || self.ended.borrow().is_some() {
                return Poll::Ready(());
            }
            self.waker.replace(Some(context.waker().clone()));
            Poll::Pending
        })
        .await;
    }
}

/// A transaction that has begun. Dropped before its end, it goes on by itself: what was asked of it is committed whole.
pub(super) struct Transaction {
    inner: idb::Transaction,
    raw: IdbTransaction,
    progress: Rc<Progress>,
    patience: Rc<Patience>,
    writes: bool,
    /// Called at each answer that is waited for.
    on_answer: Option<Closure<dyn FnMut(Event)>>,
}

impl Transaction {
    /// Begins a transaction and attaches the handlers of its end.
    pub(super) fn begin(connection: &Connection, stores: &SortedSet<Store>, mode: Mode) -> Result<Self, Failure> {
        let names: Array = stores.iter().map(|store| JsValue::from_str(store.name())).collect();
        let options: TransactionOptions = Object::new().unchecked_into();
        options.set_durability(if mode == Mode::WriteStrict { "strict" } else { "relaxed" });
        let database: &DatabaseWithOptions = connection.database().unchecked_ref();
        let writes = mode != Mode::Read;
        let raw = database.transaction(&names, if writes { "readwrite" } else { "readonly" }, &options)?;
        let progress = Rc::new(Progress::default());
        let mut inner = idb::Transaction::from(raw.clone());
        inner.on_complete({
            let progress = Rc::clone(&progress);
            move |_| progress.end(Ended::Committed)
        });
        inner.on_abort({
            let progress = Rc::clone(&progress);
            let raw = raw.clone();
            move |_| progress.end(Ended::Aborted(raw.error().map_or(JsValue::NULL, JsValue::from)))
        });
        let on_answer = Closure::new({
            let progress = Rc::clone(&progress);
            move |_| {
                progress.answers.set(progress.answers.get() + 1);
                progress.wake();
            }
        });
        let patience = Rc::clone(&connection.patience);
        Ok(Self { inner, raw, progress, patience, writes, on_answer: Some(on_answer) })
    }

    /// One of its stores.
    pub(super) fn store(&self, store: Store) -> Result<idb::ObjectStore, Failure> {
        if self.progress.ended.borrow().is_some() {
            // Ended while its task was held up. The browser's own name for that would look like a lost connection.
            return Err(self.progress.failure().unwrap_or_else(Failure::too_late));
        }
        Ok(self.inner.object_store(store.name())?)
    }

    /// Waits until a request is answered. Nothing but further requests of this transaction may be awaited after it.
    ///
    /// The first wait is the one for other transactions on the same stores, and has a limit.
    pub(super) async fn answered(&self, request: &IdbRequest) -> Result<(), Failure> {
        let first = self.progress.answers.get() == 0;
        let expected = self.progress.answers.get() + 1;
        request.set_onsuccess(self.on_answer.as_ref().map(|closure| closure.as_ref().unchecked_ref()));
        let limit_ms = if first { self.patience.limit_ms() } else { ANSWER_LIMIT_MS };
        let is_late = within(limit_ms, pin!(self.progress.reach(expected))).await.is_none();
        if is_late && self.progress.ended.borrow().is_none() {
            if first {
                self.patience.gave_up(limit_ms);
            }
            // It fails where all was asked already, as for a barrier: whether that still goes through makes no difference.
            if self.raw.abort().is_ok() {
                self.end().await;
            }
            return Err(if first { busy().into() } else { Failure::silent() });
        }
        request.set_onsuccess(None);
        if self.progress.answers.get() >= expected {
            if first && self.writes {
                // Reading may be possible while another tab reads for ever; only this shows that nobody holds the stores.
                self.patience.regain();
            }
            return Ok(());
        }
        Err(self.progress.failure().unwrap_or(Failure::Exception(String::new())))
    }

    /// Waits for its stores with the cheapest of requests, before one that may take long for its own sake.
    pub(super) async fn gate(&self, store: &idb::ObjectStore) -> Result<(), Failure> {
        let nothing = Array::new();
        let request: IdbRequest = store.get_key(JsValue::from(nothing))?.into();
        self.answered(&request).await
    }

    /// No more requests will come: the browser need not wait for the next turn of the event loop to commit, and does
    /// so even when the page goes away now.
    pub(super) fn commit(&self) {
        // web-sys still follows the second edition of the standard; the third has this method again.
        #[allow(deprecated)]
        let asked = self.raw.commit();
        // Only a hint: it fails when the transaction commits already.
        drop(asked);
    }

    /// Undoes it and waits for that.
    pub(super) async fn undo(&self) {
        // It fails only when the transaction has ended.
        let _ = self.raw.abort();
        self.end().await;
    }

    /// Waits for the end of what was aborted. A browser that does not tell it will not commit it either.
    async fn end(&self) {
        within(ABORT_LIMIT_MS, pin!(self.progress.reach(u32::MAX))).await;
    }

    /// Waits for the end, and demands that it be a commit. Without an end in time, it may still come: who writes must look.
    pub(super) async fn committed(&self) -> Result<(), Failure> {
        if within(ANSWER_LIMIT_MS, pin!(self.progress.reach(u32::MAX))).await.is_none() {
            // It fails where it is being committed.
            let _ = self.raw.abort();
            return Err(Failure::silent());
        }
        self.progress.failure().map_or(Ok(()), Err)
    }
}

fn busy() -> Error {
    Error::new(
        Code::StorageBlocked,
        "another tab, or a long write, holds the storage for seconds now; nothing was written: close or wake other tabs of \
         this app, and try again",
    )
}

impl Drop for Transaction {
    fn drop(&mut self) {
        if self.progress.ended.borrow().is_none() {
            // Its events are still to come, and a handler that is gone would throw.
            self.inner.forget_callbacks();
            if let Some(on_answer) = self.on_answer.take() {
                on_answer.forget();
            }
        }
    }
}
