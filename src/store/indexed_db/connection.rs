//! A connection to a database: opened, watched, closed, and the database deleted.

use super::failure::Failure;
use super::lifecycle::{Lifecycle, Listener};
use super::patience::Patience;
use super::timer::{sleep, within};
use crate::error::{Code, Error};
use crate::store::Store;
use crate::store::read_only::too_new;
use idb::event::VersionChangeEvent;
use idb::request::{DeleteDatabaseRequest, OpenDatabaseRequest};
use idb::{Database, DatabaseEvent, Event, Factory, ObjectStoreParams, Request};
use js_sys::Reflect;
use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use wasm_bindgen::JsCast;
use web_sys::IdbDatabase;

/// Version of the stores' layout. A change that code of this hundred can still read and write, such as one store more,
/// raises it by one; a change that it cannot starts the next hundred. So a user can go back to an older build of the
/// same hundred.
pub const SCHEMA_VERSION: u32 = 100;

/// Pauses between tries where the browser lost its storage: Safari has been seen to need some hundred milliseconds.
pub(super) const PAUSES_MS: [f64; 3] = [0.0, 100.0, 500.0];

/// How long opening and deleting may take.
const OPEN_LIMIT_MS: f64 = 3_000.0;

/// How long they may take once an upgrade runs, which proves that the browser is at work.
const UPGRADE_LIMIT_MS: f64 = 30_000.0;

/// What a connection can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Everything.
    Open,
    /// Nothing; the database can be opened again.
    Lost,
    /// Nothing; the database is deleted.
    Deleted,
}

/// An open connection, closed when dropped.
pub(super) struct Connection {
    /// Keeps the handlers of its events.
    _watched: Database,
    database: IdbDatabase,
    state: Rc<Cell<State>>,
    is_newer: bool,
    /// How long its transactions wait for their stores.
    pub(super) patience: Rc<Patience>,
}

impl Connection {
    /// As [`Self::open`], and again after a moment where the browser lost its storage.
    pub(super) async fn open_patiently(name: &str, create: bool, listener: &Listener) -> Result<Self, Failure> {
        for pause_ms in PAUSES_MS {
            match Self::open(name, create, listener).await {
                Err(failure) if failure.is_connection_lost() => sleep(pause_ms).await,
                opened => return opened,
            }
        }
        Self::open(name, create, listener).await
    }

    /// Opens a database; with `create`, makes one where there is none.
    ///
    /// Without an answer in time it tries once more: Safari has been seen to lose the first request of a process.
    async fn open(name: &str, create: bool, listener: &Listener) -> Result<Self, Failure> {
        let outcome = match Opening::start(name, Some(SCHEMA_VERSION), create, listener)?.wait().await {
            Err(Unanswered::Silent) => Opening::start(name, Some(SCHEMA_VERSION), create, listener)?.wait().await,
            outcome => outcome,
        };
        match outcome {
            Ok(database) => Self::watch(database, listener),
            Err(Unanswered::Failed(Failure::Exception(exception))) if exception == "VersionError" => {
                Self::open_newer(name, listener).await
            }
            Err(unanswered) => Err(unanswered.into()),
        }
    }

    /// Opens a database of a later layout. One of a later hundred can only be read.
    async fn open_newer(name: &str, listener: &Listener) -> Result<Self, Failure> {
        Self::watch(Opening::start(name, None, false, listener)?.wait().await?, listener)
    }

    fn watch(database: Database, listener: &Listener) -> Result<Self, Failure> {
        // The same connection in both types: idb keeps its own to itself.
        let database: IdbDatabase = database.into();
        let mut watched = Database::from(database.clone());
        let is_newer = watched.version()? / 100 > SCHEMA_VERSION / 100;
        let missing = Store::ALL.iter().any(|store| !watched.store_names().iter().any(|name| name == store.name()));
        if missing {
            watched.close();
            if is_newer {
                return Err(too_new().into());
            }
            return Err(Error::corrupt(
                "the database lacks stores that this version needs; export what can be read, erase the user and import it",
            )
            .into());
        }
        let state = Rc::new(Cell::new(State::Open));
        watched.on_version_change({
            let (state, listener) = (Rc::clone(&state), Rc::clone(listener));
            move |event| {
                let deleting = Reflect::get(&event, &"newVersion".into()).is_ok_and(|version| version.is_null());
                state.set(if deleting { State::Deleted } else { State::Lost });
                if let Some(database) = event.target().and_then(|target| target.dyn_into::<IdbDatabase>().ok()) {
                    database.close();
                }
                listener(Lifecycle::Blocking { deleting });
            }
        });
        watched.on_close({
            let (state, listener) = (Rc::clone(&state), Rc::clone(listener));
            move |_| {
                state.set(State::Lost);
                listener(Lifecycle::Terminated);
            }
        });
        Ok(Self { _watched: watched, database, state, is_newer, patience: Rc::default() })
    }

