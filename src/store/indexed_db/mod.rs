//! Records in IndexedDB: in a page, a worker or a service worker.
//!
//! One object store per [`Store`], with keys as arrays and values as `{ body: string, blob?: Uint8Array }`. Everything
//! goes through `transaction.rs`, which cures what the `idb` crate leaves open; `connection.rs` keeps the four lifecycle
//! events of a database; `failure.rs` says what each exception of a browser means to us.

mod connection;
pub(crate) mod failure;
mod lifecycle;
mod patience;
mod timer;
mod transaction;
pub(crate) mod value;

pub use connection::SCHEMA_VERSION;
pub use lifecycle::Lifecycle;

use super::range::{KeyRange, check_storable, runs};
use super::{Commit, Key, Query, Record, Storage, StorageUsage, Store};
use crate::error::{Code, Error, Result};
use crate::ports::Pending;
use crate::sorted_map::SortedSet;
use connection::{Connection, PAUSES_MS, State};
use failure::Failure;
use idb::CursorDirection;
use js_sys::{Array, Promise, Reflect};
use lifecycle::Listener;
use std::cell::{Cell, RefCell};
use std::ops::Bound;
use std::rc::Rc;
use timer::sleep;
use transaction::{Mode, Transaction};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::IdbRequest;

/// An open database.
///
/// A connection that the browser closed is opened again, and the call that met it is repeated, up to three times with
/// pauses. A commit whose answer was lost is carried out once: where its checks do not hold any more, but what it wrote is
/// there, it was carried out before. A database that was deleted meanwhile is not made anew: every later call fails. A
/// `destroy` that failed, because another tab holds the database, can be called again.
///
/// A database whose layout is of a later hundred of [`SCHEMA_VERSION`] can be read; each commit that writes fails with
/// [`Code::SchemaTooNew`].
pub struct IndexedDbStore {
    name: String,
    listener: Listener,
    connection: RefCell<Rc<Connection>>,
    destroyed: Cell<bool>,
    closed: Cell<bool>,
}

impl IndexedDbStore {
    /// Opens the database `name`, which the caller makes of the app's and the user's names, and creates it where there
    /// is none.
    ///
    /// # Errors
    /// [`Code::StorageUnavailable`] without IndexedDB, or when it does not answer within 3 seconds, twice;
    /// [`Code::StorageBlocked`] when another tab has held back an upgrade for 3 seconds; [`Code::SchemaTooNew`] when the
    /// stores' layout is of a later hundred of [`SCHEMA_VERSION`] and lacks a store.
    pub async fn open(name: &str) -> Result<Self> {
        Self::open_with(name, |_| ()).await
    }

    /// As [`IndexedDbStore::open`], and tells `listener` what happens to the database while it is open.
    ///
    /// # Errors
    /// As [`IndexedDbStore::open`].
    pub async fn open_with(name: &str, listener: impl Fn(Lifecycle) + 'static) -> Result<Self> {
        let listener: Listener = Rc::new(listener);
        let connection = Connection::open_patiently(name, true, &listener).await?;
        Ok(Self::on(connection, name, listener))
    }

    /// Opens a database that is there, as [`IndexedDbStore::open_with`] does; `None` where there is none, and none is made.
    ///
    /// # Errors
    /// As [`IndexedDbStore::open`].
    pub async fn open_existing(name: &str) -> Result<Option<Self>> {
        Self::open_existing_with(name, |_| ()).await
    }

    /// As [`IndexedDbStore::open_existing`], and tells `listener` what happens to the database.
    ///
    /// # Errors
    /// As [`IndexedDbStore::open`].
    pub async fn open_existing_with(name: &str, listener: impl Fn(Lifecycle) + 'static) -> Result<Option<Self>> {
        let listener: Listener = Rc::new(listener);
        match Connection::open_patiently(name, false, &listener).await {
            Err(Failure::Deleted) => Ok(None),
            opened => Ok(Some(Self::on(opened?, name, listener))),
        }
    }