    /// The layout is of a later hundred: what this code does not know must not be harmed by what it writes.
    pub(super) fn is_newer(&self) -> bool {
        self.is_newer
    }

    /// The connection itself.
    pub(super) fn database(&self) -> &IdbDatabase {
        &self.database
    }

    /// What it can be used for.
    pub(super) fn state(&self) -> State {
        self.state.get()
    }

    pub(super) fn set_state(&self, state: State) {
        self.state.set(state);
    }

    /// Closes it once its running transactions are done.
    pub(super) fn close(&self) {
        self.database.close();
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.close();
        // An event may be under way, and a handler that is gone would throw: from now on there is none. Each holds on to the
        // engine's memory, so they must not be kept for ever.
        self.database.set_onversionchange(None);
        self.database.set_onclose(None);
    }
}

/// Deletes a database. Connections to it close by themselves when they are told.
pub(super) async fn delete(name: &str, listener: &Listener) -> Result<(), Failure> {
    let deletion = Deletion::start(name, listener)?;
    Ok(deletion.answer.wait().await?)
}

/// Why a request to open or delete has no result.
enum Unanswered {
    /// It failed.
    Failed(Failure),
    /// Another connection holds it back.
    Blocked,
    /// The browser said nothing at all.
    Silent,
}

impl From<Unanswered> for Failure {
    fn from(unanswered: Unanswered) -> Self {
        match unanswered {
            Unanswered::Failed(failure) => failure,
            Unanswered::Blocked => Self::Known(Error::new(
                Code::StorageBlocked,
                "another tab of this app keeps the storage open in an older version; close or reload the other tabs, and \
                 try again",
            )),
            Unanswered::Silent => Self::Known(Error::new(
                Code::StorageUnavailable,
                "the browser's storage did not answer in time: where other tabs of this app are open, one of them may hold \
                 back another one's update; close or reload them all, and restart the browser if it happens again",
            )),
        }
    }
}

/// Where the events of a request to open or delete leave what they bring.
struct Answer<T> {
    outcome: RefCell<Option<Result<T, Failure>>>,
    blocked: Cell<bool>,
    upgrading: Cell<bool>,
    /// It came: no further event does.
    given: Cell<bool>,
    /// Nobody waits any more.
    abandoned: Cell<bool>,
    waker: RefCell<Option<Waker>>,
}

impl<T> Answer<T> {
    fn new() -> Rc<Self> {
        Rc::new(Self {
            outcome: RefCell::new(None),
            blocked: Cell::new(false),
            upgrading: Cell::new(false),
            given: Cell::new(false),
            abandoned: Cell::new(false),
            waker: RefCell::new(None),
        })
    }

    fn give(&self, outcome: Result<T, Failure>) {
        self.given.set(true);
        self.outcome.replace(Some(outcome));
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }

    async fn arrive(&self) -> Result<T, Unanswered> {
        poll_fn(|context| match self.outcome.take() {
            Some(outcome) => Poll::Ready(outcome.map_err(Unanswered::Failed)),
            None => {
                self.waker.replace(Some(context.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }

    /// Waits as long as it makes sense.
    async fn wait(&self) -> Result<T, Unanswered> {
        let mut arrival = pin!(self.arrive());
        if let Some(outcome) = within(OPEN_LIMIT_MS, &mut arrival).await {
            return outcome;
        }
        if self.upgrading.get()
            && let Some(outcome) = within(UPGRADE_LIMIT_MS, &mut arrival).await
        {
            return outcome;
        }
        Err(if self.blocked.get() { Unanswered::Blocked } else { Unanswered::Silent })
    }
}

/// A request to open. Given up, it closes what it opens.
struct Opening {
    request: OpenDatabaseRequest,
    answer: Rc<Answer<Database>>,
}

impl Opening {
    fn start(name: &str, version: Option<u32>, create: bool, listener: &Listener) -> Result<Self, Failure> {
        let mut request = Factory::new()?.open(name, version)?;
        let answer: Rc<Answer<Database>> = Answer::new();
        let gone = Rc::new(Cell::new(false));
        request.on_upgrade_needed({
            let (answer, gone, listener) = (Rc::clone(&answer), Rc::clone(&gone), Rc::clone(listener));
            move |event| {
                answer.upgrading.set(true);
                gone.set(!create && event.old_version() == Ok(0));
                let told = upgraded(&event);
                if !gone.get() && upgrade(&event).is_ok() {
                    listener(told);
                    return;
                }
                // One that is gone may be gone because it was damaged.
                if matches!(told, Lifecycle::Upgraded { data_lost: true, .. }) {
                    listener(told);
                }
                // Opening then fails, and leaves the database as it was.
                abort_upgrade(&event);
            }
        });
        request.on_blocked({
            let (answer, listener) = (Rc::clone(&answer), Rc::clone(listener));
            move |_| {
                answer.blocked.set(true);
                listener(Lifecycle::Blocked);
            }
        });
        request.on_success({
            let answer = Rc::clone(&answer);
            move |event| match event.database() {
                Ok(database) if answer.abandoned.get() => database.close(),
                opened => answer.give(opened.map_err(Failure::from)),
            }
        });
        request.on_error({
            let answer = Rc::clone(&answer);
            move |event| {
                let failure = if gone.get() { Failure::Deleted } else { failure_of(event.target()) };
                // Unhandled, Firefox reports it to the page as well.
                web_sys::Event::from(event).prevent_default();
                answer.give(Err(failure));
            }
        });
        Ok(Self { request, answer })
    }

    async fn wait(&self) -> Result<Database, Unanswered> {
        self.answer.wait().await
    }
}

impl Drop for Opening {
    fn drop(&mut self) {
        self.answer.abandoned.set(true);
        if let Some(Ok(unclaimed)) = self.answer.outcome.take() {
            unclaimed.close();
        }
        // Its events may be still to come, and a handler that is gone would throw.
        if !self.answer.given.get() {
            self.request.forget_callbacks();
        }
    }
}

/// A request to delete. Given up, it goes on by itself.
struct Deletion {
    request: DeleteDatabaseRequest,
    answer: Rc<Answer<()>>,
}

impl Deletion {
    fn start(name: &str, listener: &Listener) -> Result<Self, Failure> {
        let mut request = Factory::new()?.delete(name)?;
        let answer = Answer::new();
        request.on_blocked({
            let (answer, listener) = (Rc::clone(&answer), Rc::clone(listener));
            move |_| {
                answer.blocked.set(true);
                listener(Lifecycle::Blocked);
            }
        });
        request.on_success({
            let answer = Rc::clone(&answer);
            move |_| answer.give(Ok(()))
        });
        request.on_error({
            let answer = Rc::clone(&answer);
            move |event| answer.give(Err(failure_of(event.target())))
        });
        Ok(Self { request, answer })
    }
}

impl Drop for Deletion {
    fn drop(&mut self) {
        if !self.answer.given.get() {
            self.request.forget_callbacks();
        }
    }
}

/// The failure of the request whose error event arrived.
fn failure_of(request: Result<impl Request, idb::Error>) -> Failure {
    match request.and_then(|request| request.error()) {
        Ok(Some(exception)) => Failure::of(&exception),
        Ok(None) => Failure::Exception(String::new()),
        Err(error) => error.into(),
    }
}

/// Creates the stores that are not there yet.
fn upgrade(event: &VersionChangeEvent) -> Result<(), Failure> {
    let database = event.database()?;
    let present = database.store_names();
    for store in Store::ALL {
        if !present.iter().any(|name| name == store.name()) {
            database.create_object_store(store.name(), ObjectStoreParams::new())?;
        }
    }
    Ok(())
}

fn upgraded(event: &VersionChangeEvent) -> Lifecycle {
    let data_loss = Reflect::get(&event.clone().into(), &"dataLoss".into());
    let data_lost = data_loss.is_ok_and(|loss| loss.as_string().as_deref() == Some("total"));
    Lifecycle::Upgraded { from: event.old_version().unwrap_or(0), data_lost }
}

fn abort_upgrade(event: &VersionChangeEvent) {
    if let Some(transaction) = event.target().ok().and_then(|request| request.transaction()) {
        // It fails only when the transaction is over already.
        let _ = transaction.abort();
    }
}