    fn on(connection: Connection, name: &str, listener: Listener) -> Self {
        Self {
            name: name.to_owned(),
            listener,
            connection: RefCell::new(Rc::new(connection)),
            destroyed: Cell::new(false),
            closed: Cell::new(false),
        }
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::new(Code::Closed, "the storage was closed; open it again"));
        }
        if self.destroyed.get() {
            return Err(failure::deleted());
        }
        Ok(())
    }

    /// The connection, opened again when the browser closed it.
    async fn connect(&self) -> Result<Rc<Connection>> {
        self.check_open()?;
        let current = Rc::clone(&self.connection.borrow());
        match current.state() {
            State::Open => return Ok(current),
            State::Deleted => return Err(failure::deleted()),
            State::Lost => {}
        }
        let opened = Connection::open_patiently(&self.name, false, &self.listener).await;
        self.check_open()?;
        let found = match opened {
            Err(Failure::Deleted) => {
                current.set_state(State::Deleted);
                return Err(failure::deleted());
            }
            opened => Rc::new(opened?),
        };
        let mut connection = self.connection.borrow_mut();
        if connection.state() != State::Open {
            *connection = found;
        }
        Ok(Rc::clone(&connection))
    }

    /// Carries out an operation, again on a new connection when the one before was lost.
    async fn run<T>(&self, operation: impl AsyncFn(&Connection) -> std::result::Result<T, Failure>) -> Result<T> {
        let mut pauses = PAUSES_MS.iter();
        loop {
            let connection = self.connect().await?;
            let failure = match operation(&connection).await {
                Err(failure) if failure.is_connection_lost() || failure.is_too_late() => failure,
                outcome => return Ok(outcome?),
            };
            if failure.is_connection_lost() && connection.state() == State::Open {
                connection.set_state(State::Lost);
            }
            drop(connection);
            match pauses.next() {
                Some(pause_ms) => sleep(*pause_ms).await,
                None => return Err(failure.into()),
            }
        }
    }

    async fn get_all(&self, keys: Vec<(Store, Key)>) -> Result<Vec<Option<Record>>> {
        self.check_open()?;
        if keys.is_empty() {
            self.connect().await?;
            return Ok(Vec::new());
        }
        self.run(async |connection| {
            if let Some(records) = read_runs(connection, &keys, &runs(&keys)).await? {
                return Ok(records);
            }
            let single: Vec<(usize, usize)> = (0..keys.len()).map(|place| (place, place + 1)).collect();
            Ok(read_runs(connection, &keys, &single).await?.unwrap_or_default())
        })
        .await
    }

    async fn scan_range(&self, query: Query) -> Result<Vec<(Key, Record)>> {
        self.check_open()?;
        let Some(range) = KeyRange::of(&query) else {
            self.connect().await?;
            return Ok(Vec::new());
        };
        self.run(async |connection| {
            let transaction = Transaction::begin(connection, &SortedSet::from_iter([query.store]), Mode::Read)?;
            let store = transaction.store(query.store)?;
            let mut js_range = value::range_to_js(&range)?;
            let mut limit = query.limit.and_then(|limit| u32::try_from(limit).ok());
            if let (true, Some(last)) = (query.reverse, limit) {
                // The last records of a range are those from the key on which a cursor lands after so many steps.
                if let Some(lowest) = lowest_of_last(&transaction, &store, js_range.as_ref(), last).await? {
                    let lower = Bound::Included(value::key_from_js(&lowest)?);
                    js_range = value::range_to_js(&KeyRange { lower, upper: range.upper.clone() })?;
                }
                limit = None;
            } else {
                transaction.gate(&store).await?;
            }
            let keys: IdbRequest = store.get_all_keys(js_range.clone(), limit)?.into();
            let values: IdbRequest = store.get_all(js_range, limit)?.into();
            transaction.committed().await?;
            let mut records = value::records_from_js(&keys.result()?, &values.result()?)?;
            if query.reverse {
                records.reverse();
            }
            Ok(records)
        })
        .await
    }

    async fn count_prefix(&self, store: Store, prefix: Key) -> Result<u64> {
        let range = KeyRange::prefix(&prefix);
        self.run(async |connection| {
            let transaction = Transaction::begin(connection, &SortedSet::from_iter([store]), Mode::Read)?;
            let object_store = transaction.store(store)?;
            transaction.gate(&object_store).await?;
            let request: IdbRequest = object_store.count(value::range_to_js(&range)?)?.into();
            transaction.committed().await?;
            let count = request.result()?.as_f64().unwrap_or(0.0);
            Ok(count as u64)
        })
        .await
    }

    async fn carry_out(&self, commit: Commit) -> Result<bool> {
        self.check_open()?;
        commit.puts.iter().try_for_each(|(_, key, _)| check_storable(key))?;
        let mut stores: SortedSet<Store> = commit.checks.iter().map(|check| check.store).collect();
        stores.extend(commit.puts.iter().map(|(store, _, _)| *store));
        stores.extend(commit.deletes.iter().chain(&commit.delete_prefixes).map(|(store, _)| *store));
        if stores.is_empty() {
            if !commit.strict || self.connect().await?.is_newer() {
                self.connect().await?;
                return Ok(true);
            }
            stores.insert(Store::Meta);
        }
        let mode = if commit.strict { Mode::WriteStrict } else { Mode::Write };
        // The answer to an earlier try was lost while it was being committed.
        let is_unknown = Cell::new(false);
        let outcome = self
            .run(async |connection| {
                if connection.is_newer() {
                    return Err(super::read_only::too_new().into());
                }
                let transaction = Transaction::begin(connection, &stores, mode)?;
                if !checks_hold(&transaction, &commit).await? {
                    let is_done = is_unknown.get() && is_written(&transaction, &commit).await?;
                    transaction.undo().await;
                    return Ok(is_done);
                }
                if let Err(failure) = write(&transaction, &commit).await {
                    transaction.undo().await;
                    return Err(failure);
                }
                let committed = transaction.committed().await;
                is_unknown.set(is_unknown.get() || committed.as_ref().is_err_and(Failure::is_connection_lost));
                committed.map(|()| true)
            })
            .await;
        match outcome {
            Err(_) if is_unknown.get() => Err(failure::unknown()),
            outcome => outcome,
        }
    }

    async fn delete_database(&self) -> Result<()> {
        if self.closed.get() {
            return Err(Error::new(Code::Closed, "the storage was closed; open it again to erase it"));
        }
        self.destroyed.set(true);
        self.connection.borrow().close();
        connection::delete(&self.name, &self.listener).await?;
        Ok(())
    }
}

/// Reads keys, those that follow each other in one request: the browser takes half the time for it. `None`: something in
/// the middle of a run is missing, and the answer does not say what.
async fn read_runs(
    connection: &Connection,
    keys: &[(Store, Key)],
    runs: &[(usize, usize)],
) -> std::result::Result<Option<Vec<Option<Record>>>, Failure> {
    let stores: SortedSet<Store> = keys.iter().map(|(store, _)| *store).collect();
    let transaction = Transaction::begin(connection, &stores, Mode::Read)?;
    let mut requests: Vec<IdbRequest> = Vec::with_capacity(runs.len());
    for &(first, end) in runs {
        let ((store, first), (_, last)) = (&keys[first], &keys[end - 1]);
        let store = transaction.store(*store)?;
        requests.push(if first == last {
            store.get(value::key_to_js(first))?.into()
        } else {
            let range = KeyRange { lower: Bound::Included(first.clone()), upper: Bound::Included(last.clone()) };
            store.get_all(value::range_to_js(&range)?, None)?.into()
        });
    }
    if let Some(first) = requests.first() {
        transaction.answered(first).await?;
    }
    transaction.committed().await?;
    let mut records = Vec::with_capacity(keys.len());
    for (&(first, end), request) in runs.iter().zip(&requests) {
        let result = request.result()?;
        if end - first == 1 {
            records.push(value::record_from_js(&result));
            continue;
        }
        let found = Array::from(&result);
        if found.length() as usize != end - first {
            return Ok(None);
        }
        for record in found.iter() {
            records.push(value::record_from_js(&record));
        }
    }
    Ok(Some(records))
}

async fn checks_hold(transaction: &Transaction, commit: &Commit) -> std::result::Result<bool, Failure> {
    let checks = commit.checks.iter().map(|check| (check.store, &check.key, check.body.as_ref())).collect();
    bodies_are(transaction, checks).await
}

/// Whether an earlier try of this commit was carried out, though its checks do not hold now: what it put beside the
/// records that it checks, which others may have written since, is there to the letter.
async fn is_written(transaction: &Transaction, commit: &Commit) -> std::result::Result<bool, Failure> {
    let is_checked =
        |store: Store, key: &Key| commit.checks.iter().any(|check| check.store == store && check.key == *key);
    let all = || commit.puts.iter().map(|(store, key, record)| (*store, key, Some(&record.body)));
    let mut own: Vec<_> = all().filter(|(store, key, _)| !is_checked(*store, key)).collect();
    if own.is_empty() {
        own = all().collect();
    }
    Ok(!own.is_empty() && bodies_are(transaction, own).await?)
}

/// Reads records in one batch, and compares.
async fn bodies_are(
    transaction: &Transaction,
    expected: Vec<(Store, &Key, Option<&String>)>,
) -> std::result::Result<bool, Failure> {
    let mut requests = Vec::with_capacity(expected.len());
    for (store, key, _) in &expected {
        let request: IdbRequest = transaction.store(*store)?.get(value::key_to_js(key))?.into();
        requests.push(request);
    }
    // Requests are answered in order: after the last, all are.
    if let Some(last) = requests.last() {
        transaction.answered(last).await?;
    }
    for ((_, _, body), request) in expected.iter().zip(&requests) {
        if value::body_from_js(&request.result()?).as_ref() != *body {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Starts every write. Their failures come out as the transaction's.
async fn write(transaction: &Transaction, commit: &Commit) -> std::result::Result<(), Failure> {
    let mut first: Option<IdbRequest> = None;
    for (store, prefix) in &commit.delete_prefixes {
        let store = transaction.store(*store)?;
        let request: IdbRequest = match value::range_to_js(&KeyRange::prefix(prefix))? {
            Some(range) => store.delete(range)?.into(),
            None => store.clear()?.into(),
        };
        first.get_or_insert(request);
    }
    for (store, key) in &commit.deletes {
        let request: IdbRequest = transaction.store(*store)?.delete(value::key_to_js(key))?.into();
        first.get_or_insert(request);
    }
    for (store, key, record) in &commit.puts {
        let (key, record) = (value::key_to_js(key), value::record_to_js(record));
        let request: IdbRequest = transaction.store(*store)?.put(&record, Some(&key))?.into();
        first.get_or_insert(request);
    }
    match first {
        // After checks it holds its stores already.
        _ if !commit.checks.is_empty() => {}
        Some(first) => transaction.answered(&first).await?,
        None => barrier(transaction).await?,
    }
    transaction.commit();
    Ok(())
}

/// Writes and removes a record: a strict transaction makes all earlier ones durable, but only if it has something to write.
/// It is committed at once, so that one that a page asks for while it goes away is carried out.
async fn barrier(transaction: &Transaction) -> std::result::Result<(), Failure> {
    let store = transaction.store(Store::Meta)?;
    let key = value::key_to_js(&Key(vec!["\0barrier".into()]));
    let request: IdbRequest = store.put(&value::record_to_js(&Record::default()), Some(&key))?.into();
    store.delete(key)?;
    transaction.commit();
    transaction.answered(&request).await
}

/// The key of the `last`-th record from the range's end; `None` when there are fewer.
async fn lowest_of_last(
    transaction: &Transaction,
    store: &idb::ObjectStore,
    range: Option<&idb::Query>,
    last: u32,
) -> std::result::Result<Option<JsValue>, Failure> {
    let request: IdbRequest = store.open_key_cursor(range.cloned(), Some(CursorDirection::Prev))?.into();
    transaction.answered(&request).await?;
    if let (true, Some(cursor)) = (last > 1, value::cursor_from_js(&request.result()?)) {
        cursor.advance(last - 1)?;
        transaction.answered(&request).await?;
    }
    value::cursor_from_js(&request.result()?).map(|cursor| Ok(cursor.key()?)).transpose()
}

/// Whether the browser lists a database of this name; false where it lists none (Firefox before 126). Unlike opening what
/// is not there, this leaves the name nowhere on disk.
pub async fn is_listed(name: &str) -> bool {
    let field = |value: &JsValue, name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let factory = field(&js_sys::global(), "indexedDB");
    let listed = async {
        let databases: js_sys::Function = field(&factory, "databases").dyn_into().ok()?;
        let promise: Promise = databases.call0(&factory).ok()?.dyn_into().ok()?;
        JsFuture::from(promise).await.ok()
    };
    let Some(listed) = listed.await else { return false };
    Array::from(&listed).iter().any(|database| field(&database, "name").as_string().as_deref() == Some(name))
}

/// What `navigator.storage` tells. It is there in pages and workers, but not in insecure contexts.
async fn storage_usage() -> StorageUsage {
    let field = |value: &JsValue, name: &str| Reflect::get(value, &name.into()).unwrap_or(JsValue::UNDEFINED);
    let storage = field(&field(&js_sys::global(), "navigator"), "storage");
    let ask = async |method: &str| -> Option<JsValue> {
        let method: js_sys::Function = field(&storage, method).dyn_into().ok()?;
        let promise: Promise = method.call0(&storage).ok()?.dyn_into().ok()?;
        JsFuture::from(promise).await.ok()
    };
    let estimate = ask("estimate").await.unwrap_or(JsValue::UNDEFINED);
    let number = |name| if estimate.is_object() { field(&estimate, name).as_f64() } else { None };
    StorageUsage {
        bytes: number("usage"),
        quota_bytes: number("quota"),
        persisted: ask("persisted").await.and_then(|answer| answer.as_bool()),
    }
}

impl Storage for IndexedDbStore {
    fn get<'a>(&'a self, keys: Vec<(Store, Key)>) -> Pending<'a, Vec<Option<Record>>> {
        Box::pin(self.get_all(keys))
    }

    fn scan<'a>(&'a self, query: Query) -> Pending<'a, Vec<(Key, Record)>> {
        Box::pin(self.scan_range(query))
    }

    fn count<'a>(&'a self, store: Store, prefix: Key) -> Pending<'a, u64> {
        Box::pin(self.count_prefix(store, prefix))
    }

    fn commit<'a>(&'a self, commit: Commit) -> Pending<'a, bool> {
        Box::pin(self.carry_out(commit))
    }

    fn usage<'a>(&'a self) -> Pending<'a, StorageUsage> {
        Box::pin(async move {
            self.connect().await?;
            Ok(storage_usage().await)
        })
    }

    fn destroy<'a>(&'a self) -> Pending<'a, ()> {
        Box::pin(self.delete_database())
    }

    fn close(&self) {
        self.closed.set(true);
        self.connection.borrow().close();
    }

    fn is_durable(&self) -> bool {
        true
    }
}
